/* Builder: from a config to a loaded kernel, through the templates, the kernel cache and NVRTC. */
#define _POSIX_C_SOURCE 200809L
#include "api/build/builder.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/trace.h"
#include "codegen/user_ops.h"
#include "compiler/compiler.h"

struct rdt_builder {
    const rdt_log *log;
    pthread_mutex_t lock; /* of codegen; recursive: make is called by those who have borrowed it */
    rdt_codegen *codegen;
    pthread_mutex_t templates_lock;
    char templates[RDT_HASH_TEXT_BYTES]; /* those compiled in; "": not asked for yet */
    pthread_mutex_t compiler_lock;       /* of its opening: compiling needs none */
    rdt_compiler *compiler;
    rdt_kernel_store *store;
    atomic_bool ptx; /* the driver takes no cubin of ours: one in software, say */
};

redtune_status rdt_builder_create(const rdt_log *log, rdt_builder **out, redtune_error *err) {
    rdt_builder *builder = calloc(1, sizeof *builder);
    if (!builder) return rdt_fail_memory(err, sizeof *builder);
    redtune_status status = rdt_kernel_store_create(log, &builder->store, err);
    if (status) {
        free(builder);
        return status;
    }
    builder->log = log;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&builder->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    pthread_mutex_init(&builder->compiler_lock, NULL);
    pthread_mutex_init(&builder->templates_lock, NULL);
    *out = builder;
    return REDTUNE_OK;
}

void rdt_builder_destroy(rdt_builder *builder) {
    if (!builder) return;
    rdt_codegen_close(builder->codegen);
    rdt_compiler_close(builder->compiler);
    rdt_kernel_store_destroy(builder->store);
    pthread_mutex_destroy(&builder->lock);
    pthread_mutex_destroy(&builder->compiler_lock);
    pthread_mutex_destroy(&builder->templates_lock);
    free(builder);
}

redtune_status rdt_builder_set_cache(rdt_builder *builder, const char *path, redtune_error *err) {
    return rdt_kernel_store_set_cache(builder->store, path, err);
}

/* ---- templates ------------------------------------------------------------------------------- */

redtune_status rdt_builder_borrow(rdt_builder *builder, rdt_codegen **codegen, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    pthread_mutex_lock(&builder->lock);
    if (!builder->codegen) {
        rdt_log_write(builder->log, REDTUNE_LOG_DEBUG, "starting Lua for the templates");
        status = rdt_codegen_open(&builder->codegen, err);
        const char *why = status ? "" : rdt_codegen_left_out(builder->codegen);
        if (*why)
            rdt_log_write(builder->log, REDTUNE_LOG_WARNING, "a template is left out: %s", why);
    }
    if (status)
        pthread_mutex_unlock(&builder->lock);
    else
        *codegen = builder->codegen;
    return status;
}

void rdt_builder_give_back(rdt_builder *builder) { pthread_mutex_unlock(&builder->lock); }

redtune_status rdt_builder_templates(rdt_builder *builder, char out[RDT_HASH_TEXT_BYTES],
                                     redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    pthread_mutex_lock(&builder->templates_lock);
    const char *folder = getenv("REDTUNE_TEMPLATES");
    const bool compiled_in = !folder || !*folder; /* others may change at any time */
    if (compiled_in && builder->templates[0])
        memcpy(out, builder->templates, sizeof builder->templates);
    else
        status = rdt_codegen_version(out, err);
    if (!status && compiled_in) memcpy(builder->templates, out, sizeof builder->templates);
    pthread_mutex_unlock(&builder->templates_lock);
    return status;
}

bool rdt_builder_rendered_from(rdt_builder *builder, const char *templates) {
    char now[RDT_HASH_TEXT_BYTES];
    rdt_codegen *codegen = NULL;
    if (rdt_builder_templates(builder, now, NULL) || strcmp(now, templates) ||
        rdt_builder_borrow(builder, &codegen, NULL))
        return false;
    bool same = !strcmp(rdt_codegen_hash(codegen), templates);
    rdt_builder_give_back(builder);
    return same;
}

/* ---- NVRTC ----------------------------------------------------------------------------------- */

static redtune_status need_compiler(rdt_builder *builder, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    pthread_mutex_lock(&builder->compiler_lock);
    if (!builder->compiler) {
        rdt_log_write(builder->log, REDTUNE_LOG_DEBUG, "loading NVRTC");
        status = rdt_compiler_open(&builder->compiler, err);
    }
    pthread_mutex_unlock(&builder->compiler_lock);
    return status;
}

redtune_status rdt_builder_nvrtc(rdt_builder *builder, int *version, redtune_error *err) {
    redtune_status status = need_compiler(builder, err);
    if (!status) *version = rdt_compiler_version(builder->compiler);
    return status;
}

