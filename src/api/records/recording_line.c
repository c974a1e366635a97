/* Recording line: a problem that ran, with its calls, as a line of JSON (docs/tuning.md).
 *
 * The axes are those of databases (problem_axes_text.c). Files of version 1 had extents in place of
 * axes; a line that has those is still read, whatever the file's version. Values are unsigned
 * integers, plain names and axes, so that a line is read by one small parser, which takes the
 * members in any order. */
#include "api/records/recording_line.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "model/problem.h"

enum { FORMAT_VERSION = 2, NAME_BYTES = 32 };

static const char format_name[] = "redtune_recording";

/* ---- a problem ------------------------------------------------------------------------------- */

typedef enum member_kind { NAME, AXES, NUMBER } member_kind;

/* Which lines have a member: each, some, those of version 1 and those since version 2. */
typedef enum member_use { EACH, SOME, EXTENTS_1, AXES_2, USES } member_use;

/* Members of a line: name, kind, use. */
#define MEMBER_LIST(X)                                                                             \
    X(op, NAME, EACH)                                                                              \
    X(dtype, NAME, EACH)                                                                           \
    X(result, NAME, SOME)                                                                          \
    X(order, NAME, SOME)                                                                           \
    X(accuracy, NAME, SOME)                                                                        \
    X(layout, NAME, SOME)                                                                          \
    X(count, NUMBER, EXTENTS_1)                                                                    \
    X(outer, NUMBER, EXTENTS_1)                                                                    \
    X(inner, NUMBER, EXTENTS_1)                                                                    \
    X(outer_step, NUMBER, EXTENTS_1)                                                               \
    X(step, NUMBER, EXTENTS_1)                                                                     \
    X(kept, AXES, AXES_2)                                                                          \
    X(reduced, AXES, AXES_2)                                                                       \
    X(greatest, NUMBER, AXES_2)                                                                    \
    X(median, NUMBER, AXES_2)                                                                      \
    X(mask, NAME, AXES_2)                                                                          \
    X(key_dtype, NAME, AXES_2)                                                                     \
    X(spread, NAME, AXES_2)                                                                        \
    X(keys, NUMBER, AXES_2)                                                                        \
    X(calls, NUMBER, EACH)                                                                         \
    X(ns, NUMBER, SOME)                                                                            \
    X(match, NAME, SOME)

enum {
#define ENTRY(name, kind, use) MEMBER_##name,
    MEMBER_LIST(ENTRY)
#undef ENTRY
        MEMBERS
};

static const struct {
    const char *name;
    member_kind kind;
    member_use use;
} members[MEMBERS] = {
#define ENTRY(name, kind, use) {#name, kind, use},
    MEMBER_LIST(ENTRY)
#undef ENTRY
};

/* The members of a line; the text of those that are numbers or missing is "". */
typedef struct said {
    bool there[MEMBERS];
    char text[MEMBERS][RDT_AXES_TEXT_BYTES];
    uint64_t number[MEMBERS];
} said;

/* A place in the text, whose end is a NUL. */
typedef struct cursor {
    const char *at, *end;
} cursor;

static void skip_spaces(cursor *self) {
    while (*self->at == ' ' || *self->at == '\t' || *self->at == '\r') self->at++;
}

static bool accept(cursor *self, char wanted) {
    skip_spaces(self);
    if (*self->at != wanted) return false;
    self->at++;
    return true;
}

static bool is_at_end(cursor *self) {
    skip_spaces(self);
    return self->at == self->end;
}

/* Texts have no escapes. */
static bool read_quoted(cursor *self, char *out, size_t bytes) {
    size_t length = 0;
    if (!accept(self, '"')) return false;
    for (; *self->at != '"'; self->at++) {
        if (length + 1 == bytes || *self->at < ' ' || *self->at > '~' || *self->at == '\\')
            return false;
        out[length++] = *self->at;
    }
    self->at++;
    out[length] = '\0';
    return true;
}

static bool read_uint64(cursor *self, uint64_t *out) {
    uint64_t number = 0;
    skip_spaces(self);
    const char *start = self->at;
    for (; *self->at >= '0' && *self->at <= '9'; self->at++)
        if (__builtin_mul_overflow(number, UINT64_C(10), &number) ||
            __builtin_add_overflow(number, (uint64_t)(*self->at - '0'), &number))
            return false;
    *out = number;
    return self->at > start;
}

