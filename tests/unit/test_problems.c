/* Facts about src/api/tuning/problem_list.c: what a tune goes through, and what its shards do. */
#include "check.h"
#include "api/tuning/problem_list.h"
#include "model/problem.h"
#include "redtune/tune.h"
#include "shaped.h"

enum { SHARDS_MAX = 20 };

static redtune_error err;

static redtune_status list(const redtune_tuning *asked, unsigned index, unsigned count,
                           rdt_problems *out) {
    redtune_tuning tuning = *asked;
    tuning.shard_index = index;
    tuning.shard_count = count;
    return rdt_problem_list_make(&tuning, false, NULL, out, &err);
}

/* How often the first so many of these, side by side, are in the list. */
static size_t times(const rdt_problems *problems, const redtune_problem *these, size_t count) {
    size_t found = 0;
    for (size_t i = 0; i + count <= problems->count; i++) {
        size_t alike = 0;
        while (alike < count && rdt_problem_same(&problems->problem[i + alike], &these[alike]))
            alike++;
        found += alike == count;
    }
    return found;
}

/* Of n shards: in how many each problem and each two neighbours are, and how large they are. */
static void check_shards(const redtune_tuning *asked, unsigned n) {
    rdt_problems whole = {0}, shard[2 * SHARDS_MAX] = {{0}};
    size_t total = 0;
    CHECK_OK(list(asked, 0, 0, &whole), err);
    for (unsigned i = 0; i < n; i++) {
        CHECK_OK(list(asked, i, n, &shard[i]), err);
        CHECK(shard[i].count <= (whole.count + n - 1) / n + 1);
        total += shard[i].count;
    }
    CHECK(total < whole.count + n); /* one more where two shards meet, at most */
    for (size_t i = 0; i < whole.count; i++) {
        const redtune_problem *here = &whole.problem[i];
        size_t alone = 0, beside = 0;
        bool neighbours = i + 1 < whole.count && rdt_problem_same_class(here, here + 1);
        for (unsigned k = 0; k < n; k++) alone += times(&shard[k], here, 1);
        for (unsigned k = 0; neighbours && k < n; k++) beside += times(&shard[k], here, 2);
        CHECK(alone >= 1);
        CHECK_INT(beside, neighbours);
    }
    for (unsigned i = 0; i < n; i++) rdt_problem_list_free(&shard[i]);
    rdt_problem_list_free(&whole);
}

FACT(shards_of_the_usual_problems_are_the_whole) {
    const redtune_tuning usual = {0};
    rdt_problems whole = {0};
    CHECK_OK(list(&usual, 0, 0, &whole), err);
    CHECK_INT(whole.count, 7 * 21);
    rdt_problem_list_free(&whole);
    for (unsigned n = 1; n <= SHARDS_MAX; n++) check_shards(&usual, n);
}

/* What is named is tuned on a simulated GPU as on any. */
FACT(simulated_gpu_has_few_usual_problems) {
    const redtune_dtype bytes = REDTUNE_I8;
    const uint64_t counts[] = {1 << 20, 1 << 10};
    const redtune_tuning asked[] = {
        {0}, {.dtypes = &bytes, .dtype_count = 1}, {.counts = counts, .count_count = 2}};
    static const size_t expected[] = {9, 3, 6};
    for (size_t i = 0; i < 3; i++) {
        rdt_problems whole = {0};
        CHECK_OK(rdt_problem_list_make(&asked[i], true, NULL, &whole, &err), err);
        CHECK_INT(whole.count, expected[i]);
        CHECK(asked[i].count_count || shaped_of(&whole.problem[whole.count - 1]).count == 1024);
        rdt_problem_list_free(&whole);
    }
}

