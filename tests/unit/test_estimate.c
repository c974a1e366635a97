/* Facts about templates/lib/estimate.lua, and about how src/api/records/select.c goes by it. */
#define _GNU_SOURCE
#include "trials.h"
#include "shaped.h"
#include "api/records/select.h"
#include "codegen/codegen.h"
#include "model/problem.h"

static struct {
    rdt_row row[4];
    size_t count;
    rdt_codegen *codegen;
    rdt_facts gpu; /* of 132 multiprocessors */
    rdt_choice choice;
} among;

#define FEW_BLOCKS  "columns:block=512,width=8,vec=8,unroll=16,finish=single,per_sm=1"
#define MANY_BLOCKS "columns:block=512,width=16,vec=8,unroll=4,finish=poll,per_sm=2"

static bool begin_rows(void) {
    among.count = 0;
    among.gpu = *rdt_facts_typical();
    among.gpu.major = 9;
    among.gpu.sm_count = 132;
    among.gpu.bus_bits = 6144;
    among.gpu.memory_khz = 3201000;
    return among.codegen || !rdt_codegen_open(&among.codegen, &err);
}

static redtune_problem problem_of(redtune_dtype dtype, uint64_t outer, uint64_t count,
                                  uint64_t inner) {
    redtune_problem problem =
        PROBLEM(.op = REDTUNE_SUM, .dtype = dtype, .count = count, .outer = outer, .inner = inner);
    rdt_problem_resolve(&problem, &problem, &err);
    return problem;
}

static redtune_problem halves_of(uint64_t count, uint64_t inner) {
    return problem_of(REDTUNE_F16, 1, count, inner);
}

/* ---- the estimate ---------------------------------------------------------------------------- */

/* In ns; of the default where config is NULL; -1: an error. */
static double time_of(redtune_problem problem, const char *config) {
    const rdt_case at = {&problem, &among.gpu};
    rdt_point point;
    double time_ns = -1;
    redtune_status status = config ? rdt_rules_find(among.codegen, at, NULL, config, &point, &err)
                                   : rdt_rules_default(among.codegen, at, &point, &err);
    if (!status) status = rdt_estimate_time(among.codegen, at, &point, &time_ns, &err);
    return status ? -1 : time_ns;
}

FACT(rows_and_columns_have_one) {
    CHECK(begin_rows());
    CHECK(time_of(problem_of(REDTUNE_F16, 1, 1 << 20, 1), NULL) == 0);
    CHECK(time_of(problem_of(REDTUNE_F16, 1000, 4, 1), "short:row=4") == 0);
    CHECK(time_of(problem_of(REDTUNE_F16, 1000, 5, 1), "staged:room=16") > 0);
    CHECK(time_of(problem_of(REDTUNE_F16, 1000, 1000, 1), NULL) > 0);
    CHECK(time_of(halves_of(7, 1000003), "thin:strips=2") == 0);
    CHECK(time_of(halves_of(1000, 1000), NULL) > 0);
    CHECK(time_of(halves_of(1000, 1001), NULL) > 0);
}

/* A GPU of 4.4 TB/s reads these 32 MiB in 7.6 us, and 16 times as much in 16 times that. */
FACT(memory_is_what_large_inputs_wait_for) {
    CHECK(begin_rows());
    const double once = time_of(halves_of(4096, 4096), NULL);
    const double more = time_of(halves_of(16384, 16384), NULL);
    CHECK(once > 7600 && once < 11000);
    CHECK(more > 16 * 7400 && more < 16 * 8600);
    among.gpu.memory_khz /= 2;
    CHECK(time_of(halves_of(16384, 16384), NULL) > 1.9 * more);
    among.gpu.memory_khz = 0; /* unknown */
    CHECK(time_of(halves_of(4096, 4096), NULL) > 0);
}

