/* Facts about src/api/tuning/problem_list.c: what a tune goes through, and what its shards do. */
#include "check.h"
#include "api/tuning/problem_list.h"
#include "model/problem.h"
#include "redtune/tune.h"

enum { SHARDS_MAX = 20 };

static redtune_error err;

static redtune_status list(const redtune_tuning *asked, unsigned index, unsigned count,
                           rdt_problems *out) {
    redtune_tuning tuning = *asked;
    tuning.shard_index = index;
    tuning.shard_count = count;
    return rdt_problem_list_make(&tuning, false, out, &err);
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

static void shards_of_the_usual_problems_are_the_whole(void) {
    const redtune_tuning usual = {0};
    rdt_problems whole = {0};
    CHECK_OK(list(&usual, 0, 0, &whole), err);
    CHECK_INT(whole.count, 7 * 21);
    rdt_problem_list_free(&whole);
    for (unsigned n = 1; n <= SHARDS_MAX; n++) check_shards(&usual, n);
}

/* What is named is tuned on a simulated GPU as on any. */
static void simulated_gpu_has_few_usual_problems(void) {
    const redtune_dtype bytes = REDTUNE_I8;
    const uint64_t counts[] = {1 << 20, 1 << 10};
    const redtune_tuning asked[] = {
        {0}, {.dtypes = &bytes, .dtype_count = 1}, {.counts = counts, .count_count = 2}};
    static const size_t expected[] = {9, 3, 6};
    for (size_t i = 0; i < 3; i++) {
        rdt_problems whole = {0};
        CHECK_OK(rdt_problem_list_make(&asked[i], true, &whole, &err), err);
        CHECK_INT(whole.count, expected[i]);
        CHECK(asked[i].count_count || whole.problem[whole.count - 1].count == 1024);
        rdt_problem_list_free(&whole);
    }
}

/* Classes of one size have no crossovers, and some shards of few problems have nothing to do. */
static void shards_of_few_problems_are_the_whole(void) {
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

static void a_shard_beyond_the_last_is_refused(void) {
    const redtune_tuning usual = {0};
    rdt_problems none = {0};
    CHECK_FAILS(list(&usual, 3, 3, &none), REDTUNE_INVALID, err, "count from 0");
    CHECK(!none.problem);
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(shards_of_the_usual_problems_are_the_whole),
        FACT(simulated_gpu_has_few_usual_problems),
        FACT(shards_of_few_problems_are_the_whole),
        FACT(a_shard_beyond_the_last_is_refused),
    };
    return check_run(facts, sizeof facts / sizeof *facts, argc, argv);
}
