/* Point: a template family and a value for each of its parameters, and its text
 * "block:block=256,vec=4,tail=shuffle". */
#include "model/point.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

const rdt_space *rdt_point_space(const rdt_spaces *spaces, const rdt_point *point) {
    return &spaces->space[point->family];
}

/* ---- comparing ------------------------------------------------------------------------------- */

bool rdt_point_same(const rdt_point *a, const rdt_point *b) {
    return a->family == b->family && !memcmp(a->value, b->value, sizeof a->value);
}

bool rdt_point_same_kernel(const rdt_spaces *spaces, const rdt_point *a, const rdt_point *b) {
    const rdt_space *space = rdt_point_space(spaces, a);
    if (a->family != b->family) return false;
    for (int i = 0; i < space->param_count; i++)
        if (!space->param[i].launch && a->value[i] != b->value[i]) return false;
    return true;
}

int rdt_point_rank(const rdt_spaces *spaces, const rdt_point *point) {
    const rdt_space *space = rdt_point_space(spaces, point);
    int64_t order = 0; /* at most RDT_PARAM_VALUE_MAX to the power of RDT_PARAM_MAX, 2^48 */
    for (int numbers = 0; numbers < 2; numbers++)
        for (int i = 0; i < space->param_count; i++)
            if (rdt_space_param_is_named(&space->param[i]) != numbers)
                order = order * space->param[i].value_count +
                        rdt_space_param_find(&space->param[i], point->value[i]);
    for (int i = 0; i < point->family; i++) order += rdt_space_size(&spaces->space[i]);
    return order < INT_MAX ? (int)order : INT_MAX;
}

/* ---- writing --------------------------------------------------------------------------------- */

void rdt_point_write(const rdt_spaces *spaces, const rdt_point *point, char family[RDT_NAME_BYTES],
                     char config[RDT_CONFIG_TEXT_BYTES]) {
    const rdt_space *space = rdt_point_space(spaces, point);
    size_t used = 0;
    rdt_text_copy(family, RDT_NAME_BYTES, space->family);
    config[0] = '\0';
    for (int i = 0; i < space->param_count && used < RDT_CONFIG_TEXT_BYTES; i++) {
        const rdt_param *param = &space->param[i];
        int at = rdt_space_param_find(param, point->value[i]);
        char number[24];
        snprintf(number, sizeof number, "%" PRId64, point->value[i]);
        bool labelled = at >= 0 && param->label[at][0];
        int wrote = snprintf(config + used, RDT_CONFIG_TEXT_BYTES - used, "%s%s=%s", i ? "," : "",
                             param->name, labelled ? param->label[at] : number);
        used += (size_t)wrote;
    }
}

void rdt_point_format(const rdt_spaces *spaces, const rdt_point *point,
                      char out[RDT_POINT_TEXT_BYTES]) {
    char family[RDT_NAME_BYTES], config[RDT_CONFIG_TEXT_BYTES];
    rdt_point_write(spaces, point, family, config);
    snprintf(out, RDT_POINT_TEXT_BYTES, "%s:%s", family, config);
}

/* ---- reading --------------------------------------------------------------------------------- */

static void list_params(const rdt_space *space, rdt_text *out) {
    for (int i = 0; i < space->param_count; i++)
        rdt_text_addf(out, "%s%s", i ? ", " : "", space->param[i].name);
}

static void list_values(const rdt_param *param, rdt_text *out) {
    for (int i = 0; i < param->value_count; i++) {
        rdt_text_add(out, i ? ", " : "");
        if (param->label[i][0])
            rdt_text_add(out, param->label[i]);
        else
            rdt_text_addf(out, "%" PRId64, param->value[i]);
    }
}

/* The index of the value written as string[0..length), or -1. */
static int find_written(const rdt_param *param, const char *string, size_t length) {
    for (int i = 0; i < param->value_count; i++) {
        const char *label = param->label[i];
        if (*label && strlen(label) == length && !memcmp(label, string, length)) return i;
    }
    int64_t number;
    if (!rdt_text_to_int64(string, length, &number)) return -1;
    int at = rdt_space_param_find(param, number);
    return at >= 0 && !param->label[at][0] ? at : -1;
}

