/* Facts about src/api/records/select.c: which measurement serves rows and columns, and which of
 * another class serves a class that was never tuned. */
#define _GNU_SOURCE
#include "trials.h"
#include "shaped.h"
#include "api/records/convert.h"
#include "api/records/select.h"
#include "codegen/codegen.h"
#include "model/problem.h"

static struct {
    rdt_row row[8], alike[8];
    size_t count, alike_count;
    rdt_codegen *codegen;
    rdt_choice choice; /* the last one */
} among;

static redtune_problem problem_of(redtune_op op, redtune_dtype dtype, uint64_t outer,
                                  uint64_t count, uint64_t inner) {
    redtune_problem problem =
        PROBLEM(.op = op, .dtype = dtype, .count = count, .outer = outer, .inner = inner);
    redtune_problem resolved = PROBLEM(.count = 0);
    rdt_problem_resolve(&problem, &resolved, &err);
    return resolved;
}

static redtune_problem rows_of(uint64_t outer, uint64_t count) {
    return problem_of(REDTUNE_SUM, REDTUNE_F32, outer, count, 1);
}

/* Rows that are so many elements apart. */
static redtune_problem pitched(uint64_t outer, uint64_t count, uint64_t pitch) {
    redtune_problem problem = rows_of(outer, count);
    RESHAPE(&problem, outer_step, pitch);
    rdt_problem_resolve(&problem, &problem, &err);
    return problem;
}

static redtune_problem columns_of(uint64_t outer, uint64_t count, uint64_t inner) {
    return problem_of(REDTUNE_SUM, REDTUNE_F32, outer, count, inner);
}

static redtune_problem whole_of(redtune_op op, redtune_dtype dtype) {
    return problem_of(op, dtype, 1, 1 << 20, 1);
}

static rdt_facts gpu_named(const char *name) {
    rdt_facts facts = *rdt_facts_typical();
    rdt_text_copy(facts.name, sizeof facts.name, name);
    return facts;
}

static bool begin_rows(void) {
    among.count = among.alike_count = 0;
    return among.codegen || !rdt_codegen_open(&among.codegen, &err);
}

static rdt_row row_of(redtune_problem problem) {
    rdt_row row = {
        .gpu = gpu_named("NVIDIA One"),
        .trial = trials_make(1, "", 5000, 31),
        .date = 1000,
        .current = true,
    };
    row.trial.problem = problem;
    return row;
}

static rdt_row *add_row(redtune_problem problem) {
    among.row[among.count] = row_of(problem);
    return &among.row[among.count++];
}

static rdt_row *add_alike(redtune_problem problem) {
    among.alike[among.alike_count] = row_of(problem);
    return &among.alike[among.alike_count++];
}

/* The number of the row that serves; 100 and more: of those alike; -1: the default does; -2: an
 * error. All have the default's config, which is allowed and worth measuring. */
static int choose(redtune_problem problem) {
    const rdt_facts here = gpu_named("NVIDIA One");
    const rdt_case at = {&problem, &here};
    rdt_point point;
    if (rdt_rules_default(among.codegen, at, &point, &err)) return -2;
    for (size_t i = 0; i < 8; i++) {
        rdt_trial *own = &among.row[i].trial, *other = &among.alike[i].trial;
        rdt_point_write(rdt_codegen_spaces(among.codegen), &point, own->family, own->config);
        rdt_point_write(rdt_codegen_spaces(among.codegen), &point, other->family, other->config);
    }
    const rdt_winners winners = {.rows = {among.row, among.count, among.count},
                                 .alike = {among.alike, among.alike_count, among.alike_count}};
    if (rdt_select(&winners, among.codegen, at, &among.choice, &err)) return -2;
    if (!among.choice.row) return among.choice.match == REDTUNE_MATCH_DEFAULT ? -1 : -2;
    if (among.choice.match == REDTUNE_MATCH_LIKE)
        return 100 + (int)(among.choice.row - among.alike);
    return (int)(among.choice.row - among.row);
}

static int match(void) { return (int)among.choice.match; }

/* ---- rows ------------------------------------------------------------------------------------ */

FACT(the_very_shape_goes_before_any_other) {
    CHECK(begin_rows());
    add_row(rows_of(64, 1024));
    add_row(rows_of(65, 1024));
    add_row(rows_of(64, 1028));
    CHECK_INT(choose(rows_of(64, 1024)), 0);
    CHECK_INT(match(), REDTUNE_MATCH_EXACT);
    CHECK_INT(choose(rows_of(65, 1024)), 1);
    CHECK_INT(match(), REDTUNE_MATCH_EXACT);
    CHECK_INT(choose(rows_of(64, 1028)), 2);
    CHECK_INT(match(), REDTUNE_MATCH_EXACT);
    CHECK_INT(choose(rows_of(66, 1024)), 1);
    CHECK_INT(match(), REDTUNE_MATCH_SIZE);
}

