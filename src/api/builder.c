/* Builder: from a config to a loaded kernel, through the templates, the kernel cache and NVRTC. */
#define _POSIX_C_SOURCE 200809L
#include "api/builder.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include "base/file.h"
#include "cache/kernels.h"
#include "compiler/compiler.h"

struct rdt_builder {
    const rdt_log *log;
    pthread_mutex_t lock; /* recursive: make is called by those who have borrowed codegen */
    rdt_codegen *codegen;
    rdt_compiler *compiler;
    rdt_kernels *kernels;
    bool kernels_tried;
    bool ptx; /* the driver takes no cubin of ours: one in software, say */
};

redtune_status rdt_builder_create(const rdt_log *log, rdt_builder **out, redtune_error *err) {
    rdt_builder *builder = calloc(1, sizeof *builder);
    if (!builder) return rdt_fail_memory(err, sizeof *builder);
    builder->log = log;
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_RECURSIVE);
    pthread_mutex_init(&builder->lock, &attributes);
    pthread_mutexattr_destroy(&attributes);
    *out = builder;
    return REDTUNE_OK;
}

void rdt_builder_destroy(rdt_builder *builder) {
    if (!builder) return;
    rdt_codegen_close(builder->codegen);
    rdt_compiler_close(builder->compiler);
    rdt_kernels_close(builder->kernels);
    pthread_mutex_destroy(&builder->lock);
    free(builder);
}

redtune_status rdt_builder_borrow(rdt_builder *builder, rdt_codegen **codegen, redtune_error *err) {
    pthread_mutex_lock(&builder->lock);
    redtune_status status =
        builder->codegen ? REDTUNE_OK : rdt_codegen_open(&builder->codegen, err);
    if (status)
        pthread_mutex_unlock(&builder->lock);
    else
        *codegen = builder->codegen;
    return status;
}

void rdt_builder_give_back(rdt_builder *builder) {
    pthread_mutex_unlock(&builder->lock);
}

static redtune_status need_compiler(rdt_builder *builder, redtune_error *err) {
    return builder->compiler ? REDTUNE_OK : rdt_compiler_open(&builder->compiler, err);
}

/* Losing the kernel cache costs time only. */
static void try_kernels(rdt_builder *builder) {
    if (builder->kernels_tried) return;
    builder->kernels_tried = true;
    char *path = NULL;
    redtune_error failure;
    redtune_status status = rdt_file_kernels_path(&path, &failure);
    if (!status) status = rdt_kernels_open(path, &builder->kernels, &failure);
    if (status)
        rdt_log_write(builder->log, REDTUNE_LOG_WARNING, "working without a kernel cache: %s",
                      failure.message);
    free(path);
}

static redtune_status make_key(const rdt_builder *builder, const char *source,
                               const rdt_facts *facts, char key[RDT_HASH_TEXT_BYTES],
                               redtune_error *err) {
    rdt_text options = {0};
    redtune_status status = rdt_compiler_options(builder->compiler, facts->major, facts->minor,
                                                 builder->ptx, &options, err);
    if (!status && options.failed) status = rdt_fail_memory(err, options.length);
    if (!status) {
        rdt_hash hash = rdt_hash_begin();
        int version = rdt_compiler_version(builder->compiler);
        rdt_hash_add_string(&hash, source);
        rdt_hash_add_string(&hash, options.data);
        rdt_hash_add(&hash, &version, sizeof version);
        rdt_hash_text(&hash, key);
    }
    rdt_text_free(&options);
    return status;
}

/* The compiled source, from the kernel cache or the compiler. */
static redtune_status get_image(rdt_builder *builder, const char *source, const char *name,
                                const rdt_facts *facts, rdt_image *out, redtune_error *err) {
    char key[RDT_HASH_TEXT_BYTES];
    redtune_status status = make_key(builder, source, facts, key, err);
    if (status) return status;
    redtune_error ignored;
    rdt_image image = {0};
    if (builder->kernels)
        rdt_kernels_find(builder->kernels, key, &image.data, &image.bytes, &image.ptx, &ignored);
    if (!image.data) {
        status = rdt_compiler_compile(builder->compiler, source, name, facts->major, facts->minor,
                                      builder->ptx, &image, err);
        if (status) return status;
        if (builder->kernels &&
            rdt_kernels_put(builder->kernels, key, image.data, image.bytes, image.ptx, &ignored))
            rdt_log_write(builder->log, REDTUNE_LOG_WARNING, "%s", ignored.message);
    }
    *out = image;
    return REDTUNE_OK;
}

static redtune_status make_from_source(rdt_builder *builder, const rdt_context *context,
                                       const char *source, const char *name,
                                       const rdt_launch *launch, rdt_kernel **out,
                                       redtune_error *err) {
    redtune_error failure = {0};
    for (;;) {
        rdt_image image = {0};
        redtune_status status = get_image(builder, source, name, &context->facts, &image, &failure);
        if (!status) {
            status = rdt_kernel_load(context->driver, image.data, launch->final_threads != 0, out,
                                     &failure);
            free(image.data);
        }
        bool refused = status == REDTUNE_DEVICE && (failure.code == CUDA_ERROR_NO_BINARY_FOR_GPU ||
                                                    failure.code == CUDA_ERROR_INVALID_IMAGE);
        if (!refused || builder->ptx) {
            if (status && err) *err = failure;
            return status;
        }
        builder->ptx = true;
    }
}

redtune_status rdt_builder_make(rdt_builder *builder, const rdt_context *context, int family,
                                const redtune_problem *problem, const rdt_config *config,
                                const rdt_launch *launch, rdt_kernel **out, redtune_error *err) {
    rdt_codegen *codegen = NULL;
    redtune_status status = rdt_builder_borrow(builder, &codegen, err);
    if (status) return status;
    char *source = NULL;
    status = rdt_codegen_render(codegen, family, (rdt_case){problem, &context->facts}, config, true,
                                &source, err);
    if (!status) status = need_compiler(builder, err);
    if (!status) {
        try_kernels(builder);
        char text[RDT_CONFIG_TEXT_BYTES], name[64];
        const rdt_space *space = rdt_codegen_space(codegen, family);
        rdt_config_format(space, config, text);
        rdt_log_write(builder->log, REDTUNE_LOG_DEBUG, "making the kernel %s %s of %s",
                      space->family, text, redtune_dtype_name(problem->dtype));
        snprintf(name, sizeof name, "%s.cu", space->family);
        status = make_from_source(builder, context, source, name, launch, out, err);
    }
    free(source);
    rdt_builder_give_back(builder);
    return status;
}

redtune_status rdt_builder_nvrtc(rdt_builder *builder, int *version, redtune_error *err) {
    pthread_mutex_lock(&builder->lock);
    redtune_status status = need_compiler(builder, err);
    if (!status) *version = rdt_compiler_version(builder->compiler);
    pthread_mutex_unlock(&builder->lock);
    return status;
}
