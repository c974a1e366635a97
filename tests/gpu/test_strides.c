/* Facts about reductions of any axes and steps by redtune.h: random problems, kernels by their
 * configs, where the deciding element is, captures, and what is refused. */
#include "model/scalar.h"
#include "strided_draws.h"
#include "strided_trials.h"
#include "subject.h"

static const redtune_op ops[] = {REDTUNE_SUM, REDTUNE_ARGMAX, REDTUNE_MAX_AT, REDTUNE_DOT};
enum { OPS = sizeof ops / sizeof *ops };

/* Kernels are shared by facts: most of their time on a GPU is for making them. */
static const char *const configs[] = {
    "strided:block=256,lanes=reduced,width=1,vec=4,unroll=4,finish=poll,per_sm=4",
    "strided:block=64,lanes=reduced,width=4,vec=2,unroll=2,finish=single,per_sm=1",
    "strided:block=128,lanes=reduced,width=1,vec=1,unroll=8,finish=poll,per_sm=2",
    "strided:block=32,lanes=reduced,width=32,vec=4,unroll=1,finish=single,per_sm=1",
    "strided:block=128,lanes=kept,width=16,vec=2,unroll=4,finish=poll,per_sm=2",
    "strided:block=64,lanes=kept,width=64,vec=1,unroll=2,finish=single,per_sm=1",
    "strided:block=256,lanes=kept,width=8,vec=4,unroll=1,finish=poll,per_sm=1",
    "strided:block=64,lanes=spans,width=8,vec=4,unroll=1,finish=poll,per_sm=8",
    "strided:block=128,lanes=spans,width=16,vec=2,unroll=2,finish=single,per_sm=1",
};
enum { CONFIGS = sizeof configs / sizeof *configs };

/* Pins a config that serves the trial's problem, which is without a mask for every other one;
 * false: there are no kernels of its. */
static bool pin(trial *at, int config) {
    const bool values = at->problem.op == REDTUNE_SUM || at->problem.op == REDTUNE_DOT;
    if (config % 2) at->problem.mask = REDTUNE_MASK_NONE;
    at->problem.config = configs[config];
    return is_strided(at) && (!strstr(configs[config], "spans") || (values && !at->problem.mask));
}

/* By the built-in defaults, and by the kernels of the next fact. */
FACT(random_problems_are_right) {
    begin();
    for (int i = 0; i < 160 && !check_state.failed; i++) {
        trial at;
        if (!subject_is_of_part((size_t)i)) continue;
        draw_from((unsigned)i);
        draw_trial(ops[i % OPS], i % 2 ? 40 : 2000, &at);
        if (i / OPS % 4 && !pin(&at, i / OPS % CONFIGS)) at.problem.config = NULL;
        fill(&at);
        if (at.problem.config)
            run_plan(&at);
        else
            run(&at);
    }
    end();
}

/* A batch, its channels, and planes of 14 x 14: the kernel's own shape, of which blocks share
 * results. */
static trial planes(redtune_op op) {
    trial at = {{.op = op, .dtype = REDTUNE_F32}, {0, 0, 0}, 0};
    redtune_problem *p = &at.problem;
    p->kept_axes = 1;
    p->reduced_axes = 2;
    p->steps = 1u << X | 1u << Y;
    p->kept[0] = (redtune_axis){6, {196, 196}};
    p->reduced[0] = (redtune_axis){24, {6 * 196, 6 * 196}};
    p->reduced[1] = (redtune_axis){196, {1, 1}};
    return at;
}

FACT(kernels_are_right_whatever_the_problem) {
    begin();
    for (int c = 0; c < CONFIGS; c++)
        for (int op = 0; op < OPS; op++) {
            if (!subject_is_of_part((size_t)(c * OPS + op))) continue;
            draw_from((unsigned)c);
            for (int i = 0; i < 8 && !check_state.failed; i++) {
                trial at = planes(ops[op]);
                if (i) draw_trial(ops[op], 2000, &at);
                if (!pin(&at, c)) continue;
                fill(&at);
                run_plan(&at);
            }
        }
    end();
}

/* Loads that elements do not fill: spans of each size that a step of a power of two leaves, from
 * each place within a load on, by the built-in default. */
