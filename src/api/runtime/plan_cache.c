/* Plan cache: the config chosen for a problem, its launch and its kernel's key.
 *
 * A cached plan is a struct in the kernel cache, whose key is a hash of all that choosing depends
 * on (plan_cache.h lists it). Nothing in it is checked against the world again except NVRTC's
 * file, whose version the kernel's key contains and which only loading NVRTC would tell. */
#define _POSIX_C_SOURCE 200809L
#include "api/runtime/plan_cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/file.h"

/* As it is stored. The key has the build in it, so that no other layout can meet it. */
typedef struct cached_plan {
    char kernel[RDT_HASH_TEXT_BYTES]; /* its key */
    rdt_launch launch;
    redtune_info info;
    char text[RDT_POINT_TEXT_BYTES];
    /* NVRTC's file when the kernel was found: "" for none. */
    char nvrtc[256];
    int64_t nvrtc_bytes, nvrtc_seconds, nvrtc_ns;
} cached_plan;

/* ---- the key --------------------------------------------------------------------------------- */

static void hash_integers(rdt_hash *hash, const int64_t *values, size_t count) {
    rdt_hash_add(hash, values, count * sizeof *values);
}

/* The facts of a GPU that rules and the comparison with other GPUs see. */
static void hash_gpu(rdt_hash *hash, const rdt_facts *gpu) {
    const int64_t values[] = {
        gpu->major,
        gpu->minor,
        gpu->sm_count,
        gpu->threads_per_sm,
        gpu->threads_per_block,
        gpu->shared_bytes_per_block,
        (int64_t)gpu->l2_bytes,
        gpu->bus_bits,
        gpu->memory_khz,
    };
    rdt_hash_add_string(hash, gpu->name);
    hash_integers(hash, values, sizeof values / sizeof *values);
}

static void hash_problem(rdt_hash *hash, const redtune_problem *problem) {
    const int64_t values[] = {problem->op, problem->dtype, problem->result,
                              (int64_t)problem->count};
    hash_integers(hash, values, sizeof values / sizeof *values);
}

void rdt_plan_cache_name(const redtune *rt, const rdt_plan_cache_question *question,
                         rdt_plan_cache_key out) {
    rdt_hash hash = rdt_hash_begin();
    rdt_hash_add_string(&hash, "plan");
    rdt_hash_add_string(&hash, rdt_codegen_build());
    rdt_hash_add_string(&hash, question->templates);
    rdt_hash_add_string(&hash, question->pin ? question->pin : "");
    hash_problem(&hash, question->problem);
    hash_gpu(&hash, &rt->context->facts);
    rdt_hash_add_string(&hash, question->databases);
    const int64_t ways[] = {rt->trust, question->accumulates};
    hash_integers(&hash, ways, 2);
    rdt_hash_text(&hash, out);
}

/* ---- reading and writing --------------------------------------------------------------------- */

static bool look_at_nvrtc(cached_plan *now) {
    struct stat info;
    if (!now->nvrtc[0] || stat(now->nvrtc, &info)) return false;
    now->nvrtc_bytes = info.st_size;
    now->nvrtc_seconds = info.st_mtim.tv_sec;
    now->nvrtc_ns = info.st_mtim.tv_nsec;
    return true;
}

/* Another NVRTC may make a better kernel. Without NVRTC the cached one still serves. */
static bool is_of_this_nvrtc(const cached_plan *stored) {
    cached_plan now = {.nvrtc_bytes = 0};
    memcpy(now.nvrtc, stored->nvrtc, sizeof now.nvrtc);
    return !look_at_nvrtc(&now) ||
           (now.nvrtc_bytes == stored->nvrtc_bytes && now.nvrtc_seconds == stored->nvrtc_seconds &&
            now.nvrtc_ns == stored->nvrtc_ns);
}

static bool ends(const char *text, size_t bytes) { return memchr(text, '\0', bytes) != NULL; }

static bool is_whole(const cached_plan *stored, size_t bytes) {
    return bytes == sizeof *stored && ends(stored->kernel, sizeof stored->kernel) &&
           ends(stored->text, sizeof stored->text) && ends(stored->nvrtc, sizeof stored->nvrtc) &&
           stored->launch.tile && stored->launch.threads && stored->launch.blocks_max &&
           stored->launch.blocks_max <= RDT_BLOCKS_MAX;
}

bool rdt_plan_cache_follow(redtune *rt, const rdt_plan_cache_key key, rdt_executable *executable) {
    void *data = NULL;
    size_t bytes = 0;
    rdt_kernel *kernel = NULL;
    redtune_error ignored;
    if (rdt_builder_find(rt->builder, key, &data, &bytes, &ignored) || !data) return false;
    const cached_plan *stored = data;
    if (is_whole(stored, bytes) && is_of_this_nvrtc(stored))
        rdt_builder_load(rt->builder, rt->context, stored->kernel, &stored->launch, &kernel,
                         &ignored);
    if (kernel) {
        executable->kernel = kernel;
        executable->launch = stored->launch;
        executable->info = stored->info;
        memcpy(executable->text, stored->text, sizeof executable->text);
    }
    free(data);
    return kernel != NULL;
}

void rdt_plan_cache_write(redtune *rt, const rdt_plan_cache_key key,
                          const rdt_executable *executable) {
    cached_plan made;
    if (!executable->kernel->key[0]) return;
    memset(&made, 0, sizeof made);
    made.launch = executable->launch;
    made.launch.overlap = made.launch.overlap && !executable->kernel->no_overlap;
    made.info = executable->info;
    rdt_text_copy(made.kernel, sizeof made.kernel, executable->kernel->key);
    memcpy(made.text, executable->text, sizeof made.text);
    rdt_builder_compiler_path(rt->builder, made.nvrtc, sizeof made.nvrtc);
    look_at_nvrtc(&made);
    rdt_builder_put(rt->builder, key, &made, sizeof made);
}