/* NULL, or what is wrong with the member at the cursor. */
static const char *read_member(cursor *self, said *out) {
    static const char *const wrong[] = {
        [NAME] = "it has a value that is no name",
        [AXES] = "it has a value that is no axes",
        [NUMBER] = "it has a value that is no whole number of 64 bits",
    };
    char name[NAME_BYTES];
    int i = 0;
    if (!read_quoted(self, name, sizeof name) || !accept(self, ':'))
        return "it is no object of JSON";
    while (i < MEMBERS && strcmp(members[i].name, name) != 0) i++;
    if (i == MEMBERS) return "it has an unknown member";
    if (out->there[i]) return "it has a member twice";
    out->there[i] = true;
    const member_kind kind = members[i].kind;
    const size_t bytes = kind == NAME ? NAME_BYTES : sizeof out->text[i];
    const bool good = kind == NUMBER ? read_uint64(self, &out->number[i])
                                     : read_quoted(self, out->text[i], bytes);
    return good ? NULL : wrong[kind];
}

static const char *check_members(const said *said) {
    bool has[USES] = {false}, lacks = false;
    for (int i = 0; i < MEMBERS; i++) {
        has[members[i].use] |= said->there[i];
        lacks |= members[i].use == EACH && !said->there[i];
    }
    if (lacks || !said->there[has[EXTENTS_1] ? MEMBER_count : MEMBER_reduced])
        return "it lacks op, dtype, reduced (in version 1: count) or calls";
    return has[EXTENTS_1] && has[AXES_2] ? "it has axes, and extents of version 1 beside them"
                                         : NULL;
}

static const char *read_members(cursor *self, said *out) {
    const char *wrong = NULL;
    if (!accept(self, '{')) return "it is no object of JSON";
    if (!accept(self, '}')) {
        do {
            wrong = read_member(self, out);
            if (wrong) return wrong;
        } while (accept(self, ','));
        if (!accept(self, '}')) return "it is no object of JSON";
    }
    return is_at_end(self) ? check_members(out) : "something follows the object";
}

static bool find_match(const char *name, redtune_match *out) {
    for (int i = 0; i <= (int)REDTUNE_MATCH_LIKE; i++)
        if (!strcmp(redtune_match_name((redtune_match)i), name)) {
            *out = (redtune_match)i;
            return true;
        }
    return false;
}

/* Of a problem whose class is known. */
static redtune_status read_axes_of(const said *said, redtune_problem *problem, redtune_error *err) {
    const uint64_t *number = said->number;
    if (!said->there[MEMBER_reduced]) {
        rdt_problem_segments_set_shape(
            problem, (rdt_extents){number[MEMBER_count], number[MEMBER_outer], number[MEMBER_inner],
                                   number[MEMBER_outer_step], number[MEMBER_step]});
        return REDTUNE_OK;
    }
    problem->greatest = number[MEMBER_greatest];
    problem->median = number[MEMBER_median];
    if (rdt_problem_axes_text_read(said->text[MEMBER_kept], said->text[MEMBER_reduced], problem))
        return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0,
                    "kept '%s' and reduced '%s' are no axes; give sizes with a space between, each "
                    "with '@' and its step behind it where the array is not packed",
                    said->text[MEMBER_kept], said->text[MEMBER_reduced]);
}

/* Of a problem by key. */
static redtune_status read_keys(const said *said, redtune_problem *problem, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    problem->keys = said->number[MEMBER_keys];
    if (said->there[MEMBER_key_dtype])
        status = redtune_dtype_find(said->text[MEMBER_key_dtype], &problem->key_dtype, err);
    if (status || !said->there[MEMBER_spread]) return status;
    const int spread = rdt_problem_find_spread(said->text[MEMBER_spread]);
    if (spread < 0) return rdt_fail(err, REDTUNE_INVALID, 0, "its spread is unknown");
    problem->spread = (redtune_spread)spread;
    return REDTUNE_OK;
}