void rdt_builder_compiler_path(rdt_builder *builder, char *out, size_t bytes) {
    pthread_mutex_lock(&builder->compiler_lock);
    rdt_text_copy(out, bytes, builder->compiler ? rdt_compiler_path(builder->compiler) : "");
    pthread_mutex_unlock(&builder->compiler_lock);
}

/* ---- kernels that are there ------------------------------------------------------------------ */

redtune_status rdt_builder_find(rdt_builder *builder, const char *key, void **data, size_t *bytes,
                                redtune_error *err) {
    rdt_image found = {0};
    bool system;
    redtune_status status = rdt_kernel_store_find(builder->store, key, &found, &system, err);
    if (status || !found.data) return status;
    *data = found.data;
    *bytes = found.bytes;
    return REDTUNE_OK;
}

void rdt_builder_put(rdt_builder *builder, const char *key, const void *data, size_t bytes) {
    const rdt_image record = {(void *)data, bytes, false};
    rdt_kernel_store_put(builder->store, key, &record);
}

rdt_kernel_store *rdt_builder_store_of(rdt_builder *builder) { return builder->store; }

/* Whether the driver refused a whole image, rather than that it has no memory or the like. */
static bool is_refused(redtune_status status, const redtune_error *why) {
    static const long codes[] = {CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_NO_BINARY_FOR_GPU,
                                 CUDA_ERROR_INVALID_PTX, CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
                                 CUDA_ERROR_NOT_FOUND /* a function of it */};
    for (size_t i = 0; status == REDTUNE_DEVICE && i < sizeof codes / sizeof *codes; i++)
        if (why->code == codes[i]) return true;
    return false;
}

/* Takes over the image, which may be empty: then *out stays as it is. */
static redtune_status load_image(const rdt_context *context, rdt_image image, const char *key,
                                 const rdt_launch *launch, rdt_kernel **out, redtune_error *err) {
    if (!image.data) return REDTUNE_OK;
    redtune_status status = rdt_kernel_load(context->driver, image.data, launch, out, err);
    if (!status) rdt_text_copy((*out)->key, sizeof(*out)->key, key);
    free(image.data);
    return status;
}

redtune_status rdt_builder_load(rdt_builder *builder, const rdt_context *context, const char *key,
                                const rdt_launch *launch, rdt_kernel **out, redtune_error *err) {
    rdt_image image = {0};
    redtune_error why = {0};
    bool system = false;
    redtune_status status = rdt_kernel_store_find(builder->store, key, &image, &system, &why);
    if (!status) status = load_image(context, image, key, launch, out, &why);
    if (system && is_refused(status, &why))
        rdt_kernel_store_note_refusal(builder->store, why.message);
    if (status && err) *err = why;
    return status;
}

/* ---- making ---------------------------------------------------------------------------------- */

/* A kernel to make. */
typedef struct kernel_source {
    const char *source;
    char name[64]; /* of the source, for messages */
    const rdt_facts *facts;
    bool ptx, cached_only;
    bool anew;             /* the cached one does not load */
    bool found;            /* the image came from the cache */
    const rdt_own_op *own; /* a user's file whose text it has; or NULL */
} kernel_source;

static redtune_status make_key(const rdt_builder *builder, const kernel_source *wanted,
                               char key[RDT_HASH_TEXT_BYTES], redtune_error *err) {
    rdt_text options = {0};
    redtune_status status = rdt_compiler_options(builder->compiler, wanted->facts->major,
                                                 wanted->facts->minor, wanted->ptx, &options, err);
    if (!status && options.failed) status = rdt_fail_memory(err, options.length);
    if (!status) {
        rdt_hash hash = rdt_hash_begin();
        int version = rdt_compiler_version(builder->compiler);
        rdt_hash_add_string(&hash, wanted->source);
        rdt_hash_add_string(&hash, options.data);
        rdt_hash_add(&hash, &version, sizeof version);
        rdt_hash_add_string(&hash, rdt_compiler_build(builder->compiler));
        rdt_hash_text(&hash, key);
    }
    rdt_text_free(&options);
    return status;
}

static redtune_status compile(rdt_builder *builder, const kernel_source *wanted, rdt_image *out,
                              redtune_error *err) {
    __typeof__(rdt_compiler_compile) *function =
        wanted->own ? rdt_compiler_compile_apart : rdt_compiler_compile;
    rdt_trace_push("redtune compile");
    redtune_status status =
        function(builder->compiler, wanted->source, wanted->name, wanted->facts->major,
                 wanted->facts->minor, wanted->ptx, out, err);
    rdt_trace_pop();
    if (status == REDTUNE_COMPILER && wanted->own && err &&
        !strstr(err->message, wanted->own->name))
        rdt_fail_within(err, status, "cannot use an op file: %.150s", wanted->own->name);
    return status;
}

