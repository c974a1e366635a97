/* Facts about redtune.h on a GPU: preparing, pinning, checking, and inputs from the host. */
#define _POSIX_C_SOURCE 200809L
#include "gpu/graph.h"
#include "gpu/stream.h"
#include "ones.h"
#include "shaped.h"
#include "simulator.h"

/* ---- the table of plans ---------------------------------------------------------------------- */

FACT(prepared_problems_are_reduced_within_a_capture) {
    enum { PROBLEMS = 9 };
    redtune *rt = NULL;
    rdt_graph *graph = NULL;
    redtune_problem problems[PROBLEMS];
    for (size_t i = 0; i < PROBLEMS; i++) problems[i] = sum_of(UINT64_C(3) << (2 * i));
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(redtune_prepare(rt, problems, PROBLEMS, &err), err);
    CHECK_OK(redtune_prepare(rt, NULL, 0, &err), err);
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    for (size_t i = 0; i < PROBLEMS; i++) {
        redtune_problem problem = problems[i];
        if (i % 2) problem.result = REDTUNE_F32; /* the usual one, by its name */
        CHECK_OK(redtune_reduce(rt, &problem, input(), output(i), gpu.stream, &err), err);
    }
    CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
    CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
    for (size_t i = 0; i < PROBLEMS; i++) CHECK(result(i) == (float)shaped_of(&problems[i]).count);
    rdt_graph_destroy(graph);
    redtune_close(rt);
}

FACT(preparing_does_what_it_can_and_tells_the_first_failure) {
    redtune *rt = NULL;
    redtune_problem problems[] = {sum_of(100), sum_of(70000), sum_of(1), sum_of(2)};
    problems[1].dtype = (redtune_dtype)77;
    problems[2].op = (redtune_op)66;
    CHECK_OK(open_usual(&rt), err);
    CHECK_FAILS(redtune_prepare(rt, problems, 4, &err), REDTUNE_INVALID, err, "77");
    CHECK_FAILS(redtune_prepare(NULL, problems, 4, &err), REDTUNE_INVALID, err, "rt is NULL");
    CHECK_FAILS(redtune_prepare(rt, NULL, 1, &err), REDTUNE_INVALID, err, "problems is NULL");
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    CHECK_OK(redtune_reduce(rt, &problems[3], input(), output(0), gpu.stream, &err), err);
    rdt_graph_abandon(gpu.driver, gpu.stream);
    redtune_close(rt);
}

FACT(reduce_keeps_results_of_different_dtypes_apart) {
    redtune *rt = NULL;
    redtune_problem narrow = sum_of(1000), wide = sum_of(1000);
    double sum = 0;
    wide.result = REDTUNE_F64;
    CHECK_OK(open_usual(&rt), err);
    for (int round = 0; round < 2; round++) {
        CHECK_OK(redtune_reduce(rt, &narrow, input(), output(0), gpu.stream, &err), err);
        CHECK(result(0) == 1000);
        CHECK_OK(redtune_reduce(rt, &wide, input(), output(2), gpu.stream, &err), err);
        CHECK_OK(rdt_buffer_read(gpu.driver, &sum, results.address + 2 * sizeof(float), sizeof sum,
                                 gpu.stream, &err),
                 err);
        CHECK(sum == 1000);
    }
    redtune_close(rt);
}

/* ---- pinning --------------------------------------------------------------------------------- */

FACT(config_of_a_plan_can_be_asked_for_again) {
    redtune *rt = NULL;
    redtune_plan *plan = NULL, *again = NULL;
    redtune_info info;
    char text[320];
    redtune_problem problem = sum_of(COUNT);
    problem.config = "block=128,tail=shared";
    CHECK_OK(open_and_plan(&rt, &problem, &plan), err);
    snprintf(text, sizeof text, "%s", redtune_plan_config(plan));
    CHECK_CONTAINS(text, "block:block=128,");
    CHECK_CONTAINS(text, "tail=shared");
    redtune_plan_info(plan, &info);
    CHECK_INT(info.match, REDTUNE_MATCH_PINNED);
    CHECK(!info.problem.config);
    problem.config = text;
    CHECK_OK(redtune_plan_create(rt, &problem, &again, &err), err);
    CHECK_TEXT(redtune_plan_config(again), redtune_plan_config(plan));
    CHECK_OK(redtune_plan_reduce(again, input(), COUNT, output(0), gpu.stream, &err), err);
    CHECK(result(0) == COUNT);
    redtune_plan_destroy(plan);
    redtune_plan_destroy(again);
    redtune_close(rt);
}

