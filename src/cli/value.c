/* Value: how the values of options are read. */
#include "cli/value.h"

#include <stdlib.h>
#include <string.h>
#include "cli/message.h"
#include "cli/names.h"

static redtune_status wrong(const rdt_option *row, const char *value, const char *reason,
                            redtune_error *err) {
    return rdt_message_set(err, REDTUNE_INVALID, 0, "cannot use --%s '%.200s': %s", row->name,
                           value, reason);
}

redtune_status rdt_value_flag(rdt_options *options, const rdt_option *row, const char *value,
                              redtune_error *err) {
    (void)value, (void)err;
    (*(int *)((char *)options + row->offset))++;
    return REDTUNE_OK;
}

redtune_status rdt_value_string(rdt_options *options, const rdt_option *row, const char *value,
                                redtune_error *err) {
    if (!*value) return wrong(row, value, "it is empty", err);
    *(const char **)((char *)options + row->offset) = value;
    return REDTUNE_OK;
}

/* The first -o and the second. */
redtune_status rdt_value_outputs(rdt_options *options, const rdt_option *row, const char *value,
                                 redtune_error *err) {
    if (!*value) return wrong(row, value, "it is empty", err);
    if (options->second_output) return wrong(row, value, "no op has more than two results", err);
    if (options->output)
        options->second_output = value;
    else
        options->output = value;
    return REDTUNE_OK;
}

redtune_status rdt_value_parameter(rdt_options *options, const rdt_option *row, const char *value,
                                   redtune_error *err) {
    const char *number = strchr(value, '=');
    char *end = NULL;
    if (number) strtod(number + 1, &end);
    if (!number || number == value || end == number + 1 || *end || number[1] == ' ')
        return wrong(row, value, "give a name and a number, such as ddof=1", err);
    if (options->parameter_count == RDT_OPTIONS_PARAMETERS_MAX)
        return wrong(row, value, "no op has more than two", err);
    options->parameters[options->parameter_count++] = value;
    return REDTUNE_OK;
}

redtune_status rdt_value_device(rdt_options *options, const rdt_option *row, const char *value,
                                redtune_error *err) {
    size_t digits = strspn(value, "0123456789");
    if ((!digits || value[digits]) && strcmp(value, "sim"))
        return wrong(row, value, "give one device: a number such as 0, or sim", err);
    return rdt_value_string(options, row, value, err);
}

/* Numbers with commas between, or a word for all. */
redtune_status rdt_value_devices(rdt_options *options, const rdt_option *row, const char *value,
                                 redtune_error *err) {
    const char *at = value;
    while (*at >= '0' && *at <= '9') {
        at += strspn(at, "0123456789");
        if (*at == ',' && at[1]) at++;
    }
    if (!*value || (*at && strcmp(value, "sim") && strcmp(value, "all") && strcmp(value, "auto")))
        return wrong(row, value, "give numbers such as 0 or 0,1, or all, or sim", err);
    return rdt_value_string(options, row, value, err);
}

redtune_status rdt_value_part(rdt_options *options, const rdt_option *row, const char *value,
                              redtune_error *err) {
    (void)row;
    return rdt_shard_read(value, &options->shard, err);
}

redtune_status rdt_value_effort(rdt_options *options, const rdt_option *row, const char *value,
                                redtune_error *err) {
    (void)row;
    return redtune_effort_find(value, &options->effort, err);
}

redtune_status rdt_value_order(rdt_options *options, const rdt_option *row, const char *value,
                               redtune_error *err) {
    const bool fixed = !strcmp(value, "fixed");
    if (!fixed && strcmp(value, "free")) return wrong(row, value, "give free or fixed", err);
    options->order = fixed ? REDTUNE_ORDER_FIXED : REDTUNE_ORDER_FREE_ALWAYS;
    return REDTUNE_OK;
}

redtune_status rdt_value_accuracy(rdt_options *options, const rdt_option *row, const char *value,
                                  redtune_error *err) {
    redtune_problem named = {.accuracy = REDTUNE_ACCURACY_PLAIN};
    for (; named.accuracy <= REDTUNE_ACCURACY_EXACT; named.accuracy++)
        if (!strcmp(value, rdt_shape_accuracy_name(&named))) {
            options->accuracy = named.accuracy;
            return REDTUNE_OK;
        }
    return wrong(row, value, "give plain, compensated or exact", err);
}

redtune_status rdt_value_key_dtype(rdt_options *options, const rdt_option *row, const char *value,
                                   redtune_error *err) {
    redtune_dtype_info dtype;
    redtune_status status = rdt_names_find_dtype(value, &options->key_dtype, err);
    if (!status) status = redtune_dtype_get(options->key_dtype, &dtype, err);
    if (status || dtype.kind == 'i' || dtype.kind == 'u') return status;
    return wrong(row, value, "give a dtype of integers, such as i32 or i64", err);
}

redtune_status rdt_value_spread(rdt_options *options, const rdt_option *row, const char *value,
                                redtune_error *err) {
    for (int spread = 1; rdt_shape_spread_name((redtune_spread)spread); spread++)
        if (!strcmp(value, rdt_shape_spread_name((redtune_spread)spread))) {
            options->spread = (redtune_spread)spread;
            return REDTUNE_OK;
        }
    return wrong(row, value, "give uniform, skewed or one", err);
}

redtune_status rdt_value_whole(rdt_options *options, const rdt_option *row, const char *value,
                               redtune_error *err) {
    char *end;
    size_t digits = strspn(value, "0123456789");
    uint64_t whole = strtoull(value, &end, 10);
    if (!digits || value[digits] || digits > 19)
        return wrong(row, value, "give a whole number of up to 19 digits", err);
    *(uint64_t *)((char *)options + row->offset) = whole;
    return REDTUNE_OK;
}

