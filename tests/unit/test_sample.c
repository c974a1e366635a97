/* Facts about tuner/measure/sample.h: which results are looked at. */
#include "check.h"
#include "tuner/measure/sample.h"

static redtune_problem shape(uint64_t outer, uint64_t inner) {
    return (redtune_problem){.op = REDTUNE_SUM,
                             .dtype = REDTUNE_F32,
                             .result = REDTUNE_F32,
                             .count = 7,
                             .outer = outer,
                             .inner = inner};
}

/* Whether a run has it. */
static bool looks_at(const rdt_sample *sample, uint64_t result) {
    for (size_t i = 0; i < sample->run_count; i++)
        if (result >= sample->run[i].first && result - sample->run[i].first < sample->run[i].count)
            return true;
    return false;
}

static void few_results_are_all_looked_at(void) {
    const redtune_problem most = shape(64, 8), one = shape(0, 0);
    rdt_sample sample;
    rdt_sample_choose(&most, 8, 64, &sample);
    CHECK_INT(sample.run_count, 1);
    CHECK_INT(sample.count, 512);
    CHECK_INT(rdt_sample_result(&sample, 511), 511);
    rdt_sample_choose(&one, 8, 64, &sample);
    CHECK_INT(sample.count, 1);
}

/* In a large number the first, the last, those at powers of two, and those where an outer index
 * begins. */
static void borders_are_looked_at(void) {
    const redtune_problem rows = shape(UINT64_C(1) << 33, 0), columns = shape(1000, 100003);
    rdt_sample sample;
    rdt_sample_choose(&rows, 64, 64, &sample);
    CHECK(looks_at(&sample, 0) && looks_at(&sample, 63));
    CHECK(looks_at(&sample, (UINT64_C(1) << 33) - 1));
    for (int i = 6; i < 33; i++)
        CHECK(looks_at(&sample, UINT64_C(1) << i) && looks_at(&sample, (UINT64_C(1) << i) - 1));
    rdt_sample_choose(&columns, 64, 64, &sample);
    CHECK(looks_at(&sample, 0) && looks_at(&sample, 1000 * 100003 - 1));
    CHECK(looks_at(&sample, 100003) && looks_at(&sample, 100002));
    CHECK(looks_at(&sample, 500 * 100003) && looks_at(&sample, 500 * 100003 - 1));
}

/* The guards are copied with the first run and the last. */
static void runs_begin_with_the_first_and_end_with_the_last(void) {
    for (uint64_t results = 1; results < 3000; results += 7) {
        const redtune_problem problem = shape(results, 0);
        rdt_sample sample;
        size_t count = 0;
        rdt_sample_choose(&problem, 4, 32, &sample);
        const rdt_run *last = &sample.run[sample.run_count - 1];
        CHECK(sample.run_count <= 4 && sample.count <= 128);
        CHECK_INT(sample.run[0].first, 0);
        CHECK_INT(last->first + last->count, results);
        for (size_t i = 0; i < sample.run_count; i++) {
            CHECK(sample.run[i].first + sample.run[i].count <= results);
            CHECK_INT(rdt_sample_result(&sample, count), sample.run[i].first);
            count += sample.run[i].count;
        }
        CHECK_INT(sample.count, count);
    }
}

/* What is asked for once holds for every call. */
static void the_same_problem_has_the_same_sample(void) {
    const redtune_problem problem = shape(1000003, 0);
    rdt_sample one, other;
    rdt_sample_choose(&problem, 64, 64, &one);
    rdt_sample_choose(&problem, 64, 64, &other);
    for (size_t i = 0; i < one.run_count; i++) CHECK_INT(one.run[i].first, other.run[i].first);
}

static void outputs_have_room_for_guards(void) {
    CHECK_INT(rdt_sample_output_bytes(1, REDTUNE_F16), 3 * RDT_SAMPLE_GUARD_BYTES);
    CHECK_INT(rdt_sample_output_bytes(64, REDTUNE_F32), 3 * RDT_SAMPLE_GUARD_BYTES);
    CHECK_INT(rdt_sample_output_bytes(65, REDTUNE_F32), 4 * RDT_SAMPLE_GUARD_BYTES);
}

int main(int argc, char **argv) {
    static const check_fact facts[] = {
        FACT(few_results_are_all_looked_at),
        FACT(borders_are_looked_at),
        FACT(runs_begin_with_the_first_and_end_with_the_last),
        FACT(the_same_problem_has_the_same_sample),
        FACT(outputs_have_room_for_guards),
    };
    return check_run(facts, sizeof facts / sizeof *facts, argc, argv);
}
