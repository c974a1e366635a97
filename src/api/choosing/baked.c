/* Baked: what redtune bake chose and compiled ahead, in the system's kernel files. */
#include "api/choosing/baked.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "api/records/winners.h"
#include "base/file.h"
#include "codegen/user_ops.h"

void rdt_baked_class(const rdt_need *need, char out[RDT_HASH_TEXT_BYTES]) {
    const redtune_problem *problem = need->problem;
#define VALUE(field) (int64_t) problem->field,
    const int64_t values[] = {RDT_PROBLEM_KIND_LIST(VALUE)(int64_t) rdt_problem_layout(problem),
                              need->yield, need->scattered};
#undef VALUE
    rdt_hash hash = rdt_hash_begin();
    rdt_hash_add_string(&hash, "class");
    rdt_hash_add(&hash, values, sizeof values);
    rdt_hash_text(&hash, out);
}

/* ---- choosing -------------------------------------------------------------------------------- */

static double powers_apart(double a, double b) { return fabs(log2((a + 1) / (b + 1))); }

/* How far the extents are apart, in powers of two. Steps that allow less than those that a winner
 * was chosen for count as three more. */
static double baked_distance(const redtune_problem *here, const redtune_problem *there) {
    const double results[] = {(double)rdt_problem_results(here),
                              (double)rdt_problem_results(there)};
    const double elements[] = {(double)rdt_problem_elements(here),
                               (double)rdt_problem_elements(there)};
    const bool aligned = rdt_problem_alignment(here) >= rdt_problem_alignment(there);
    return powers_apart(results[0], results[1]) +
           powers_apart(elements[0] / results[0], elements[1] / results[1]) + (aligned ? 0 : 3);
}

/* Smaller is better; negative: it does not serve. */
static double rank_of(const rdt_baked *entry, const rdt_need *need, const rdt_facts *gpu,
                      rdt_baked_fit fit) {
    const bool own = rdt_facts_same_model(&entry->gpu, gpu);
    if (!rdt_system_kernels_serves(entry->arch, entry->ptx != 0, gpu)) return -1;
    if (fit == RDT_BAKED_SAME)
        return own && rdt_problem_same(&entry->problem, need->problem) ? 0 : -1;
    const double age = (10.0 * gpu->major + gpu->minor - entry->arch) / 1000;
    if (entry->usual) return 1000 + age;
    const double distance = baked_distance(need->problem, &entry->problem);
    if (distance > RDT_WINNERS_DISTANCE_MAX) return -1;
    return distance + age + (own ? 0 : entry->gpu.name[0] ? 100 : 200);
}

typedef struct best {
    rdt_baked entry;
    double rank; /* negative: none was found */
} best;

static bool is_whole(const rdt_baked *entry) {
    return memchr(entry->text, '\0', sizeof entry->text) &&
           memchr(entry->kernel, '\0', sizeof entry->kernel) && entry->launch.tile &&
           entry->launch.threads && entry->launch.blocks_max &&
           entry->launch.blocks_max <= RDT_BLOCKS_MAX;
}

static void look_at_table(const rdt_image *table, const rdt_need *need, const rdt_facts *gpu,
                          rdt_baked_fit fit, best *out) {
    for (size_t at = 0; at + sizeof(rdt_baked) <= table->bytes; at += sizeof(rdt_baked)) {
        rdt_baked entry;
        memcpy(&entry, (const char *)table->data + at, sizeof entry);
        const double rank = is_whole(&entry) ? rank_of(&entry, need, gpu, fit) : -1;
        if (rank < 0 || (out->rank >= 0 && out->rank <= rank)) continue;
        *out = (best){entry, rank};
    }
}

static best nearest_baked(redtune *rt, const rdt_need *need, rdt_baked_fit fit) {
    rdt_kernel_store *store = rdt_builder_store_of(rt->builder);
    best found = {.rank = -1};
    char key[RDT_HASH_TEXT_BYTES];
    const int files = rdt_user_ops_find(need->problem->op) ? 0 : rdt_kernel_store_files(store);
    rdt_baked_class(need, key);
    for (int i = 0; i < files; i++) {
        rdt_image table = {0};
        if (!rdt_kernel_store_find_in(store, i, key, &table, NULL) && table.data)
            look_at_table(&table, need, &rt->context->facts, fit, &found);
        free(table.data);
    }
    return found;
}

