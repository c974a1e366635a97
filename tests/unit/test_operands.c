/* Facts about what a run may be given: which operands an op and a plan take, how they are aligned,
 * what may not overlap, and what a launch is told of them. */
#include "check.h"
#include "api/running/operands.h"

static redtune_error err;

/* Elements of 4 bytes, results of 8 and 4. */
static const rdt_op_traits simple_op = {.name = "simple", .inputs = 1, .outputs = 1};
static const rdt_op_traits rich_op = {
    .name = "rich",
    .inputs = 2,
    .outputs = 2,
    .parameters = 2,
    .parameter = {{"scale", 1.5}, {"shift", -2}},
};
enum { COUNT = 100, IN = 0x10000, IN2 = 0x20004, OUT = 0x30000, OUT2 = 0x40004 };
enum { VALUES = 0x50000, LEAST = 0x60000 };

static rdt_signature simple(uint64_t uses) {
    return (rdt_signature){.op = &simple_op,
                           .uses = uses,
                           .input_bytes = 4,
                           .second_bytes = 4,
                           .result_bytes = {8},
                           .count_max = UINT64_C(1) << 58,
                           .layout = RDT_LAYOUT_COLUMNS,
                           .plain = !uses};
}

static rdt_signature rich(uint64_t uses) {
    rdt_signature out = simple(uses);
    out.op = &rich_op;
    out.result_bytes[1] = 4;
    out.plain = false;
    return out;
}

static void *at(uintptr_t address) { return (void *)address; }

static redtune_operands of_simple(void) {
    return (redtune_operands){.d_in = {at(IN)}, .d_out = {at(OUT)}, .count = COUNT};
}

static redtune_operands of_rich(void) {
    return (redtune_operands){
        .d_in = {at(IN), at(IN2)}, .d_out = {at(OUT), at(OUT2)}, .count = COUNT};
}

static rdt_operands taken;
static rdt_traffic traffic;
static CUdeviceptr workspace; /* 0: there is none */

static redtune_status take(const rdt_signature *signature, const redtune_operands *given) {
    memset(&taken, 0xee, sizeof taken);
    memset(&traffic, 0xee, sizeof traffic);
    rdt_operands_set(&taken, given->d_in[0], given->d_out[0], given->count);
    taken.scratch = workspace;
    taken.extents.outer = given->outer;
    taken.extents.inner = given->inner;
    return rdt_operands_take(signature, rdt_operands_have_more(given) ? given : NULL, &taken,
                             &traffic, &err);
}

static bool is_span(const rdt_span *span, uint64_t begin, uint64_t bytes) {
    return span->begin == begin && span->end == begin + bytes;
}

/* ---- what a launch is told ------------------------------------------------------------------- */

FACT(one_input_and_one_output_are_all_of_a_plain_run) {
    const rdt_signature signature = simple(0);
    const redtune_operands given = of_simple();
    CHECK_OK(take(&signature, &given), err);
    CHECK_INT(traffic.read_count, 1);
    CHECK_INT(traffic.written_count, 1);
    CHECK(is_span(&traffic.read[0], IN, 4 * COUNT) && is_span(&traffic.written[0], OUT, 8));
}

FACT(the_second_input_and_output_are_told) {
    const rdt_signature signature = rich(0);
    redtune_operands given = of_rich();
    given.outer = 3;
    CHECK_OK(take(&signature, &given), err);
    CHECK_INT(taken.given.input, IN2);
    CHECK_INT(taken.given.output, OUT2);
    CHECK(!taken.given.scalars && !taken.given.count && !taken.given.resumes);
    CHECK(is_span(&traffic.read[1], IN2, 3 * 4 * COUNT));
    CHECK_INT(traffic.written_count, 2);
    CHECK(is_span(&traffic.written[1], OUT2, 3 * 4));
}

FACT(parameters_are_the_usual_ones_or_those_given) {
    const rdt_signature signature = rich(0);
    const double values[] = {8, 9};
    redtune_operands given = of_rich();
    CHECK_OK(take(&signature, &given), err);
    CHECK(taken.given.scalar[0] == 1.5 && taken.given.scalar[1] == -2);
    given.parameters = values;
    CHECK_OK(take(&signature, &given), err);
    CHECK(taken.given.scalar[0] == 8 && taken.given.scalar[1] == 9);
    given.parameters = NULL;
    given.d_parameters = at(VALUES);
    CHECK_OK(take(&signature, &given), err);
    CHECK_INT(taken.given.scalars, VALUES);
    CHECK(is_span(&traffic.read[RDT_READ_PARAMETERS], VALUES, 16));
}

