/* History: what the tuning database has of one problem class on this GPU with these templates. */
#include "api/records/history.h"

#include <string.h>
#include "codegen/codegen.h"

typedef struct reading {
    rdt_trials trials;
    const rdt_facts *gpu;
    const char *templates;
} reading;

static bool is_of_this_build(const rdt_row *row) {
    char build[sizeof row->origin.build];
    rdt_text_copy(build, sizeof build, rdt_codegen_build());
    return !strcmp(row->origin.build, build);
}

static redtune_status keep_of_this_build(void *user, const rdt_row *row, redtune_error *err) {
    reading *self = user;
    if (row->trial.imported || strcmp(row->origin.templates, self->templates) ||
        !rdt_facts_same_model(&row->gpu, self->gpu))
        return REDTUNE_OK;
    /* What another build found wrong may have been its own fault. */
    if (row->trial.outcome != RDT_OUTCOME_GOOD && !is_of_this_build(row)) return REDTUNE_OK;
    return rdt_trials_add(&self->trials, &row->trial, 1, err);
}

redtune_status rdt_history_read(rdt_tuning *tuning, const rdt_facts *gpu, const char *templates,
                                const redtune_problem *problem, rdt_cache_state cache,
                                rdt_trials *out, redtune_error *err) {
    reading self = {.gpu = gpu, .templates = templates};
    redtune_status status = rdt_tuning_each(tuning, problem, cache, keep_of_this_build, &self, err);
    if (status)
        rdt_trials_free(&self.trials);
    else
        *out = self.trials;
    return status;
}