/* Classes of one size have no crossovers, and some shards of few problems have nothing to do. */
FACT(shards_of_few_problems_are_the_whole) {
    const redtune_dtype dtypes[] = {REDTUNE_F64, REDTUNE_F32, REDTUNE_I8};
    const uint64_t counts[] = {300, 100, 200, 100, 400};
    for (size_t dtype_count = 1; dtype_count <= 3; dtype_count++)
        for (size_t count_count = 1; count_count <= 5; count_count++) {
            const redtune_tuning few = {.dtypes = dtypes,
                                        .dtype_count = dtype_count,
                                        .counts = counts,
                                        .count_count = count_count};
            for (unsigned n = 1; n <= 2 * SHARDS_MAX; n++) check_shards(&few, n);
        }
}

FACT(a_shard_beyond_the_last_is_refused) {
    const redtune_tuning usual = {0};
    rdt_problems none = {0};
    CHECK_FAILS(list(&usual, 3, 3, &none), REDTUNE_INVALID, err, "count from 0");
    CHECK(!none.problem);
}

/* ---- planes ---------------------------------------------------------------------------------- */

static const unsigned all_layouts =
    REDTUNE_LAYOUT_WHOLE | REDTUNE_LAYOUT_ROWS | REDTUNE_LAYOUT_COLUMNS;

static size_t count_of(const rdt_problems *problems, redtune_dtype dtype, rdt_layout layout) {
    size_t found = 0;
    for (size_t i = 0; i < problems->count; i++)
        found += problems->problem[i].dtype == dtype &&
                 rdt_problem_layout(&problems->problem[i]) == layout;
    return found;
}

/* Each class in one piece, and within it ascending, so that none is there twice. */
static void check_order(const rdt_problems *problems) {
    for (size_t first = 0, count; first < problems->count; first += count) {
        const redtune_problem *here = &problems->problem[first];
        count = rdt_problem_list_class(problems, first);
        for (size_t i = 1; i < count; i++)
            CHECK(rdt_problem_compare_extents(&here[i - 1], &here[i]) < 0);
        for (size_t i = first + count; i < problems->count; i++)
            CHECK(!rdt_problem_same_class(here, &problems->problem[i]));
    }
}

FACT(all_layouts_are_whole_arrays_and_then_planes_of_three_dtypes) {
    const redtune_tuning asked = {.layouts = all_layouts};
    static const redtune_dtype planes[] = {REDTUNE_F16, REDTUNE_BF16, REDTUNE_F32};
    rdt_problems whole = {0};
    CHECK_OK(list(&asked, 0, 0, &whole), err);
    check_order(&whole);
    CHECK_INT(rdt_problem_list_classes(&whole), 7 + 3 + 3 + 2 + 1 + 2);
    CHECK_INT(count_of(&whole, REDTUNE_F32, RDT_LAYOUT_STRIDED), 4);
    CHECK_INT(count_of(&whole, REDTUNE_BF16, RDT_LAYOUT_STRIDED), 4);
    CHECK_INT(count_of(&whole, REDTUNE_F32, RDT_LAYOUT_RAGGED), 3);
    CHECK_INT(count_of(&whole, REDTUNE_F32, RDT_LAYOUT_KEYED), 8);
    for (size_t i = 0; i < 7 * 21; i++)
        CHECK(rdt_problem_layout(&whole.problem[i]) == RDT_LAYOUT_WHOLE);
    for (size_t i = 7 * 21 + 1; i < whole.count; i++)
        CHECK(rdt_problem_layout(&whole.problem[i - 1]) <= rdt_problem_layout(&whole.problem[i]));
    for (size_t i = 0; i < 3; i++)
        for (int layout = RDT_LAYOUT_ROWS; layout <= RDT_LAYOUT_COLUMNS; layout++) {
            const size_t count = count_of(&whole, planes[i], (rdt_layout)layout);
            CHECK(count >= 90 && count <= 110);
        }
    rdt_problem_list_free(&whole);
}

/* 4 KiB to 1 GiB, four and more both ways; what is no power of four breaks the alignment of every
 * other row. */
