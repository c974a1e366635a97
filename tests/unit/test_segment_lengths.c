/* Facts about src/model/segment_lengths.c: tables of lengths like those that a problem names, and
 * about what lengths a problem may name. */
#include <inttypes.h>
#include <stdlib.h>
#include "check.h"
#include "base/random.h"
#include "model/segment_lengths.h"
#include "shaped.h"

static redtune_error err;

static redtune_problem segments_of(uint64_t outer, uint64_t count, uint64_t median,
                                   uint64_t greatest) {
    return PROBLEM(.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .outer = outer, .count = count,
                   .median = median, .greatest = greatest, .segmented = REDTUNE_SEGMENTED_EACH);
}

static int ascend(const void *a, const void *b) {
    const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Whether the table of the problem has its lengths; `near` is how near its sum comes, as a share.
 */
static void check_table(redtune_problem problem, double near) {
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    const uint64_t count = rdt_segment_lengths_count(&problem);
    const rdt_lengths lengths = rdt_problem_segments_lengths(&problem);
    uint64_t *offsets = malloc((count + 1) * sizeof *offsets);
    CHECK_OK(rdt_segment_lengths_fill(&problem, offsets, &err), err);
    const uint64_t all = offsets[count], wanted = rdt_problem_elements(&problem);
    for (uint64_t i = 0; i < count; i++) {
        CHECK(offsets[i] <= offsets[i + 1]);
        offsets[i] = offsets[i + 1] - offsets[i];
    }
    qsort(offsets, count, sizeof *offsets, ascend);
    char text[RDT_PROBLEM_TEXT_BYTES];
    rdt_problem_describe(&problem, text);
    check_that(offsets[count - 1] == lengths.greatest, __FILE__, __LINE__,
               "%s: the greatest is %" PRIu64, text, offsets[count - 1]);
    check_that(offsets[count / 2 - (count > 1)] <= lengths.median &&
                   (double)lengths.median <= 1.5 * (double)offsets[count / 2] + 2,
               __FILE__, __LINE__, "%s: the median is %" PRIu64, text, offsets[count / 2]);
    check_that(all <= wanted && (double)all >= (1 - near) * (double)wanted, __FILE__, __LINE__,
               "%s: %" PRIu64 " elements of %" PRIu64, text, all, wanted);
    free(offsets);
}

FACT(equal_lengths_are_equal) {
    check_table(segments_of(1000, 77, 0, 0), 0);
    check_table(segments_of(1000, 77, 77, 77), 0);
    check_table(segments_of(1, 5000, 0, 0), 0);
    check_table(segments_of(0, 5000, 0, 0), 0);
}

FACT(a_table_has_the_lengths_that_are_named) {
    check_table(segments_of(1000000, 103, 3, 100000000), 0.02);
    check_table(segments_of(100000, 671, 20, 5000000), 0.02);
    check_table(segments_of(5434, 283401, 4500, 1019904), 0.05);
    check_table(segments_of(100, 100, 90, 500), 0.02);
    check_table(segments_of(100, 100, 1, 400), 0.05);
    check_table(segments_of(3, 1000, 1, 2999), 0.05);
}

/* Those of lengths that were drawn: what is named can be. */
FACT(any_lengths_that_there_are_have_a_table) {
    enum { TABLES = 200, MOST = 400 };
    uint64_t lengths[MOST];
    rdt_random random = {7};
    for (int t = 0; t < TABLES; t++) {
        const uint64_t count = 2 + rdt_random_below(&random, MOST - 2);
        const uint64_t most = 1 + rdt_random_below(&random, UINT64_C(1) << (t % 20));
        uint64_t all = 0;
        for (uint64_t i = 0; i < count; i++) {
            lengths[i] = rdt_random_below(&random, rdt_random_below(&random, 9) ? most : 9 * most);
            all += lengths[i];
        }
        if (!all) continue;
        qsort(lengths, count, sizeof *lengths, ascend);
        const uint64_t median = lengths[count / 2];
        redtune_problem problem =
            segments_of(count, (all + count - 1) / count, median ? median : 1, lengths[count - 1]);
        CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
        uint64_t offsets[MOST + 1], greatest = 0;
        CHECK_OK(rdt_segment_lengths_fill(&problem, offsets, &err), err);
        for (uint64_t i = 0; i < count; i++)
            if (offsets[i + 1] - offsets[i] > greatest) greatest = offsets[i + 1] - offsets[i];
        CHECK_INT(greatest, lengths[count - 1]);
        CHECK(offsets[count] <= rdt_problem_elements(&problem));
        CHECK(2 * offsets[count] >= all);
    }
}

FACT(lengths_that_cannot_be_are_refused) {
    static const struct {
        uint64_t outer, count, median, greatest;
        const char *why;
    } wrong[] = {
        {10, 100, 0, 50, "below the average"},
        {10, 100, 150, 120, "below the median"},
        {10, 100, 300, 400, "above twice the average"},
        {10, 100, 0, 1001, "above the elements of all"},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        redtune_problem problem =
            segments_of(wrong[i].outer, wrong[i].count, wrong[i].median, wrong[i].greatest);
        CHECK_FAILS(rdt_problem_resolve(&problem, &problem, &err), REDTUNE_INVALID, err,
                    wrong[i].why);
    }
}

/* Unlike lengths of which nothing is said, from which the default has to expect anything. */
FACT(equal_lengths_may_be_said) {
    redtune_problem problem = segments_of(5, 100, 100, 100);
    uint64_t offsets[6];
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    CHECK_INT(problem.greatest, 100);
    CHECK_OK(rdt_segment_lengths_fill(&problem, offsets, &err), err);
    for (uint64_t i = 0; i < 6; i++) CHECK_INT(offsets[i], 100 * i);
}

FACT(a_text_names_the_lengths) {
    redtune_problem problem = segments_of(64, 100, 3, 5000);
    char text[RDT_PROBLEM_TEXT_BYTES];
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    rdt_problem_describe(&problem, text);
    CHECK_TEXT(text, "sum of 64 segments of about 100 f32, median 3, greatest 5000");
    problem.segmented = REDTUNE_SEGMENTED_ALL;
    problem.median = problem.greatest = 0;
    rdt_problem_describe(&problem, text);
    CHECK_TEXT(text, "sum of all of 64 segments of about 100 f32");
}

/* Of segments that begin anywhere, some of them empty; the same in the offsets' own place. */
FACT(a_table_says_what_its_lengths_are_like) {
    uint64_t offsets[] = {7, 7, 10, 30, 32, 32}, lengths[5];
    for (int turn = 0; turn < 2; turn++) {
        const rdt_extents shape =
            rdt_segment_lengths_describe(offsets, 5, turn ? offsets : lengths);
        CHECK_INT(shape.outer, 5);
        CHECK_INT(shape.count, 5); /* of 25 elements */
        CHECK_INT(shape.step, 2);
        CHECK_INT(shape.outer_step, 20);
    }
    const uint64_t empty[] = {4, 4, 4};
    const rdt_extents shape = rdt_segment_lengths_describe(empty, 2, lengths);
    CHECK(shape.outer == 2 && !shape.count && shape.step == 1 && !shape.outer_step);
    CHECK(!rdt_segment_lengths_describe(empty, 0, lengths).outer);
}

int main(int argc, char **argv) { return check_run(argc, argv); }
