/* Facts about tuner/measure/sample.h: which results are looked at, and what is found wrong. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "op_folder.h"
#include "shaped.h"
#include "tuner/measure/test_buffers.h"
#include "tuner/measure/sample.h"

static redtune_problem shape(uint64_t outer, uint64_t inner) {
    return PROBLEM(.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .result = REDTUNE_F32, .count = 7,
                   .outer = outer, .inner = inner);
}

/* Whether a run has it. */
static bool looks_at(const rdt_sample *sample, uint64_t result) {
    for (size_t i = 0; i < sample->run_count; i++)
        if (result >= sample->run[i].first && result - sample->run[i].first < sample->run[i].count)
            return true;
    return false;
}

FACT(few_results_are_all_looked_at) {
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
FACT(borders_are_looked_at) {
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
FACT(runs_begin_with_the_first_and_end_with_the_last) {
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
FACT(the_same_problem_has_the_same_sample) {
    const redtune_problem problem = shape(1000003, 0);
    rdt_sample one, other;
    rdt_sample_choose(&problem, 64, 64, &one);
    rdt_sample_choose(&problem, 64, 64, &other);
    for (size_t i = 0; i < one.run_count; i++) CHECK_INT(one.run[i].first, other.run[i].first);
}

FACT(outputs_have_room_for_guards) {
    const redtune_problem f32 = shape(0, 0);
    redtune_problem f16 = f32;
    f16.dtype = f16.result = REDTUNE_F16;
    CHECK_INT(rdt_sample_output_bytes(1, &f16), 3 * RDT_SAMPLE_GUARD_BYTES);
    CHECK_INT(rdt_sample_output_bytes(64, &f32), 3 * RDT_SAMPLE_GUARD_BYTES);
    CHECK_INT(rdt_sample_output_bytes(65, &f32), 4 * RDT_SAMPLE_GUARD_BYTES);
    CHECK_INT(rdt_sample_second(65, &f32), 0);
}

/* ---- two results ----------------------------------------------------------------------------- */

enum { RESULTS = 5, ROOM = 2048 };

/* min and max of 5 rows of i16, as gathered: all right, within their guards. */
typedef struct gathered {
    rdt_sample sample;
    unsigned char bytes[ROOM];
    rdt_answer expected[RESULTS];
} gathered;

static gathered gather_right(void) {
    redtune_problem problem = PROBLEM(.op = op_folder_find("test_minmax"), .dtype = REDTUNE_I16,
                                      .result = REDTUNE_I16, .count = 7, .outer = RESULTS);
    gathered out = {.expected = {{.value = {{.i16 = 0}}}}};
    rdt_sample_choose(&problem, 4, 64, &out.sample);
    memset(out.bytes, RDT_TEST_BUFFERS_POISON, sizeof out.bytes);
    for (int i = 0; i < RESULTS; i++)
        for (int k = 0; k < 2; k++) {
            out.expected[i].value[k].i16 = (int16_t)(100 * k + i);
            memcpy(out.bytes + rdt_sample_gathered_at(&out.sample, k) + 2 * i,
                   &out.expected[i].value[k], 2);
        }
    return out;
}

static redtune_error err;

static redtune_status check_gathered(const gathered *self) {
    return rdt_sample_check_gathered(&self->sample, "", self->bytes, self->expected, &err);
}

FACT(both_outputs_have_guards) {
    const gathered right = gather_right();
    const redtune_problem *problem = &right.sample.problem;
    CHECK_INT(rdt_sample_output_bytes(RESULTS, problem), 6 * RDT_SAMPLE_GUARD_BYTES);
    CHECK_INT(rdt_sample_second(RESULTS, problem), 3 * RDT_SAMPLE_GUARD_BYTES);
    CHECK_INT(rdt_sample_gathered_bytes(&right.sample), 4 * RDT_SAMPLE_GUARD_BYTES + 20);
    CHECK_OK(check_gathered(&right), err);
}

FACT(a_wrong_second_result_is_named) {
    gathered self = gather_right();
    self.bytes[rdt_sample_gathered_at(&self.sample, 1) + 6] ^= 1;
    CHECK_INT(check_gathered(&self), REDTUNE_WRONG);
    CHECK_CONTAINS(err.message, "result 3 (greatest) is 102 and should be 103");
    self = gather_right();
    self.bytes[rdt_sample_gathered_at(&self.sample, 0) + 6] ^= 1;
    CHECK_INT(check_gathered(&self), REDTUNE_WRONG);
    CHECK_CONTAINS(err.message, "result 3 (least) is 2 and should be 3");
}

FACT(what_is_written_beside_the_second_results_is_wrong) {
    const struct {
        int place;
        const char *said;
    } faults[] = {{-1, "before the first result are written, too (greatest)"},
                  {-RDT_SAMPLE_GUARD_BYTES, "before the first result are written, too (greatest)"},
                  {2 * RESULTS, "behind the last result are written, too (greatest)"}};
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        gathered self = gather_right();
        self.bytes[(int)rdt_sample_gathered_at(&self.sample, 1) + faults[i].place] = 0;
        CHECK_INT(check_gathered(&self), REDTUNE_WRONG);
        CHECK_CONTAINS(err.message, faults[i].said);
    }
}

int main(int argc, char **argv) {
    if (!op_folder_make()) return 1;
    const int code = check_run(argc, argv);
    op_folder_remove();
    return code;
}
