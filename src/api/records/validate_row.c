/* Validate row: whether a row from elsewhere is one that a tune with these templates could
 * give. */
#include "api/records/validate_row.h"

#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include "api/records/convert.h"

/* No launch takes less, and no memory is faster: bounds for what a file says of an unknown GPU. */
static const double call_least_ns = 50;
static const double bus_most_gbps = 100e3;
/* L2 caches are so much faster than their memory at most. */
static const double cache_speedup = 16;

/* A row's texts may be shown (cache/row.h). Those of a stranger have no markup either, and names
 * nothing that a shell, a table or a format string would take for more than a name. */
static const char markup[] = "<>&";
static const char signs[] = "<>&\"'`\\$%;{}[]|=*?!^~";

static bool lacks(const char *text, const char *characters) { return !strpbrk(text, characters); }

static bool is_hash(const char *text, size_t bytes) {
    return strlen(text) == bytes - 1 && !text[strspn(text, "0123456789abcdef")];
}

bool rdt_validate_row_is_label(const char *text) {
    return rdt_text_is_plain(text) && lacks(text, signs);
}

/* Returns the reason, and takes the value that it is about. */
static const char *tell_value(rdt_validate_row_value out, const char *value, const char *reason) {
    rdt_text_copy_plain(out, sizeof(rdt_validate_row_value), value);
    return reason;
}

static const char *check_texts(const rdt_row *row, rdt_validate_row_value value) {
    if (!lacks(row->gpu.name, signs))
        return tell_value(value, row->gpu.name, "the name of its GPU has odd characters");
    if (!rdt_validate_row_is_label(row->origin.machine))
        return tell_value(value, row->origin.machine, "its machine's label has odd characters");
    if (!lacks(row->trial.cause, markup))
        return tell_value(value, row->trial.cause, "its cause has odd characters");
    if (!is_hash(row->origin.templates, RDT_HASH_TEXT_BYTES))
        return tell_value(value, row->origin.templates, "its version of the templates is invalid");
    if (*row->trial.kernel && !is_hash(row->trial.kernel, RDT_KERNEL_BYTES))
        return tell_value(value, row->trial.kernel, "the hash of its kernel is invalid");
    return NULL;
}

static const char *check_config(rdt_row *row, rdt_codegen *codegen, rdt_validate_row_value value) {
    rdt_trial *trial = &row->trial;
    const rdt_facts facts = rdt_convert_complete(&row->gpu);
    const rdt_spaces *spaces = rdt_codegen_spaces(codegen);
    rdt_point point = {.family = 0};
    char family[RDT_NAME_BYTES], config[RDT_CONFIG_TEXT_BYTES];
    redtune_error ignored;
    if (rdt_space_find_family(spaces, trial->family, &point.family, &ignored))
        return tell_value(value, trial->family, "the templates have no such family");
    rdt_point_renew(spaces, &point, trial->config);
    if (rdt_point_parse(spaces, trial->config, &point, &ignored))
        return tell_value(value, trial->config, "its config is not in the templates' space");
    /* Written out it must be the same: every parameter is there, once, and in order. */
    rdt_point_write(spaces, &point, family, config);
    if (strcmp(config, trial->config))
        return tell_value(value, trial->config, "its config is not written as it would be here");
    const bool absent = rdt_op_find(trial->problem.op)->absent;
    if (!absent && rdt_rules_check(codegen, (rdt_case){&trial->problem, &facts}, &point, &ignored))
        return tell_value(value, trial->config, "the templates do not allow its config there");
    int rank = rdt_point_rank(spaces, &point);
    bool same_space = !strcmp(row->origin.templates, rdt_codegen_hash(codegen));
    if (same_space && trial->rank != INT_MAX && trial->rank != rank)
        return tell_value(value, trial->config, "its rank is not that of its config");
    if (trial->rank != INT_MAX) trial->rank = rank;
    return NULL;
}

/* At the least: rows that overlap are read from memory once. */
static double bytes_read(const redtune_problem *problem) {
    const uint64_t elements = rdt_problem_elements(problem), reach = rdt_problem_reach(problem);
    return (double)(elements < reach ? elements : reach) * (double)rdt_problem_input_bytes(problem);
}

static const char *check_times(const rdt_row *row, int64_t latest, rdt_validate_row_value value) {
    char number[32];
    const rdt_trial *trial = &row->trial;
    snprintf(number, sizeof number, "%" PRId64, row->date);
    if (row->date > latest) return tell_value(value, number, "its date is in the future");
    if (trial->outcome != RDT_OUTCOME_GOOD) return NULL;
    double bytes = bytes_read(&trial->problem);
    double peak_gbps = rdt_facts_peak_gbps(&row->gpu);
    if (peak_gbps <= 0 || peak_gbps > bus_most_gbps) peak_gbps = bus_most_gbps;
    if (trial->cache == RDT_CACHE_WARM) peak_gbps *= cache_speedup;
    snprintf(number, sizeof number, "%.6g ns", trial->median_ns);
    if (trial->median_ns < call_least_ns || trial->median_ns * peak_gbps < bytes)
        return tell_value(value, number, "it claims a time below what its GPU's memory allows");
    return NULL;
}

const char *rdt_validate_row_check(rdt_row *row, rdt_codegen *codegen, int64_t latest,
                                   rdt_validate_row_value value) {
    const char *wrong = check_texts(row, value);
    if (!wrong) wrong = check_times(row, latest, value);
    return wrong ? wrong : check_config(row, codegen, value);
}