FACT(counts_and_outputs_that_a_run_goes_on_from_are_read) {
    const rdt_signature signature = rich(REDTUNE_USE_ACCUMULATE | REDTUNE_USE_DEVICE_COUNT);
    redtune_operands given = of_rich();
    given.d_count = at(LEAST);
    given.accumulate = 7;
    CHECK_OK(take(&signature, &given), err);
    CHECK_INT(taken.given.count, LEAST);
    CHECK_INT(taken.given.resumes, 1);
    CHECK_INT(traffic.read_count, RDT_READS_MAX);
    CHECK(is_span(&traffic.read[RDT_READ_COUNT], LEAST, 8));
    CHECK(is_span(&traffic.read[RDT_READ_OUTPUTS], OUT, 8));
    CHECK(is_span(&traffic.read[RDT_READ_OUTPUTS + 1], OUT2, 4));
    given.accumulate = 0;
    CHECK_OK(take(&signature, &given), err);
    CHECK_INT(traffic.read[RDT_READ_OUTPUTS].end, 0);
}

FACT(inputs_of_no_elements_may_be_null) {
    const rdt_signature signature = rich(0);
    redtune_operands given = of_rich();
    given.d_in[0] = given.d_in[1] = NULL;
    given.count = 0;
    CHECK_OK(take(&signature, &given), err);
}

/* ---- what is refused ------------------------------------------------------------------------- */

static void check_refused(const rdt_signature *signature, const redtune_operands *given,
                          const char *part) {
    CHECK_INT(take(signature, given), REDTUNE_INVALID);
    CHECK_CONTAINS(err.message, part);
}

FACT(what_an_op_has_no_use_for_is_refused) {
    const rdt_signature signature = simple(0);
    const double value = 1;
    redtune_operands given = of_simple();
    given.d_in[1] = at(IN2);
    check_refused(&signature, &given, "d_in[1] is not NULL, and it has one input");
    given = of_simple();
    given.d_out[1] = at(OUT2);
    check_refused(&signature, &given, "d_out[1] is not NULL, and it has one result");
    given = of_simple();
    given.parameters = &value;
    check_refused(&signature, &given, "parameters are given, and it has none");
    given = of_simple();
    given.d_parameters = at(VALUES);
    check_refused(&signature, &given, "parameters are given, and it has none");
}

FACT(what_an_op_needs_is_asked_for) {
    const rdt_signature signature = rich(0);
    redtune_operands given = of_rich();
    given.d_in[1] = NULL;
    check_refused(&signature, &given, "d_in[1] is NULL, and it has two inputs");
    given = of_rich();
    given.d_out[1] = NULL;
    check_refused(&signature, &given, "d_out[1] is NULL, and it has two results");
    given = of_simple();
    check_refused(&signature, &given, "d_in[1] is NULL, and it has two inputs");
}

FACT(uses_that_the_plan_was_not_made_for_are_refused) {
    const rdt_signature signature = rich(0), other = rich(REDTUNE_USE_ACCUMULATE);
    redtune_operands given = of_rich();
    given.accumulate = 1;
    check_refused(&signature, &given, "REDTUNE_USE_ACCUMULATE");
    given = of_rich();
    given.d_count = at(LEAST);
    check_refused(&signature, &given, "REDTUNE_USE_DEVICE_COUNT");
    check_refused(&other, &given, "REDTUNE_USE_DEVICE_COUNT");
}

FACT(parameters_come_from_one_place) {
    const rdt_signature signature = rich(0);
    const double values[] = {8, 9};
    redtune_operands given = of_rich();
    given.parameters = values;
    given.d_parameters = at(VALUES);
    check_refused(&signature, &given, "both parameters and d_parameters");
}

FACT(every_pointer_is_aligned) {
    const rdt_signature signature = rich(REDTUNE_USE_DEVICE_COUNT);
    redtune_operands given = of_rich();
    given.d_in[0] = at(IN + 2);
    check_refused(&signature, &given, "d_in must be aligned to 4 bytes");
    given = of_rich();
    given.d_in[1] = at(IN2 + 2);
    check_refused(&signature, &given, "d_in[1] must be aligned to 4 bytes");
    given = of_rich();
    given.d_out[0] = at(OUT + 4);
    check_refused(&signature, &given, "d_out must be aligned to 8 bytes");
    given = of_rich();
    given.d_out[1] = at(OUT2 + 2);
    check_refused(&signature, &given, "d_out[1] must be aligned to 4 bytes");
    given = of_rich();
    given.d_parameters = at(VALUES + 4);
    check_refused(&signature, &given, "d_parameters at 0x50004: it must be aligned to 8 bytes");
    given = of_rich();
    given.d_count = at(LEAST + 4);
    check_refused(&signature, &given, "d_count at 0x60004: it must be aligned to 8 bytes");
}