/* Those of what the launch was made for and what is here. */
static redtune_match baked_match(const rdt_baked *entry, const rdt_need *need,
                                 const rdt_facts *gpu) {
    if (entry->info.match == REDTUNE_MATCH_DEFAULT || entry->info.match == REDTUNE_MATCH_PINNED)
        return entry->info.match;
    if (!rdt_facts_same_model(&entry->gpu, gpu)) return REDTUNE_MATCH_GPU;
    if (rdt_problem_same(&entry->problem, need->problem)) return entry->info.match;
    return entry->info.match == REDTUNE_MATCH_EXACT ? REDTUNE_MATCH_SIZE : entry->info.match;
}

/* Fills the executable, its kernel loaded; false: nothing baked serves. */
static bool load_best(redtune *rt, const rdt_need *need, rdt_baked_fit fit,
                      rdt_executable *executable) {
    const rdt_facts *gpu = &rt->context->facts;
    const best found = nearest_baked(rt, need, fit);
    rdt_kernel *kernel = NULL;
    if (found.rank < 0) return false;
    const rdt_baked *entry = &found.entry;
    const rdt_launch launch = rdt_launch_fit(&entry->launch, entry->gpu.sm_count, gpu->sm_count);
    rdt_builder_load(rt->builder, rt->context, entry->kernel, &launch, &kernel, NULL);
    if (!kernel) return false;
    *executable = (rdt_executable){.kernel = kernel, .launch = launch, .info = entry->info};
    executable->info.problem = *need->problem;
    executable->info.problem.config = NULL;
    executable->info.match = baked_match(entry, need, gpu);
    executable->measured = entry->measured;
    memcpy(executable->text, entry->text, sizeof executable->text);
    return true;
}

/* The user's databases may know better than what was baked. */
static bool has_own_rows(const redtune *rt) {
    bool absent = true;
    for (int i = 0; absent && i < rt->layers.own; i++)
        absent = rdt_file_is_absent(rt->layers.path[i]);
    return !absent;
}

redtune_status rdt_baked_find(redtune *rt, const rdt_need *need, rdt_baked_fit fit,
                              rdt_executable **out, redtune_error *err) {
    const bool pinned = rt->pin || need->problem->config;
    /* What was baked by key would go by the numbers of keys of its own. */
    if (rdt_problem_is_keyed(need->problem)) return REDTUNE_OK;
    if (pinned || (fit == RDT_BAKED_SAME && has_own_rows(rt))) return REDTUNE_OK;
    rdt_executable *executable = calloc(1, sizeof *executable);
    if (!executable) return rdt_fail_memory(err, sizeof *executable);
    if (load_best(rt, need, fit, executable))
        *out = executable;
    else
        free(executable);
    return REDTUNE_OK;
}

/* ---- without one ----------------------------------------------------------------------------- */

void rdt_baked_explain(redtune *rt, const rdt_need *need, redtune_error *err) {
    const redtune_problem *problem = need->problem;
    const rdt_facts *gpu = &rt->context->facts;
    char what[RDT_PROBLEM_TEXT_BYTES], shape[64];
    if (!rdt_kernel_store_files(rdt_builder_store_of(rt->builder))) return;
    rdt_problem_describe(problem, what);
    snprintf(shape, sizeof shape, "%s%s",
             problem->order == REDTUNE_ORDER_FIXED ? " --order fixed" : "",
             problem->accuracy == REDTUNE_ACCURACY_COMPENSATED ? " --accuracy compensated"
             : problem->accuracy == REDTUNE_ACCURACY_EXACT     ? " --accuracy exact"
                                                               : "");
    rdt_fail(err, REDTUNE_LIBRARY, 0,
             "cannot reduce %.120s: NVRTC is missing, and no kernel file has %s; where NVRTC is, "
             "run redtune bake --op %s --dtype %s%s --arch %d%d%s -o kernels.db, and install that",
             what, need->yield ? "kernels for parts of an array" : "a kernel of its class",
             redtune_op_name(problem->op), redtune_dtype_name(problem->dtype), shape, gpu->major,
             gpu->minor, rdt_facts_is_simulated(gpu) ? " --ptx" : "");
}
