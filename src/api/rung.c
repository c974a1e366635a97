/* Rung: the kernels of one step of the ladder, and a whole sum by them. */
#include "api/rung.h"

enum { ROOM_ALIGNMENT_BYTES = 256 };

static redtune_status make(rdt_builder *builder, const rdt_context *context, int family,
                           const redtune_problem *problem, const rdt_config *config,
                           rdt_launch *launch, rdt_kernel **kernel, redtune_error *err) {
    rdt_codegen *codegen = NULL;
    redtune_status status = rdt_builder_borrow(builder, &codegen, err);
    if (status) return status;
    const rdt_case at = {problem, &context->facts};
    status = rdt_codegen_check(codegen, family, at, config, err);
    if (!status) status = rdt_codegen_launch(codegen, family, at, config, launch, err);
    if (!status)
        status = rdt_builder_make(builder, context, family, problem, config, launch, kernel, err);
    rdt_builder_give_back(builder);
    return status;
}

/* Room for the sums that the first launch leaves, and for those that the second one does. */
static redtune_status make_room(rdt_rung *rung, const rdt_driver *driver, uint64_t count,
                                size_t result_bytes, redtune_error *err) {
    uint64_t blocks = rdt_launch_blocks(&rung->first_launch, count);
    uint64_t fewer = rdt_launch_blocks(&rung->again_launch, blocks);
    uint64_t unit = ROOM_ALIGNMENT_BYTES;
    uint64_t first_bytes = (blocks * result_bytes + unit - 1) / unit * unit;
    redtune_status status =
        rdt_buffer_create(driver, first_bytes + fewer * result_bytes, &rung->partials, err);
    rung->room[0] = rung->partials.address;
    rung->room[1] = rung->partials.address + first_bytes;
    return status;
}

/* A sum for every thread of the first launch; the others have fewer. */
static redtune_status make_work(rdt_rung *rung, rdt_builder *builder, const rdt_driver *driver,
                                int family, const redtune_problem *problem,
                                const rdt_config *config, redtune_error *err) {
    rdt_codegen *codegen = NULL;
    rdt_about about;
    redtune_status status = rdt_builder_borrow(builder, &codegen, err);
    if (status) return status;
    status = rdt_codegen_about(codegen, family, config, &about, err);
    rdt_builder_give_back(builder);
    if (status || !about.needs_work) return status;
    uint64_t threads = (uint64_t)rdt_launch_blocks(&rung->first_launch, problem->count) *
                       rung->first_launch.threads;
    return rdt_buffer_create(driver, threads * redtune_dtype_bytes(problem->result), &rung->work,
                             err);
}

redtune_status rdt_rung_open(rdt_builder *builder, const rdt_context *context, int family,
                             const redtune_problem *problem, const rdt_config *config,
                             rdt_rung *out, redtune_error *err) {
    rdt_rung rung = {.first = NULL};
    redtune_status status =
        make(builder, context, family, problem, config, &rung.first_launch, &rung.first, err);
    if (!status && rung.first_launch.partials &&
        rdt_launch_blocks(&rung.first_launch, problem->count) > 1) {
        redtune_problem sums = *problem;
        sums.dtype = problem->result;
        sums.count = rdt_launch_blocks(&rung.first_launch, problem->count);
        status =
            make(builder, context, family, &sums, config, &rung.again_launch, &rung.again, err);
        if (!status)
            status = make_room(&rung, context->driver, problem->count,
                               redtune_dtype_bytes(problem->result), err);
    }
    if (!status) status = make_work(&rung, builder, context->driver, family, problem, config, err);
    if (status)
        rdt_rung_close(&rung);
    else
        *out = rung;
    return status;
}

void rdt_rung_close(rdt_rung *rung) {
    rdt_kernel_unload(rung->first);
    rdt_kernel_unload(rung->again);
    rdt_buffer_destroy(&rung->partials);
    rdt_buffer_destroy(&rung->work);
    *rung = (rdt_rung){0};
}

redtune_status rdt_rung_run(const rdt_rung *rung, rdt_operands operands, CUstream stream,
                            redtune_error *err) {
    const rdt_kernel *kernel = rung->first;
    const rdt_launch *launch = &rung->first_launch;
    const CUdeviceptr output = operands.output;
    if (rung->work.bytes) operands.scratch = rung->work.address;
    for (int turn = 0;; turn ^= 1) {
        uint64_t blocks = launch->partials ? rdt_launch_blocks(launch, operands.count) : 1;
        operands.output = blocks > 1 ? rung->room[turn] : output;
        redtune_status status = rdt_kernel_launch(kernel, launch, operands, stream, err);
        if (status || blocks == 1) return status;
        operands.input = operands.output;
        operands.count = blocks;
        kernel = rung->again;
        launch = &rung->again_launch;
    }
}

uint64_t rdt_rung_launches(const rdt_rung *rung, uint64_t count) {
    uint64_t launches = 1;
    const rdt_launch *launch = &rung->first_launch;
    while (launch->partials && (count = rdt_launch_blocks(launch, count)) > 1) {
        launch = &rung->again_launch;
        launches++;
    }
    return launches;
}