FACT(default_shapes_span_the_plane) {
    const redtune_dtype f32 = REDTUNE_F32;
    for (unsigned layout = REDTUNE_LAYOUT_ROWS; layout <= REDTUNE_LAYOUT_COLUMNS; layout *= 2) {
        const redtune_tuning asked = {.layouts = layout, .dtypes = &f32, .dtype_count = 1};
        const bool rows = layout == REDTUNE_LAYOUT_ROWS;
        rdt_problems whole = {0};
        size_t odd = 0, small = 0, large = 0;
        CHECK_OK(list(&asked, 0, 0, &whole), err);
        for (size_t i = 0; i < whole.count; i++) {
            const redtune_problem *each = &whole.problem[i];
            const uint64_t bytes = 4 * rdt_problem_elements(each);
            const uint64_t pitch = rows ? shaped_of(each).count : shaped_of(each).inner;
            CHECK(shaped_of(each).count >= 4 && rdt_problem_results(each) >= 4);
            CHECK(bytes >= 4 << 10 && bytes <= 1 << 30);
            CHECK(rows ? shaped_of(each).outer && !shaped_of(each).inner
                       : shaped_of(each).inner && !shaped_of(each).outer);
            odd += pitch % 2;
            small += bytes == 4 << 10;
            large += bytes == 1 << 30;
        }
        CHECK_INT(small, 4);
        CHECK_INT(large, 13);
        CHECK(odd >= 15 && odd * 4 < whole.count);
        rdt_problem_list_free(&whole);
    }
}

FACT(dtypes_that_are_named_are_tuned_in_every_layout) {
    const redtune_dtype dtypes[] = {REDTUNE_I8, REDTUNE_F64};
    const redtune_tuning asked = {.layouts = all_layouts, .dtypes = dtypes, .dtype_count = 2};
    rdt_problems whole = {0};
    CHECK_OK(list(&asked, 0, 0, &whole), err);
    CHECK_INT(rdt_problem_list_classes(&whole), 6);
    for (size_t i = 0; i < 2; i++)
        for (int layout = 0; layout <= RDT_LAYOUT_COLUMNS; layout++)
            CHECK(count_of(&whole, dtypes[i], (rdt_layout)layout) >= 21);
    rdt_problem_list_free(&whole);
}

FACT(counts_are_whole_arrays_whatever_the_layouts) {
    const uint64_t count = 4096;
    const redtune_tuning asked = {.layouts = all_layouts, .counts = &count, .count_count = 1};
    rdt_problems whole = {0};
    CHECK_OK(list(&asked, 0, 0, &whole), err);
    CHECK_INT(whole.count, 7);
    rdt_problem_list_free(&whole);
}

FACT(simulated_gpu_has_few_shapes) {
    const redtune_tuning asked = {.layouts = REDTUNE_LAYOUT_ROWS | REDTUNE_LAYOUT_COLUMNS};
    rdt_problems whole = {0};
    CHECK_OK(rdt_problem_list_make(&asked, true, NULL, &whole, &err), err);
    CHECK(whole.count >= 4 && whole.count <= 8);
    for (size_t i = 0; i < whole.count; i++) CHECK(rdt_problem_elements(&whole.problem[i]) <= 2048);
    rdt_problem_list_free(&whole);
}

FACT(problems_that_are_named_are_tuned_as_they_are) {
    const redtune_dtype f64 = REDTUNE_F64;
    const redtune_problem these[] = {
        redtune_problem_rows(REDTUNE_MAX, REDTUNE_F32, 9, 77),
        PROBLEM(REDTUNE_SUM, REDTUNE_F32, .count = 512, .inner = 512, .outer = 64,
                .config = "vec=4"),
        redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, 1000),
        PROBLEM(REDTUNE_MAX, REDTUNE_F32, .count = 77, .outer = 9, .outer_step = 77),
        PROBLEM(REDTUNE_MAX, REDTUNE_F32, .count = 77, .outer = 9, .outer_step = 80),
        redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, 10),
    };
    const redtune_tuning asked = {.problems = these,
                                  .problem_count = 6,
                                  .dtypes = &f64,
                                  .dtype_count = 1,
                                  .layouts = all_layouts};
    rdt_problems whole = {0};
    CHECK_OK(list(&asked, 0, 0, &whole), err);
    check_order(&whole);
    CHECK_INT(whole.count, 5);
    CHECK_INT(rdt_problem_list_classes(&whole), 3);
    for (size_t i = 0; i < whole.count; i++) {
        CHECK(!whole.problem[i].config);
        CHECK(whole.problem[i].result);
    }
    CHECK_INT(shaped_of(&whole.problem[0]).count, 10);
    CHECK_INT(shaped_of(&whole.problem[2]).outer, 64);
    CHECK_INT(shaped_of(&whole.problem[4]).outer_step, 80);
    rdt_problem_list_free(&whole);
}

