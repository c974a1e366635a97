/* Builder: from a point to a loaded kernel, through the templates, the kernel cache and NVRTC.
 * Each of them is opened when it is first needed. Any thread may call. */
#pragma once

#include "api/build/kernel_store.h"
#include "base/log.h"
#include "codegen/codegen.h"
#include "gpu/context.h"
#include "gpu/kernel.h"

typedef struct rdt_builder rdt_builder;

/* log may be NULL, and must outlive the builder. */
redtune_status rdt_builder_create(const rdt_log *log, rdt_builder **out, redtune_error *err);
void rdt_builder_destroy(rdt_builder *builder);
/* Uses this file as the kernel cache in place of the user's. Before anything is made. */
redtune_status rdt_builder_set_cache(rdt_builder *builder, const char *path, redtune_error *err);

/* Codegen is one Lua state: whoever uses it holds it from borrow to give_back, and no longer than
 * it takes. */
redtune_status rdt_builder_borrow(rdt_builder *builder, rdt_codegen **codegen, redtune_error *err);
void rdt_builder_give_back(rdt_builder *builder);

/* Renders, compiles unless the kernel cache has it, and loads into the current context. problem is
 * resolved. Borrows codegen while it renders. */
redtune_status rdt_builder_make(rdt_builder *builder, const rdt_context *context,
                                const redtune_problem *problem, const rdt_point *point,
                                const rdt_launch *launch, rdt_kernel **out, redtune_error *err);
/* Likewise; cached_only: leaves *out alone where it would have to compile. */
redtune_status rdt_builder_get(rdt_builder *builder, const rdt_context *context,
                               const redtune_problem *problem, const rdt_point *point,
                               const rdt_launch *launch, bool cached_only, rdt_kernel **out,
                               redtune_error *err);

/* Likewise, of the template file that copies arrays (rdt_kernel_pack). */
redtune_status rdt_builder_make_packer(rdt_builder *builder, const rdt_context *context,
                                       rdt_kernel **out, redtune_error *err);

/* Makes the kernel without a GPU: it ends up in the kernel cache alone. ptx: the driver that is to
 * load it takes no cubin. */
redtune_status rdt_builder_store(rdt_builder *builder, rdt_case at, const rdt_point *point,
                                 bool ptx, redtune_error *err);
/* Compiles a kernel for a system's file, without a GPU: a cubin or PTX of exactly the architecture
 * of the facts, and its key there. out->data is freed by the caller. */
redtune_status rdt_builder_bake(rdt_builder *builder, rdt_case at, const rdt_point *point,
                                rdt_yield yield, bool ptx, char key[RDT_HASH_TEXT_BYTES],
                                rdt_image *out, redtune_error *err);
/* Whether the driver takes PTX only; found out by loading a kernel that does nothing. */
redtune_status rdt_builder_probe(rdt_builder *builder, const rdt_context *context, bool *ptx,
                                 redtune_error *err);

/* Loads the kernel of that key, made for such a launch (NULL: the one that packs), from the kernel
 * cache; where it is not there, leaves *out alone. */
redtune_status rdt_builder_load(rdt_builder *builder, const rdt_context *context, const char *key,
                                const rdt_launch *launch, rdt_kernel **out, redtune_error *err);
/* Where it looks for kernels. */
rdt_kernel_store *rdt_builder_store_of(rdt_builder *builder);
/* Data kept in the kernel cache besides kernels. A miss is REDTUNE_OK with *data as it was; else
 * it is freed by the caller. */
redtune_status rdt_builder_find(rdt_builder *builder, const char *key, void **data, size_t *bytes,
                                redtune_error *err);
void rdt_builder_put(rdt_builder *builder, const char *key, const void *data, size_t bytes);

/* The version of the templates, as rdt_codegen_hash, without Lua. */
redtune_status rdt_builder_templates(rdt_builder *builder, char out[RDT_HASH_TEXT_BYTES],
                                     redtune_error *err);
/* Whether what was rendered so far is of templates of that version, which are still the same: those
 * in a folder of the user's may change at any time. */
bool rdt_builder_rendered_from(rdt_builder *builder, const char *templates);
/* NVRTC's file; "" where it is not loaded. */
void rdt_builder_compiler_path(rdt_builder *builder, char *out, size_t bytes);

/* The version of NVRTC; REDTUNE_LIBRARY if it is missing. */
redtune_status rdt_builder_nvrtc(rdt_builder *builder, int *version, redtune_error *err);
