/* Facts about reductions by key of random problems, and of random calls of random plans. */
#include "gpu/graph.h"
#include "keyed_trials.h"

FACT(random_problems_are_right) {
    static const redtune_op ops[] = {REDTUNE_SUM, REDTUNE_MAX, REDTUNE_MEAN};
    static const redtune_dtype dtypes[] = {REDTUNE_F32, REDTUNE_I32};
    begin();
    draw_from(1);
    for (int i = 0; i < 90 && !check_state.failed; i++) {
        const uint64_t k = (uint64_t)1 << draw(i % 3 ? 8 : 17);
        trial at =
            trial_of(ops[i % 3], dtypes[i / 3 % 2], key_dtypes[i % 2],
                     1 + draw(k < OUT_ROOM ? k : OUT_ROOM), 1 + draw(i % 8 ? 4000 : ROOM - 8));
        draw_the_rest(&at);
        run(&at);
    }
    end();
}

/* A problem of any op, of any dtypes, with or without a mask, with a plan that runs it many times.
 */
static redtune_plan *draw_plan(trial *at) {
    redtune_plan *plan = NULL;
    redtune_dtype result;
    const bool rows = draw(5) == 0;
    const uint64_t k = 1 + draw(draw(8) ? UINT64_C(1) << draw(14) : OUT_ROOM);
    const redtune_dtype key = key_dtypes[draw(8)];
    const uint64_t width = rows ? 2 + draw(7) : 1;
    do {
        *at = trial_of((redtune_op)draw((uint64_t)rdt_op_compiled_in.count),
                       (redtune_dtype)(1 + draw(REDTUNE_DTYPE_END - 1)), key, k, draw(5001));
        if (rows)
            *at = trial_of_rows(at->p.op, at->p.dtype, key, (k + width - 1) / width,
                                at->count / width, width);
        if (draw(3) == 0) at->p.result = (redtune_dtype)(1 + draw(REDTUNE_DTYPE_END - 1));
        at->p.mask = (redtune_mask)(draw(2) ? 0 : draw(3));
    } while (redtune_problem_result(&at->p, &result, NULL));
    if (draw(4) == 0) at->p.order = REDTUNE_ORDER_FIXED;
    if (draw(4) == 0 && rdt_op_find(at->p.op)->compensated && rdt_scalar_is_float(at->p.dtype))
        at->p.accuracy = REDTUNE_ACCURACY_COMPENSATED;
    if (rdt_op_find(at->p.op)->resumes && !rdt_op_find(at->p.op)->indexed && draw(4))
        at->p.uses = REDTUNE_USE_ACCUMULATE;
    if (redtune_plan_create(rt, &at->p, &plan, &err)) {
        char text[400];
        describe(at, text, sizeof text);
        check_that(false, __FILE__, __LINE__, "%s: %s", err.message, text);
    }
    return plan;
}

/* NaN, infinities, -0 and the least subnormal number, at a few places. */
static void fill_with_oddities(const trial *at) {
    const redtune_dtype dtype = at->p.dtype;
    const double odd[] = {NAN, INFINITY, -INFINITY, -0.0, ldexp(1, -1074), -ldexp(1, -149)};
    const size_t bytes = redtune_dtype_bytes(dtype);
    fill(at);
    if (!rdt_scalar_is_float(dtype) || draw(4) || at->count == 0) return;
    for (int i = 0; i < 5; i++) {
        const redtune_value x = rdt_scalar_from_real(dtype, odd[draw(6)]);
        memcpy(values + (at->x_off + draw(at->count * at->width)) * bytes, &x, bytes);
    }
}

/* Once more onto its results, so that each element counts twice. */
static void run_again(const trial *at, redtune_plan *plan, redtune_keyed keyed) {
    keyed.accumulate = 1;
    keyed.d_skipped = NULL;
    CHECK_OK(redtune_plan_run_keyed(plan, &keyed, gpu.stream, &err), err);
    times = 2;
    check_outputs(at);
    times = 1;
}

static void run_call(trial *at, redtune_plan *plan) {
    rdt_graph *graph = NULL;
    const bool captured = draw(8) == 0;
    redtune_keyed keyed = keyed_of(at);
    const bool multiplies = at->p.op == REDTUNE_PROD || at->p.op == REDTUNE_NANPROD;
    keyed.keys = at->p.keys;
    fill_with_oddities(at);
    upload();
    if (captured) CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    CHECK_OK(redtune_plan_run_keyed(plan, &keyed, gpu.stream, &err), err);
    if (captured) {
        CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
        CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
    }
    check_outputs(at);
    rdt_graph_destroy(graph);
    if (at->p.uses && !multiplies && !check_state.failed) run_again(at, plan, keyed);
}

/* Of fewer keys than a plan has at times, and of any number of elements. $RDT_TEST_KEYED_CALLS says
 * how many calls, of which 24 have a plan; $RDT_TEST_KEYED_FIRST the number of the first plan:
 * the usual four are by rows and reordered, of a power, accumulating, and accumulating in fixed
 * order. */
FACT(random_calls_are_right) {
    const char *calls = getenv("RDT_TEST_KEYED_CALLS"), *from = getenv("RDT_TEST_KEYED_FIRST");
    const int count = calls ? atoi(calls) : 96, first = from ? atoi(from) : 10;
    begin();
    for (int i = 0; i < count && !check_state.failed; i += 24) {
        trial at;
        draw_from((uint64_t)(first + i / 24) + 1000);
        redtune_plan *plan = draw_plan(&at);
        const uint64_t k = at.p.keys;
        for (int c = 0; plan && c < 24 && i + c < count && !check_state.failed; c++) {
            draw_the_rest(&at);
            at.count = draw(1 + (UINT64_C(5000) >> draw(13)) / at.width);
            at.p.keys = draw(2) ? k : 1 + draw(k);
            run_call(&at, plan);
        }
        redtune_plan_destroy(plan);
        if (check_state.failed) printf("    in the calls of plan %d\n", first + i / 24);
    }
    end();
}

int main(int argc, char **argv) { return run_facts(argc, argv); }
