/* Facts about reductions of segments by list.h: plans, the table of plans, captures whose tables
 * change, results that go on, and what is refused. The kernels have their own (test_segments.c). */
#include "api/running/segments.h"
#include "gpu/graph.h"
#include "ones.h"
#include "redtune/list.h"
#include "redtune/tools.h"
#include "redtune/tune.h"
#include "shaped.h"

enum { SEGMENTS = 1000 };

static redtune *rt;
static rdt_buffer tables; /* SEGMENTS + 1 beginnings and as many ends, each of 64 bits */

static redtune_problem segments_of(redtune_op op) {
    return PROBLEM(.op = op, .dtype = REDTUNE_F32, .count = 10,
                   .segmented = REDTUNE_SEGMENTED_EACH);
}

static void begin(void) {
    CHECK_OK(open_usual(&rt), err);
    CHECK_OK(rdt_buffer_create(gpu.driver, 2 * (SEGMENTS + 1) * sizeof(uint64_t), &tables, &err),
             err);
}

static void end(void) {
    redtune_close(rt);
    rdt_buffer_destroy(&tables);
    rt = NULL;
}

static void *table(int which) {
    return (void *)(uintptr_t)(tables.address + (size_t)which * (SEGMENTS + 1) * sizeof(uint64_t));
}

/* Segment i has i % modulus ones. */
static uint64_t length_of(uint64_t i, uint64_t modulus) { return i % modulus; }

static void write_tables(uint64_t modulus) {
    static uint64_t offsets[2][SEGMENTS + 1];
    for (uint64_t i = 0; i < SEGMENTS; i++) {
        offsets[0][i + 1] = offsets[0][i] + length_of(i, modulus);
        offsets[1][i] = offsets[0][i + 1];
    }
    CHECK_OK(
        rdt_buffer_write(gpu.driver, tables.address, offsets, sizeof offsets, gpu.stream, &err),
        err);
    CHECK_OK(rdt_stream_wait(gpu.driver, gpu.stream, &err), err);
}

static void poison(void) {
    gpu.driver->memset_d8_async(results.address, 0xa5, results.bytes, gpu.stream);
}

static redtune_segments usual(bool two_tables) {
    return (redtune_segments){.d_in = input(),
                              .count = SEGMENTS,
                              .d_begin = table(0),
                              .d_end = two_tables ? table(1) : NULL,
                              .d_out = {output(0)}};
}

/* All results are sums of ones, `more` above. */
static void check_sums(uint64_t modulus, float more) {
    static float got[SEGMENTS + 1];
    CHECK_OK(rdt_buffer_read(gpu.driver, got, results.address, sizeof got, gpu.stream, &err), err);
    for (uint64_t i = 0; i < SEGMENTS && !check_state.failed; i++)
        check_that(got[i] == (float)length_of(i, modulus) + more, __FILE__, __LINE__,
                   "segment %d: %g", (int)i, (double)got[i]);
    static const unsigned char poisoned[] = {0xa5, 0xa5, 0xa5, 0xa5};
    if (more == 0) CHECK(!memcmp(&got[SEGMENTS], poisoned, sizeof poisoned));
}

/* ---- facts ----------------------------------------------------------------------------------- */

FACT(a_plan_serves_any_segments) {
    redtune_plan *plan = NULL;
    redtune_problem problem = segments_of(REDTUNE_SUM);
    begin();
    RESHAPE(&problem, outer, 7);
    CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
    CHECK_CONTAINS(redtune_plan_config(plan), "ragged:");
    for (int two = 0; two < 2; two++)
        for (uint64_t modulus = 1; modulus < 600; modulus *= 10) {
            const redtune_segments segments = usual(two);
            write_tables(modulus);
            poison();
            CHECK_OK(redtune_plan_run_segments(plan, &segments, gpu.stream, &err), err);
            check_sums(modulus, 0);
        }
    redtune_plan_destroy(plan);
    end();
}

FACT(no_segments_are_nothing_to_do) {
    redtune_problem problem = segments_of(REDTUNE_SUM);
    begin();
    redtune_segments segments = usual(false);
    segments.count = 0;
    poison();
    CHECK_OK(redtune_run_segments(rt, &problem, &segments, gpu.stream, &err), err);
    const redtune_segments none = {.count = 0};
    CHECK_OK(redtune_run_segments(rt, &problem, &none, gpu.stream, &err), err);
    uint32_t first = 0;
    CHECK_OK(rdt_buffer_read(gpu.driver, &first, results.address, sizeof first, gpu.stream, &err),
             err);
    CHECK(first == 0xa5a5a5a5u);
    end();
}

