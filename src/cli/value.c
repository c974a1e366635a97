/* Value: how the values of options are read. */
#include "cli/value.h"

#include <stdlib.h>
#include <string.h>
#include "cli/message.h"
#include "cli/names.h"

static redtune_status wrong(const rdt_taken *in, const char *reason) {
    return rdt_message_set(in->err, REDTUNE_INVALID, 0, "cannot use --%s '%.200s': %s",
                           in->row->name, in->value, reason);
}

/* What was wrong with the value is told already. */
static redtune_status told(const rdt_taken *in, redtune_status status) {
    return status ? rdt_message_within(in->err, "cannot use --%s", in->row->name) : REDTUNE_OK;
}

/* The member of the options that the row is for. */
static void *member(const rdt_taken *in) { return (char *)in->options + in->row->offset; }

redtune_status rdt_value_flag(const rdt_taken *in) {
    (*(int *)member(in))++;
    return REDTUNE_OK;
}

redtune_status rdt_value_string(const rdt_taken *in) {
    if (!*in->value) return wrong(in, "it is empty");
    *(const char **)member(in) = in->value;
    return REDTUNE_OK;
}

/* The first -o and the second. */
redtune_status rdt_value_outputs(const rdt_taken *in) {
    if (!*in->value) return wrong(in, "it is empty");
    if (in->options->second_output) return wrong(in, "no op has more than two results");
    if (in->options->output)
        in->options->second_output = in->value;
    else
        in->options->output = in->value;
    return REDTUNE_OK;
}

redtune_status rdt_value_parameter(const rdt_taken *in) {
    const char *number = strchr(in->value, '=');
    char *end = NULL;
    if (number) strtod(number + 1, &end);
    if (!number || number == in->value || end == number + 1 || *end || number[1] == ' ')
        return wrong(in, "give a name and a number, such as ddof=1");
    if (in->options->parameter_count == RDT_OPTIONS_PARAMETERS_MAX)
        return wrong(in, "no op has more than two");
    in->options->parameters[in->options->parameter_count++] = in->value;
    return REDTUNE_OK;
}

redtune_status rdt_value_device(const rdt_taken *in) {
    size_t digits = strspn(in->value, "0123456789");
    if ((!digits || in->value[digits]) && strcmp(in->value, "sim"))
        return wrong(in, "give one device: a number such as 0, or sim");
    return rdt_value_string(in);
}

/* Numbers with commas between, or a word for all. */
redtune_status rdt_value_devices(const rdt_taken *in) {
    const char *at = in->value;
    while (*at >= '0' && *at <= '9') {
        at += strspn(at, "0123456789");
        if (*at == ',' && at[1]) at++;
    }
    if (!*in->value ||
        (*at && strcmp(in->value, "sim") && strcmp(in->value, "all") && strcmp(in->value, "auto")))
        return wrong(in, "give numbers such as 0 or 0,1, or all, or sim");
    return rdt_value_string(in);
}

redtune_status rdt_value_part(const rdt_taken *in) {
    return rdt_shard_read(in->value, &in->options->shard, in->err);
}

redtune_status rdt_value_effort(const rdt_taken *in) {
    return redtune_effort_find(in->value, &in->options->effort, in->err);
}

redtune_status rdt_value_order(const rdt_taken *in) {
    const bool fixed = !strcmp(in->value, "fixed");
    if (!fixed && strcmp(in->value, "free")) return wrong(in, "give free or fixed");
    in->options->order = fixed ? REDTUNE_ORDER_FIXED : REDTUNE_ORDER_FREE_ALWAYS;
    return REDTUNE_OK;
}

redtune_status rdt_value_accuracy(const rdt_taken *in) {
    redtune_problem named = {.accuracy = REDTUNE_ACCURACY_PLAIN};
    for (; named.accuracy <= REDTUNE_ACCURACY_EXACT; named.accuracy++)
        if (!strcmp(in->value, rdt_shape_accuracy_name(&named))) {
            in->options->accuracy = named.accuracy;
            return REDTUNE_OK;
        }
    return wrong(in, "give plain, compensated or exact");
}

redtune_status rdt_value_key_dtype(const rdt_taken *in) {
    redtune_dtype_info dtype;
    redtune_status status = rdt_names_find_dtype(in->value, &in->options->key_dtype, in->err);
    if (!status) status = redtune_dtype_get(in->options->key_dtype, &dtype, in->err);
    if (status || dtype.kind == 'i' || dtype.kind == 'u') return status;
    return wrong(in, "give a dtype of integers, such as i32 or i64");
}

redtune_status rdt_value_spread(const rdt_taken *in) {
    for (int spread = 1; rdt_shape_spread_name((redtune_spread)spread); spread++)
        if (!strcmp(in->value, rdt_shape_spread_name((redtune_spread)spread))) {
            in->options->spread = (redtune_spread)spread;
            return REDTUNE_OK;
        }
    return wrong(in, "give uniform, skewed or one");
}