/* 2560 columns are 40 strips of 64: one block for each leaves 92 of 132 multiprocessors idle. */
FACT(idle_multiprocessors_cost_time) {
    CHECK(begin_rows());
    CHECK(time_of(halves_of(4096, 2560), FEW_BLOCKS) >
          1.1 * time_of(halves_of(4096, 2560), MANY_BLOCKS));
    CHECK(time_of(halves_of(4096, 8448), FEW_BLOCKS) < time_of(halves_of(4096, 8448), MANY_BLOCKS));
}

/* Blocks of 128 registers and 256 threads: 2 to a multiprocessor, and 264 at once. */
FACT(a_wave_that_is_nearly_empty_costs_time) {
    static const char config[] = "skewed:block=256,width=16,vec=8,unroll=8,finish=single,per_sm=1";
    CHECK(begin_rows());
    const double one = time_of(halves_of(2048, 264 * 120 - 1), config);
    const double two = time_of(halves_of(2048, 300 * 120 - 1), config);
    CHECK(two > 1.2 * one);
}

/* The strips of 256 columns leave 264 values of each to a group of threads, which takes longer than
 * all loads. */
FACT(values_to_collect_cost_time) {
    static const char wide[] = "skewed:block=256,width=32,vec=8,unroll=8,finish=poll,per_sm=4";
    static const char narrow[] = "skewed:block=512,width=16,vec=8,unroll=8,finish=poll,per_sm=1";
    CHECK(begin_rows());
    CHECK(time_of(halves_of(100000, 300), wide) > 1.2 * time_of(halves_of(100000, 300), narrow));
}

/* A thread's loads are in flight at once: 118 rows in one round of 16 rows of threads with 8 loads
 * take an H200 1.7 us, and in four rounds of 8 with 4 loads 3.8. Rows that are not whole loads take
 * longer. */
FACT(rounds_and_ends_cost_time) {
    CHECK(begin_rows());
    const redtune_problem columns = problem_of(REDTUNE_F32, 1, 118, 233);
    CHECK(time_of(columns, "columns:block=256,width=32,vec=1,unroll=4,finish=single,per_sm=1") >
          1.5 *
              time_of(columns, "columns:block=256,width=16,vec=1,unroll=8,finish=single,per_sm=1"));
    static const char config[] = "rows:block=128,lanes=32,rows=1,vec=8,unroll=4,finish=single,"
                                 "per_sm=1";
    CHECK(time_of(problem_of(REDTUNE_F16, 1024, 1025, 1), config) >
          1.1 * time_of(problem_of(REDTUNE_F16, 1024, 1024, 1), config));
}

/* A block of 256 threads has no room for the accumulators of exact sums of f64. */
FACT(many_rows_with_a_mask_have_a_default_of_any_accuracy) {
    CHECK(begin_rows());
    for (int i = 0; i < 3; i++) {
        redtune_problem problem = problem_of(REDTUNE_F64, 131072, 256, 1);
        const rdt_case at = {&problem, &among.gpu};
        rdt_point point;
        problem.mask = REDTUNE_MASK_BYTES;
        problem.accuracy = (redtune_accuracy)i;
        CHECK_OK(rdt_rules_default(among.codegen, at, &point, &err), err);
    }
}

/* Of argmax, whose accumulators are of 16 bytes, an H200 makes 64 rows of 262144 columns in 19.1 us
 * where each thread has columns of its own, and in 26.6 where four threads meet for each; few wide
 * rows in 4.5 us by loads of one element, and in 5.8 by skewed ones. */
FACT(wide_values_that_meet_cost_time) {
    CHECK(begin_rows());
    redtune_problem large = PROBLEM(.op = REDTUNE_ARGMAX, .dtype = REDTUNE_F32, .count = 64,
                                    .outer = 1, .inner = 262144);
    redtune_problem odd = large;
    RESHAPE(&odd, count, 33);
    RESHAPE(&odd, inner, 33793);
    CHECK_OK(rdt_problem_resolve(&large, &large, &err), err);
    CHECK_OK(rdt_problem_resolve(&odd, &odd, &err), err);
    static const char apart[] = "columns:block=256,width=256,vec=4,unroll=8,finish=single,per_sm=1";
    static const char meeting[] =
        "columns:block=128,width=32,vec=4,unroll=8,finish=single,per_sm=1";
    CHECK(time_of(large, meeting) > 1.2 * time_of(large, apart));
    CHECK(time_of(large, NULL) < 1.05 * time_of(large, apart));
    CHECK(time_of(odd, "skewed:block=256,width=32,vec=4,unroll=8,finish=single,per_sm=1") >
          1.2 * time_of(odd, NULL));
}