FACT(empty_segments_give_what_empty_arrays_do) {
    redtune_problem problem = segments_of(REDTUNE_ARGMIN);
    int64_t got[SEGMENTS];
    begin();
    redtune_segments segments = usual(false);
    segments.d_in = NULL;
    write_tables(1);
    CHECK_OK(redtune_run_segments(rt, &problem, &segments, gpu.stream, &err), err);
    CHECK_OK(rdt_buffer_read(gpu.driver, got, results.address, sizeof got, gpu.stream, &err), err);
    for (int i = 0; i < SEGMENTS; i++) CHECK_INT(got[i], -1);
    end();
}

/* Both forms, of one launch and of two, side by side in one graph. */
FACT(replays_see_changed_tables) {
    const redtune_problem problem = segments_of(REDTUNE_SUM);
    rdt_graph *graph = NULL;
    begin();
    redtune_segments one = usual(false), two = usual(true);
    two.d_out[0] = output(SEGMENTS + 500);
    CHECK_OK(redtune_prepare(rt, &problem, 1, &err), err);
    CHECK_OK(rdt_graph_begin(gpu.driver, gpu.stream, &err), err);
    CHECK_OK(redtune_run_segments(rt, &problem, &one, gpu.stream, &err), err);
    CHECK_OK(redtune_run_segments(rt, &problem, &two, gpu.stream, &err), err);
    CHECK_OK(rdt_graph_end(gpu.driver, gpu.stream, &graph, &err), err);
    for (uint64_t modulus = 1; modulus < 300; modulus = 3 * modulus + 2) {
        write_tables(modulus);
        poison();
        CHECK_OK(rdt_graph_replay(graph, gpu.stream, &err), err);
        check_sums(modulus, 0);
        CHECK_INT((int)result(2 * SEGMENTS + 499), (int)length_of(SEGMENTS - 1, modulus));
    }
    rdt_graph_destroy(graph);
    end();
}

FACT(results_go_on_in_either_form) {
    redtune_problem problem = segments_of(REDTUNE_SUM);
    problem.uses = REDTUNE_USE_ACCUMULATE;
    begin();
    write_tables(50);
    for (int two = 0; two < 2; two++) {
        redtune_segments segments = usual(two);
        CHECK_OK(redtune_run_segments(rt, &problem, &segments, gpu.stream, &err), err);
        segments.d_begin = table(1); /* what follows is empty */
        segments.d_end = table(1);
        segments.accumulate = 1;
        CHECK_OK(redtune_run_segments(rt, &problem, &segments, gpu.stream, &err), err);
        check_sums(50, 0.0f);
        segments = usual(two);
        segments.accumulate = 1;
        CHECK_OK(redtune_run_segments(rt, &problem, &segments, gpu.stream, &err), err);
        CHECK_INT((int)result(SEGMENTS - 1), 2 * 49);
    }
    end();
}

/* The end that a run's kernel is given: 0 where it has one table. */
static void check_end(const redtune_plan *plan, const redtune_segments *segments,
                      const void *expected) {
    rdt_segments_run run;
    CHECK_OK(rdt_segments_take(&run, plan, segments, &err), err);
    CHECK(run.operands.segments.end == (CUdeviceptr)(uintptr_t)expected);
}

FACT(ends_that_are_the_next_begins_are_one_table) {
    redtune_problem problem = segments_of(REDTUNE_SUM);
    problem.uses = REDTUNE_USE_ACCUMULATE;
    redtune_plan *plan = NULL;
    begin();
    write_tables(40);
    poison();
    CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
    redtune_segments segments = usual(true);
    check_end(plan, &segments, table(1));
    segments.d_end = (const uint64_t *)table(0) + 1;
    check_end(plan, &segments, NULL);
    CHECK_OK(redtune_plan_run_segments(plan, &segments, gpu.stream, &err), err);
    check_sums(40, 0);
    segments.accumulate = 1;
    check_end(plan, &segments, segments.d_end);
    segments.accumulate = 0;
    segments.offset_bytes = sizeof(uint32_t);
    check_end(plan, &segments, segments.d_end);
    redtune_plan_destroy(plan);
    end();
}

/* Whether such tables run by the plan's own kernel. */
static bool is_own(redtune_plan *plan, const rdt_segments *by) {
    redtune_plan *its = NULL;
    return !rdt_segments_plan(plan, by, gpu.stream, &its, &err) && its == plan;
}