FACT(spans_and_many_axes_are_taken_from_any_place_on) {
    begin();
    draw_from(3);
    for (int64_t step = 1; step <= 2; step++)
        for (uint64_t size = 8; size < 30; size++) {
            trial at = planes(REDTUNE_SUM);
            redtune_axis *reduced = at.problem.reduced;
            at.problem.kept[0] = (redtune_axis){5, {(int64_t)(size + 1) * step}};
            reduced[0] = (redtune_axis){3, {5 * (int64_t)(size + 1) * step + 1}};
            reduced[1] = (redtune_axis){size, {step}};
            at.problem.steps = 1u << X;
            at.first[0] = (int64_t)size % 4;
            CHECK(is_strided(&at));
            fill(&at);
            run_plan(&at);
        }
    /* Five axes, of which places are found anew, from an odd place on. */
    trial at = planes(REDTUNE_MAX_AT);
    const redtune_axis five[] = {{2, {1100}}, {2, {500}}, {12, {40}}, {3, {12}}, {8, {1}}};
    at.problem.kept[0] = (redtune_axis){3, {2400}};
    at.problem.reduced_axes = 5;
    memcpy(at.problem.reduced, five, sizeof five);
    at.problem.steps = 1u << X;
    for (at.first[0] = 0; at.first[0] < 4; at.first[0] += 3) {
        fill(&at);
        run_plan(&at);
    }
    end();
}

/* The inputs as f16, and where their elements are. */
static void upload_halves(const trial *at, redtune_operands *operands) {
    static uint16_t halves[ROOM];
    upload();
    for (int i = 0; i < 2; i++) {
        for (size_t k = 0; k < ROOM; k++)
            halves[k] = rdt_scalar_from_real(REDTUNE_F16, (double)numbers[i][k]).f16;
        CHECK_OK(rdt_buffer_write(gpu.driver, memory[i].address, halves, sizeof halves, gpu.stream,
                                  &err),
                 err);
        operands->d_in[i] = (uint16_t *)(uintptr_t)memory[i].address + at->first[i];
    }
}

/* Rows of any length, of one span or several, against one vector, or one of their own, from each
 * place within a load on: f32 has a second input's elements by themselves, and f16 two in a word.
 */
static trial rows_of_two(int64_t size, bool alike, bool halves, bool one) {
    trial at = planes(REDTUNE_DOT);
    redtune_problem *p = &at.problem;
    p->dtype = halves ? REDTUNE_F16 : REDTUNE_F32;
    p->config = halves
                    ? "strided:block=64,lanes=spans,width=1,vec=8,unroll=2,load=beside,finish=poll,"
                      "per_sm=2"
                    : "strided:block=64,lanes=spans,width=2,vec=4,unroll=2,load=no_allocate,"
                      "finish=single,per_sm=1";
    p->kept[0] = (redtune_axis){9, {size + 1, alike ? size + 2 : 0}};
    p->reduced_axes = one ? 1 : 2;
    p->reduced[0] = (redtune_axis){3, {9 * size + 11, alike ? 9 * size + 23 : size}};
    p->reduced[!one] = (redtune_axis){(uint64_t)size, {1, 1}};
    at.first[X] = (size_t)size % 8;
    at.first[Y] = (size_t)size / 8 % 8;
    return at;
}

FACT(spans_of_two_inputs_are_taken_from_any_place_on) {
    begin();
    draw_from(4);
    for (int i = 0; i < 400 && !check_state.failed; i++) {
        if (!subject_is_of_part((size_t)i)) continue;
        const trial at = rows_of_two(i & 4 ? 1 + i * 11 / 3 : 1 + i / 8, i & 1, i & 2, i & 4);
        redtune_plan *plan = NULL;
        if (!is_strided(&at)) continue;
        fill(&at);
        redtune_operands operands = operands_of(&at);
        if (i & 2)
            upload_halves(&at, &operands);
        else
            upload();
        CHECK_OK(redtune_plan_create(rt, &at.problem, &plan, &err), err);
        CHECK_OK(redtune_plan_run(plan, &operands, gpu.stream, &err), err);
        check_outputs(&at);
        redtune_plan_destroy(plan);
    }
    end();
}

/* One element goes before all others, which are equal: each place in turn, over the borders of axes
 * and tiles. */
FACT(the_deciding_element_is_found_at_each_place) {
    begin();
    trial at = planes(REDTUNE_MAX_AT);
    redtune_axis *reduced = at.problem.reduced;
    at.problem.kept[0].size = 3;
    reduced[0] = (redtune_axis){5, {-1300, 0}};
    reduced[1] = (redtune_axis){7, {40, 0}};
    at.problem.reduced_axes = 3;
    reduced[2] = (redtune_axis){9, {-2, 0}};
    at.first[0] = 20000;
    for (uint64_t e = 0; e < count_of(&at) && !check_state.failed; e++) {
        for (size_t k = 0; k < ROOM; k++) numbers[0][k] = 1e30f;
        for (uint64_t r = 0; r < results_of(&at); r++)
            for (uint64_t k = 0; k < count_of(&at); k++)
                numbers[0][element_of(&at, X, r, k)] = k == (e + r * 100) % count_of(&at) ? 2 : 1;
        run(&at);
    }
    end();
}