/* Both directions count, on a log scale: 4 times as many rows are as far as 4 times as long ones.
 */
FACT(else_the_nearest_in_rows_and_elements) {
    CHECK(begin_rows());
    add_row(rows_of(64, 1024));
    add_row(rows_of(1024, 1024));
    add_row(rows_of(64, 16384));
    CHECK_INT(choose(rows_of(200, 1024)), 0);
    CHECK_INT(choose(rows_of(300, 1024)), 1);
    CHECK_INT(choose(rows_of(64, 4000)), 0);
    CHECK_INT(choose(rows_of(64, 5000)), 2);
    CHECK_INT(choose(rows_of(900, 1100)), 1);
    CHECK_INT(match(), REDTUNE_MATCH_SIZE);
}

FACT(a_row_says_nothing_of_shapes_sixteen_times_away) {
    CHECK(begin_rows());
    add_row(rows_of(1024, 1024));
    CHECK_INT(choose(rows_of(16 * 1024, 1024)), 0);
    CHECK_INT(choose(rows_of(17 * 1024, 1024)), -1);
    CHECK_INT(choose(rows_of(64, 1024)), 0);
    CHECK_INT(choose(rows_of(60, 1024)), -1);
    CHECK_INT(choose(rows_of(4 * 1024, 4 * 1020)), 0);
    CHECK_INT(choose(rows_of(4 * 1024, 5 * 1024)), -1);
    CHECK_INT(choose(columns_of(1, 1024, 1024)), -1);
    CHECK_INT(choose(whole_of(REDTUNE_SUM, REDTUNE_F32)), -1);
}

static redtune_problem segments_of(uint64_t segments, uint64_t length, uint64_t median,
                                   uint64_t greatest) {
    redtune_problem problem = redtune_problem_segments(REDTUNE_SUM, REDTUNE_F32, segments, length);
    problem.median = median;
    problem.greatest = greatest;
    rdt_problem_resolve(&problem, &problem, &err);
    return problem;
}

/* What was measured of equal segments serves those that are nearly so, not ones whose lengths are
 * said to differ widely. */
FACT(segments_of_other_lengths_take_their_default) {
    CHECK(begin_rows());
    add_row(segments_of(1 << 16, 1000, 0, 0));
    CHECK_INT(choose(segments_of(1 << 16, 1000, 0, 0)), 0);
    CHECK_INT(choose(segments_of(1 << 16, 900, 900, 1100)), 0);
    CHECK_INT(choose(segments_of(1 << 16, 1000, 10, 1 << 22)), -1);
    CHECK_INT(choose(segments_of(1 << 10, 4, 0, 0)), -1);
}

/* 1001 f32 are aligned to 4 bytes, 1002 to 8, 1004 and 1024 to 16. */
FACT(rows_of_the_same_alignment_go_before_nearer_ones) {
    CHECK(begin_rows());
    add_row(rows_of(64, 1024));
    add_row(rows_of(256, 1001));
    CHECK_INT(choose(rows_of(64, 1003)), 1);
    CHECK_INT(match(), REDTUNE_MATCH_SIZE);
    CHECK_INT(choose(rows_of(256, 1004)), 0);
    /* Where none of the same is within reach, another serves. */
    CHECK_INT(choose(rows_of(16, 1001)), 1);
    CHECK_INT(choose(rows_of(12, 1001)), 0);
    CHECK_INT(choose(rows_of(64, 1002)), 0);
    /* The pitch decides, not the length. */
    CHECK_INT(choose(pitched(256, 1001, 1024)), 0);
    CHECK_INT(match(), REDTUNE_MATCH_SIZE);
    CHECK_INT(choose(pitched(64, 1024, 1025)), 1);
}

FACT(the_very_pitch_goes_before_another_of_its_alignment) {
    CHECK(begin_rows());
    add_row(pitched(64, 1024, 1028));
    add_row(pitched(64, 1024, 2048))->date = 999;
    CHECK_INT(choose(pitched(64, 1024, 2048)), 1);
    CHECK_INT(match(), REDTUNE_MATCH_EXACT);
    CHECK_INT(choose(rows_of(64, 1024)), 0); /* the latest */
    CHECK_INT(match(), REDTUNE_MATCH_SIZE);
}