/* Which forms run by a plan's own kernel: one table of offsets, two tables, arrays as a list's. */
static void check_forms(const char *config, uint64_t count, uint64_t greatest, bool ends,
                        bool arrays) {
    redtune_problem problem = segments_of(REDTUNE_SUM);
    redtune_plan *plan = NULL;
    problem.config = config;
    RESHAPE(&problem, count, count);
    problem.greatest = greatest;
    CHECK_OK(redtune_plan_create(rt, &problem, &plan, &err), err);
    const rdt_segments by_offsets = {.begin = tables.address, .count = SEGMENTS, .wide = 1};
    rdt_segments by_ends = by_offsets, by_arrays = by_offsets;
    by_ends.end = by_arrays.arrays = tables.address + (SEGMENTS + 1) * sizeof(uint64_t);
    CHECK(is_own(plan, &by_offsets));
    CHECK(!plan->scattered); /* nobody has had such tables */
    CHECK(is_own(plan, &by_ends) == ends);
    CHECK(is_own(plan, &by_arrays) == arrays);
    CHECK(!plan->scattered == (ends && arrays));
    redtune_plan_destroy(plan);
}

FACT(other_forms_have_a_kernel_that_is_not_slow) {
    begin();
    check_forms(NULL, 10, 0, false, false);      /* by tiles */
    check_forms(NULL, 10, 30, false, false);     /* likewise */
    check_forms(NULL, 10, 12, true, true);       /* by groups, without giants */
    check_forms(NULL, 1000, 0, false, true);     /* with giants, which blocks share in neighbours */
    check_forms("tiled:", 10, 0, true, true);    /* as it is asked for */
    check_forms("ragged:", 10, 0, false, false); /* it has no other kernel for them */
    check_forms("ragged:unit=anywhere", 10, 0, true, true);
    end();
}

FACT(a_workspace_serves_segments) {
    const redtune_problem problem = segments_of(REDTUNE_SUM);
    redtune_workspace *workspace = NULL;
    begin();
    write_tables(100);
    CHECK_OK(redtune_workspace_create(rt, NULL, 0, gpu.stream, &workspace, &err), err);
    for (int two = 0; two < 4; two++) {
        redtune_segments segments = usual(two % 2);
        segments.workspace = workspace;
        poison();
        CHECK_OK(redtune_run_segments(rt, &problem, &segments, gpu.stream, &err), err);
        check_sums(100, 0);
    }
    redtune_workspace_destroy(workspace);
    end();
}

/* How many of the mask's bits are 1, of numbers from `begin` up to `end`. */
static float ones_of(const unsigned char *mask, uint64_t begin, uint64_t end) {
    float ones = 0;
    for (uint64_t i = begin; i < end; i++) ones += (float)(mask[i / 8] >> i % 8 & 1);
    return ones;
}

/* Of whole arrays and of segments, in both orders. */
FACT(bits_of_a_mask_begin_at_any_one) {
    enum { BYTES = 64, LAST = 480 };
    const uint64_t offsets[] = {0, 5, 5, 130, LAST};
    unsigned char bits[BYTES];
    rdt_buffer mask = {.address = 0};
    float got[4];
    begin();
    for (int i = 0; i < BYTES; i++) bits[i] = (unsigned char)(i * 37 + 11);
    CHECK_OK(rdt_buffer_create(gpu.driver, BYTES, &mask, &err), err);
    CHECK_OK(rdt_buffer_write(gpu.driver, mask.address, bits, BYTES, gpu.stream, &err), err);
    CHECK_OK(
        rdt_buffer_write(gpu.driver, tables.address, offsets, sizeof offsets, gpu.stream, &err),
        err);
    for (int turn = 0; turn < 2 * 17 && !check_state.failed; turn++) {
        const uint64_t first = (uint64_t)turn / 2;
        redtune_problem whole = sum_of(LAST), parts = segments_of(REDTUNE_SUM);
        whole.mask = parts.mask = REDTUNE_MASK_BITS;
        whole.order = parts.order = turn % 2 ? REDTUNE_ORDER_FIXED : REDTUNE_ORDER_FREE;
        redtune_operands operands = redtune_problem_operands(&whole);
        operands.d_in[0] = input();
        operands.d_out[0] = output(0);
        operands.d_mask = (const void *)(uintptr_t)mask.address;
        operands.mask_first = first;
        CHECK_OK(redtune_run(rt, &whole, &operands, gpu.stream, &err), err);
        CHECK_OK(rdt_buffer_read(gpu.driver, got, results.address, 4, gpu.stream, &err), err);
        CHECK(got[0] == ones_of(bits, first, first + LAST));
        redtune_segments segments = usual(false);
        segments.count = 4;
        segments.d_mask = operands.d_mask;
        segments.mask_first = first;
        CHECK_OK(redtune_run_segments(rt, &parts, &segments, gpu.stream, &err), err);
        CHECK_OK(rdt_buffer_read(gpu.driver, got, results.address, 16, gpu.stream, &err), err);
        for (int i = 0; i < 4; i++)
            CHECK(got[i] == ones_of(bits, first + offsets[i], first + offsets[i + 1]));
    }
    rdt_buffer_destroy(&mask);
    end();
}

