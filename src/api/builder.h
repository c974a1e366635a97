/* Builder: from a config to a loaded kernel, through the templates, the kernel cache and NVRTC.
 * Each of them is opened when it is first needed. Any thread may call. */
#ifndef RDT_API_BUILDER_H
#define RDT_API_BUILDER_H

#include "base/log.h"
#include "codegen/codegen.h"
#include "gpu/context.h"
#include "gpu/kernel.h"

typedef struct rdt_builder rdt_builder;

/* log may be NULL, and must outlive the builder. */
redtune_status rdt_builder_create(const rdt_log *log, rdt_builder **out, redtune_error *err);
void rdt_builder_destroy(rdt_builder *builder);

/* Codegen is one Lua state: whoever uses it holds it from borrow to give_back, and no longer than
 * it takes. */
redtune_status rdt_builder_borrow(rdt_builder *builder, rdt_codegen **codegen, redtune_error *err);
void rdt_builder_give_back(rdt_builder *builder);

/* Renders, compiles unless the kernel cache has it, and loads into the current context. problem is
 * resolved. Borrows codegen meanwhile. */
redtune_status rdt_builder_make(rdt_builder *builder, const rdt_context *context, int family,
                                const redtune_problem *problem, const rdt_config *config,
                                const rdt_launch *launch, rdt_kernel **out, redtune_error *err);

/* The version of NVRTC; REDTUNE_LIBRARY if it is missing. */
redtune_status rdt_builder_nvrtc(rdt_builder *builder, int *version, redtune_error *err);

#endif