/* By an H200, 4 to 30 % faster than what the defaults were before they went by the estimate. */
FACT(defaults_are_near_the_best_estimate) {
    static const struct {
        uint64_t count, inner;
        double most_ns;
    } shapes[] = {
        {100000, 300, 20000}, {262144, 17, 10000}, {65536, 64, 5600}, {4096, 5120, 13000}};
    CHECK(begin_rows());
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        const redtune_problem problem = halves_of(shapes[i].count, shapes[i].inner);
        const rdt_case at = {&problem, &among.gpu};
        rdt_point point;
        CHECK(time_of(problem, NULL) < shapes[i].most_ns);
        CHECK_OK(rdt_rules_default(among.codegen, at, &point, &err), err);
        bool useful = false;
        CHECK_OK(rdt_rules_is_point(among.codegen, at, RDT_SCOPE_USEFUL, &point, &useful, &err),
                 err);
        CHECK(useful);
    }
}

/* By an H200: loads of one element where rows are not aligned alike, without skew, unless there are
 * few bytes; a thread for each column of a few dozen elements, with all of them in flight; no
 * overlap of strips where narrow elements are aligned to 8 bytes; a block for each of a few long
 * rows; whole rows of 32 bytes by one thread each; as many bytes in flight by narrow loads; fewer
 * of them where each comes with one of a mask. */
FACT(defaults_are_of_the_family_that_is_faster) {
    static const struct {
        redtune_dtype dtype;
        uint64_t outer, count, inner;
        const char *config;
        redtune_mask mask;
    } cases[] = {
        {REDTUNE_F16, 1, 7, 1000003, "thin:vec=1,strips=2,unroll=8"},
        {REDTUNE_F32, 1, 7, 1000003, "thin:vec=1,strips=2,unroll=4"},
        {REDTUNE_F32, 1, 1, 1 << 24, "thin:vec=4,strips=1,unroll=1"},
        {REDTUNE_F32, 1, 6, 150124, "columns:vec=4"},
        {REDTUNE_F32, 1, 6, 60001, "columns:vec=1"},
        {REDTUNE_F16, 1, 4, 262145, "thin:vec=1"},
        {REDTUNE_F16, 1, 4, 1 << 20, "thin:vec=4"},
        {REDTUNE_F16, 1, 33, 33793, "columns:width=128,unroll=64,load=plain"},
        {REDTUNE_F32, 1, 33, 33793, "columns:width=128,unroll=64,load=plain"},
        {REDTUNE_F32, 1, 20, 20001, "columns:width=128,unroll=32,load=plain"},
        {REDTUNE_F16, 1, 100, 60001, "skewed:vec=8"},
        {REDTUNE_F32, 1, 80487, 19, "columns:block=512,unroll=16,finish=poll,per_sm=2"},
        {REDTUNE_F16, 1, 100000, 300, "columns:vec=4"},
        {REDTUNE_F32, 1, 100000, 300, "columns:block=512,unroll=16,finish=poll,per_sm=1"},
        {REDTUNE_F32, 1, 77618, 159, "skewed:block=512,unroll=8,finish=poll,per_sm=1"},
        {REDTUNE_F16, 1, 2048, 50260, "skewed:vec=8"},
        {REDTUNE_F32, 33, 33793, 1, "rows:lanes=1024,finish=single,per_sm=1"},
        {REDTUNE_F32, 16, 1 << 20, 1, "rows:lanes=512,finish=poll"},
        {REDTUNE_F32, 4096, 5120, 1, "rows:lanes=256,unroll=4"},
        {REDTUNE_F32, 16, 16384, 1, "rows:lanes=512,unroll=8,finish=single,per_sm=1"},
        {REDTUNE_F16, 4, 1 << 16, 1, "rows:lanes=512,unroll=4,finish=poll"},
        {REDTUNE_F16, 32, 1 << 16, 1, "rows:lanes=1024,finish=single,per_sm=1"},
        {REDTUNE_F32, 64, 2304, 1, "rows:block=256,lanes=256,unroll=4"},
        {REDTUNE_F32, 1, 118, 233, "columns:vec=1,finish=single,per_sm=1"},
        {REDTUNE_F16, 1, 12, 133, "columns:vec=1,finish=single,per_sm=1"},
        {REDTUNE_F16, 1024, 5, 1, "rows:lanes=8,vec=1"},
        {REDTUNE_F16, 1 << 20, 5, 1, "staged:room=16"},
        {REDTUNE_F16, 262144, 65, 1, "rows:lanes=4,rows=1,unroll=1"},
        {REDTUNE_F16, 8192, 8192, 1, "rows:block=128,lanes=128,unroll=8"},
        {REDTUNE_F16, 1 << 20, 16, 1, "rows:lanes=1,rows=2,unroll=2"},
        {REDTUNE_F16, 1, 1 << 22, 4, "columns:vec=4,unroll=16"},
        {REDTUNE_F32, 16384, 1024, 1, "rows:block=256,lanes=32,unroll=4", REDTUNE_MASK_BYTES},
        {REDTUNE_F32, 32768, 512, 1, "rows:block=256,lanes=16,unroll=4", REDTUNE_MASK_BYTES},
    };
    CHECK(begin_rows());
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        redtune_problem problem =
            problem_of(cases[i].dtype, cases[i].outer, cases[i].count, cases[i].inner);
        problem.mask = cases[i].mask;
        const rdt_case at = {&problem, &among.gpu};
        rdt_point named, point;
        /* What a config does not name is the default's. */
        CHECK_OK(rdt_rules_find(among.codegen, at, NULL, cases[i].config, &named, &err), err);
        CHECK_OK(rdt_rules_default(among.codegen, at, &point, &err), err);
        CHECK(rdt_point_same(&named, &point));
    }
}