FACT(a_problem_that_makes_no_sense_is_refused) {
    const redtune_problem these[] = {redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, 10),
                                     redtune_problem_whole(REDTUNE_SUM, (redtune_dtype)99, 10)};
    const redtune_tuning asked = {.problems = these, .problem_count = 2};
    rdt_problems none = {0};
    CHECK_FAILS(list(&asked, 0, 0, &none), REDTUNE_INVALID, err, "no dtype");
    CHECK(!none.problem);
}

/* A plane is in one shard, all of it, and whole arrays are cut as without planes. */
FACT(shards_leave_planes_whole) {
    const redtune_tuning asked = {.layouts = all_layouts};
    rdt_problems whole = {0};
    CHECK_OK(list(&asked, 0, 0, &whole), err);
    for (unsigned n = 1; n <= SHARDS_MAX; n++) {
        rdt_problems shard[SHARDS_MAX] = {{0}};
        for (unsigned i = 0; i < n; i++) CHECK_OK(list(&asked, i, n, &shard[i]), err);
        for (size_t first = 0, count; first < whole.count; first += count) {
            const redtune_problem *here = &whole.problem[first];
            size_t found = 0;
            count = rdt_problem_list_class(&whole, first);
            if (rdt_problem_layout(here) == RDT_LAYOUT_WHOLE) continue;
            for (unsigned k = 0; k < n; k++) found += times(&shard[k], here, count);
            CHECK_INT(found, 1);
            for (size_t i = 0; i < count; i++) {
                size_t alone = 0;
                for (unsigned k = 0; k < n; k++) alone += times(&shard[k], &here[i], 1);
                CHECK_INT(alone, 1);
            }
        }
        for (size_t i = 0; i < 7 * 21; i++) {
            size_t alone = 0;
            for (unsigned k = 0; k < n; k++) alone += times(&shard[k], &whole.problem[i], 1);
            CHECK(alone >= 1);
        }
        for (unsigned i = 0; i < n; i++) rdt_problem_list_free(&shard[i]);
    }
    rdt_problem_list_free(&whole);
}

/* Of a GPU with little memory all is left out that does not fit, and nothing else. */
FACT(what_does_not_fit_is_left_out_of_a_plane) {
    const rdt_facts facts = {.name = "small", .memory_bytes = UINT64_C(1) << 30};
    const uint64_t free_bytes = UINT64_C(768) << 20;
    const redtune_tuning asked = {.layouts = REDTUNE_LAYOUT_ROWS};
    rdt_problems whole = {0}, kept = {0};
    CHECK_OK(list(&asked, 0, 0, &whole), err);
    CHECK(!rdt_problem_list_fits(&whole, &facts, free_bytes));
    CHECK_OK(rdt_problem_list_fit(&whole, &facts, free_bytes, NULL, &kept, &err), err);
    CHECK(kept.count && kept.count < whole.count);
    check_order(&kept);
    CHECK(rdt_problem_list_fits(&kept, &facts, free_bytes));
    for (size_t i = 0; i < whole.count; i++) {
        const redtune_problem *each = &whole.problem[i];
        const uint64_t bytes = rdt_problem_elements(each) * redtune_dtype_bytes(each->dtype);
        if (bytes <= 1 << 20) CHECK_INT(times(&kept, each, 1), 1);
        if (bytes >= 512 << 20) CHECK_INT(times(&kept, each, 1), 0);
    }
    rdt_problem_list_free(&kept);
    rdt_problem_list_free(&whole);
}

int main(int argc, char **argv) { return check_run(argc, argv); }