FACT(alignment_is_what_divides_all_steps) {
    const redtune_problem rows = pitched(3, 10, 6);
    const redtune_problem bytes = problem_of(REDTUNE_MAX, REDTUNE_I8, 1, 100, 36);
    const redtune_problem doubles = problem_of(REDTUNE_MAX, REDTUNE_F64, 1, 100, 3);
    redtune_problem batch = columns_of(4, 100, 8);
    CHECK_INT(rdt_problem_alignment(&rows), 8);
    CHECK_INT(rdt_problem_alignment(&bytes), 4);
    CHECK_INT(rdt_problem_alignment(&doubles), 8);
    CHECK_INT(rdt_problem_alignment(&batch), 16);
    RESHAPE(&batch, outer_step, 801);
    CHECK_INT(rdt_problem_alignment(&batch), 4);
    RESHAPE(&batch, outer, 0); /* nothing is so far apart then */
    CHECK_INT(rdt_problem_alignment(&batch), 16);
    const redtune_problem whole = whole_of(REDTUNE_MAX, REDTUNE_I8);
    CHECK_INT(rdt_problem_alignment(&whole), 16);
}

/* A GPU with twice the multiprocessors takes twice the rows at a time, not longer ones. */
FACT(rows_of_another_model_are_scaled_by_multiprocessors) {
    CHECK(begin_rows());
    rdt_facts half = gpu_named("NVIDIA Half");
    half.sm_count /= 2;
    add_row(rows_of(256, 1024))->gpu = half;
    add_row(rows_of(128, 1024))->gpu = half;
    CHECK_INT(choose(rows_of(256, 1024)), 1);
    CHECK_INT(match(), REDTUNE_MATCH_GPU);
    CHECK_INT(choose(rows_of(512, 1024)), 0);
    /* This model's goes first, of whatever alignment. */
    add_row(rows_of(256, 1001));
    CHECK_INT(choose(rows_of(256, 1024)), 2);
    CHECK_INT(match(), REDTUNE_MATCH_SIZE);
}

/* ---- columns --------------------------------------------------------------------------------- */

FACT(columns_are_nearest_in_elements_and_width) {
    CHECK(begin_rows());
    add_row(columns_of(1, 1024, 16));
    add_row(columns_of(1, 1024, 256));
    add_row(columns_of(1, 16384, 256));
    CHECK_INT(choose(columns_of(1, 1024, 16)), 0);
    CHECK_INT(match(), REDTUNE_MATCH_EXACT);
    CHECK_INT(choose(columns_of(1, 1000, 40)), 0);
    CHECK_INT(choose(columns_of(1, 1000, 100)), 1);
    CHECK_INT(choose(columns_of(1, 8000, 256)), 2);
    CHECK_INT(match(), REDTUNE_MATCH_SIZE);
}

/* Wide ones: 64 batches of 512 columns are as much work side by side as 32768 columns. */
FACT(a_batch_of_columns_is_like_as_many_columns) {
    CHECK(begin_rows());
    add_row(columns_of(1, 512, 512));
    add_row(columns_of(1, 512, 32768));
    CHECK_INT(choose(columns_of(64, 512, 512)), 1);
    CHECK_INT(match(), REDTUNE_MATCH_SIZE);
    add_row(columns_of(64, 512, 512));
    CHECK_INT(choose(columns_of(64, 512, 512)), 2);
    CHECK_INT(match(), REDTUNE_MATCH_EXACT);
    CHECK_INT(choose(columns_of(60, 512, 512)), 2);
}

/* Loads of a narrow batch are narrow, however many there are. */
FACT(a_narrow_batch_is_not_like_wide_columns) {
    CHECK(begin_rows());
    add_row(columns_of(1, 512, 32768));
    CHECK_INT(choose(columns_of(8192, 512, 4)), -1);
    add_row(columns_of(2048, 512, 4));
    CHECK_INT(choose(columns_of(8192, 512, 4)), 1);
}

FACT(columns_of_the_same_alignment_go_first) {
    CHECK(begin_rows());
    add_row(columns_of(1, 1024, 1000));
    add_row(columns_of(1, 1024, 333));
    CHECK_INT(choose(columns_of(1, 1024, 999)), 1);
    CHECK_INT(choose(columns_of(1, 1024, 400)), 0);
}

/* ---- classes alike --------------------------------------------------------------------------- */

FACT(a_class_never_tuned_takes_the_winner_of_one_alike) {
    CHECK(begin_rows());
    add_alike(whole_of(REDTUNE_SUM, REDTUNE_F32));
    CHECK_INT(choose(whole_of(REDTUNE_MAX, REDTUNE_F32)), 100);
    CHECK_INT(match(), REDTUNE_MATCH_LIKE);
    CHECK_TEXT(redtune_match_name(among.choice.match), "like");
    redtune_info info = {.match = among.choice.match};
    rdt_convert_origin(among.choice.row, &info);
    CHECK_INT(info.tuned_op, REDTUNE_SUM);
    CHECK_INT(info.tuned_dtype, REDTUNE_F32);
    CHECK(info.tuned_count == 1 << 20 && info.tuned_outer == 1 && info.tuned_inner == 1);
    add_alike(rows_of(64, 1001));
    CHECK_INT(choose(problem_of(REDTUNE_NORM2, REDTUNE_F32, 70, 1001, 1)), 101);
    rdt_convert_origin(among.choice.row, &info);
    CHECK(info.tuned_count == 1001 && info.tuned_outer == 64 && info.tuned_inner == 1);
    CHECK_INT(info.tuned_alignment, 4);
}