/* ---- selection ------------------------------------------------------------------------------- */

static void add_row(redtune_problem problem, const char *config) {
    rdt_row *row = &among.row[among.count++];
    *row = (rdt_row){
        .gpu = among.gpu, .trial = trials_make(1, "", 5000, 31), .date = 1000, .current = true};
    row->trial.problem = problem;
    rdt_point point;
    const rdt_case there = {&row->trial.problem, &among.gpu};
    if (!rdt_rules_find(among.codegen, there, NULL, config, &point, &err))
        rdt_point_write(rdt_codegen_spaces(among.codegen), &point, row->trial.family,
                        row->trial.config);
}

/* The number of the row that serves; -1: a default does; -2: an error. */
static int choose(redtune_problem problem) {
    const rdt_case at = {&problem, &among.gpu};
    const rdt_winners winners = {.rows = {among.row, among.count, among.count}};
    if (rdt_select(&winners, among.codegen, at, &among.choice, &err)) return -2;
    return among.choice.row ? (int)(among.choice.row - among.row) : -1;
}

static int match(void) { return (int)among.choice.match; }

FACT(a_farther_row_that_fits_goes_before_the_nearest) {
    CHECK(begin_rows());
    add_row(halves_of(4096, 8192), FEW_BLOCKS);
    add_row(halves_of(16384, 8192), MANY_BLOCKS);
    CHECK_INT(choose(halves_of(4096, 2560)), 1);
    CHECK_INT(match(), REDTUNE_MATCH_SIZE);
    CHECK_INT(choose(halves_of(4096, 8448)), 0); /* 132 strips */
    CHECK_INT(match(), REDTUNE_MATCH_SIZE);
}

