/* Emit: the source of one configuration, with neither GPU nor driver. */
#include "api/build/emit.h"

#include <stdlib.h>
#include "base/reserved.h"
#include "redtune/records.h"
#include "redtune/tools.h"

redtune_status rdt_emit_choose(rdt_codegen *codegen, const redtune_emission *emission, rdt_case at,
                               rdt_point *out, redtune_error *err) {
    const rdt_case typical = {at.problem, rdt_facts_typical()};
    redtune_status status =
        rdt_rules_find(codegen, typical, emission->family, emission->config, out, err);
    if (!status) status = rdt_rules_check(codegen, at, out, err);
    /* The config is the caller's own: one that is not allowed was asked for wrongly. */
    if (status == REDTUNE_UNSUPPORTED && emission->config) {
        status = REDTUNE_INVALID;
        if (err) err->status = status;
    }
    return status;
}

/* The GPU to render for, and, where none is named, the family and config that it would run. */
static redtune_status find_gpu(const redtune_emission *emission, redtune_explanation *found,
                               rdt_facts *facts, redtune_emission *out, redtune_error *err) {
    const redtune_question question = {
        .database = emission->database, .gpu = emission->gpu, .problem = emission->problem};
    redtune_status status = redtune_explain(&question, found, err);
    if (status) return status;
    facts->major = found->gpu.major;
    facts->minor = found->gpu.minor;
    facts->sm_count = found->gpu.sm_count;
    facts->l2_bytes = found->gpu.l2_bytes;
    *out = *emission;
    if (emission->family || emission->config) return REDTUNE_OK;
    out->family = found->info.family;
    out->config = found->info.config;
    return REDTUNE_OK;
}

redtune_status redtune_emit(const redtune_emission *emission, char **source, redtune_error *err) {
    if (!emission || !source)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot emit: %s is NULL",
                        emission ? "source" : "emission");
    redtune_problem problem;
    redtune_status status = rdt_reserved_check(RDT_RESERVED(emission), "redtune_emission", err);
    if (!status) status = rdt_problem_resolve(&emission->problem, &problem, err);
    if (status) return status;
    rdt_facts facts = *rdt_facts_typical();
    rdt_case at = {&problem, &facts};
    redtune_explanation found;
    redtune_emission wanted = *emission;
    rdt_codegen *codegen = NULL;
    rdt_point point;
    if (emission->gpu) status = find_gpu(emission, &found, &facts, &wanted, err);
    if (!status) status = rdt_codegen_open(&codegen, err);
    if (!status) status = rdt_emit_choose(codegen, &wanted, at, &point, err);
    if (!status) status = rdt_render_source(codegen, at, &point, emission->lines != 0, source, err);
    rdt_codegen_close(codegen);
    return status;
}

void redtune_free(void *pointer) { free(pointer); }