redtune_status rdt_value_seconds(rdt_options *options, const rdt_option *row, const char *value,
                                 redtune_error *err) {
    double seconds;
    if (!rdt_number_read_seconds(value, &seconds))
        return wrong(row, value, "give seconds, such as 10, 2.5s or 1m, up to a week", err);
    *(double *)((char *)options + row->offset) = seconds;
    return REDTUNE_OK;
}

redtune_status rdt_value_percent(rdt_options *options, const rdt_option *row, const char *value,
                                 redtune_error *err) {
    char *end;
    options->tolerance = *value >= '0' && *value <= '9' ? strtod(value, &end) : 0;
    if (!(options->tolerance > 0 && options->tolerance <= 1000) || *end)
        return wrong(row, value, "give percent, such as 5 or 0.5", err);
    return REDTUNE_OK;
}

static redtune_status read_number(rdt_options *options, const rdt_option *row, const char *value,
                                  const char *remedy, redtune_error *err) {
    uint64_t *number = (uint64_t *)(void *)((char *)options + row->offset);
    if (!rdt_number_read_count(value, strlen(value), number)) return wrong(row, value, remedy, err);
    return REDTUNE_OK;
}

redtune_status rdt_value_sample(rdt_options *options, const rdt_option *row, const char *value,
                                redtune_error *err) {
    return read_number(options, row, value, "give a number from 1 on, or --all", err);
}

redtune_status rdt_value_number(rdt_options *options, const rdt_option *row, const char *value,
                                redtune_error *err) {
    return read_number(options, row, value, "give a whole number from 1 on", err);
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

redtune_status rdt_value_format(rdt_options *options, const rdt_option *row, const char *value,
                                redtune_error *err) {
    if (strcmp(value, "json") != 0 && strcmp(value, "sqlite") != 0)
        return wrong(row, value, "give sqlite or json", err);
    return rdt_value_string(options, row, value, err);
}

redtune_status rdt_value_ops(rdt_options *options, const rdt_option *row, const char *value,
                             redtune_error *err) {
    const char *list = value;
    char name[64];
    options->op_count = 0;
    while (next_name(row, &list, name)) {
        if (options->op_count == RDT_OPTIONS_LIST_MAX)
            return wrong(row, value, "too many names", err);
        redtune_status status = rdt_names_find_op(name, &options->ops[options->op_count], err);
        if (status) return status;
        options->op_count++;
    }
    return REDTUNE_OK;
}

redtune_status rdt_value_archs(rdt_options *options, const rdt_option *row, const char *value,
                               redtune_error *err) {
    const char *at = value;
    options->arch_count = 0;
    do {
        char *end = NULL;
        const long number = *at >= '0' && *at <= '9' ? strtol(at, &end, 10) : 0;
        if (number < 75 || number > 999 || (*end && (*end != ',' || !end[1])))
            return wrong(row, value, "give numbers of 75 or more, such as 80,90", err);
        if (options->arch_count == RDT_OPTIONS_ARCH_MAX)
            return wrong(row, value, "too many numbers", err);
        options->archs[options->arch_count++] = (int)number;
        at = end + (*end == ',');
    } while (*at);
    return REDTUNE_OK;
}

redtune_status rdt_value_dtypes(rdt_options *options, const rdt_option *row, const char *value,
                                redtune_error *err) {
    const char *list = value;
    char name[64];
    options->dtype_count = 0;
    while (next_name(row, &list, name)) {
        if (options->dtype_count == RDT_OPTIONS_LIST_MAX)
            return wrong(row, value, "too many names", err);
        redtune_status status =
            rdt_names_find_dtype(name, &options->dtypes[options->dtype_count], err);
        if (status) return status;
        options->dtype_count++;
    }
    return REDTUNE_OK;
}

redtune_status rdt_value_counts(rdt_options *options, const rdt_option *row, const char *value,
                                redtune_error *err) {
    rdt_sizes *sizes = (rdt_sizes *)(void *)((char *)options + row->offset);
    redtune_status status = rdt_number_read_counts(value, sizes->counts, &sizes->count_count, err);
    if (status) rdt_message_within(err, "cannot use --%s", row->name);
    return status;
}

redtune_status rdt_value_count(rdt_options *options, const rdt_option *row, const char *value,
                               redtune_error *err) {
    return read_number(options, row, value,
                       "give a whole number of elements from 1 to 2^60, such as 1000, 1e6, 4K",
                       err);
}

/* A list, or one array for an option of one. */
redtune_status rdt_value_shapes(rdt_options *options, const rdt_option *row, const char *value,
                                redtune_error *err) {
    const char *list = value;
    rdt_shape_array shape;
    bool more = strchr(row->argument, ',') != NULL;
    redtune_status status = more ? REDTUNE_OK : rdt_shape_read(value, strlen(value), &shape, err);
    while (!status && more) status = rdt_shape_read_next(&list, &shape, &more, err);
    if (status) return rdt_message_within(err, "cannot use --%s", row->name);
    *(const char **)(void *)((char *)options + row->offset) = value;
    return REDTUNE_OK;
}

redtune_status rdt_value_steps(rdt_options *options, const rdt_option *row, const char *value,
                               redtune_error *err) {
    redtune_status status = rdt_shape_read_steps(value, &options->steps, err);
    return status ? rdt_message_within(err, "cannot use --%s", row->name) : REDTUNE_OK;
}

redtune_status rdt_value_axes(rdt_options *options, const rdt_option *row, const char *value,
                              redtune_error *err) {
    redtune_status status = rdt_shape_read_axes(value, &options->axes, err);
    return status ? rdt_message_within(err, "cannot use --%s", row->name) : REDTUNE_OK;
}