/* The compiled source, from the kernel cache or the compiler. key is "" where the cache has it not
 * afterwards. */
static redtune_status get_image(rdt_builder *builder, kernel_source *wanted,
                                char key[RDT_HASH_TEXT_BYTES], rdt_image *out, redtune_error *err) {
    redtune_status status = make_key(builder, wanted, key, err);
    bool system;
    if (!status && !wanted->anew)
        status = rdt_kernel_store_find(builder->store, key, out, &system, err);
    wanted->found = out->data != NULL;
    if (status || out->data || wanted->cached_only) return status;
    status = compile(builder, wanted, out, err);
    if (!status && !rdt_kernel_store_put(builder->store, key, out)) key[0] = '\0';
    return status;
}

/* An image of the right digest that the driver refuses, as one of another NVRTC's may be, is made
 * anew; a cubin that it refuses then is replaced by PTX. */
static redtune_status make_from_source(rdt_builder *builder, const rdt_context *context,
                                       kernel_source *wanted, const rdt_launch *launch,
                                       rdt_kernel **out, redtune_error *err) {
    redtune_error failure = {0};
    /* To ask a GPU that is known to be one in software takes the compiler longer than to tell. */
    if (rdt_facts_is_simulated(wanted->facts)) atomic_store(&builder->ptx, true);
    for (;;) {
        rdt_image image = {0};
        char key[RDT_HASH_TEXT_BYTES];
        wanted->ptx = atomic_load(&builder->ptx);
        redtune_status status = get_image(builder, wanted, key, &image, &failure);
        if (!status) status = load_image(context, image, key, launch, out, &failure);
        const bool refused = is_refused(status, &failure);
        if (refused && wanted->found && wanted->cached_only) return REDTUNE_OK;
        if (!refused || (wanted->ptx && !wanted->found)) {
            if (status && err) *err = failure;
            return status;
        }
        if (!wanted->found) atomic_store(&builder->ptx, true);
        wanted->anew = wanted->found;
    }
}

/* The GPU's facts as the templates see them: its architecture is the one that NVRTC makes code for.
 */
static redtune_status compile_target(rdt_builder *builder, const rdt_facts *facts, rdt_facts *out,
                                     redtune_error *err) {
    int arch = 0;
    redtune_status status = need_compiler(builder, err);
    if (!status)
        status = rdt_compiler_arch(builder->compiler, facts->major, facts->minor, &arch, err);
    if (status) return status;
    *out = *facts;
    out->major = arch / 10;
    out->minor = arch % 10;
    return REDTUNE_OK;
}

/* Whether a kernel for that target overlaps other launches, by the templates' own rule. */
static redtune_status find_overlap(rdt_builder *builder, rdt_case target, const rdt_point *point,
                                   bool *overlap, redtune_error *err) {
    rdt_codegen *codegen = NULL;
    rdt_launch launch;
    redtune_status status = rdt_builder_borrow(builder, &codegen, err);
    if (status) return status;
    status = rdt_rules_launch(codegen, target, point, &launch, err);
    rdt_builder_give_back(builder);
    if (!status) *overlap = launch.overlap;
    return status;
}

/* The source, freed by the caller, and its name. */
static redtune_status render(rdt_builder *builder, rdt_case at, const rdt_point *point,
                             rdt_yield yield, char name[64], char **source, redtune_error *err) {
    rdt_codegen *codegen = NULL;
    redtune_status status = rdt_builder_borrow(builder, &codegen, err);
    if (status) return status;
    const rdt_spaces *spaces = rdt_codegen_spaces(codegen);
    char text[RDT_POINT_TEXT_BYTES];
    rdt_point_format(spaces, point, text);
    rdt_log_write(builder->log, REDTUNE_LOG_DEBUG, "making the kernel %s of %s", text,
                  redtune_dtype_name(at.problem->dtype));
    snprintf(name, 64, "%s.cu", rdt_point_space(spaces, point)->family);
    status = rdt_render_part(codegen, at, point, yield, source, err);
    rdt_builder_give_back(builder);
    return status;
}

