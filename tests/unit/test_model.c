/* Facts about model/: problem.h, space.h, config.h, launch.h, facts.h and trial.h. */
#include "check.h"
#include "model/point.h"
#include "model/facts.h"
#include "model/launch.h"
#include "model/problem.h"
#include "model/scalar.h"
#include "model/space.h"
#include "model/trial.h"

static redtune_error err;

/* ---- problem --------------------------------------------------------------------------------- */

static void dtypes_go_by_their_names(void) {
    for (const rdt_dtype_traits *traits = rdt_dtype_table; traits->name; traits++) {
        redtune_dtype found = REDTUNE_DTYPE_NONE;
        CHECK_OK(redtune_dtype_find(traits->name, &found, &err), err);
        CHECK_INT(found, traits->dtype);
        CHECK_TEXT(redtune_dtype_name(traits->dtype), traits->name);
        CHECK_INT(redtune_dtype_bytes(traits->dtype), traits->bytes);
        CHECK(rdt_dtype_find(traits->dtype) == traits);
    }
}

static void dtype_find_lists_the_known_names(void) {
    redtune_dtype found = REDTUNE_F64;
    CHECK_FAILS(redtune_dtype_find("f33", &found, &err), REDTUNE_INVALID, err, "'f33'");
    for (const rdt_dtype_traits *traits = rdt_dtype_table; traits->name; traits++)
        CHECK_CONTAINS(err.message, traits->name);
    CHECK_FAILS(redtune_dtype_find("", &found, &err), REDTUNE_INVALID, err, "f32");
    CHECK_FAILS(redtune_dtype_find(NULL, &found, &err), REDTUNE_INVALID, err, "f32");
    CHECK_INT(found, REDTUNE_F64);
}

static void op_find_lists_the_known_names(void) {
    redtune_op op = (redtune_op)77;
    CHECK_FAILS(redtune_op_find("total", &op, &err), REDTUNE_INVALID, err, "'total'");
    CHECK_CONTAINS(err.message, "sum");
    CHECK_INT(op, 77);
    CHECK_OK(redtune_op_find("sum", &op, &err), err);
    CHECK_INT(op, REDTUNE_SUM);
    CHECK_TEXT(redtune_op_name(REDTUNE_SUM), "sum");
}

static void no_dtype_has_no_name_and_no_bytes(void) {
    CHECK(!redtune_dtype_name(REDTUNE_DTYPE_NONE));
    CHECK(!redtune_dtype_name((redtune_dtype)-1));
    CHECK(!redtune_op_name((redtune_op)-1));
    CHECK_INT(redtune_dtype_bytes(REDTUNE_DTYPE_NONE), 0);
    CHECK_INT(redtune_dtype_bytes((redtune_dtype)1000), 0);
    CHECK(!rdt_dtype_find(REDTUNE_DTYPE_NONE));
}

static void problem_sums_integers_into_64_bits(void) {
    redtune_problem problem = {.op = REDTUNE_SUM, .dtype = REDTUNE_I32, .count = 5};
    redtune_problem resolved = {0};
    CHECK_OK(rdt_problem_resolve(&problem, &resolved, &err), err);
    CHECK_INT(resolved.result, REDTUNE_I64);
    CHECK_INT(resolved.count, 5);
    CHECK_INT(problem.result, REDTUNE_DTYPE_NONE);
}

static void problem_sums_floats_into_themselves(void) {
    static const redtune_dtype dtypes[] = {REDTUNE_F32, REDTUNE_F64};
    for (int i = 0; i < 2; i++) {
        redtune_problem problem = {.op = REDTUNE_SUM, .dtype = dtypes[i]};
        redtune_dtype result = REDTUNE_DTYPE_NONE;
        CHECK_OK(redtune_problem_result(&problem, &result, &err), err);
        CHECK_INT(result, dtypes[i]);
    }
}

static void problem_takes_its_own_result_back(void) {
    redtune_problem resolved = {0}, again = {0};
    redtune_problem problem = {.op = REDTUNE_SUM, .dtype = REDTUNE_I32, .count = 1};
    CHECK_OK(rdt_problem_resolve(&problem, &resolved, &err), err);
    CHECK_OK(rdt_problem_resolve(&resolved, &again, &err), err);
    CHECK_INT(again.result, resolved.result);
}

static void problem_refuses_what_makes_no_sense(void) {
    redtune_problem out = {.count = 99};
    redtune_problem no_dtype = {.op = REDTUNE_SUM};
    redtune_problem no_op = {.op = (redtune_op)50, .dtype = REDTUNE_F32};
    redtune_problem bad_result = {.dtype = REDTUNE_F32, .result = REDTUNE_I32};
    redtune_problem unknown_result = {.dtype = REDTUNE_F32, .result = (redtune_dtype)50};
    redtune_problem too_large = {.dtype = REDTUNE_F64, .count = UINT64_MAX};
    CHECK_FAILS(rdt_problem_resolve(NULL, &out, &err), REDTUNE_INVALID, err, "problem is NULL");
    CHECK_FAILS(rdt_problem_resolve(&no_dtype, &out, &err), REDTUNE_INVALID, err, "problem.dtype");
    CHECK_FAILS(rdt_problem_resolve(&no_op, &out, &err), REDTUNE_INVALID, err, "no op 50");
    CHECK_FAILS(rdt_problem_resolve(&bad_result, &out, &err), REDTUNE_INVALID, err, "as i32");
    CHECK_FAILS(rdt_problem_resolve(&unknown_result, &out, &err), REDTUNE_INVALID, err,
                "an unknown dtype");
    CHECK_FAILS(rdt_problem_resolve(&too_large, &out, &err), REDTUNE_INVALID, err,
                "18446744073709551615");
    CHECK_INT(out.count, 99);
}

