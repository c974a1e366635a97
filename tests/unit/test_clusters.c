/* Facts about thread block clusters in the family block (templates/block, lib/limits.lua): which
 * GPUs and problems have them, and how they are launched. */
#include <stdlib.h>

#include "check.h"
#include "codegen/codegen.h"
#include "model/launch.h"

static redtune_error err;
static rdt_codegen *codegen;

static const char block[] =
    "block=128,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=cluster,per_sm=1";

static void demand(redtune_status status) { CHECK_OK(status, err); }

static rdt_facts gpu_of(int major, int sm_count) {
    rdt_facts facts = *rdt_facts_typical();
    facts.major = major;
    facts.sm_count = sm_count;
    return facts;
}

static redtune_problem sum_of(redtune_accuracy accuracy, uint64_t kib) {
    redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, kib * 256);
    problem.accuracy = accuracy;
    demand(rdt_problem_resolve(&problem, &problem, &err));
    return problem;
}

static bool is_cluster(const rdt_point *point) {
    char text[RDT_POINT_TEXT_BYTES];
    rdt_point_format(rdt_codegen_spaces(codegen), point, text);
    return strstr(text, "finish=cluster") != NULL;
}

static bool is_default(const redtune_problem *problem, const rdt_facts *facts) {
    rdt_point point;
    demand(rdt_rules_default(codegen, (rdt_case){problem, facts}, &point, &err));
    return is_cluster(&point);
}

static size_t count_points(const redtune_problem *problem, const rdt_facts *facts,
                           rdt_scope scope) {
    rdt_point *points = NULL;
    size_t count = 0, found = 0;
    demand(rdt_points_list(codegen, (rdt_case){problem, facts}, scope, &points, &count, &err));
    for (size_t i = 0; i < count; i++) found += is_cluster(&points[i]);
    free(points);
    return found;
}

static void refused(const rdt_facts *facts, const char *config, const char *why) {
    const redtune_problem problem = sum_of(REDTUNE_ACCURACY_PLAIN, 64);
    rdt_point point;
    redtune_error said = {0};
    const rdt_case at = {&problem, facts};
    CHECK_OK(rdt_rules_find(codegen, at, NULL, config, &point, &err), err);
    CHECK(rdt_rules_check(codegen, at, &point, &said) == REDTUNE_UNSUPPORTED);
    CHECK_CONTAINS(said.message, why);
}

FACT(only_gpus_that_have_them_try_clusters) {
    const redtune_problem problem = sum_of(REDTUNE_ACCURACY_PLAIN, 64);
    const rdt_facts without = gpu_of(8, 108), with = gpu_of(9, 132), later = gpu_of(12, 48);
    CHECK_INT(count_points(&problem, &without, RDT_SCOPE_DISTINCT), 0);
    CHECK(!is_default(&problem, &without));
    CHECK(count_points(&problem, &with, RDT_SCOPE_USEFUL) > 0);
    CHECK(is_default(&problem, &with) && is_default(&problem, &later));
    refused(&without, block, "the device has no thread block clusters");
}

FACT(a_gpu_runs_a_cluster_side_by_side) {
    const rdt_facts few = gpu_of(9, 4);
    refused(&few, "block=512,unroll=4,finish=cluster,per_sm=1", "more than the device runs");
    refused(&few, "block=128,finish=cluster,per_sm=2", "finish=cluster has 8 blocks: add per_sm=1");
}

FACT(clusters_are_for_inputs_of_a_few_sizes) {
    const rdt_facts gpu = gpu_of(9, 132);
    for (uint64_t kib = 1; kib <= 1024; kib *= 2) {
        const redtune_problem problem = sum_of(REDTUNE_ACCURACY_PLAIN, kib);
        const bool some = kib > 16 && kib <= 256;
        CHECK((count_points(&problem, &gpu, RDT_SCOPE_USEFUL) > 0) == some);
        CHECK(is_default(&problem, &gpu) == some);
    }
}

/* Each warp sends its value, which for exact sums is a long one. */
FACT(long_values_are_no_default) {
    const rdt_facts gpu = gpu_of(9, 132);
    const redtune_problem exact = sum_of(REDTUNE_ACCURACY_EXACT, 64);
    const redtune_problem compensated = sum_of(REDTUNE_ACCURACY_COMPENSATED, 64);
    CHECK(!is_default(&exact, &gpu) && !count_points(&exact, &gpu, RDT_SCOPE_USEFUL));
    CHECK(is_default(&compensated, &gpu));
}

FACT(a_cluster_is_the_whole_grid) {
    const rdt_facts gpu = gpu_of(9, 132);
    const redtune_problem problem = sum_of(REDTUNE_ACCURACY_PLAIN, 64);
    const rdt_case at = {&problem, &gpu};
    rdt_point point;
    rdt_launch launch;
    CHECK_OK(rdt_rules_find(codegen, at, NULL, block, &point, &err), err);
    CHECK_OK(rdt_rules_launch(codegen, at, &point, &launch, &err), err);
    static const uint64_t counts[] = {0, 1, 2048, 1 << 20, UINT64_MAX};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        CHECK_INT(rdt_launch_blocks(&launch, counts[i]), 8);
        const rdt_extents extents = rdt_launch_complete((rdt_extents){.count = counts[i]});
        CHECK_INT(rdt_launch_grid(&launch, &extents), 8);
    }
}

int main(int argc, char **argv) {
    if (rdt_codegen_open(&codegen, &err)) return 1;
    int code = check_run(argc, argv);
    rdt_codegen_close(codegen);
    return code;
}
