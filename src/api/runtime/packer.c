/* Packer: the kernel that copies arrays with gaps side by side.
 *
 * It depends on no problem. Its key in the kernel cache is kept there, too, under the build, the
 * templates and the architecture, so that a second process needs neither Lua nor NVRTC for it. */
#include "api/runtime/packer.h"

#include <stdlib.h>
#include <string.h>

/* What the key is kept under, and the version of the templates. */
typedef struct cached_name {
    char name[RDT_HASH_TEXT_BYTES], templates[RDT_HASH_TEXT_BYTES];
} cached_name;

static redtune_status name_packer(const redtune *rt, cached_name *out, redtune_error *err) {
    const int arch[] = {rt->context->facts.major, rt->context->facts.minor};
    redtune_status status = rdt_builder_templates(rt->builder, out->templates, err);
    if (status) return status;
    rdt_hash hash = rdt_hash_begin();
    rdt_hash_add_string(&hash, "pack");
    rdt_hash_add_string(&hash, rdt_codegen_build());
    rdt_hash_add_string(&hash, out->templates);
    rdt_hash_add_string(&hash, rt->context->facts.name);
    rdt_hash_add(&hash, arch, sizeof arch);
    rdt_hash_text(&hash, out->name);
    return REDTUNE_OK;
}

/* NULL: it is not there, or does not load. */
static rdt_kernel *load_packer(const redtune *rt, const cached_name *name) {
    rdt_kernel *kernel = NULL;
    char *key = NULL;
    size_t bytes = 0;
    if (rdt_builder_find(rt->builder, name->name, (void **)&key, &bytes, NULL)) return NULL;
    if (key && bytes && !key[bytes - 1] &&
        rdt_builder_load(rt->builder, rt->context, key, NULL, &kernel, NULL))
        kernel = NULL;
    free(key);
    return kernel;
}

static redtune_status make_packer(const redtune *rt, rdt_kernel **out, redtune_error *err) {
    cached_name name;
    redtune_status status = name_packer(rt, &name, err);
    if (status) return status;
    *out = load_packer(rt, &name);
    if (*out) return REDTUNE_OK;
    status = rdt_builder_make_packer(rt->builder, rt->context, out, err);
    if (!status && (*out)->key[0] && rdt_builder_rendered_from(rt->builder, name.templates))
        rdt_builder_put(rt->builder, name.name, (*out)->key, strlen((*out)->key) + 1);
    return status;
}

redtune_status rdt_packer_find(redtune *rt, const rdt_kernel **out, redtune_error *err) {
    rdt_kernel *found = atomic_load(&rt->packer), *made = NULL;
    if (!found) {
        redtune_status status = make_packer(rt, &made, err);
        if (status) return status;
        if (atomic_compare_exchange_strong(&rt->packer, &found, made))
            found = made;
        else /* another thread was faster */
            rdt_kernel_unload(made);
    }
    *out = found;
    return REDTUNE_OK;
}

void rdt_packer_destroy(redtune *rt, bool lost) {
    rdt_kernel *kernel = atomic_load(&rt->packer);
    if (kernel && lost)
        rdt_kernel_forget(kernel);
    else
        rdt_kernel_unload(kernel);
}