/* Own row, nearest size; then like; then another GPU's; then the default. */
FACT(a_measured_row_of_the_class_always_goes_first) {
    const redtune_problem max = whole_of(REDTUNE_MAX, REDTUNE_F32);
    redtune_problem far = max, farther = max;
    RESHAPE(&far, count, shaped_of(&max).count * 15);
    RESHAPE(&farther, count, shaped_of(&max).count * 17);
    CHECK(begin_rows());
    CHECK_INT(choose(max), -1);
    add_row(max)->gpu = gpu_named("NVIDIA Other");
    CHECK_INT(choose(max), 0);
    CHECK_INT(match(), REDTUNE_MATCH_GPU);
    add_alike(whole_of(REDTUNE_SUM, REDTUNE_F32));
    CHECK_INT(choose(max), 100);
    CHECK_INT(match(), REDTUNE_MATCH_LIKE);
    add_row(farther);
    CHECK_INT(choose(max), 100); /* beyond reach */
    add_row(far);
    CHECK_INT(choose(max), 2);
    CHECK_INT(match(), REDTUNE_MATCH_SIZE);
    add_row(max);
    CHECK_INT(choose(max), 3);
    CHECK_INT(match(), REDTUNE_MATCH_EXACT);
}

FACT(rows_alike_of_another_model_do_not_serve) {
    CHECK(begin_rows());
    add_alike(whole_of(REDTUNE_SUM, REDTUNE_F32))->gpu = gpu_named("NVIDIA Other");
    CHECK_INT(choose(whole_of(REDTUNE_MAX, REDTUNE_F32)), -1);
}

FACT(only_the_same_traffic_is_alike) {
    const redtune_problem max = whole_of(REDTUNE_MAX, REDTUNE_F32);
    redtune_problem as_f64 = whole_of(REDTUNE_SUM, REDTUNE_F32);
    as_f64.result = REDTUNE_F64;
    const redtune_problem others[] = {
        whole_of(REDTUNE_ARGMAX, REDTUNE_F32), /* an index */
        whole_of(REDTUNE_SUM, REDTUNE_F16),    /* elements of 2 bytes */
        whole_of(REDTUNE_SUM, REDTUNE_I32),    /* accumulators of 8 */
        as_f64,
        whole_of(REDTUNE_NONZEROS, REDTUNE_F32),
        whole_of(REDTUNE_DOT, REDTUNE_F32),    /* two inputs */
        whole_of(REDTUNE_MINMAX, REDTUNE_F32), /* two results */
        problem_of(REDTUNE_SUM, REDTUNE_F32, 2, 1 << 19, 1),
        problem_of(REDTUNE_SUM, REDTUNE_F32, 1, 1 << 19, 2),
    };
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        CHECK(!rdt_problem_same_traffic(&max, &others[i]));
        CHECK(begin_rows());
        add_alike(others[i]);
        CHECK_INT(choose(max), -1);
    }
    const redtune_problem like = whole_of(REDTUNE_MIN, REDTUNE_U32);
    CHECK(rdt_problem_same_traffic(&max, &like));
}

/* However the rows lie: the nearest; then the arithmetic, the dtype and the op decide. */
FACT(the_most_alike_of_those_equally_near_serves) {
    const redtune_problem wanted = whole_of(REDTUNE_MAXABS, REDTUNE_F32);
    redtune_problem near = whole_of(REDTUNE_MAX, REDTUNE_I32), far = wanted;
    far.op = REDTUNE_SUM;
    RESHAPE(&far, count, shaped_of(&far).count * 2);
    CHECK(begin_rows());
    add_alike(near)->date = 2000;
    add_alike(far);
    CHECK_INT(choose(wanted), 100);
    add_alike(whole_of(REDTUNE_MIN, REDTUNE_F32));
    CHECK_INT(choose(wanted), 102);
    add_alike(whole_of(REDTUNE_SUM, REDTUNE_F32));
    CHECK_INT(choose(wanted), 103); /* of two of one age the first op */
    const rdt_row last = among.alike[3];
    among.alike[3] = among.alike[2];
    among.alike[2] = last;
    CHECK_INT(choose(wanted), 102);
    among.alike[3].current = true;
    among.alike[2].current = false;
    CHECK_INT(choose(wanted), 103);
}

int main(int argc, char **argv) {
    int failed = check_run(argc, argv);
    rdt_codegen_close(among.codegen);
    return failed;
}