redtune_status rdt_value_whole(const rdt_taken *in) {
    char *end;
    size_t digits = strspn(in->value, "0123456789");
    uint64_t whole = strtoull(in->value, &end, 10);
    if (!digits || in->value[digits] || digits > 19)
        return wrong(in, "give a whole number of up to 19 digits");
    *(uint64_t *)member(in) = whole;
    return REDTUNE_OK;
}

redtune_status rdt_value_seconds(const rdt_taken *in) {
    double seconds;
    if (!rdt_number_read_seconds(in->value, &seconds))
        return wrong(in, "give seconds, such as 10, 2.5s or 1m, up to a week");
    *(double *)member(in) = seconds;
    return REDTUNE_OK;
}

redtune_status rdt_value_percent(const rdt_taken *in) {
    char *end;
    in->options->tolerance = *in->value >= '0' && *in->value <= '9' ? strtod(in->value, &end) : 0;
    if (!(in->options->tolerance > 0 && in->options->tolerance <= 1000) || *end)
        return wrong(in, "give percent, such as 5 or 0.5");
    return REDTUNE_OK;
}

static redtune_status read_number(const rdt_taken *in, const char *remedy) {
    const bool is = rdt_number_read_count(in->value, strlen(in->value), member(in));
    return is ? REDTUNE_OK : wrong(in, remedy);
}

redtune_status rdt_value_sample(const rdt_taken *in) {
    return read_number(in, "give a number from 1 on, or --all");
}

redtune_status rdt_value_number(const rdt_taken *in) {
    return read_number(in, "give a whole number from 1 on");
}

/* One name out of a list, or the whole of it for an option of one name; false once the list has
 * ended. */
static bool next_name(const rdt_option *row, const char **list, char name[64]) {
    if (!*list) return false;
    size_t length = strcspn(*list, strchr(row->argument, ',') ? "," : "");
    snprintf(name, 64, "%.*s", (int)length, *list);
    *list = (*list)[length] ? *list + length + 1 : NULL;
    return true;
}

redtune_status rdt_value_format(const rdt_taken *in) {
    if (strcmp(in->value, "json") != 0 && strcmp(in->value, "sqlite") != 0)
        return wrong(in, "give sqlite or json");
    return rdt_value_string(in);
}

redtune_status rdt_value_ops(const rdt_taken *in) {
    const char *list = in->value;
    char name[64];
    in->options->op_count = 0;
    while (next_name(in->row, &list, name)) {
        if (in->options->op_count == RDT_OPTIONS_LIST_MAX) return wrong(in, "too many names");
        redtune_status status =
            rdt_names_find_op(name, &in->options->ops[in->options->op_count], in->err);
        if (status) return status;
        in->options->op_count++;
    }
    return REDTUNE_OK;
}

redtune_status rdt_value_archs(const rdt_taken *in) {
    const char *at = in->value;
    in->options->arch_count = 0;
    do {
        char *end = NULL;
        const long number = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : 0;
        if (number < 75 || number > 999 || (*end && (*end != ',' || !end[1])))
            return wrong(in, "give numbers of 75 or more, such as 80,90");
        if (in->options->arch_count == RDT_OPTIONS_ARCH_MAX) return wrong(in, "too many numbers");
        in->options->archs[in->options->arch_count++] = (int)number;
        at = end + (*end == ',');
    } while (*at);
    return REDTUNE_OK;
}

redtune_status rdt_value_dtypes(const rdt_taken *in) {
    const char *list = in->value;
    char name[64];
    in->options->dtype_count = 0;
    while (next_name(in->row, &list, name)) {
        if (in->options->dtype_count == RDT_OPTIONS_LIST_MAX) return wrong(in, "too many names");
        redtune_status status =
            rdt_names_find_dtype(name, &in->options->dtypes[in->options->dtype_count], in->err);
        if (status) return status;
        in->options->dtype_count++;
    }
    return REDTUNE_OK;
}

redtune_status rdt_value_counts(const rdt_taken *in) {
    rdt_sizes *sizes = member(in);
    return told(in, rdt_number_read_counts(in->value, sizes->counts, &sizes->count_count, in->err));
}

redtune_status rdt_value_count(const rdt_taken *in) {
    return read_number(in, "give a whole number of elements from 1 to 2^60, such as 1000, 1e6, 4K");
}

/* A list, or one array for an option of one. */
redtune_status rdt_value_shapes(const rdt_taken *in) {
    const char *list = in->value;
    rdt_shape_array shape;
    bool more = strchr(in->row->argument, ',') != NULL;
    redtune_status status =
        more ? REDTUNE_OK : rdt_shape_read(in->value, strlen(in->value), &shape, in->err);
    while (!status && more) status = rdt_shape_read_next(&list, &shape, &more, in->err);
    if (status) return told(in, status);
    *(const char **)member(in) = in->value;
    return REDTUNE_OK;
}

redtune_status rdt_value_steps(const rdt_taken *in) {
    return told(in, rdt_shape_read_steps(in->value, &in->options->steps, in->err));
}

redtune_status rdt_value_axes(const rdt_taken *in) {
    return told(in, rdt_shape_read_axes(in->value, &in->options->axes, in->err));
}