FACT(config_that_does_not_apply_is_refused) {
    static const struct {
        const char *config, *told;
        redtune_status status;
    } wrong[] = {
        /* Values that went. */
        {"finish=ticket", "it may be single, poll, cluster", REDTUNE_INVALID},
        {"block=77", "block=77", REDTUNE_INVALID},
        {"nothing=1", "nothing", REDTUNE_INVALID},
        {"nowhere:block=64", "nowhere", REDTUNE_INVALID},
        {"block", "name=value", REDTUNE_INVALID},
        {"vec=16", "16 at most", REDTUNE_UNSUPPORTED}, /* elements of 4 bytes */
    };
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    redtune_problem problem = sum_of(COUNT);
    CHECK_OK(open_usual(&rt), err);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        problem.config = wrong[i].config;
        CHECK_FAILS(redtune_plan_create(rt, &problem, &plan, &err), wrong[i].status, err,
                    wrong[i].told);
    }
    CHECK(!plan);
    problem.config = "block=128";
    CHECK_FAILS(redtune_reduce(rt, &problem, input(), output(0), gpu.stream, &err), REDTUNE_INVALID,
                err, "create a plan");
    redtune_close(rt);
}

FACT(variable_pins_every_plan) {
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    redtune_problem problem = sum_of(COUNT);
    problem.config = "block=512";
    setenv("REDTUNE_CONFIG", "block=64,tail=shared", 1);
    redtune_status status = open_and_plan(&rt, &problem, &plan);
    unsetenv("REDTUNE_CONFIG");
    CHECK_OK(status, err);
    CHECK_CONTAINS(redtune_plan_config(plan), "block=64,");
    CHECK_CONTAINS(redtune_plan_config(plan), "tail=shared");
    redtune_plan_destroy(plan);
    redtune_close(rt);
    setenv("REDTUNE_CONFIG", "vec=16", 1);
    status = open_usual(&rt);
    unsetenv("REDTUNE_CONFIG");
    CHECK_OK(status, err);
    CHECK_FAILS(redtune_plan_create(rt, &problem, &plan, &err), REDTUNE_UNSUPPORTED, err,
                "REDTUNE_CONFIG=vec=16");
    redtune_close(rt);
}

/* ---- checking -------------------------------------------------------------------------------- */

static redtune_status open_checking(redtune **rt, const char *value) {
    setenv("REDTUNE_CHECK", value, 1);
    redtune_status status = open_usual(rt);
    unsetenv("REDTUNE_CHECK");
    return status;
}

/* Whether kernels reach what malloc gives, as on some systems they do. */
static bool host_is_reached(void) {
    int reached = 0;
    gpu.driver->device_get_attribute(&reached, CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS,
                                     gpu.context->device);
    return reached;
}

/* The context is as good as before after each of them. */
FACT(check_names_pointers_that_kernels_do_not_reach) {
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    redtune_problem problem = sum_of(COUNT);
    rdt_buffer freed = {NULL};
    rdt_pinned pinned = {NULL};
    static float host[64], one = 1;
    CHECK_OK(open_checking(&rt, "1"), err);
    CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
    if (!host_is_reached()) {
        CHECK_FAILS(redtune_plan_reduce(plan, host, 64, output(0), gpu.stream, &err),
                    REDTUNE_INVALID, err, "d_in 0x");
        CHECK_CONTAINS(err.message, "a host pointer");
        CHECK_FAILS(redtune_plan_reduce(plan, input(), 64, host, gpu.stream, &err), REDTUNE_INVALID,
                    err, "d_out 0x");
        CHECK_OK(rdt_buffer_create(gpu.driver, 1 << 20, &freed, &err), err);
        void *gone = (void *)(uintptr_t)freed.address;
        rdt_buffer_destroy(&freed);
        CHECK_FAILS(redtune_plan_reduce(plan, gone, 64, output(0), gpu.stream, &err),
                    REDTUNE_INVALID, err, "freed");
    }
    CHECK_FAILS(redtune_plan_reduce(plan, output(96), COUNT * 100, output(0), gpu.stream, &err),
                REDTUNE_INVALID, err, "its allocation ends after 16000");
    CHECK_OK(redtune_plan_reduce(plan, NULL, 0, output(0), gpu.stream, &err), err);
    CHECK_OK(rdt_buffer_create_pinned(gpu.driver, sizeof one, &pinned, &err), err);
    memcpy(pinned.data, &one, sizeof one);
    CHECK_OK(redtune_plan_reduce(plan, pinned.data, 1, output(1), gpu.stream, &err), err);
    rdt_graph *graph = NULL;
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    CHECK_OK(redtune_plan_reduce(plan, input(), 1000, output(2), gpu.stream, &err), err);
    CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
    CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
    rdt_graph_destroy(graph);
    CHECK(result(0) == 0 && result(1) == 1 && result(2) == 1000);
    rdt_buffer_destroy_pinned(&pinned);
    redtune_plan_destroy(plan);
    redtune_close(rt);
}

