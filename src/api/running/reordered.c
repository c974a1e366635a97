/* Reordered: runs by key of ops without tables, and in fixed order. A launch has brought the
 * elements into the order of their keys, behind scratch; the plan of segments reduces them there.
 */
#include "api/running/segments.h"

rdt_keyed rdt_reordered_sizes(const redtune_problem *problem) {
    return (rdt_keyed){.count = rdt_problem_count(problem),
                       .keys = rdt_problem_results(problem),
                       .width = rdt_problem_keyed_width(problem)};
}

/* Elements of a key are as many as of another for all that is known. */
static redtune_problem segments_of(const redtune_problem *problem) {
    redtune_problem segments = *problem;
    const rdt_keyed sizes = rdt_reordered_sizes(problem);
    const uint64_t keys = sizes.keys / sizes.width, average = (sizes.count + keys - 1) / keys;
    segments.key_dtype = REDTUNE_DTYPE_NONE;
    segments.mask = REDTUNE_MASK_NONE; /* absent elements are behind all segments */
    segments.spread = REDTUNE_SPREAD_UNKNOWN;
    segments.keys = 0;
    segments.segmented = REDTUNE_SEGMENTED_EACH;
    segments.config = NULL;
    rdt_problem_segments_set_shape(
        &segments, (rdt_extents){.count = average ? average : 1, .outer = sizes.keys});
    return segments;
}

redtune_status rdt_reordered_prepare(redtune_plan *plan, redtune_error *err) {
    const redtune_problem problem = segments_of(&plan->problem);
    redtune_plan *made = NULL, *found = NULL;
    if (atomic_load(&plan->segments)) return REDTUNE_OK;
    redtune_status status = rdt_plan_make(plan->rt, &problem, RDT_YIELD_RESULT, &made, err);
    if (!status) status = rdt_plan_prepare_scattered(made, &found, err);
    found = NULL;
    if (status || !atomic_compare_exchange_strong(&plan->segments, &found, made))
        redtune_plan_destroy(made);
    return status;
}

/* Where the indices are that an op finds; 0: it finds none. */
static CUdeviceptr indices_of(const redtune_plan *plan, const rdt_operands *operands) {
    const rdt_op_traits *op = rdt_op_find(plan->problem.op);
    if (!op->indexed) return 0;
    return op->outputs > 1 ? operands->given.output : operands->output;
}

redtune_status rdt_reordered_run(const redtune_plan *plan, const rdt_executable *executable,
                                 const rdt_operands *operands, const rdt_traffic *traffic,
                                 CUstream stream, redtune_error *err) {
    rdt_operands its = *operands;
    rdt_reordering places;
    redtune_plan *segments = atomic_load(&plan->segments), *serving = NULL;
    const bool rows = rdt_launch_sorted(&executable->launch, &operands->keyed).width > 1;
    rdt_launch_reorder(&executable->launch, &operands->keyed, operands->scratch, &places);
    its.input = places.values;
    its.given.input =
        executable->launch.pairs
            ? rdt_launch_reordered_second(&executable->launch, &operands->keyed, &places)
            : 0;
    its.chained = false; /* what is before it is no reduction */
    its.segments = (rdt_segments){.begin = rows ? places.begin : places.first,
                                  .end = rows ? places.end : 0,
                                  .count = operands->keyed.keys,
                                  .wide = 1};
    /* As in other runs that go on from results: each is made once. */
    if (!rows && its.given.resumes) its.segments.end = places.first + sizeof(uint64_t);
    redtune_status status = rdt_segments_plan(segments, &its.segments, stream, &serving, err);
    if (!status) status = rdt_plan_start(serving, &its, traffic, stream, err);
    const CUdeviceptr indices = indices_of(plan, operands);
    if (status || !indices) return status;
    return rdt_kernel_name_indices(executable->kernel, &executable->launch, operands, indices,
                                   stream, err);
}