static void problem_extents_of_a_whole_array_have_one_form(void) {
    const redtune_problem written[] = {
        {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 1000},
        {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 1000, .outer = 1, .inner = 1},
        {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 1000, .step = 1, .outer_step = 1024},
    };
    for (size_t i = 0; i < 3; i++) {
        redtune_problem first, resolved;
        CHECK_OK(rdt_problem_resolve(&written[0], &first, &err), err);
        CHECK_OK(rdt_problem_resolve(&written[i], &resolved, &err), err);
        CHECK(rdt_problem_same(&resolved, &first));
        CHECK_INT(rdt_problem_layout(&resolved), RDT_LAYOUT_WHOLE);
    }
}

static void problem_refuses_other_orders(void) {
    const redtune_problem usual = {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 1000};
    redtune_problem resolved, wanted;
#define REFUSES(change, text)                                                                      \
    do {                                                                                           \
        wanted = usual;                                                                            \
        wanted.change;                                                                             \
        CHECK_FAILS(rdt_problem_resolve(&wanted, &resolved, &err), REDTUNE_UNSUPPORTED, err,       \
                    text);                                                                         \
    } while (0)
    REFUSES(order = (redtune_order)2, "problem.order is 2");
    REFUSES(reserved[0] = 1, "reserved");
#undef REFUSES
}