FACT(check_names_memory_of_another_gpu) {
    redtune *rt = NULL;
    redtune_problem problem = sum_of(100);
    simulator sim;
    int gpus = 0;
    CUdevice other = 0;
    CUcontext context = NULL;
    rdt_buffer far = {NULL};
    if (simulator_find(&sim)) sim.set("REDTUNE_SIM_DEVICES", "2");
    CHECK(!gpu.driver->device_get_count(&gpus));
    if (gpus < 2) SKIP("there is one GPU");
    CHECK(!gpu.driver->device_get(&other, 1));
    CHECK(!gpu.driver->primary_retain(&context, other) && !gpu.driver->ctx_push(context));
    CHECK_OK(rdt_buffer_create(gpu.driver, 4096, &far, &err), err);
    CHECK(!gpu.driver->ctx_pop(&context));
    CHECK_OK(open_checking(&rt, "1"), err);
    CHECK_FAILS(
        redtune_reduce(rt, &problem, (void *)(uintptr_t)far.address, output(0), gpu.stream, &err),
        REDTUNE_INVALID, err, "memory of GPU 1");
    redtune_close(rt);
    CHECK(!gpu.driver->ctx_push(context));
    rdt_buffer_destroy(&far);
    CHECK(!gpu.driver->ctx_pop(&context) && !gpu.driver->primary_release(other));
}

FACT(check_is_asked_for_by_1) {
    redtune *rt = NULL;
    CHECK_OK(open_checking(&rt, "0"), err);
    redtune_close(rt);
    CHECK_FAILS(open_checking(&rt, "yes"), REDTUNE_INVALID, err, "REDTUNE_CHECK=yes");
}

/* ---- inputs from the host -------------------------------------------------------------------- */

/* Gives zeros, as many as *user says are left. */
static redtune_status serve_zeros(void *user, void *buffer, size_t capacity, size_t *bytes,
                                  redtune_error *failure) {
    size_t *left_bytes = user;
    (void)failure;
    *bytes = *left_bytes < capacity ? *left_bytes : capacity;
    memset(buffer, 0, *bytes);
    *left_bytes -= *bytes;
    return REDTUNE_OK;
}

/* Whatever the length, and with the plan for that length. */
FACT(input_that_fits_is_one_launch) {
    static const uint64_t counts[] = {1, 1023, 1025, 10000, 10001};
    redtune *rt = NULL;
    simulator sim = {NULL};
    bool simulated = simulator_find(&sim);
    CHECK_OK(open_usual(&rt), err);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        size_t left_bytes = counts[i] * sizeof(float);
        redtune_problem problem = PROBLEM(.dtype = REDTUNE_F32, .count = counts[i]);
        redtune_input input = {serve_zeros, &left_bytes};
        redtune_reading reading;
        uint64_t before =
            simulated ? sim.calls("cuLaunchKernel") + sim.calls("cuLaunchKernelEx") : 0;
        CHECK_OK(redtune_reduce_input(rt, &problem, &input, &reading, &err), err);
        CHECK_INT(reading.pieces, 1);
        CHECK_INT(reading.count, counts[i]);
        if (simulated)
            CHECK_INT(sim.calls("cuLaunchKernel") + sim.calls("cuLaunchKernelEx") - before, 1);
    }
    redtune_close(rt);
}

int main(int argc, char **argv) { return ones_run(argc, argv); }
