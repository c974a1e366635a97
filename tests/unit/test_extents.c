/* Facts about the extents of problems of rows and columns, and what follows from them:
 * model/problem.h and model/launch.h. */
#include "check.h"
#include "model/launch.h"
#include "model/problem.h"
#include "shaped.h"

static redtune_error err;

FACT(problem_with_an_outer_is_of_rows) {
    redtune_problem packed = redtune_problem_rows(REDTUNE_SUM, REDTUNE_F32, 64, 1000);
    redtune_problem pitched = packed, resolved;
    char text[RDT_PROBLEM_TEXT_BYTES];
    RESHAPE(&packed, inner, 1);
    RESHAPE(&packed, step, 1);
    RESHAPE(&packed, outer_step, 1000);
    RESHAPE(&pitched, outer_step, 1024);
    CHECK_OK(rdt_problem_resolve(&packed, &resolved, &err), err);
    CHECK_INT(rdt_problem_layout(&resolved), RDT_LAYOUT_ROWS);
    CHECK_INT(shaped_of(&resolved).outer_step, 0);
    CHECK_OK(rdt_problem_resolve(&pitched, &pitched, &err), err);
    CHECK_INT(shaped_of(&pitched).outer_step, 1024);
    CHECK(rdt_problem_same_class(&resolved, &pitched));
    CHECK(!rdt_problem_same(&resolved, &pitched));
    rdt_problem_describe(&pitched, text);
    CHECK_TEXT(text, "sum of 64 rows of 1000 f32");
    /* 2^58 f32 are the most, and 63 steps of 2^53 are beyond; of 2^52 they are not. */
    RESHAPE(&pitched, outer_step, UINT64_C(1) << 53);
    CHECK_FAILS(rdt_problem_resolve(&pitched, &resolved, &err), REDTUNE_INVALID, err, "span");
    RESHAPE(&pitched, outer_step, UINT64_C(1) << 52);
    CHECK_OK(rdt_problem_resolve(&pitched, &resolved, &err), err);
    RESHAPE(&pitched, outer, UINT64_MAX);
    CHECK_FAILS(rdt_problem_resolve(&pitched, &resolved, &err), REDTUNE_INVALID, err, "span");
}

FACT(problem_with_an_inner_or_a_step_is_of_columns) {
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
        problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, 64);
        RESHAPE(&problem, outer, written[i].outer);
        RESHAPE(&problem, inner, written[i].inner);
        RESHAPE(&problem, outer_step, written[i].outer_step);
        RESHAPE(&problem, step, written[i].step);
        CHECK_OK(rdt_problem_resolve(&problem, &resolved[i], &err), err);
        CHECK_INT(rdt_problem_layout(&resolved[i]), RDT_LAYOUT_COLUMNS);
        CHECK(rdt_problem_same_class(&resolved[i], &resolved[0]));
        CHECK_INT(rdt_problem_same(&resolved[i], &resolved[0]), i < 2);
        rdt_problem_describe(&resolved[i], text);
        CHECK_TEXT(text, written[i].text);
    }
    CHECK(!shaped_of(&resolved[2]).outer_step && !shaped_of(&resolved[2]).step);
    CHECK_INT(shaped_of(&resolved[3]).step, 128);
    CHECK_INT(shaped_of(&resolved[4]).inner, 0);
}