/* The sum of i * 3 for each i of a segment, of a second input that lies at another address modulo
 * 16 bytes; in either form, in both orders, and going on from results. */
FACT(second_inputs_lie_beside_the_first) {
    enum { LAST = 480, PARTS = 4 };
    const uint64_t offsets[] = {0, 5, 5, 130, LAST}, ends[] = {5, 5, 130, LAST};
    static float elements[2][LAST + 3];
    rdt_buffer inputs = {.address = 0};
    float got[PARTS];
    begin();
    for (int i = 0; i < LAST; i++) {
        elements[0][i] = (float)(i % 7);
        elements[1][3 + i] = 3;
    }
    CHECK_OK(rdt_buffer_create(gpu.driver, sizeof elements, &inputs, &err), err);
    CHECK_OK(
        rdt_buffer_write(gpu.driver, inputs.address, elements, sizeof elements, gpu.stream, &err),
        err);
    CHECK_OK(
        rdt_buffer_write(gpu.driver, tables.address, offsets, sizeof offsets, gpu.stream, &err),
        err);
    CHECK_OK(rdt_buffer_write(gpu.driver, (CUdeviceptr)(uintptr_t)table(1), ends, sizeof ends,
                              gpu.stream, &err),
             err);
    for (int turn = 0; turn < 8 && !check_state.failed; turn++) {
        const bool goes_on = turn >= 4;
        redtune_problem problem = segments_of(REDTUNE_DOT);
        problem.order = turn % 2 ? REDTUNE_ORDER_FIXED : REDTUNE_ORDER_FREE;
        problem.uses = goes_on ? REDTUNE_USE_ACCUMULATE : 0;
        redtune_segments segments = usual(turn / 2 % 2);
        segments.count = PARTS;
        segments.d_in = (const void *)(uintptr_t)inputs.address;
        segments.d_second = (const float *)segments.d_in + LAST + 3 + 3;
        for (int k = 0; k <= goes_on; k++) {
            segments.accumulate = (uint64_t)k;
            CHECK_OK(redtune_run_segments(rt, &problem, &segments, gpu.stream, &err), err);
        }
        CHECK_OK(rdt_buffer_read(gpu.driver, got, results.address, sizeof got, gpu.stream, &err),
                 err);
        for (int i = 0; i < PARTS; i++) {
            float wanted = 0;
            for (uint64_t k = offsets[i]; k < ends[i]; k++) wanted += 3 * elements[0][k];
            CHECK(got[i] == (goes_on ? 2 * wanted : wanted));
        }
    }
    rdt_buffer_destroy(&inputs);
    end();
}

#define REFUSES(change, why)                                                                       \
    do {                                                                                           \
        redtune_segments segments = usual(true);                                                   \
        change;                                                                                    \
        CHECK_FAILS(redtune_run_segments(rt, &problem, &segments, gpu.stream, &err),               \
                    REDTUNE_INVALID, err, why);                                                    \
    } while (0)

