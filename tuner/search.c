/* Search: the fastest config for one problem, by rounds that narrow the field. */
#include "tuner/search.h"

#include <stdlib.h>
#include "tuner/field.h"

/* A round times the best `keep` of the round before (and the default) with so many samples each. */
typedef struct round_plan {
    size_t keep;
    int samples;
} round_plan;

static const round_plan rounds[] = {{24, 9}, {6, RDT_SEARCH_FINAL_SAMPLES}};
enum { ROUND_COUNT = sizeof rounds / sizeof *rounds, FIRST_SAMPLES = 3 };

/* The best `keep` good entries, and the default behind them if it is good. */
static size_t narrow(const rdt_field *field, size_t keep, size_t *indices) {
    size_t good = rdt_field_rank(field, indices);
    if (keep >= good) return good;
    for (size_t i = keep; i < good; i++) {
        if (indices[i] != field->standard) continue;
        indices[keep++] = field->standard;
        break;
    }
    return keep;
}

static redtune_status run_rounds(rdt_field *field, size_t *indices, redtune_error *err) {
    for (size_t i = 0; i < field->count; i++) indices[i] = i;
    redtune_status status = rdt_field_measure(field, indices, field->count, FIRST_SAMPLES, err);
    for (int i = 0; !status && i < ROUND_COUNT; i++) {
        size_t count = narrow(field, rounds[i].keep, indices);
        status = rdt_field_measure(field, indices, count, rounds[i].samples, err);
    }
    return status;
}

/* The fastest of those timed most often. */
static redtune_status choose(const rdt_field *field, size_t *indices, rdt_found *out,
                             redtune_error *err) {
    size_t good = rdt_field_rank(field, indices), first = 0;
    if (!good)
        return rdt_fail(err, REDTUNE_WRONG, 0,
                        "cannot tune: none of %zu candidates compiles and gives the right result",
                        field->count);
    while (first < good && field->entry[indices[first]].samples < RDT_SEARCH_FINAL_SAMPLES) first++;
    const rdt_entry *winner = &field->entry[indices[first < good ? first : 0]];
    *out = (rdt_found){
        .winner = winner->candidate.config,
        .winner_ns = winner->median_ns,
        .default_ns = field->entry[field->standard].median_ns,
        .measured = field->measured,
        .failed = field->failed,
    };
    return REDTUNE_OK;
}

redtune_status rdt_search_run(const rdt_search *search, rdt_found *out, redtune_error *err) {
    rdt_field field;
    redtune_status status = rdt_field_open(search, &field, err);
    if (status) return status;
    size_t *indices = malloc((field.count ? field.count : 1) * sizeof *indices);
    if (!indices) status = rdt_fail_memory(err, field.count * sizeof *indices);
    if (!status) status = run_rounds(&field, indices, err);
    if (!status) status = choose(&field, indices, out, err);
    free(indices);
    rdt_field_close(&field);
    return status;
}