static redtune_status bad_name(const rdt_space *space, const char *pair, size_t length,
                               redtune_error *err) {
    rdt_text known = {0};
    list_params(space, &known);
    redtune_status status = rdt_fail(
        err, REDTUNE_INVALID, 0,
        "cannot use config parameter '%.*s': the template '%s' has no such parameter; use %s",
        (int)(length < 40 ? length : 40), pair, space->family, known.data ? known.data : "");
    rdt_text_free(&known);
    return status;
}

static redtune_status bad_value(const rdt_param *param, const char *value, size_t length,
                                redtune_error *err) {
    rdt_text known = {0};
    list_values(param, &known);
    redtune_status status =
        rdt_fail(err, REDTUNE_INVALID, 0, "cannot use %s=%.*s: it may be %s", param->name,
                 (int)(length < 40 ? length : 40), value, known.data ? known.data : "");
    rdt_text_free(&known);
    return status;
}

/* Parameters that went, each with the value that all kernels of the family now have: what is stored
 * of it holds. */
static const struct { const char *family, *pair; } retired[] = {{"skewed", "strips=1"}};

static bool is_retired(const rdt_space *space, const char *pair, size_t length) {
    for (size_t i = 0; i < sizeof retired / sizeof *retired; i++)
        if (!strcmp(retired[i].family, space->family) && strlen(retired[i].pair) == length &&
            !memcmp(retired[i].pair, pair, length))
            return true;
    return false;
}

void rdt_point_renew(const rdt_spaces *spaces, const rdt_point *point, char *config) {
    const rdt_space *space = rdt_point_space(spaces, point);
    for (char *at = config; *at;) {
        const size_t pair = strcspn(at, ","), whole = pair + (at[pair] == ',');
        if (!is_retired(space, at, pair)) {
            at += whole;
            continue;
        }
        const bool is_last = whole == pair;
        if (is_last && at > config) at--; /* with the comma before it */
        memmove(at, is_last ? at + strlen(at) : at + whole, is_last ? 1 : strlen(at + whole) + 1);
    }
}

/* Reads pairs over *point; *named is how many of the family's parameters these name. */
static redtune_status parse(const rdt_spaces *spaces, const char *config, rdt_point *point,
                            int *named, redtune_error *err) {
    const rdt_space *space = rdt_point_space(spaces, point);
    rdt_point parsed = *point;
    bool seen[RDT_PARAM_MAX] = {false};
    *named = 0;
    for (const char *at = config; *at;) {
        size_t pair = strcspn(at, ","), name = strcspn(at, "=,");
        if (name == pair)
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot read config '%.*s': write name=value,name=value",
                            (int)(pair < 40 ? pair : 40), at);
        const char *next = at + pair + (at[pair] == ',');
        if (is_retired(space, at, pair)) {
            at = next;
            continue;
        }
        int i = rdt_space_find(space, at, (int)name);
        if (i < 0) return bad_name(space, at, name, err);
        if (seen[i])
            return rdt_fail(err, REDTUNE_INVALID, 0, "cannot read config: %s is given twice",
                            space->param[i].name);
        seen[i] = true;
        const rdt_param *param = &space->param[i];
        int value = find_written(param, at + name + 1, pair - name - 1);
        if (value < 0) return bad_value(param, at + name + 1, pair - name - 1, err);
        parsed.value[i] = param->value[value];
        ++*named;
        at = next;
    }
    *point = parsed;
    return REDTUNE_OK;
}

redtune_status rdt_point_parse(const rdt_spaces *spaces, const char *config, rdt_point *point,
                               redtune_error *err) {
    int named;
    return parse(spaces, config, point, &named, err);
}

redtune_status rdt_point_read(const rdt_spaces *spaces, const char *family, const char *config,
                              rdt_point *out, redtune_error *err) {
    rdt_point point = {0};
    int named = 0;
    redtune_status status = rdt_space_find_family(spaces, family, &point.family, err);
    if (!status) status = parse(spaces, config, &point, &named, err);
    if (status) return status;
    const int params = rdt_point_space(spaces, &point)->param_count;
    if (named != params)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot read config '%.100s': it names %d of the %d parameters", config,
                        named, params);
    *out = point;
    return REDTUNE_OK;
}
