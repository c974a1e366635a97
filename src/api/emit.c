/* Emit: the source of one configuration, with neither GPU nor driver. */
#include <stdlib.h>
#include "codegen/codegen.h"

static redtune_status render(rdt_codegen *codegen, const redtune_emission *emission,
                             const redtune_problem *problem, char **source, redtune_error *err) {
    int family = 0;
    rdt_case at = {problem, rdt_facts_typical()};
    rdt_config config;
    redtune_status status = rdt_codegen_find(codegen, emission->family, &family, err);
    if (!status) status = rdt_codegen_default(codegen, family, at, &config, err);
    if (!status && emission->config)
        status =
            rdt_config_parse(rdt_codegen_space(codegen, family), emission->config, &config, err);
    if (!status) status = rdt_codegen_check(codegen, family, at, &config, err);
    if (!status)
        status = rdt_codegen_render(codegen, family, problem, &config, emission->lines != 0, source,
                                    err);
    return status;
}

redtune_status redtune_emit(const redtune_emission *emission, char **source, redtune_error *err) {
    if (!emission || !source)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot emit: %s is NULL",
                        emission ? "source" : "emission");
    redtune_problem problem;
    redtune_status status = rdt_problem_resolve(&emission->problem, &problem, err);
    if (status) return status;
    rdt_codegen *codegen = NULL;
    status = rdt_codegen_open(&codegen, err);
    if (!status) status = render(codegen, emission, &problem, source, err);
    rdt_codegen_close(codegen);
    return status;
}

void redtune_free(void *pointer) {
    free(pointer);
}