FACT(the_very_shape_serves_however_it_fits) {
    CHECK(begin_rows());
    add_row(halves_of(16384, 8192), MANY_BLOCKS);
    add_row(halves_of(4096, 5120), FEW_BLOCKS);
    CHECK_INT(choose(halves_of(4096, 5120)), 1);
    CHECK_INT(match(), REDTUNE_MATCH_EXACT);
}

FACT(a_default_serves_where_no_row_fits) {
    CHECK(begin_rows());
    add_row(halves_of(4096, 8192), FEW_BLOCKS);
    add_row(halves_of(16384, 8192), FEW_BLOCKS);
    CHECK_INT(choose(halves_of(4096, 2560)), -1);
    CHECK_INT(match(), REDTUNE_MATCH_DEFAULT);
    CHECK_INT(choose(halves_of(4096, 8448)), 0);
}

/* 18 strips, of 2.25 MiB and of 9 MiB. */
FACT(a_default_serves_for_small_inputs_too) {
    const redtune_problem small = halves_of(1024, 1152), large = halves_of(4096, 1152);
    CHECK(begin_rows());
    add_row(halves_of(2048, 1280), FEW_BLOCKS);
    CHECK(time_of(small, FEW_BLOCKS) > 1.3 * time_of(small, NULL));
    CHECK_INT(choose(small), -1);
    CHECK(time_of(large, FEW_BLOCKS) > 1.3 * time_of(large, NULL));
    CHECK_INT(choose(large), -1);
}

/* Rows of which a load brings several, which have no estimate. The row took 5000 ns. */
FACT(a_winner_that_gained_little_leaves_the_default_to_serve) {
    static const char config[] = "short:block=512,row=4,vec=8,unroll=4,load=plain";
    const redtune_problem there = problem_of(REDTUNE_F16, 1 << 20, 4, 1);
    const redtune_problem here = problem_of(REDTUNE_F16, 1 << 21, 4, 1);
    CHECK(begin_rows());
    add_row(there, config);
    CHECK_INT(choose(here), 0); /* how fast the default was is not known */
    among.row[0].baseline_ns = 5240;
    CHECK_INT(choose(here), -1);
    CHECK_INT(match(), REDTUNE_MATCH_DEFAULT);
    CHECK_INT(choose(there), 0);
    CHECK_INT(match(), REDTUNE_MATCH_EXACT);
    among.row[0].baseline_ns = 5260;
    CHECK_INT(choose(here), 0);
    CHECK_INT(match(), REDTUNE_MATCH_SIZE);
}

/* Likewise: of eight times as many rows it says nothing. */
FACT(a_winner_far_off_leaves_the_default_to_serve) {
    CHECK(begin_rows());
    add_row(problem_of(REDTUNE_F16, 1 << 20, 4, 1),
            "short:block=512,row=4,vec=8,unroll=4,load=plain");
    CHECK_INT(choose(problem_of(REDTUNE_F16, 1 << 22, 4, 1)), 0);
    CHECK_INT(choose(problem_of(REDTUNE_F16, 1 << 23, 4, 1)), -1);
    CHECK_INT(match(), REDTUNE_MATCH_DEFAULT);
}

/* A row that fits serves only from among those as near by GPU model, class and age of templates. */
FACT(a_row_of_another_kind_does_not_go_first) {
    CHECK(begin_rows());
    add_row(halves_of(4096, 8192), FEW_BLOCKS);
    add_row(halves_of(16384, 8192), MANY_BLOCKS);
    CHECK_INT(choose(halves_of(4096, 2560)), 1);
    rdt_text_copy(among.row[1].gpu.name, sizeof among.row[1].gpu.name, "another GPU");
    CHECK_INT(choose(halves_of(4096, 2560)), -1);
    among.row[1].gpu = among.gpu;
    among.row[1].current = false;
    CHECK_INT(choose(halves_of(4096, 2560)), -1);
    among.row[1].current = true;
    among.row[1].trial.problem.dtype = REDTUNE_BF16;
    CHECK_INT(choose(halves_of(4096, 2560)), -1);
}

int main(int argc, char **argv) {
    int failed = check_run(argc, argv);
    rdt_codegen_close(among.codegen);
    return failed;
}
