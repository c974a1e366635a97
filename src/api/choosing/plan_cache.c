/* Plan cache: the config chosen for a problem, its launch and its kernel's key, as a struct in the
 * kernel cache (plan_cache.h has its key). Nothing in it is checked against the world again except
 * NVRTC's file, whose version the kernel's key contains and which only loading NVRTC would tell. */
#define _POSIX_C_SOURCE 200809L
#include "api/choosing/plan_cache.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/file.h"

/* NVRTC's file: path "" for none. */
typedef struct nvrtc_file {
    char path[256];
    int64_t bytes, seconds, ns;
} nvrtc_file;

/* As it is stored. The key has the build in it, so that no other layout can meet it. */
typedef struct cached_plan {
    char kernel[RDT_HASH_TEXT_BYTES]; /* its key */
    rdt_launch launch;
    redtune_info info;
    redtune_problem measured;
    rdt_extents own[RDT_PLAN_OWN_MAX];
    size_t own_count;
    char text[RDT_POINT_TEXT_BYTES];
    nvrtc_file nvrtc; /* when the kernel was found */
} cached_plan;

/* ---- the key --------------------------------------------------------------------------------- */

void rdt_plan_cache_name(const redtune *rt, const rdt_plan_cache_question *question,
                         rdt_plan_cache_key out) {
    const redtune_problem *problem = question->problem;
    const rdt_op_traits *op = rdt_op_find(problem->op);
    const rdt_facts *gpu = &rt->context->facts;
#define OF_PROBLEM(field) (int64_t) problem->field,
#define OF_GPU(field)     (int64_t) gpu->field,
    const rdt_extents extents = rdt_problem_segments_shape(problem);
    const int64_t values[] = {RDT_PROBLEM_KIND_LIST(OF_PROBLEM) RDT_FACTS_LIST(OF_GPU) rt->trust,
                              question->yield};
#undef OF_PROBLEM
#undef OF_GPU
    rdt_hash hash = rdt_hash_begin();
    rdt_hash_add_string(&hash, "plan");
    rdt_hash_add_string(&hash, rdt_codegen_build());
    rdt_hash_add_string(&hash, question->templates);
    rdt_hash_add_string(&hash, question->pin ? question->pin : "");
    rdt_hash_add_string(&hash, gpu->name);
    rdt_hash_add_string(&hash, question->databases);
    rdt_hash_add(&hash, values, sizeof values);
    rdt_hash_add(&hash, &extents, sizeof extents);
    if (rdt_problem_is_strided(problem)) {
        rdt_hash_add(&hash, problem->kept, problem->kept_axes * sizeof *problem->kept);
        rdt_hash_add_string(&hash, "of");
        rdt_hash_add(&hash, problem->reduced, problem->reduced_axes * sizeof *problem->reduced);
    }
    if (rdt_problem_is_keyed(problem)) {
#define ADD(field) rdt_hash_add(&hash, &problem->field, sizeof problem->field);
        RDT_PROBLEM_KEYS_LIST(ADD)
#undef ADD
    }
    /* The number of such an op is another process's for another op. */
    if (op->file) {
        rdt_hash_add_string(&hash, op->name);
        rdt_hash_add(&hash, &op->content, sizeof op->content);
    }
    rdt_hash_text(&hash, out);
}

/* ---- reading and writing --------------------------------------------------------------------- */

static bool look_at_nvrtc(nvrtc_file *file) {
    struct stat info;
    if (!file->path[0] || stat(file->path, &info)) return false;
    file->bytes = info.st_size;
    file->seconds = info.st_mtim.tv_sec;
    file->ns = info.st_mtim.tv_nsec;
    return true;
}

/* Whether REDTUNE_NVRTC names a file that is another one than that. */
static bool is_another_named(const char *path) {
    const char *named = getenv("REDTUNE_NVRTC");
    struct stat wanted, info;
    return named && *named && !stat(named, &wanted) &&
           (stat(path, &info) || wanted.st_dev != info.st_dev || wanted.st_ino != info.st_ino);
}

/* Another NVRTC may make a better kernel. Without NVRTC the cached one still serves. */
static bool is_of_this_nvrtc(const nvrtc_file *stored) {
    nvrtc_file now = *stored;
    if (!stored->path[0]) return true; /* a kernel of the system's files */
    if (is_another_named(stored->path)) return false;
    return !look_at_nvrtc(&now) || !memcmp(&now, stored, sizeof now);
}

static bool ends(const char *text, size_t bytes) { return memchr(text, '\0', bytes) != NULL; }

static bool is_whole(const cached_plan *stored, size_t bytes) {
    return bytes == sizeof *stored && ends(stored->kernel, sizeof stored->kernel) &&
           ends(stored->text, sizeof stored->text) &&
           ends(stored->nvrtc.path, sizeof stored->nvrtc.path) && stored->launch.tile &&
           stored->own_count <= RDT_PLAN_OWN_MAX && stored->launch.threads &&
           stored->launch.blocks_max && stored->launch.blocks_max <= RDT_BLOCKS_MAX;
}

bool rdt_plan_cache_follow(redtune *rt, const rdt_plan_cache_key key, bool any_nvrtc,
                           rdt_executable *executable) {
    void *data = NULL;
    size_t bytes = 0;
    rdt_kernel *kernel = NULL;
    redtune_error ignored;
    if (rdt_builder_find(rt->builder, key, &data, &bytes, &ignored) || !data) return false;
    const cached_plan *stored = data;
    if (is_whole(stored, bytes) && (any_nvrtc || is_of_this_nvrtc(&stored->nvrtc)))
        rdt_builder_load(rt->builder, rt->context, stored->kernel, &stored->launch, &kernel,
                         &ignored);
    if (kernel) {
        executable->kernel = kernel;
        executable->launch = stored->launch;
        executable->info = stored->info;
        executable->measured = stored->measured;
        executable->own_count = stored->own_count;
        memcpy(executable->own, stored->own, sizeof executable->own);
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
    made.measured = executable->measured;
    made.own_count = executable->own_count;
    memcpy(made.own, executable->own, sizeof made.own);
    rdt_text_copy(made.kernel, sizeof made.kernel, executable->kernel->key);
    memcpy(made.text, executable->text, sizeof made.text);
    rdt_builder_compiler_path(rt->builder, made.nvrtc.path, sizeof made.nvrtc.path);
    look_at_nvrtc(&made.nvrtc);
    rdt_builder_put(rt->builder, key, &made, sizeof made);
}