/* Results that go on from a value, or from what their places hold: of masks, too. */
FACT(results_go_on) {
    begin();
    for (int masked = 0; masked < 2; masked++) {
        trial at = planes(REDTUNE_SUM);
        redtune_problem *p = &at.problem;
        float got[6];
        fill(&at);
        upload();
        redtune_operands operands = operands_of(&at);
        p->mask = masked ? REDTUNE_MASK_BYTES : REDTUNE_MASK_NONE; /* packed by itself */
        p->uses = REDTUNE_USE_INITIAL | REDTUNE_USE_ACCUMULATE;
        operands.d_mask = masked ? (char *)(uintptr_t)memory[MASK].address : NULL;
        operands.initial = &(redtune_value){.f32 = 1000};
        for (int i = 0; i < 2; i++) {
            CHECK_OK(redtune_run(rt, p, &operands, gpu.stream, &err), err);
            operands.initial = NULL;
            operands.accumulate = 1;
        }
        CHECK_OK(rdt_buffer_read(gpu.driver, got, out[0].address, sizeof got, gpu.stream, &err),
                 err);
        for (uint64_t r = 0; r < 6; r++) {
            double want = 0;
            for (uint64_t e = 0; e < count_of(&at); e++)
                if (!masked || there[r * count_of(&at) + e])
                    want += (double)numbers[0][element_of(&at, X, r, e)];
            CHECK_INT((int)got[r], 1000 + 2 * (int)want);
        }
    }
    end();
}

/* The first ones in row-major order of the reduced axes, whatever their steps; behind the mask
 * there is room for the count. */
FACT(counts_on_the_gpu_are_of_the_first_elements) {
    begin();
    for (int i = 0; i < 28 && !check_state.failed; i++) {
        trial at;
        if (!subject_is_of_part((size_t)i)) continue;
        draw_from((unsigned)i);
        const char *const pinned[] = {NULL, configs[0], configs[4]};
        do {
            draw_trial(ops[i % OPS], i % 2 ? 40 : 2000, &at);
            at.problem.config = pinned[i / OPS % 3];
            if (at.problem.config) at.problem.mask = REDTUNE_MASK_NONE;
            if (i < OPS) at = planes(ops[i]); /* by wide loads, of which the last is not whole */
        } while (!is_strided(&at));
        if (i < OPS) at.problem.config = configs[0];
        at.problem.uses = REDTUNE_USE_DEVICE_COUNT;
        if (i >= 24) at.problem.order = REDTUNE_ORDER_FIXED;
        fill(&at);
        const uint64_t all = count_of(&at),
                       counts[] = {0, draw(all), draw(all), draw(all), all + 1};
        at.least = i < OPS ? all - 3 : counts[draw(5)];
        redtune_operands operands = operands_of(&at);
        const CUdeviceptr place = memory[MASK].address + ROOM * 2;
        redtune_plan *plan = NULL;
        operands.d_count = (const uint64_t *)(uintptr_t)place;
        upload();
        CHECK_OK(rdt_buffer_write(gpu.driver, place, &at.least, sizeof at.least, gpu.stream, &err),
                 err);
        CHECK_OK(redtune_plan_create(rt, &at.problem, &plan, &err), err);
        CHECK_OK(redtune_plan_run(plan, &operands, gpu.stream, &err), err);
        check_outputs(&at);
        redtune_plan_destroy(plan);
    }
    end();
}

/* Numbers whose sums show the order. */
static void fill_with_reals(const trial *at) {
    fill(at);
    for (int i = 0; i < 2; i++)
        for (size_t k = 0; k < ROOM; k++)
            numbers[i][k] = (float)ldexp((double)draw(1 << 24) - (1 << 23), -(int)draw(30));
}

/* The first results of the packed copy of the elements, by one kernel for all of a kind. An absent
 * pair has 0 there, the identity at its own number, in place of a mask. */