/* Each output is put over everything else in turn. */
FACT(outputs_lie_over_nothing_else) {
    const rdt_signature signature = rich(REDTUNE_USE_DEVICE_COUNT);
    static const struct {
        const char *name;
        uintptr_t begin;
    } others[] = {{"the input,", IN + 4 * COUNT - 4},
                  {"the second input,", IN2 + 4 * COUNT - 4},
                  {"d_parameters,", VALUES + 8},
                  {"d_count,", LEAST}};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        for (int output = 0; output < 2; output++) {
            redtune_operands given = of_rich();
            given.d_parameters = at(VALUES);
            given.d_count = at(LEAST);
            given.d_out[output] = at(output ? others[i].begin : others[i].begin & ~(uintptr_t)7);
            check_refused(&signature, &given, output ? "d_out[1] lies within" : "d_out lies");
            CHECK_CONTAINS(err.message, others[i].name);
        }
    redtune_operands given = of_rich();
    given.d_out[1] = at(OUT + 4);
    check_refused(&signature, &given, "d_out[1] lies within the first output");
}

/* Everything in turn is put over the last byte of a workspace, and behind that. */
FACT(a_workspace_lies_over_nothing_else) {
    enum { FAR = 0x4000000 };
    const rdt_signature plain = simple(0), signature = rich(REDTUNE_USE_DEVICE_COUNT);
    redtune_operands given;
    const struct {
        const char *name;
        void *place;
    } others[] = {{"the input,", &given.d_in[0]},         {"the second input,", &given.d_in[1]},
                  {"the first output,", &given.d_out[0]}, {"the second output,", &given.d_out[1]},
                  {"d_parameters,", &given.d_parameters}, {"d_count,", &given.d_count}};
    const void *const moved = at(FAR);
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        given = of_rich();
        given.d_parameters = at(VALUES);
        given.d_count = at(LEAST);
        memcpy(others[i].place, &moved, sizeof moved);
        workspace = FAR - RDT_SCRATCH_BYTES;
        CHECK_OK(take(&signature, &given), err);
        workspace++;
        check_refused(&signature, &given, "the workspace lies within");
        CHECK_CONTAINS(err.message, others[i].name);
    }
    given = of_simple();
    workspace = OUT + 7;
    check_refused(&plain, &given, "the workspace lies within the first output");
    workspace = 0;
}

FACT(what_touches_or_is_empty_is_apart) {
    const rdt_signature plain = simple(0), signature = rich(0);
    static const uintptr_t outputs[] = {IN + 4 * COUNT, IN - 8};
    for (int i = 0; i < 2; i++) {
        redtune_operands given = of_simple();
        given.d_out[0] = at(outputs[i]);
        CHECK_OK(take(&plain, &given), err);
        given.d_out[0] = at(outputs[i] + (i ? 8 : -8));
        check_refused(&plain, &given, "d_out lies within the input");
        given.count = 0;
        given.d_in[0] = at(outputs[i] + 4);
        given.d_out[0] = at(outputs[i]);
        CHECK_OK(take(&plain, &given), err);
        given = of_rich();
        given.d_out[1] = at(i ? OUT - 4 : OUT + 8);
        CHECK_OK(take(&signature, &given), err);
    }
}

FACT(inputs_may_be_one_array) {
    const rdt_signature signature = rich(0);
    redtune_operands given = of_rich();
    given.d_in[1] = given.d_in[0];
    CHECK_OK(take(&signature, &given), err);
    given.d_in[1] = at(IN + 4);
    CHECK_OK(take(&signature, &given), err);
}

/* Kernels of columns are right for rows and a whole array, and those of rows for a whole one. */
FACT(plans_serve_their_layout_and_those_within) {
    static const struct {
        redtune_operands extents;
        bool served[5]; /* by a plan of each rdt_layout */
        const char *why;
    } runs[] = {
        {{.count = COUNT}, {true, true, true}, NULL},
        {{.count = 5, .outer = 10}, {false, true, true}, "10 rows by a plan of one result"},
        {{.count = 5, .inner = 10}, {false, false, true}, "1 x 10 columns, of elements 10 apart"},
    };
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++)
        for (int layout = RDT_LAYOUT_WHOLE; layout <= RDT_LAYOUT_LIST; layout++) {
            rdt_signature signature = simple(0);
            redtune_operands given = runs[i].extents;
            given.d_in[0] = at(IN);
            given.d_out[0] = at(OUT);
            signature.layout = (rdt_layout)layout;
            if (runs[i].served[layout])
                CHECK_OK(take(&signature, &given), err);
            else
                CHECK_FAILS(take(&signature, &given), REDTUNE_INVALID, err,
                            rdt_problem_segments_of((rdt_layout)layout) ? "a plan of segments"
                                                                        : runs[i].why);
        }
}

int main(int argc, char **argv) { return check_run(argc, argv); }
