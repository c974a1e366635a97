/* Known: what the tuning database has of one problem class on this GPU with these templates. */
#include "api/known.h"

#include <stdlib.h>
#include <string.h>

typedef struct reading {
    rdt_known known;
    const rdt_facts *gpu;
    const char *templates;
} reading;

static redtune_status keep(void *user, const rdt_row *row, redtune_error *err) {
    reading *self = user;
    rdt_known *known = &self->known;
    if (strcmp(row->origin.templates, self->templates) ||
        !rdt_facts_same_model(&row->gpu, self->gpu))
        return REDTUNE_OK;
    if (known->count == known->capacity) {
        size_t capacity = known->capacity ? 2 * known->capacity : 256;
        rdt_trial *grown = realloc(known->trial, capacity * sizeof *grown);
        if (!grown) return rdt_fail_memory(err, capacity * sizeof *grown);
        known->trial = grown;
        known->capacity = capacity;
    }
    known->trial[known->count++] = row->trial;
    return REDTUNE_OK;
}

redtune_status rdt_known_read(rdt_tuning *tuning, const rdt_facts *gpu, const char *templates,
                              const redtune_problem *problem, rdt_cache_state cache, rdt_known *out,
                              redtune_error *err) {
    reading self = {.gpu = gpu, .templates = templates};
    redtune_status status = rdt_tuning_each(tuning, problem, cache, keep, &self, err);
    if (status)
        rdt_known_free(&self.known);
    else
        *out = self.known;
    return status;
}

void rdt_known_free(rdt_known *known) {
    free(known->trial);
    *known = (rdt_known){0};
}

size_t rdt_known_at(const rdt_known *known, uint64_t count, const rdt_trial **first) {
    size_t from = 0;
    while (from < known->count && known->trial[from].problem.count != count) from++;
    size_t end = from;
    while (end < known->count && known->trial[end].problem.count == count) end++;
    *first = from < end ? &known->trial[from] : NULL;
    return end - from;
}