FACT(what_makes_no_sense_is_refused) {
    redtune_problem problem = segments_of(REDTUNE_SUM);
    begin();
    REFUSES(segments.offset_bytes = 2, "offsets of 2 bytes: set offset_bytes to 4 or 8");
    REFUSES(segments.d_begin = NULL, "cannot reduce 1000 segments: d_begin is NULL");
    REFUSES(segments.d_begin = (char *)table(0) + 4, "d_begin must be aligned to 8 bytes");
    REFUSES(segments.d_end = (char *)table(1) + 4, "d_end must be aligned to 8 bytes");
    REFUSES(segments.d_in = (char *)input() + 2, "d_in must be aligned to 4 bytes");
    REFUSES(segments.d_out[0] = NULL, "d_out must be aligned to 4 bytes and not NULL");
    REFUSES(segments.d_out[1] = output(0), "it has one result; leave d_out[1] NULL");
    REFUSES(segments.d_out[0] = table(1), "d_out lies within d_end, 8000 bytes");
    REFUSES(segments.accumulate = 1, "accumulate is not 0, and the plan has no kernel for it");
    REFUSES(segments.d_mask = input(), "d_mask is not NULL, and the plan has no kernel for it");
    problem.mask = REDTUNE_MASK_BYTES;
    REFUSES(segments.d_mask = NULL, "cannot reduce segments with a mask: d_mask is NULL");
    REFUSES((segments.d_in = NULL, segments.d_arrays = table(0), segments.d_mask = input()),
            "arrays of their own have a mask each");
    REFUSES((segments.d_mask = input(), segments.mask_first = 1), "leave mask_first 0");
    problem.mask = REDTUNE_MASK_NONE;
    REFUSES({ RESHAPE(&problem, outer, 5); }, "cannot reduce 1000 segments for a problem of 5");
    redtune_segments segments = usual(true);
    segments.reserved[0] = 1;
    RESHAPE(&problem, outer, 0);
    CHECK_FAILS(redtune_run_segments(rt, &problem, &segments, gpu.stream, &err),
                REDTUNE_UNSUPPORTED, err, "redtune_segments");
    CHECK_FAILS(redtune_run_segments(NULL, &problem, &segments, gpu.stream, &err), REDTUNE_INVALID,
                err, "rt is NULL");
    CHECK_FAILS(redtune_plan_run_segments(NULL, &segments, gpu.stream, &err), REDTUNE_INVALID, err,
                "the plan is NULL");
    end();
}

FACT(each_kind_of_plan_has_its_own_runs) {
    redtune_plan *whole = NULL, *ragged = NULL;
    const redtune_problem one = sum_of(100), many = segments_of(REDTUNE_SUM);
    begin();
    CHECK_OK(redtune_plan_create(rt, &one, &whole, &err), err);
    CHECK_OK(redtune_plan_create(rt, &many, &ragged, &err), err);
    const redtune_segments segments = usual(true);
    CHECK_FAILS(redtune_plan_run_segments(whole, &segments, gpu.stream, &err), REDTUNE_INVALID, err,
                "cannot reduce segments by a plan of other arrays");
    CHECK_FAILS(redtune_plan_reduce(ragged, input(), 5, output(0), gpu.stream, &err),
                REDTUNE_INVALID, err, "cannot reduce 5 elements by a plan of segments");
    redtune_plan_destroy(whole);
    redtune_plan_destroy(ragged);
    end();
}

FACT(what_no_segments_have_is_refused) {
    redtune_plan *plan = NULL;
    redtune_problem problem = segments_of(REDTUNE_DOT);
    begin();
    problem.mask = REDTUNE_MASK_LISTED_BYTES;
    CHECK_FAILS(redtune_plan_create(rt, &problem, &plan, &err), REDTUNE_UNSUPPORTED, err,
                "it has two inputs, and arrays of their own have one; set problem.mask");
    problem = segments_of(REDTUNE_DOT);
    problem.segmented = REDTUNE_SEGMENTED_ALL;
    CHECK_FAILS(redtune_plan_create(rt, &problem, &plan, &err), REDTUNE_UNSUPPORTED, err,
                "cannot compute the dot of all segments together: it has two inputs");
    problem = segments_of(REDTUNE_SUM);
    problem.uses = REDTUNE_USE_DEVICE_COUNT;
    CHECK_FAILS(redtune_plan_create(rt, &problem, &plan, &err), REDTUNE_UNSUPPORTED, err,
                "leave out REDTUNE_USE_DEVICE_COUNT");
    problem = segments_of(REDTUNE_SUM);
    RESHAPE(&problem, inner, 2);
    CHECK_FAILS(redtune_plan_create(rt, &problem, &plan, &err), REDTUNE_INVALID, err,
                "cannot reduce segments with 1 kept axes");
    problem = segments_of(REDTUNE_SUM);
    problem.median = 3 * shaped_of(&problem).count + 2;
    problem.greatest = 4 * shaped_of(&problem).count + 2;
    CHECK_FAILS(redtune_plan_create(rt, &problem, &plan, &err), REDTUNE_INVALID, err,
                "the median is above twice the average");
    problem = segments_of(REDTUNE_SUM);
    problem.segmented = 9;
    CHECK_FAILS(redtune_plan_create(rt, &problem, &plan, &err), REDTUNE_UNSUPPORTED, err,
                "problem.segmented is 9");
    problem = segments_of(REDTUNE_SUM);
    redtune_counters counters;
    const redtune_emission emission = {.problem = problem};
    CHECK_FAILS(redtune_count(&emission, &counters, &err), REDTUNE_UNSUPPORTED, err,
                "cannot count what a kernel does on segments");
    end();
}

int main(int argc, char **argv) { return ones_run(argc, argv); }
