/* Emit: the source of one configuration, with neither GPU nor driver. */
#include "api/emit.h"

#include <stdlib.h>

redtune_status rdt_emit_choose(rdt_codegen *codegen, const redtune_emission *emission, rdt_case at,
                               int *family, rdt_config *config, redtune_error *err) {
    const rdt_case typical = {at.problem, rdt_facts_typical()};
    redtune_status status = rdt_codegen_find(codegen, emission->family, family, err);
    if (!status) status = rdt_codegen_default(codegen, *family, typical, config, err);
    if (!status && emission->config)
        status =
            rdt_config_parse(rdt_codegen_space(codegen, *family), emission->config, config, err);
    if (!status) status = rdt_codegen_check(codegen, *family, at, config, err);
    /* The config is the caller's own: one that is not allowed was asked for wrongly. */
    if (status == REDTUNE_UNSUPPORTED && emission->config) {
        status = REDTUNE_INVALID;
        if (err) err->status = status;
    }
    return status;
}

redtune_status redtune_emit(const redtune_emission *emission, char **source, redtune_error *err) {
    if (!emission || !source)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot emit: %s is NULL",
                        emission ? "source" : "emission");
    redtune_problem problem;
    redtune_status status = rdt_problem_resolve(&emission->problem, &problem, err);
    if (status) return status;
    rdt_case at = {&problem, rdt_facts_typical()};
    rdt_codegen *codegen = NULL;
    rdt_config config;
    int family = 0;
    status = rdt_codegen_open(&codegen, err);
    if (!status) status = rdt_emit_choose(codegen, emission, at, &family, &config, err);
    if (!status)
        status =
            rdt_codegen_render(codegen, family, at, &config, emission->lines != 0, source, err);
    rdt_codegen_close(codegen);
    return status;
}

void redtune_free(void *pointer) {
    free(pointer);
}
