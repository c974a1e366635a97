/* Revisit: a second look at a problem that was searched, with what was found at the next larger
 * size since. */
#include "tuner/revisit.h"

#include <stdlib.h>
#include "tuner/field.h"
#include "tuner/near.h"

enum { LENT = 3 }; /* configs of the next size */

/* What is known of the problem and of the next one; owned here. */
typedef struct notes {
    rdt_trials known, other, next;
} notes;

static void free_notes(notes *notes) {
    rdt_trials_free(&notes->known);
    rdt_trials_free(&notes->other);
    rdt_trials_free(&notes->next);
}

static redtune_status take_notes(const rdt_series *series, size_t i, rdt_cache_state cache,
                                 notes *out, redtune_error *err) {
    const uint64_t here = series->problems[i].count, next = series->problems[i + 1].count;
    redtune_status status = rdt_trials_select(&series->known[cache], here, &out->known, err);
    if (!status) status = rdt_trials_select(&series->known[!cache], here, &out->other, err);
    if (!status) status = rdt_trials_select(&series->known[cache], next, &out->next, err);
    return status;
}

/* What the search has looked at here, and behind it what the next size lends. What only a border
 * measured counts as not looked at: a tune that goes on after a stop has it, and another not yet.
 */
static redtune_status gather(const rdt_search *search, const notes *notes, rdt_config **out,
                             size_t *count, redtune_error *err) {
    const rdt_space *space = rdt_codegen_space(search->codegen, search->family);
    const int careful = rdt_strategy_samples(search->strategy);
    size_t room = notes->known.count + LENT, lent = 0;
    rdt_config *configs = calloc(room, sizeof *configs);
    if (!configs) return rdt_fail_memory(err, room * sizeof *configs);
    *count = 0;
    for (size_t i = 0; i < notes->known.count; i++) {
        const rdt_trial *trial = &notes->known.trial[i];
        if (trial->outcome == RDT_OUTCOME_GOOD && trial->samples <= search->strategy->samples)
            *count += !rdt_config_parse_whole(space, trial->config, &configs[*count], NULL);
    }
    redtune_status status =
        rdt_near_best(space, &notes->next, careful, LENT, configs + *count, &lent, err);
    *count += lent;
    if (status)
        free(configs);
    else
        *out = configs;
    return status;
}

static redtune_status look_again(const rdt_search *search, const notes *notes,
                                 rdt_search_count *count, redtune_error *err) {
    rdt_field field;
    rdt_config *configs = NULL;
    size_t config_count = 0;
    redtune_status status = gather(search, notes, &configs, &config_count, err);
    if (!status) status = rdt_field_open_some(search, configs, config_count, &field, err);
    free(configs);
    if (status) return status;
    size_t *all = malloc(field.count * sizeof *all);
    if (!all) status = rdt_fail_memory(err, field.count * sizeof *all);
    for (size_t i = 0; !status && i < field.count; i++) all[i] = i;
    if (!status)
        status = rdt_field_measure(&field, all, field.count, search->strategy->samples, err);
    if (!status) status = rdt_search_rounds(&field, err);
    count->measured += field.now.measured;
    count->failed += field.now.failed;
    free(all);
    rdt_field_close(&field);
    return status;
}

redtune_status rdt_revisit_run(rdt_series *series, size_t i, rdt_cache_state cache,
                               rdt_search_count *count, redtune_error *err) {
    const rdt_search_hooks hooks = rdt_series_hooks_of(series);
    rdt_search search = rdt_series_search(series, &series->problems[i], cache, &hooks);
    notes notes = {.known = {0}};
    if (search.is_late && search.is_late(series)) return REDTUNE_OK;
    series->current = i;
    series->stage = cache == RDT_CACHE_COLD ? "cold" : "warm";
    redtune_status status = take_notes(series, i, cache, &notes, err);
    search.known = &notes.known;
    search.verified = &notes.other;
    if (!status && notes.known.count && notes.next.count)
        status = look_again(&search, &notes, count, err);
    free_notes(&notes);
    return status;
}
