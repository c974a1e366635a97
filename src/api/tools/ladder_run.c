/* Ladder run: the kernels of one step of the ladder, and a whole sum by them. */
#include "api/tools/ladder_run.h"

enum { ROOM_ALIGNMENT_BYTES = 256 };

static redtune_status make_launch(rdt_builder *builder, rdt_codegen *codegen,
                                  const rdt_context *context, const redtune_problem *problem,
                                  const rdt_point *point, rdt_launch *launch, rdt_kernel **kernel,
                                  redtune_error *err) {
    const rdt_case at = {problem, &context->facts};
    redtune_status status = rdt_rules_check(codegen, at, point, err);
    if (!status) status = rdt_rules_launch(codegen, at, point, launch, err);
    if (status) return status;
    return rdt_builder_make(builder, context, problem, point, launch, kernel, err);
}

/* Room for the sums that the first launch leaves, and for those that the second one does. */
static redtune_status make_room(rdt_ladder_run *ladder_run, const rdt_driver *driver,
                                const redtune_problem *sums, redtune_error *err) {
    const size_t bytes = redtune_dtype_bytes(sums->dtype);
    const uint64_t fewer = rdt_launch_blocks(&ladder_run->again_launch, rdt_problem_count(sums));
    const uint64_t unit = ROOM_ALIGNMENT_BYTES;
    const uint64_t first_bytes = (rdt_problem_count(sums) * bytes + unit - 1) / unit * unit;
    redtune_status status =
        rdt_buffer_create(driver, first_bytes + fewer * bytes, &ladder_run->partials, err);
    ladder_run->room[0] = ladder_run->partials.address;
    ladder_run->room[1] = ladder_run->partials.address + first_bytes;
    return status;
}

/* A sum for every thread of the first launch; the others have fewer. */
static redtune_status make_work(rdt_ladder_run *ladder_run, rdt_codegen *codegen,
                                const rdt_driver *driver, const redtune_problem *problem,
                                const rdt_point *point, redtune_error *err) {
    rdt_about about;
    redtune_status status = rdt_rules_about(codegen, point, &about, err);
    if (status || !about.needs_work) return status;
    uint64_t threads =
        (uint64_t)rdt_launch_blocks(&ladder_run->first_launch, rdt_problem_count(problem)) *
        ladder_run->first_launch.threads;
    return rdt_buffer_create(driver, threads * redtune_dtype_bytes(problem->result),
                             &ladder_run->work, err);
}

redtune_status rdt_ladder_run_open(rdt_builder *builder, rdt_codegen *codegen,
                                   const rdt_context *context, const redtune_problem *problem,
                                   const rdt_point *point, rdt_ladder_run *out,
                                   redtune_error *err) {
    rdt_ladder_run ladder_run = {.first = NULL};
    const rdt_launch *first = &ladder_run.first_launch;
    redtune_status status = make_launch(builder, codegen, context, problem, point,
                                        &ladder_run.first_launch, &ladder_run.first, err);
    redtune_problem sums = *problem;
    sums.dtype = problem->result;
    const uint64_t blocks = status ? 0 : rdt_launch_blocks(first, rdt_problem_count(problem));
    rdt_problem_axes_set_count(&sums, blocks);
    if (!status && first->partials && blocks > 1) {
        status = make_launch(builder, codegen, context, &sums, point, &ladder_run.again_launch,
                             &ladder_run.again, err);
        if (!status) status = make_room(&ladder_run, context->driver, &sums, err);
    }
    if (!status) status = make_work(&ladder_run, codegen, context->driver, problem, point, err);
    if (status)
        rdt_ladder_run_close(&ladder_run);
    else
        *out = ladder_run;
    return status;
}

void rdt_ladder_run_close(rdt_ladder_run *ladder_run) {
    rdt_kernel_unload(ladder_run->first);
    rdt_kernel_unload(ladder_run->again);
    rdt_buffer_destroy(&ladder_run->partials);
    rdt_buffer_destroy(&ladder_run->work);
    *ladder_run = (rdt_ladder_run){0};
}

redtune_status rdt_ladder_run_run(const rdt_ladder_run *ladder_run, rdt_operands operands,
                                  CUstream stream, redtune_error *err) {
    const rdt_kernel *kernel = ladder_run->first;
    const rdt_launch *launch = &ladder_run->first_launch;
    const CUdeviceptr output = operands.output;
    if (ladder_run->work.bytes) operands.scratch = ladder_run->work.address;
    for (int turn = 0;; turn ^= 1) {
        uint64_t blocks = launch->partials ? rdt_launch_blocks(launch, operands.extents.count) : 1;
        operands.output = blocks > 1 ? ladder_run->room[turn] : output;
        redtune_status status = rdt_kernel_start(kernel, launch, &operands, stream, err);
        if (status || blocks == 1) return status;
        operands.input = operands.output;
        operands.extents.count = blocks;
        kernel = ladder_run->again;
        launch = &ladder_run->again_launch;
    }
}

uint64_t rdt_ladder_run_launches(const rdt_ladder_run *ladder_run, uint64_t count) {
    uint64_t launches = 1;
    const rdt_launch *launch = &ladder_run->first_launch;
    while (launch->partials && (count = rdt_launch_blocks(launch, count)) > 1) {
        launch = &ladder_run->again_launch;
        launches++;
    }
    return launches;
}