static void a_fixed_order_is_kept_where_it_shows(void) {
    static const struct {
        redtune_op op;
        redtune_dtype dtype, result;
        bool shows;
    } cases[] = {
        {REDTUNE_SUM, REDTUNE_F32, 0, true},           {REDTUNE_SUM, REDTUNE_I32, 0, false},
        {REDTUNE_SUM, REDTUNE_I32, REDTUNE_F64, true}, {REDTUNE_PROD, REDTUNE_BF16, 0, true},
        {REDTUNE_MEAN, REDTUNE_I32, 0, false},         {REDTUNE_MEAN, REDTUNE_I64, 0, true},
        {REDTUNE_NORM2, REDTUNE_I8, 0, false},         {REDTUNE_VAR, REDTUNE_I8, 0, true},
        {REDTUNE_LOGSUMEXP, REDTUNE_I8, 0, true},      {REDTUNE_MAX, REDTUNE_F32, 0, false},
        {REDTUNE_ARGMIN, REDTUNE_F32, 0, false},       {REDTUNE_NANS, REDTUNE_F16, 0, false},
        {REDTUNE_DOT, REDTUNE_I8, 0, false},           {REDTUNE_COSINE, REDTUNE_I8, 0, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const redtune_problem problem = {.op = cases[i].op,
                                         .dtype = cases[i].dtype,
                                         .result = cases[i].result,
                                         .order = REDTUNE_ORDER_FIXED};
        redtune_problem resolved;
        CHECK_OK(rdt_problem_resolve(&problem, &resolved, &err), err);
        check_that((resolved.order == REDTUNE_ORDER_FIXED) == cases[i].shows, __FILE__, __LINE__,
                   "%s of %s", redtune_op_name(cases[i].op), redtune_dtype_name(cases[i].dtype));
    }
}

static void problem_with_an_outer_is_of_rows(void) {
    redtune_problem packed = {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 1000, .outer = 64};
    redtune_problem pitched = packed, resolved;
    char text[RDT_PROBLEM_TEXT_BYTES];
    packed.inner = packed.step = 1;
    packed.outer_step = 1000;
    pitched.outer_step = 1024;
    CHECK_OK(rdt_problem_resolve(&packed, &resolved, &err), err);
    CHECK_INT(rdt_problem_layout(&resolved), RDT_LAYOUT_ROWS);
    CHECK_INT(resolved.outer_step, 0);
    CHECK_OK(rdt_problem_resolve(&pitched, &pitched, &err), err);
    CHECK_INT(pitched.outer_step, 1024);
    CHECK(rdt_problem_same_class(&resolved, &pitched));
    CHECK(!rdt_problem_same(&resolved, &pitched));
    rdt_problem_describe(&pitched, text);
    CHECK_TEXT(text, "sum of 64 rows of 1000 f32");
    /* 2^58 f32 are the most, and 63 steps of 2^53 are beyond; of 2^52 they are not. */
    pitched.outer_step = UINT64_C(1) << 53;
    CHECK_FAILS(rdt_problem_resolve(&pitched, &resolved, &err), REDTUNE_INVALID, err, "span");
    pitched.outer_step = UINT64_C(1) << 52;
    CHECK_OK(rdt_problem_resolve(&pitched, &resolved, &err), err);
    pitched.outer = UINT64_MAX;
    CHECK_FAILS(rdt_problem_resolve(&pitched, &resolved, &err), REDTUNE_INVALID, err, "span");
}

static void problem_with_an_inner_or_a_step_is_of_columns(void) {
    static const struct {
        uint64_t outer, inner, outer_step, step;
        const char *text;
    } written[] = {
        {0, 100, 0, 0, "sum of 64 x 100 f32 along axis 0"},
        {1, 100, 9999, 100, "sum of 64 x 100 f32 along axis 0"},
        {8, 100, 6400, 100, "sum of 8 x 64 x 100 f32 along axis 1"},
        {8, 100, 0, 128, "sum of 8 x 64 x 100 f32 along axis 1"},
        {1, 1, 0, 3, "sum of 64 f32, 3 apart"},
        {8, 0, 0, 3, "sum of 8 rows of 64 f32, 3 apart"},
    };
    char text[RDT_PROBLEM_TEXT_BYTES];
    redtune_problem problem, resolved[6];
    for (size_t i = 0; i < 6; i++) {
        problem = (redtune_problem){.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 64};
        problem.outer = written[i].outer;
        problem.inner = written[i].inner;
        problem.outer_step = written[i].outer_step;
        problem.step = written[i].step;
        CHECK_OK(rdt_problem_resolve(&problem, &resolved[i], &err), err);
        CHECK_INT(rdt_problem_layout(&resolved[i]), RDT_LAYOUT_COLUMNS);
        CHECK(rdt_problem_same_class(&resolved[i], &resolved[0]));
        CHECK_INT(rdt_problem_same(&resolved[i], &resolved[0]), i < 2);
        rdt_problem_describe(&resolved[i], text);
        CHECK_TEXT(text, written[i].text);
    }
    CHECK(!resolved[2].outer_step && !resolved[2].step);
    CHECK_INT(resolved[3].step, 128);
    CHECK_INT(resolved[4].inner, 0);
}

/* 2^58 f32 are the most that an input spans, and the most results. */
static void columns_span_what_has_an_address(void) {
    const uint64_t most = UINT64_C(1) << 58, big = UINT64_C(1) << 32;
    const struct {
        uint64_t count, outer, inner, outer_step, step;
        bool fits;
    } extents[] = {
        {1, 1, most, 0, 0, true},
        {1, 1, most + 1, 0, 0, false},
        {2, 1, most, 0, 0, false},
        {1, 1, UINT64_MAX, 0, 0, false},
        {2, 1, 2, 0, most - 2, true},
        {2, 1, 2, 0, most - 1, false},
        {2, 1, 2, 0, UINT64_MAX, false},
        {3, 1, 1, 0, UINT64_C(1) << 63, false},
        {2, 3, 4, 1000, most - 2004, true},
        {2, 3, 4, 1000, most - 2003, false},
        {big, 1, big, 0, 0, false},
        {big, 2, big, 0, 1, false}, /* the usual outer_step is beyond 2^64 */
        {0, big, big, 1, 1, false}, /* results */
        {0, 1, most, 0, 0, true},
    };
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++) {
        redtune_problem resolved, problem = {.op = REDTUNE_SUM, .dtype = REDTUNE_F32};
        problem.count = extents[i].count;
        problem.outer = extents[i].outer;
        problem.inner = extents[i].inner;
        problem.outer_step = extents[i].outer_step;
        problem.step = extents[i].step;
        if (extents[i].fits)
            CHECK_OK(rdt_problem_resolve(&problem, &resolved, &err), err);
        else
            CHECK_FAILS(rdt_problem_resolve(&problem, &resolved, &err), REDTUNE_INVALID, err,
                        "they span at most 288230376151711744");
    }
}

/* Blocks for each outer index, where they take columns. */
static void a_grid_has_blocks_for_all_columns(void) {
    rdt_launch how = {.threads = 256, .results = 32, .columns = true, .tile = 1, .blocks_max = 1};
    const rdt_extents one = {100, 1, 33, 3300, 33}, many = {100, 1000, 3, 300, 3};
    const rdt_extents rows = {100, 1000, 1, 100, 1}, most = {1, 1 << 30, 1 << 20, 1, 1};
    CHECK_INT(rdt_launch_grid(&how, &one), 2);
    CHECK_INT(rdt_launch_grid(&how, &many), 1000);
    CHECK_INT(rdt_launch_grid(&how, &rows), 1000);
    CHECK_INT(rdt_launch_grid(&how, &most), RDT_GRID_MAX);
    how.columns = false;
    CHECK_INT(rdt_launch_grid(&how, &rows), 32);
}

/* Splits are as many as blocks_max allows for each set of results, but no more than there are
 * tiles, nor than go through these faster in two rounds. */