static void reduce_copy(const trial *at, float *got, uint64_t bytes) {
    static float copy[2][ROOM];
    static unsigned char mask[ROOM];
    const uint64_t count = count_of(at), results = results_of(at);
    redtune_problem p = redtune_problem_rows(at->problem.op, REDTUNE_F32, results, count);
    const redtune_operands own = operands_of(at);
    redtune_operands operands = redtune_problem_operands(&p);
    p.order = at->problem.order;
    p.accuracy = at->problem.accuracy;
    const bool pairs = own.d_in[1] && own.d_mask;
    p.mask = pairs ? REDTUNE_MASK_NONE : at->problem.mask;
    if (results > 1) /* else it is a whole array */
        p.config = p.order == REDTUNE_ORDER_FIXED ? "ordered_rows:block=64,lanes=4,unroll=2,rows=1"
                                                  : "rows:block=64,lanes=32,rows=1,vec=1,unroll=1";
    for (uint64_t r = 0; r < results; r++)
        for (uint64_t e = 0; e < count; e++) {
            mask[r * count + e] = there[element_of(at, MASK, r, e)];
            for (int i = 0; i < 2; i++)
                copy[i][r * count + e] =
                    pairs && !mask[r * count + e] ? 0 : numbers[i][element_of(at, i ? Y : X, r, e)];
        }
    for (int i = 0; i < INPUTS; i++)
        CHECK_OK(rdt_buffer_write(gpu.driver, memory[i].address, i < 2 ? (void *)copy[i] : mask,
                                  i < 2 ? sizeof copy[i] : sizeof mask, gpu.stream, &err),
                 err);
    operands.d_in[0] = (void *)(uintptr_t)memory[X].address;
    if (own.d_in[1]) operands.d_in[1] = (void *)(uintptr_t)memory[Y].address;
    if (p.mask) operands.d_mask = (void *)(uintptr_t)memory[MASK].address;
    operands.d_out[0] = (void *)(uintptr_t)out[1].address;
    redtune_plan *plan = NULL;
    CHECK_OK(redtune_plan_create(rt, &p, &plan, &err), err);
    CHECK_OK(redtune_plan_run(plan, &operands, gpu.stream, &err), err);
    redtune_plan_destroy(plan);
    CHECK_OK(rdt_buffer_read(gpu.driver, got, out[1].address, bytes, gpu.stream, &err), err);
}

/* By kernels of one thread, and of all of a block, for a result; and by the default. */
FACT(fixed_order_and_exact_sums_are_those_of_a_packed_copy) {
    static const struct {
        redtune_order order;
        redtune_accuracy accuracy;
        const char *config;
    } kinds[] = {
        {REDTUNE_ORDER_FIXED, REDTUNE_ACCURACY_PLAIN, NULL},
        {REDTUNE_ORDER_FIXED, REDTUNE_ACCURACY_PLAIN, "ordered_strided:block=64,lanes=1,shares=4"},
        {REDTUNE_ORDER_FIXED, REDTUNE_ACCURACY_PLAIN,
         "ordered_strided:block=256,lanes=8,shares=32"},
        {REDTUNE_ORDER_FIXED, REDTUNE_ACCURACY_PLAIN,
         "ordered_strided:block=128,lanes=32,shares=1"},
        {REDTUNE_ORDER_FIXED, REDTUNE_ACCURACY_COMPENSATED, NULL},
        {REDTUNE_ORDER_FREE, REDTUNE_ACCURACY_EXACT, NULL},
        {REDTUNE_ORDER_FREE, REDTUNE_ACCURACY_EXACT, "strided:block=64,lanes=kept,width=4,vec=1"},
        {REDTUNE_ORDER_FREE, REDTUNE_ACCURACY_EXACT,
         "strided:block=64,lanes=reduced,width=2,vec=4"},
    };
    static float got[OUT_ROOM * 2], want[OUT_ROOM * 2];
    begin();
    for (int i = 0; i < 96 && !check_state.failed; i++) {
        if (!subject_is_of_part((size_t)i)) continue;
        draw_from(3000 + (unsigned)i);
        const int k = i % (int)(sizeof kinds / sizeof *kinds);
        const redtune_op op = i / 8 % 3 == 2 && !kinds[k].accuracy ? REDTUNE_DOT : REDTUNE_SUM;
        trial at = planes(op);
        if (i / 8 % 4) draw_trial(op, i / 8 % 2 ? 40 : 9000, &at);
        at.problem.order = kinds[k].order;
        at.problem.accuracy = kinds[k].accuracy;
        if (at.problem.accuracy == REDTUNE_ACCURACY_EXACT) at.problem.mask = REDTUNE_MASK_NONE;
        if (!is_strided(&at)) continue;
        at.problem.config = kinds[k].config;
        fill_with_reals(&at);
        upload();
        const redtune_operands operands = operands_of(&at);
        redtune_plan *plan = NULL;
        CHECK_OK(redtune_plan_create(rt, &at.problem, &plan, &err), err);
        CHECK_OK(redtune_plan_run(plan, &operands, gpu.stream, &err), err);
        redtune_plan_destroy(plan);
        CHECK_OK(rdt_buffer_read(gpu.driver, got, out[0].address, sizeof got, gpu.stream, &err),
                 err);
        reduce_copy(&at, want, sizeof want);
        char text[600];
        describe(&at, text, sizeof text);
        uint64_t r = 0;
        while (r < results_of(&at) && !memcmp(&got[result_of(&at, r)], &want[r], sizeof *got)) r++;
        check_that(r == results_of(&at), __FILE__, __LINE__,
                   "kind %d: result %d is %a and not %a: %s, %s", k, (int)r,
                   (double)got[result_of(&at, r)], (double)want[r], text,
                   kinds[k].config ? kinds[k].config : "by default");
    }
    end();
}