/* 2^58 f32 are the most that an input spans, and the most results. */
FACT(columns_span_what_has_an_address) {
    const uint64_t most = UINT64_C(1) << 58, big = UINT64_C(1) << 32;
    const struct {
        uint64_t count, outer, inner, outer_step, step;
        bool fits;
    } extents[] = {
        {1, 1, most, 0, 0, true},           {1, 1, most + 1, 0, 0, false},
        {2, 1, most, 0, 0, false},          {1, 1, UINT64_MAX, 0, 0, false},
        {2, 1, 2, 0, most - 2, true},       {2, 1, 2, 0, most - 1, false},
        {2, 1, 2, 0, INT64_MAX, false},     {3, 1, 1, 0, UINT64_C(1) << 62, false},
        {2, 3, 4, 1000, most - 2004, true}, {2, 3, 4, 1000, most - 2003, false},
        {big, 1, big, 0, 0, false},         {0, big, big, 1, 1, false}, /* results */
        {0, most, 2, 0, 0, false},          {0, most, 1, 0, 0, true},
        {0, 1, most, 0, 0, true},
    };
    for (size_t i = 0; i < sizeof extents / sizeof *extents; i++) {
        redtune_problem resolved, problem = {.op = REDTUNE_SUM, .dtype = REDTUNE_F32};
        RESHAPE(&problem, count, extents[i].count);
        RESHAPE(&problem, outer, extents[i].outer);
        RESHAPE(&problem, inner, extents[i].inner);
        RESHAPE(&problem, outer_step, extents[i].outer_step);
        RESHAPE(&problem, step, extents[i].step);
        if (extents[i].fits)
            CHECK_OK(rdt_problem_resolve(&problem, &resolved, &err), err);
        else
            CHECK_FAILS(rdt_problem_resolve(&problem, &resolved, &err), REDTUNE_INVALID, err,
                        "they span at most 288230376151711744");
    }
}

/* Blocks for each outer index, where they take columns. */
FACT(a_grid_has_blocks_for_all_columns) {
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
FACT(blocks_share_sets_of_results) {
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

FACT(gaps_are_reached_and_not_reduced) {
    const redtune_problem pitched = PROBLEM(.dtype = REDTUNE_F32, .count = 5, .outer = 3,
                                            .inner = 4, .outer_step = 100, .step = 10);
    const redtune_problem whole = PROBLEM(.dtype = REDTUNE_F32, .count = 7),
                          empty = PROBLEM(.outer = 3);
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
FACT(elements_do_not_wrap) {
    redtune_problem shared = PROBLEM(.dtype = REDTUNE_I8, .count = UINT64_C(1) << 40,
                                     .outer = UINT64_C(1) << 24, .outer_step = 1);
    CHECK(!rdt_problem_resolve(&shared, &shared, NULL));
    CHECK(rdt_problem_elements(&shared) == UINT64_MAX);
    RESHAPE(&shared, inner, shaped_of(&shared).inner / 2);
    CHECK(rdt_problem_elements(&shared) == UINT64_C(1) << 63);
}

/* Of 4 rows of 1000 and 1000 rows of 4 none is the largest. */
FACT(a_domain_has_the_most_in_each_direction) {
    const redtune_problem long_rows = redtune_problem_rows(REDTUNE_SUM, REDTUNE_F32, 4, 1000);
    redtune_problem many_rows = long_rows, pitched = long_rows, whole = long_rows, more = long_rows;
    RESHAPE(&many_rows, count, 4);
    RESHAPE(&many_rows, outer, 1000);
    RESHAPE(&more, count, 2);
    RESHAPE(&more, outer, 1001);
    RESHAPE(&pitched, outer_step, 2000);
    RESHAPE(&whole, outer, 0);
    const redtune_problem both[] = {long_rows, many_rows};
    rdt_domain domain = rdt_problem_domain(both, 2);
    CHECK_INT(domain.count, 1000);
    CHECK_INT(domain.results, 1000);
    CHECK_INT(domain.reach, 4000);
    CHECK(rdt_problem_is_within(&long_rows, &domain) && rdt_problem_is_within(&many_rows, &domain));
    CHECK(!rdt_problem_is_within(&pitched, &domain) && !rdt_problem_is_within(&whole, &domain));
    CHECK(!rdt_problem_is_within(&more, &domain));
    rdt_problem_widen(&domain, &pitched);
    CHECK_INT(domain.reach, 7000);
    CHECK(rdt_problem_is_within(&pitched, &domain));
}

/* In the fixed order as many bytes take other kernels. */
FACT(another_order_is_other_traffic) {
    const redtune_problem free_order =
        PROBLEM(.dtype = REDTUNE_F32, .result = REDTUNE_F32, .count = 1000);
    redtune_problem fixed = free_order;
    CHECK(rdt_problem_same_traffic(&free_order, &fixed));
    fixed.order = REDTUNE_ORDER_FIXED;
    CHECK(!rdt_problem_same_traffic(&free_order, &fixed));
}

int main(int argc, char **argv) { return check_run(argc, argv); }