static void blocks_share_sets_of_results(void) {
    rdt_launch how = {.threads = 256, .results = 32, .columns = true, .tile = 10, .blocks_max = 64};
    const rdt_extents two = {1000, 1, 33, 33000, 33}, batch = {1000, 8, 64, 64000, 64};
    const rdt_extents few = {35, 1, 33, 1155, 33}, none = {0, 1, 1, 1, 1};
    const rdt_extents odd = {250, 1, 64, 1, 64}, twice = {360, 2, 32, 1, 32};
    const rdt_extents many = {1000, 33, 1, 1000, 1};
    CHECK_INT(rdt_launch_splits(&how, &two), 32); /* 4 rounds of 100 tiles */
    CHECK_INT(rdt_launch_grid(&how, &two), 64);
    CHECK_INT(rdt_launch_splits(&how, &batch), 4);
    CHECK_INT(rdt_launch_grid(&how, &batch), 64);
    CHECK_INT(rdt_launch_splits(&how, &few), 4);
    CHECK_INT(rdt_launch_splits(&how, &odd), 25);
    CHECK_INT(rdt_launch_splits(&how, &twice), 18); /* 2 rounds of 36 tiles, not 32 blocks */
    CHECK_INT(rdt_launch_splits(&how, &none), 1);
    CHECK_INT(rdt_launch_splits(&how, &many), 1);
    how.waiting_max = 2;
    CHECK_INT(rdt_launch_splits(&how, &two), 32);
    CHECK_INT(rdt_launch_splits(&how, &batch), 1);
    how.results = 0;
    CHECK_INT(rdt_launch_splits(&how, &two), 1);
}

static void gaps_are_reached_and_not_reduced(void) {
    const redtune_problem pitched = {
        .dtype = REDTUNE_F32, .count = 5, .outer = 3, .inner = 4, .outer_step = 100, .step = 10};
    const redtune_problem whole = {.dtype = REDTUNE_F32, .count = 7}, empty = {.outer = 3};
    CHECK_INT(rdt_problem_results(&pitched), 12);
    CHECK_INT(rdt_problem_elements(&pitched), 60);
    CHECK_INT(rdt_problem_reach(&pitched), 2 * 100 + 4 * 10 + 4);
    CHECK_INT(rdt_problem_results(&whole), 1);
    CHECK_INT(rdt_problem_elements(&whole), 7);
    CHECK_INT(rdt_problem_reach(&whole), 7);
    CHECK_INT(rdt_problem_results(&empty), 3);
    CHECK_INT(rdt_problem_elements(&empty) + rdt_problem_reach(&empty), 0);
}

/* Results that share elements may have more of them than 64 bits count. */
static void elements_do_not_wrap(void) {
    redtune_problem shared = {.dtype = REDTUNE_I8,
                              .count = UINT64_C(1) << 40,
                              .outer = UINT64_C(1) << 24,
                              .outer_step = 1};
    CHECK(!rdt_problem_resolve(&shared, &shared, NULL));
    CHECK(rdt_problem_elements(&shared) == UINT64_MAX);
    shared.outer /= 2;
    CHECK(rdt_problem_elements(&shared) == UINT64_C(1) << 63);
}

/* Of 4 rows of 1000 and 1000 rows of 4 none is the largest. */
static void a_domain_has_the_most_in_each_direction(void) {
    const redtune_problem long_rows = {
        .op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = 1000, .outer = 4};
    redtune_problem many_rows = long_rows, pitched = long_rows, whole = long_rows;
    many_rows.count = 4, many_rows.outer = 1000;
    pitched.outer_step = 2000;
    whole.outer = 0;
    const redtune_problem both[] = {long_rows, many_rows};
    rdt_domain domain = rdt_problem_domain(both, 2);
    CHECK_INT(domain.count, 1000);
    CHECK_INT(domain.results, 1000);
    CHECK_INT(domain.reach, 4000);
    CHECK(rdt_problem_is_within(&long_rows, &domain) && rdt_problem_is_within(&many_rows, &domain));
    CHECK(!rdt_problem_is_within(&pitched, &domain) && !rdt_problem_is_within(&whole, &domain));
    rdt_problem_widen(&domain, &pitched);
    CHECK_INT(domain.reach, 7000);
    CHECK(rdt_problem_is_within(&pitched, &domain));
}

/* Each field counts, those of the class before those of the extents. */
static void problems_are_compared_by_class_and_extents(void) {
    const redtune_problem one = {.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .result = REDTUNE_F32};
    redtune_problem other[9];
    for (size_t i = 0; i < 9; i++) other[i] = one;
    other[0].op = REDTUNE_MEAN;
    other[1].dtype = REDTUNE_F64;
    other[2].result = REDTUNE_F64;
    other[3].order = (redtune_order)1;
    other[5].outer = 1;
    other[4].count = other[6].inner = other[7].outer_step = other[8].step = 1;
    for (size_t i = 0; i < 9; i++) {
        CHECK(!rdt_problem_same(&one, &other[i]));
        CHECK_INT(rdt_problem_same_class(&one, &other[i]), i >= 4);
        const bool after = i < 4 ? rdt_problem_compare_class(&one, &other[i]) < 0 &&
                                       rdt_problem_compare_class(&other[i], &one) > 0
                                 : rdt_problem_compare_extents(&one, &other[i]) < 0 &&
                                       rdt_problem_compare_extents(&other[i], &one) > 0;
        CHECK(after);
    }
}