redtune_status rdt_builder_get(rdt_builder *builder, const rdt_context *context,
                               const redtune_problem *problem, const rdt_point *point,
                               const rdt_launch *launch, bool cached_only, rdt_kernel **out,
                               redtune_error *err) {
    char *source = NULL;
    kernel_source wanted = {.facts = &context->facts,
                            .cached_only = cached_only,
                            .own = rdt_user_ops_find(problem->op)};
    rdt_facts target;
    rdt_kernel *kernel = NULL;
    bool overlap = launch->overlap;
    redtune_status status = compile_target(builder, &context->facts, &target, err);
    const rdt_case at = {problem, &target};
    if (!status) status = render(builder, at, point, launch->yield, wanted.name, &source, err);
    if (!status && overlap && target.major != context->facts.major)
        status = find_overlap(builder, at, point, &overlap, err);
    wanted.source = source;
    if (!status) status = make_from_source(builder, context, &wanted, launch, &kernel, err);
    free(source);
    if (!kernel) return status;
    kernel->no_overlap = launch->overlap && !overlap;
    *out = kernel;
    return REDTUNE_OK;
}

redtune_status rdt_builder_make(rdt_builder *builder, const rdt_context *context,
                                const redtune_problem *problem, const rdt_point *point,
                                const rdt_launch *launch, rdt_kernel **out, redtune_error *err) {
    return rdt_builder_get(builder, context, problem, point, launch, false, out, err);
}

redtune_status rdt_builder_make_packer(rdt_builder *builder, const rdt_context *context,
                                       rdt_kernel **out, redtune_error *err) {
    static const char template[] = "pack.cu";
    char *source = NULL;
    rdt_codegen *codegen = NULL;
    kernel_source wanted = {.facts = &context->facts};
    redtune_status status = need_compiler(builder, err);
    if (!status) status = rdt_builder_borrow(builder, &codegen, err);
    if (status) return status;
    rdt_text_copy(wanted.name, sizeof wanted.name, template);
    status = rdt_render_plain(codegen, template, &source, err);
    rdt_builder_give_back(builder);
    wanted.source = source;
    if (!status) status = make_from_source(builder, context, &wanted, NULL, out, err);
    free(source);
    return status;
}

redtune_status rdt_builder_store(rdt_builder *builder, rdt_case at, const rdt_point *point,
                                 bool ptx, redtune_error *err) {
    char *source = NULL, key[RDT_HASH_TEXT_BYTES];
    rdt_image image = {0};
    kernel_source wanted = {
        .facts = at.facts, .ptx = ptx, .own = rdt_user_ops_find(at.problem->op)};
    rdt_facts target;
    redtune_status status = compile_target(builder, at.facts, &target, err);
    if (!status)
        status = render(builder, (rdt_case){at.problem, &target}, point, false, wanted.name,
                        &source, err);
    wanted.source = source;
    if (!status) status = get_image(builder, &wanted, key, &image, err);
    free(image.data);
    free(source);
    return status;
}

redtune_status rdt_builder_bake(rdt_builder *builder, rdt_case at, const rdt_point *point,
                                rdt_yield yield, bool ptx, char key[RDT_HASH_TEXT_BYTES],
                                rdt_image *out, redtune_error *err) {
    char *source = NULL, cached[RDT_HASH_TEXT_BYTES];
    rdt_image image = {0};
    kernel_source wanted = {.facts = at.facts, .ptx = ptx};
    const int arch = 10 * at.facts->major + at.facts->minor;
    rdt_facts target;
    redtune_status status = compile_target(builder, at.facts, &target, err);
    if (!status && 10 * target.major + target.minor != arch) {
        const int version = rdt_compiler_version(builder->compiler);
        status = rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                          "cannot compile for sm_%d: NVRTC %d.%d does not know it; take a later "
                          "one, or leave it out of --arch",
                          arch, version / 1000, version % 1000 / 10);
    }
    if (!status) status = render(builder, at, point, yield, wanted.name, &source, err);
    wanted.source = source;
    if (!status) rdt_system_kernels_key(source, arch, ptx, key);
    if (!status) rdt_system_kernels_strip(source);
    /* PTX tells in which folder it was made, where its source's name does not begin with one. */
    char name[sizeof wanted.name + 1];
    snprintf(name, sizeof name, "/%s", wanted.name);
    rdt_text_copy(wanted.name, sizeof wanted.name, name);
    if (!status)
        status = ptx ? compile(builder, &wanted, &image, err)
                     : get_image(builder, &wanted, cached, &image, err);
    if (!status) *out = image;
    free(source);
    return status;
}

redtune_status rdt_builder_probe(rdt_builder *builder, const rdt_context *context, bool *ptx,
                                 redtune_error *err) {
    const rdt_launch plain = {.threads = 1};
    rdt_kernel *kernel = NULL;
    kernel_source wanted = {.source = "extern \"C\" __global__ void redtune_reduce() {}",
                            .name = "probe.cu",
                            .facts = &context->facts};
    redtune_status status = need_compiler(builder, err);
    if (!status) status = make_from_source(builder, context, &wanted, &plain, &kernel, err);
    if (!status) *ptx = atomic_load(&builder->ptx);
    rdt_kernel_unload(kernel);
    return status;
}
