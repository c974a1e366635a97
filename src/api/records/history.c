/* History: the measurements of one problem class on this GPU that count. */
#include "api/records/history.h"

#include <string.h>
#include "api/records/current.h"

typedef struct reading {
    rdt_rows rows;
    const rdt_facts *gpu;
} reading;

static bool is_of_this_build(const rdt_row *row) {
    char build[sizeof row->origin.build];
    rdt_text_copy(build, sizeof build, rdt_codegen_build());
    return !strcmp(row->origin.build, build);
}

static redtune_status keep_of_this_build(void *user, const rdt_row *row, redtune_error *err) {
    reading *self = user;
    if (row->trial.imported || !rdt_facts_same_model(&row->gpu, self->gpu)) return REDTUNE_OK;
    /* Another build's wrong result may have been that build's fault. */
    if (row->trial.outcome != RDT_OUTCOME_GOOD && !is_of_this_build(row)) return REDTUNE_OK;
    return rdt_rows_add(&self->rows, row, err);
}

redtune_status rdt_history_read(rdt_tuning *tuning, rdt_codegen *codegen, const rdt_facts *gpu,
                                const redtune_problem *problem, rdt_cache_state cache,
                                rdt_trials *out, redtune_error *err) {
    reading self = {.gpu = gpu};
    rdt_trials trials = {0};
    redtune_status status = rdt_tuning_each(tuning, problem, cache, keep_of_this_build, &self, err);
    if (!status) status = rdt_current_mark(codegen, &self.rows, err);
    for (size_t i = 0; !status && i < self.rows.count; i++)
        if (self.rows.row[i].current)
            status = rdt_trials_add(&trials, &self.rows.row[i].trial, 1, err);
    rdt_rows_free(&self.rows);
    if (status)
        rdt_trials_free(&trials);
    else
        *out = trials;
    return status;
}
