/* Baked kernel: the kernel of a point that was chosen here, from the system's kernel files. */
#include "api/choosing/baked_kernel.h"

#include <stdlib.h>
#include "codegen/user_ops.h"

/* The target's facts are the GPU's, of an architecture that kernels are baked for. */
static rdt_kernel *load_for(redtune *rt, rdt_codegen *codegen, rdt_case target,
                            const rdt_point *point, const rdt_launch *launch, bool ptx) {
    const rdt_facts *gpu = target.facts;
    char *source = NULL, key[RDT_HASH_TEXT_BYTES];
    rdt_kernel *kernel = NULL;
    rdt_launch there = *launch;
    if (rdt_render_part(codegen, target, point, launch->yield, &source, NULL)) return NULL;
    rdt_system_kernels_key(source, 10 * gpu->major + gpu->minor, ptx, key);
    free(source);
    if (gpu->major != rt->context->facts.major &&
        rdt_rules_launch(codegen, target, point, &there, NULL))
        return NULL;
    rdt_builder_load(rt->builder, rt->context, key, launch, &kernel, NULL);
    if (kernel) kernel->no_overlap = launch->overlap && !there.overlap;
    return kernel;
}

rdt_kernel *rdt_baked_kernel_load(redtune *rt, const redtune_problem *problem,
                                  const rdt_point *point, const rdt_launch *launch) {
    rdt_kernel_arch archs[RDT_SYSTEM_ARCH_MAX];
    rdt_codegen *codegen = NULL;
    rdt_kernel *kernel = NULL;
    if (rdt_user_ops_find(problem->op)) return NULL;
    const int count =
        rdt_kernel_store_archs(rdt_builder_store_of(rt->builder), &rt->context->facts, archs);
    if (!count || rdt_builder_borrow(rt->builder, &codegen, NULL)) return NULL;
    for (int i = 0; i < count && !kernel; i++) {
        rdt_facts target = rt->context->facts;
        target.major = archs[i].arch / 10;
        target.minor = archs[i].arch % 10;
        kernel = load_for(rt, codegen, (rdt_case){problem, &target}, point, launch, archs[i].ptx);
    }
    rdt_builder_give_back(rt->builder);
    return kernel;
}
