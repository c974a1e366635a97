/* Local: the lab of this process: its GPU memory, its kernels and its timer. */
#include "tuner/local.h"

#include <stdlib.h>
#include <string.h>
#include "tuner/measure.h"
#include "tuner/verify.h"

struct rdt_local {
    rdt_local_parts parts;
    redtune_problem largest;
    rdt_rig *rig;   /* NULL until the first use */
    rdt_bank *bank; /* of one family; likewise */
    int family;
};

/* The rig, and the bank of the batch's family. */
static redtune_status furnish(rdt_local *self, const rdt_batch *batch, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    if (!self->rig) status = rdt_rig_open(self->parts.context, &self->largest, &self->rig, err);
    if (status || (self->bank && self->family == batch->family)) return status;
    rdt_bank_destroy(self->bank);
    self->bank = NULL;
    self->family = batch->family;
    return rdt_bank_create(self->rig, self->parts.codegen, batch->family, batch->problem,
                           self->parts.make, self->parts.user, &self->bank, err);
}

static rdt_verdict judge(rdt_outcome outcome, const redtune_error *why) {
    rdt_verdict verdict = {.outcome = outcome};
    if (outcome != RDT_OUTCOME_GOOD)
        rdt_text_copy(verdict.cause, sizeof verdict.cause, why->message);
    return verdict;
}

/* Whose failure it was. */
static redtune_status within(const rdt_local *self, const rdt_batch *batch, size_t i,
                             redtune_status status, redtune_error *err) {
    char text[RDT_CONFIG_TEXT_BYTES];
    rdt_config_format(rdt_codegen_space(self->parts.codegen, batch->family),
                      &batch->candidates[i].config, text);
    return rdt_fail_within(err, status, "config %s", text);
}

/* The candidate's kernel, made and checked at its edges the first time. */
static redtune_status get_kernel(const rdt_local *self, const rdt_batch *batch, size_t i,
                                 const rdt_kernel **kernel, rdt_verdict *verdict,
                                 redtune_error *err) {
    const rdt_candidate *each = &batch->candidates[i];
    const rdt_bank_entry *entry = NULL;
    redtune_status status =
        rdt_bank_get(self->bank, batch->problem, &each->config, &each->launch, &entry, err);
    if (status) return status;
    *kernel = entry->kernel;
    *verdict = judge(entry->outcome, &entry->error);
    return REDTUNE_OK;
}

static redtune_status verify_one(const rdt_local *self, const rdt_batch *batch, size_t i,
                                 rdt_verdict *verdict, redtune_error *err) {
    const rdt_kernel *kernel = NULL;
    redtune_error why;
    redtune_status status = get_kernel(self, batch, i, &kernel, verdict, err);
    if (status || verdict->outcome != RDT_OUTCOME_GOOD) return status;
    status =
        rdt_verify_count(self->rig, batch->problem, kernel, &batch->candidates[i].launch, &why);
    if (status == REDTUNE_WRONG) {
        *verdict = judge(RDT_OUTCOME_WRONG, &why);
        return REDTUNE_OK;
    }
    if (status && err) *err = why;
    return status;
}

static redtune_status verify(void *user, const rdt_batch *batch, rdt_verdict *verdicts,
                             redtune_error *err) {
    rdt_local *self = user;
    redtune_status status = furnish(self, batch, err);
    if (status) return status;
    for (size_t i = 0; !status && i < batch->count; i++) {
        status = verify_one(self, batch, i, &verdicts[i], err);
        if (status) return within(self, batch, i, status, err);
    }
    return status;
}

/* Records the candidate's calls; *out stays NULL if it is not good. */
static redtune_status open_one(const rdt_local *self, const rdt_batch *batch, rdt_cache_state cache,
                               size_t i, rdt_verdict *verdict, rdt_measurement **out,
                               redtune_error *err) {
    const rdt_kernel *kernel = NULL;
    if (verdict->outcome != RDT_OUTCOME_GOOD) return REDTUNE_OK;
    redtune_status status = get_kernel(self, batch, i, &kernel, verdict, err);
    if (status || verdict->outcome != RDT_OUTCOME_GOOD) return status;
    rdt_measured what = {batch->problem, cache, kernel, &batch->candidates[i].launch};
    return rdt_measurement_open(self->rig, self->bank, what, out, err);
}

static redtune_status time_opened(const rdt_batch *batch, rdt_measurement *const *opened,
                                  int samples, double *sample_ns, size_t *at, redtune_error *err) {
    for (int j = 0; j < samples; j++)
        for (size_t i = 0; i < batch->count; i++) {
            double *sample = &sample_ns[i * (size_t)samples + (size_t)j];
            *at = i;
            *sample = 0;
            redtune_status status =
                opened[i] ? rdt_measurement_sample(opened[i], sample, err) : REDTUNE_OK;
            if (status) return status;
        }
    return REDTUNE_OK;
}

static redtune_status time_batch(void *user, const rdt_batch *batch, rdt_cache_state cache,
                                 int samples, double *sample_ns, rdt_verdict *verdicts,
                                 rdt_conditions *conditions, redtune_error *err) {
    rdt_local *self = user;
    rdt_measurement **opened = NULL;
    size_t at = 0;
    redtune_status status = furnish(self, batch, err);
    if (status) return status;
    opened = calloc(batch->count ? batch->count : 1, sizeof *opened);
    if (!opened) return rdt_fail_memory(err, batch->count * sizeof *opened);
    for (size_t i = 0; !status && i < batch->count; i++) {
        conditions[i] = (rdt_conditions){0};
        at = i;
        status = open_one(self, batch, cache, i, &verdicts[i], &opened[i], err);
    }
    if (!status) status = time_opened(batch, opened, samples, sample_ns, &at, err);
    if (status) status = within(self, batch, at, status, err);
    for (size_t i = 0; i < batch->count; i++) rdt_measurement_close(opened[i]);
    free(opened);
    return status;
}

redtune_status rdt_local_create(const rdt_local_parts *parts, const redtune_problem *largest,
                                rdt_local **out, redtune_error *err) {
    rdt_local *self = calloc(1, sizeof *self);
    if (!self) return rdt_fail_memory(err, sizeof *self);
    self->parts = *parts;
    self->largest = *largest;
    *out = self;
    return REDTUNE_OK;
}

void rdt_local_destroy(rdt_local *self) {
    if (!self) return;
    rdt_bank_destroy(self->bank);
    rdt_rig_close(self->rig);
    free(self);
}

rdt_lab rdt_local_lab(rdt_local *self) {
    return (rdt_lab){.self = self, .verify = verify, .time = time_batch};
}