/* The first call makes the plan, and the second finds it. */
FACT(exact_sums_of_columns_are_found_again) {
    begin();
    trial at = {redtune_problem_columns(REDTUNE_SUM, REDTUNE_F32, 300, 7), {0, 0, 0}, 0};
    at.problem.accuracy = REDTUNE_ACCURACY_EXACT;
    fill(&at);
    for (int i = 0; i < 2; i++) run(&at);
    end();
}

FACT(what_is_captured_runs_again) {
    begin();
    trial at = planes(REDTUNE_SUM);
    const redtune_operands operands = operands_of(&at);
    rdt_graph *graph = NULL;
    fill(&at);
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    CHECK_INT(redtune_run(rt, &at.problem, &operands, gpu.stream, &err), REDTUNE_UNPREPARED);
    CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
    rdt_graph_destroy(graph);
    CHECK_OK(redtune_prepare(rt, &at.problem, 1, &err), err);
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    CHECK_OK(redtune_run(rt, &at.problem, &operands, gpu.stream, &err), err);
    CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
    for (int i = 0; i < 2; i++) {
        upload();
        CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
        check_outputs(&at);
    }
    rdt_graph_destroy(graph);
    end();
}

FACT(no_elements_give_the_result_of_none) {
    begin();
    trial at = planes(REDTUNE_SUM);
    at.problem.steps |= 1u << OUT;
    at.problem.kept[0].step[OUT] = 3;
    at.problem.reduced[1].size = 0;
    run(&at);
    /* Kept axes that are neither rows nor columns: each has results. */
    at = planes(REDTUNE_SUM);
    at.problem.steps = 1u << X | 1u << MASK;
    at.problem.mask = REDTUNE_MASK_BYTES;
    at.problem.kept_axes = 2;
    at.problem.kept[0] = (redtune_axis){4, {0}};
    at.problem.kept[1] = (redtune_axis){2, {[MASK] = 1}};
    at.problem.reduced_axes = 1;
    at.problem.reduced[0].size = 0;
    run(&at);
    end();
}

FACT(what_there_are_no_kernels_of_is_refused) {
    begin();
    trial at = planes(REDTUNE_SUM);
    redtune_operands operands = operands_of(&at);
    redtune_problem p = at.problem;
#define REFUSED(status, part)                                                                      \
    CHECK_FAILS(redtune_run(rt, &p, &operands, gpu.stream, &err), status, err, part)
    p.steps |= 1u << OUT; /* all 0 */
    REFUSED(REDTUNE_INVALID, "has step 0 for the results");
    p = at.problem;
    p.reduced[0].step[X] = INT64_MAX / 8;
    REFUSED(REDTUNE_INVALID, "lead beyond element");
    p = at.problem;
    operands.count = 5;
    REFUSED(REDTUNE_INVALID, "operands->count is 5");
    operands = operands_of(&at);
    operands.d_out[0] = (float *)(uintptr_t)memory[0].address + 6 * 196 * 24 - 1;
    REFUSED(REDTUNE_INVALID, "within the input");
#undef REFUSED
    end();
}

int main(int argc, char **argv) {
    if (device_open(&gpu, &err)) fprintf(stderr, "no GPU: %s\n", err.message);
    if (!gpu.context) check_missing = "there is no GPU";
    const int rc = check_run(argc, argv);
    device_close(&gpu);
    return rc;
}