static void problem_count_max_keeps_offsets_below_2_63(void) {
    for (const rdt_dtype_traits *traits = rdt_dtype_table; traits->name; traits++) {
        uint64_t count = rdt_problem_count_max(traits->dtype);
        CHECK(count > UINT64_C(1) << 40);
        CHECK(count < (UINT64_C(1) << 63) / traits->bytes);
    }
    CHECK_INT(rdt_problem_count_max(REDTUNE_DTYPE_NONE), 0);
}

static void problem_is_described_in_words(void) {
    static const struct {
        redtune_problem problem;
        const char *text;
    } cases[] = {
        {{REDTUNE_SUM, REDTUNE_F32, REDTUNE_DTYPE_NONE, 1048576}, "sum of 1048576 f32"},
        {{REDTUNE_SUM, REDTUNE_F32, REDTUNE_F64, 7}, "sum of 7 f32 as f64"},
        {{REDTUNE_SUM, REDTUNE_I8, REDTUNE_DTYPE_NONE, 7}, "sum of 7 i8"},
        {{REDTUNE_SUM, REDTUNE_I8, REDTUNE_I8, 7}, "sum of 7 i8 as i8"},
        {{REDTUNE_ARGMAX, REDTUNE_BF16, REDTUNE_I64, 0}, "argmax of 0 bf16"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        redtune_problem problem;
        redtune_error err;
        char text[RDT_PROBLEM_TEXT_BYTES];
        CHECK_OK(rdt_problem_resolve(&cases[i].problem, &problem, &err), err);
        rdt_problem_describe(&problem, text);
        CHECK_TEXT(text, cases[i].text);
    }
}

static void enumerators_are_the_numbers_of_their_entries(void) {
    static const struct {
        redtune_op op;
        const char *name;
    } enumerators[] = {
        {REDTUNE_SUM, "sum"},
        {REDTUNE_PROD, "prod"},
        {REDTUNE_MIN, "min"},
        {REDTUNE_MAX, "max"},
        {REDTUNE_FMIN, "fmin"},
        {REDTUNE_FMAX, "fmax"},
        {REDTUNE_ARGMIN, "argmin"},
        {REDTUNE_ARGMAX, "argmax"},
        {REDTUNE_SUMSQ, "sumsq"},
        {REDTUNE_NORM2, "norm2"},
        {REDTUNE_SUMABS, "sumabs"},
        {REDTUNE_MAXABS, "maxabs"},
        {REDTUNE_MEAN, "mean"},
        {REDTUNE_ANY, "any"},
        {REDTUNE_ALL, "all"},
        {REDTUNE_NONZEROS, "nonzeros"},
        {REDTUNE_AND, "and"},
        {REDTUNE_OR, "or"},
        {REDTUNE_XOR, "xor"},
        {REDTUNE_NANS, "nans"},
        {REDTUNE_NONFINITE, "nonfinite"},
        {REDTUNE_PTP, "ptp"},
        {REDTUNE_NORMP, "normp"},
        {REDTUNE_VAR, "var"},
        {REDTUNE_STD, "std"},
        {REDTUNE_LOGSUMEXP, "logsumexp"},
        {REDTUNE_SLOGPROD, "slogprod"},
        {REDTUNE_MIN_AT, "min_at"},
        {REDTUNE_MAX_AT, "max_at"},
        {REDTUNE_MINMAX, "minmax"},
        {REDTUNE_SUM_SUMSQ, "sum_sumsq"},
        {REDTUNE_MEAN_VAR, "mean_var"},
        {REDTUNE_SUM_NONFINITE, "sum_nonfinite"},
        {REDTUNE_DOT, "dot"},
        {REDTUNE_SQEUCLIDEAN, "sqeuclidean"},
        {REDTUNE_EUCLIDEAN, "euclidean"},
        {REDTUNE_CITYBLOCK, "cityblock"},
        {REDTUNE_CHEBYSHEV, "chebyshev"},
        {REDTUNE_COSINE, "cosine"},
        {REDTUNE_WMEAN, "wmean"},
        {REDTUNE_MISMATCHES, "mismatches"},
        {REDTUNE_MSE, "mse"},
        {REDTUNE_ARGMAXABS, "argmaxabs"},
    };
    enum { COUNT = sizeof enumerators / sizeof *enumerators };
    CHECK(rdt_op_compiled_in.count >= COUNT && COUNT == REDTUNE_ARGMAXABS + 1);
    for (int i = 0; i < COUNT; i++) {
        redtune_op_info info;
        redtune_error err;
        CHECK_INT(enumerators[i].op, i);
        CHECK_TEXT(redtune_op_name(enumerators[i].op), enumerators[i].name);
        CHECK_OK(redtune_op_get(enumerators[i].op, &info, &err), err);
        CHECK_TEXT(info.name, enumerators[i].name);
        CHECK_INT(info.indexed, i == REDTUNE_ARGMIN || i == REDTUNE_ARGMAX || i == REDTUNE_MIN_AT ||
                                    i == REDTUNE_MAX_AT || i == REDTUNE_ARGMAXABS);
        CHECK_INT(info.inputs, i >= REDTUNE_DOT && i <= REDTUNE_MSE ? 2 : 1);
        CHECK_INT(info.outputs, i >= REDTUNE_SLOGPROD && i <= REDTUNE_SUM_NONFINITE ? 2 : 1);
    }
}

static void no_op_is_behind_the_last(void) {
    redtune_op_info info;
    redtune_op none = (redtune_op)rdt_op_compiled_in.count;
    CHECK(!redtune_op_name(none) && !redtune_op_name((redtune_op)-1));
    CHECK_INT(redtune_op_get(none, &info, NULL), REDTUNE_INVALID);
}

static void no_description_of_a_problem_is_cut(void) {
    for (const rdt_op_traits *op = rdt_op_compiled_in.entry; op->name[0]; op++)
        for (const rdt_dtype_traits *dtype = rdt_dtype_table; dtype->name; dtype++) {
            redtune_problem problem = {op->op, dtype->dtype, REDTUNE_F64, UINT64_MAX};
            char text[RDT_PROBLEM_TEXT_BYTES];
            rdt_problem_describe(&problem, text);
            CHECK(strlen(text) < sizeof text - 1);
        }
}

static void values_are_stored_and_printed(void) {
    static const struct {
        redtune_dtype dtype;
        int64_t number;
        const char *printed;
    } cases[] = {
        {REDTUNE_I32, -7, "-7"},
        {REDTUNE_I64, INT64_MIN, "-9223372036854775808"},
        {REDTUNE_F32, 16777216, "16777216"},
        {REDTUNE_F64, -3, "-3"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        redtune_value values[3];
        memset(values, 0, sizeof values);
        rdt_scalar_store(cases[i].dtype, values, 1, cases[i].number);
        redtune_value value = {0};
        size_t bytes = redtune_dtype_bytes(cases[i].dtype);
        memcpy(value.bytes, (char *)values + bytes, bytes);
        rdt_text text = {0};
        rdt_scalar_print(cases[i].dtype, &value, &text);
        bool right = text.data && !strcmp(text.data, cases[i].printed);
        rdt_text_free(&text);
        CHECK(right);
    }
}

static void floats_are_printed_so_that_they_read_back(void) {
    redtune_value value = {.f32 = 0.1f};
    rdt_text text = {0};
    rdt_scalar_print(REDTUNE_F32, &value, &text);
    bool single = text.data && strtof(text.data, NULL) == 0.1f;
    rdt_text_clear(&text);
    value.f64 = 1.0 / 3;
    rdt_scalar_print(REDTUNE_F64, &value, &text);
    bool twice = text.data && strtod(text.data, NULL) == 1.0 / 3;
    rdt_text_free(&text);
    CHECK(single && twice);
}

/* ---- space and config ------------------------------------------------------------------------ */

static const rdt_space space = {
    .family = "toy",
    .param_count = 3,
    .param =
        {
            {.name = "block", .value_count = 3, .value = {64, 128, 256}},
            {.name = "tail", .value_count = 2, .value = {0, 1}, .label = {"shuffle", "shared"}},
            {.name = "grid", .launch = true, .value_count = 2, .value = {-1, 8}},
        },
};

static void space_finds_parameters_by_name(void) {
    CHECK_INT(rdt_space_find(&space, "block", 5), 0);
    CHECK_INT(rdt_space_find(&space, "grid=8", 4), 2);
    CHECK_INT(rdt_space_find(&space, "blocks", 6), -1);
    CHECK_INT(rdt_space_find(&space, "bloc", 4), -1);
    CHECK_INT(rdt_space_find(&space, "", 0), -1);
    CHECK_INT(rdt_space_find(&(rdt_space){0}, "block", 5), -1);
}

static void space_finds_values(void) {
    CHECK_INT(rdt_space_param_find(&space.param[0], 256), 2);
    CHECK_INT(rdt_space_param_find(&space.param[0], 257), -1);
    CHECK_INT(rdt_space_param_find(&space.param[2], -1), 0);
}

static const rdt_spaces spaces = {&space, 1};

static void config_is_written_in_the_spaces_order(void) {
    char text[RDT_POINT_TEXT_BYTES];
    rdt_point_format(&spaces, &(rdt_point){0, {128, 1, -1}}, text);
    CHECK_TEXT(text, "toy:block=128,tail=shared,grid=-1");
    const rdt_space empty = {.param_count = 0};
    rdt_point_format(&(rdt_spaces){&empty, 1}, &(rdt_point){.family = 0}, text);
    CHECK_TEXT(text, ":");
}

static void config_format_stays_within_its_buffer(void) {
    rdt_space wide = {.param_count = RDT_PARAM_MAX};
    rdt_point point = {0};
    char family[RDT_NAME_BYTES], text[RDT_CONFIG_TEXT_BYTES + 1];
    for (int i = 0; i < RDT_PARAM_MAX; i++) {
        memset(wide.param[i].name, 'a' + i, RDT_NAME_BYTES - 1);
        point.value[i] = INT64_MIN;
    }
    text[RDT_CONFIG_TEXT_BYTES] = 'x';
    rdt_point_write(&(rdt_spaces){&wide, 1}, &point, family, text);
    CHECK(memchr(text, '\0', RDT_CONFIG_TEXT_BYTES));
    CHECK_INT(text[RDT_CONFIG_TEXT_BYTES], 'x');
}

static void config_reads_back_what_it_writes(void) {
    for (int i = 0; i < 3 * 2 * 2; i++) {
        rdt_point point = {0,
                           {space.param[0].value[i % 3], space.param[1].value[i / 3 % 2],
                            space.param[2].value[i / 6]}};
        rdt_point parsed = {0};
        char family[RDT_NAME_BYTES], text[RDT_CONFIG_TEXT_BYTES];
        rdt_point_write(&spaces, &point, family, text);
        CHECK_TEXT(family, "toy");
        CHECK_OK(rdt_point_parse(&spaces, text, &parsed, &err), err);
        CHECK(rdt_point_same(&parsed, &point));
    }
}

static void config_parse_keeps_what_is_not_named(void) {
    rdt_point point = {0, {128, 0, 8}};
    CHECK_OK(rdt_point_parse(&spaces, "tail=shared", &point, &err), err);
    CHECK_INT(point.value[0], 128);
    CHECK_INT(point.value[1], 1);
    CHECK_INT(point.value[2], 8);
    CHECK_OK(rdt_point_parse(&spaces, "", &point, &err), err);
    CHECK_INT(point.value[0], 128);
}

static void point_read_needs_every_parameter(void) {
    char family[RDT_NAME_BYTES], text[RDT_CONFIG_TEXT_BYTES];
    rdt_point whole = {0}, parsed, before = {3, {7, 7, 7}};
    for (int i = 0; i < space.param_count; i++) whole.value[i] = space.param[i].value[0];
    rdt_point_write(&spaces, &whole, family, text);
    CHECK_OK(rdt_point_read(&spaces, "toy", text, &parsed, &err), err);
    CHECK(rdt_point_same(&parsed, &whole));
    parsed = before;
    *strrchr(text, ',') = '\0';
    CHECK_FAILS(rdt_point_read(&spaces, "toy", text, &parsed, &err), REDTUNE_INVALID, err,
                "parameters");
    strcat(text, ",");
    CHECK_FAILS(rdt_point_read(&spaces, "toy", text, &parsed, &err), REDTUNE_INVALID, err,
                "parameters");
    CHECK_FAILS(rdt_point_read(&spaces, "toy", "", &parsed, &err), REDTUNE_INVALID, err,
                "names 0 of the");
    CHECK(rdt_point_same(&parsed, &before));
}

static void config_parse_takes_any_order(void) {
    rdt_point point = {0, {64, 0, 8}};
    CHECK_OK(rdt_point_parse(&spaces, "grid=-1,block=256", &point, &err), err);
    CHECK_INT(point.value[0], 256);
    CHECK_INT(point.value[2], -1);
}

/* The text is refused with a message that has part in it, and the config left as it was. */
static bool refuses(const char *text, const char *part) {
    rdt_point point = {0, {128, 0, 8}};
    err = (redtune_error){0};
    redtune_status status = rdt_point_parse(&spaces, text, &point, &err);
    bool untouched = point.value[0] == 128 && point.value[1] == 0 && point.value[2] == 8;
    bool told = strstr(err.message, part) && !strchr(err.message, '\n');
    if (!told) fprintf(stderr, "'%s': %s\n", text, err.message);
    return status == REDTUNE_INVALID && untouched && told;
}

static void config_parse_refuses_unknown_name(void) {
    CHECK(refuses("block=64,blocks=64", "'blocks'"));
    CHECK(refuses("blocks=64", "block, tail, grid"));
    CHECK(refuses("blocks=64", "'toy'"));
    CHECK(refuses("=64", "''"));
}

static void config_parse_refuses_unknown_value(void) {
    CHECK(refuses("block=65", "block=65: it may be 64, 128, 256"));
    CHECK(refuses("tail=both", "tail=both: it may be shuffle, shared"));
    CHECK(refuses("block=", "block="));
    CHECK(refuses("block=64x", "block=64x"));
    CHECK(refuses("block=99999999999999999999999", "block=999"));
}

/* A value that has a label is written by it alone, so that there is one text per config. */
static void config_parse_refuses_the_number_of_a_label(void) { CHECK(refuses("tail=1", "tail=1")); }

static void config_parse_refuses_a_name_given_twice(void) {
    CHECK(refuses("block=64,block=128", "block is given twice"));
}

static void config_parse_refuses_what_is_no_pair(void) {
    CHECK(refuses("block", "name=value"));
    CHECK(refuses("block,tail=shared", "name=value"));
    CHECK(refuses(",", "name=value"));
    CHECK(refuses("block=64,,tail=shared", "name=value"));
}

static void config_parse_cuts_a_long_name_in_its_message(void) {
    char text[2000];
    memset(text, 'n', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    text[1000] = '=';
    CHECK(refuses(text, "block, tail, grid"));
}

static void point_same_kernel_ignores_launch_parameters(void) {
    rdt_point a = {0, {128, 1, 8}}, b = {0, {128, 1, -1}}, c = {0, {64, 1, 8}};
    CHECK(rdt_point_same_kernel(&spaces, &a, &a));
    CHECK(rdt_point_same_kernel(&spaces, &a, &b));
    CHECK(!rdt_point_same_kernel(&spaces, &a, &c));
}

/* ---- launch, facts and trial ----------------------------------------------------------------- */

static void launch_has_a_block_per_tile_up_to_the_maximum(void) {
    rdt_launch launch = {.threads = 256, .tile = 1000, .blocks_max = 64};
    CHECK_INT(rdt_launch_blocks(&launch, 0), 1);
    CHECK_INT(rdt_launch_blocks(&launch, 1), 1);
    CHECK_INT(rdt_launch_blocks(&launch, 1000), 1);
    CHECK_INT(rdt_launch_blocks(&launch, 1001), 2);
    CHECK_INT(rdt_launch_blocks(&launch, 63999), 64);
    CHECK_INT(rdt_launch_blocks(&launch, 64000), 64);
    CHECK_INT(rdt_launch_blocks(&launch, UINT64_MAX), 64);
}

static void launch_counts_do_not_overflow(void) {
    rdt_launch launch = {.threads = 32, .tile = 1, .blocks_max = RDT_BLOCKS_MAX};
    CHECK_INT(rdt_launch_blocks(&launch, UINT64_MAX), RDT_BLOCKS_MAX);
    CHECK_INT(rdt_launch_blocks(&launch, UINT64_C(1) << 32), RDT_BLOCKS_MAX);
}

static void scratch_serves_any_launch(void) {
    CHECK((size_t)RDT_SCRATCH_BYTES >=
          RDT_SCRATCH_COUNTERS_BYTES + (size_t)RDT_BLOCKS_MAX * RDT_SCRATCH_SLOT_BYTES);
}

static void facts_peak_is_two_transfers_a_clock(void) {
    rdt_facts facts = {.bus_bits = 6144, .memory_khz = 3201000};
    double gbps = rdt_facts_peak_gbps(&facts);
    CHECK(gbps > 4916 && gbps < 4917);
    CHECK(rdt_facts_peak_gbps(&(rdt_facts){0}) == 0);
}

static void facts_typical_is_an_ampere(void) {
    const rdt_facts *facts = rdt_facts_typical();
    CHECK_INT(facts->major, 8);
    CHECK_INT(facts->minor, 0);
    CHECK_INT(facts->sm_count, 108);
}

static void outcomes_go_by_their_names(void) {
    for (int i = 0; i < RDT_OUTCOME_COUNT; i++)
        CHECK_INT(rdt_trial_outcome_find(rdt_trial_outcome_name((rdt_outcome)i)), i);
    CHECK_INT(rdt_trial_outcome_find("splendid"), -1);
    CHECK_TEXT(rdt_trial_outcome_name(RDT_OUTCOME_COUNT), "unknown");
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(a_fixed_order_is_kept_where_it_shows),
        FACT(dtypes_go_by_their_names),
        FACT(dtype_find_lists_the_known_names),
        FACT(op_find_lists_the_known_names),
        FACT(no_dtype_has_no_name_and_no_bytes),
        FACT(problem_sums_integers_into_64_bits),
        FACT(problem_sums_floats_into_themselves),
        FACT(problem_takes_its_own_result_back),
        FACT(problem_refuses_what_makes_no_sense),
        FACT(problem_extents_of_a_whole_array_have_one_form),
        FACT(problem_refuses_other_orders),
        FACT(problem_with_an_outer_is_of_rows),
        FACT(problem_with_an_inner_or_a_step_is_of_columns),
        FACT(columns_span_what_has_an_address),
        FACT(a_grid_has_blocks_for_all_columns),
        FACT(blocks_share_sets_of_results),
        FACT(gaps_are_reached_and_not_reduced),
        FACT(elements_do_not_wrap),
        FACT(a_domain_has_the_most_in_each_direction),
        FACT(problems_are_compared_by_class_and_extents),
        FACT(problem_count_max_keeps_offsets_below_2_63),
        FACT(problem_is_described_in_words),
        FACT(enumerators_are_the_numbers_of_their_entries),
        FACT(no_op_is_behind_the_last),
        FACT(no_description_of_a_problem_is_cut),
        FACT(values_are_stored_and_printed),
        FACT(floats_are_printed_so_that_they_read_back),
        FACT(space_finds_parameters_by_name),
        FACT(space_finds_values),
        FACT(config_is_written_in_the_spaces_order),
        FACT(config_format_stays_within_its_buffer),
        FACT(config_reads_back_what_it_writes),
        FACT(config_parse_keeps_what_is_not_named),
        FACT(point_read_needs_every_parameter),
        FACT(config_parse_takes_any_order),
        FACT(config_parse_refuses_unknown_name),
        FACT(config_parse_refuses_unknown_value),
        FACT(config_parse_refuses_the_number_of_a_label),
        FACT(config_parse_refuses_a_name_given_twice),
        FACT(config_parse_refuses_what_is_no_pair),
        FACT(config_parse_cuts_a_long_name_in_its_message),
        FACT(point_same_kernel_ignores_launch_parameters),
        FACT(launch_has_a_block_per_tile_up_to_the_maximum),
        FACT(launch_counts_do_not_overflow),
        FACT(scratch_serves_any_launch),
        FACT(facts_peak_is_two_transfers_a_clock),
        FACT(facts_typical_is_an_ampere),
        FACT(outcomes_go_by_their_names),
    };
    return check_run(facts, sizeof facts / sizeof *facts, argc, argv);
}