redtune_status rdt_recording_line_read(const char *line, const char *end, redtune_recorded *out,
                                       redtune_error *err) {
    cursor at = {line, end};
    said said = {.there = {false}};
    redtune_recorded recorded = {.match = REDTUNE_MATCH_DEFAULT};
    redtune_problem *problem = &recorded.problem;
    const char *wrong = read_members(&at, &said);
    if (!wrong && said.there[MEMBER_match] && !find_match(said.text[MEMBER_match], &recorded.match))
        wrong = "its match is unknown";
    if (wrong) return rdt_fail(err, REDTUNE_INVALID, 0, "%s", wrong);
    recorded.calls = said.number[MEMBER_calls];
    recorded.ns = (double)said.number[MEMBER_ns];
    redtune_status status = redtune_op_find(said.text[MEMBER_op], &problem->op, err);
    if (!status) status = redtune_dtype_find(said.text[MEMBER_dtype], &problem->dtype, err);
    if (!status && said.there[MEMBER_result])
        status = redtune_dtype_find(said.text[MEMBER_result], &problem->result, err);
    const int order =
        said.there[MEMBER_order] ? rdt_problem_find_order(said.text[MEMBER_order]) : 0;
    if (!status && order < 0) status = rdt_fail(err, REDTUNE_INVALID, 0, "its order is unknown");
    problem->order = (redtune_order)order;
    const int accuracy = said.there[MEMBER_accuracy]
                             ? rdt_problem_ordering_find_accuracy(said.text[MEMBER_accuracy])
                             : 0;
    if (!status && accuracy < 0)
        status = rdt_fail(err, REDTUNE_INVALID, 0, "its accuracy is unknown");
    problem->accuracy = (redtune_accuracy)accuracy;
    const int layout =
        said.there[MEMBER_layout] ? rdt_problem_find_layout(said.text[MEMBER_layout]) : 0;
    if (!status && layout < 0) status = rdt_fail(err, REDTUNE_INVALID, 0, "its layout is unknown");
    problem->segmented = rdt_problem_segments_of((rdt_layout)layout);
    const int mask = said.there[MEMBER_mask] ? rdt_problem_find_mask(said.text[MEMBER_mask]) : 0;
    if (!status && mask < 0) status = rdt_fail(err, REDTUNE_INVALID, 0, "its mask is unknown");
    problem->mask = (redtune_mask)mask;
    if (!status) status = read_axes_of(&said, problem, err);
    if (!status) status = read_keys(&said, problem, err);
    if (!status) status = rdt_problem_resolve(problem, problem, err);
    if (!status) status = rdt_problem_strided_refuse_tuning(problem, err);
    if (!status) *out = recorded;
    return status;
}

void rdt_recording_line_write_problem(rdt_text *text, const redtune_problem *problem) {
    char kept[RDT_AXES_TEXT_BYTES], reduced[RDT_AXES_TEXT_BYTES];
    rdt_problem_axes_text_write(problem, true, kept);
    rdt_problem_axes_text_write(problem, false, reduced);
    rdt_text_addf(text, "\"op\":\"%s\",\"dtype\":\"%s\",\"result\":\"%s\",",
                  redtune_op_name(problem->op), redtune_dtype_name(problem->dtype),
                  redtune_dtype_name(problem->result));
    if (problem->order == REDTUNE_ORDER_FIXED) rdt_text_addf(text, "\"order\":\"fixed\",");
    if (problem->accuracy != REDTUNE_ACCURACY_PLAIN)
        rdt_text_addf(text, "\"accuracy\":\"%s\",",
                      rdt_problem_ordering_accuracy((int)problem->accuracy));
    if (problem->segmented)
        rdt_text_addf(text, "\"layout\":\"%s\",\"greatest\":%" PRIu64 ",\"median\":%" PRIu64 ",",
                      rdt_problem_layout_name(rdt_problem_layout(problem)), problem->greatest,
                      problem->median);
    if (problem->mask)
        rdt_text_addf(text, "\"mask\":\"%s\",", rdt_problem_mask_name((int)problem->mask));
    if (rdt_problem_is_keyed(problem))
        rdt_text_addf(text, "\"key_dtype\":\"%s\",\"spread\":\"%s\",\"keys\":%" PRIu64 ",",
                      redtune_dtype_name(problem->key_dtype),
                      rdt_problem_spread_name((int)problem->spread), problem->keys);
    rdt_text_addf(text, "\"kept\":\"%s\",\"reduced\":\"%s\",", kept, reduced);
}

void rdt_recording_line_write(rdt_text *text, const redtune_recorded *recorded) {
    const double most = 9e18; /* fits in 63 bits */
    rdt_text_add(text, "{");
    rdt_recording_line_write_problem(text, &recorded->problem);
    rdt_text_addf(text, "\"calls\":%" PRIu64 ",\"ns\":%" PRIu64 ",\"match\":\"%s\"}\n",
                  recorded->calls, (uint64_t)fmin(recorded->ns, most),
                  redtune_match_name(recorded->match));
}

/* ---- the first line -------------------------------------------------------------------------- */

static bool is_first_line(const char *line, const char *end) {
    char name[NAME_BYTES];
    uint64_t version = 0;
    cursor at = {line, end};
    return accept(&at, '{') && read_quoted(&at, name, sizeof name) && !strcmp(name, format_name) &&
           accept(&at, ':') && read_uint64(&at, &version) && version >= 1 &&
           version <= FORMAT_VERSION && accept(&at, '}') && is_at_end(&at);
}

redtune_status rdt_recording_line_check_first(const char *line, const char *end,
                                              redtune_error *err) {
    if (is_first_line(line, end)) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INVALID, 0, "it is not {\"%s\":%d}", format_name, FORMAT_VERSION);
}

void rdt_recording_line_write_first(rdt_text *text) {
    rdt_text_addf(text, "{\"%s\":%d}\n", format_name, FORMAT_VERSION);
}
