/* Answers: what results of one problem of rows, columns or segments should be over its test data,
 * each asked for once: all candidates and timed calls are held against the same. */
#pragma once

#include "tuner/measure/axis.h"
#include "tuner/measure/gathered.h"
#include "tuner/measure/sample.h"
#include "tuner/measure/segment_table.h"

/* Which results are looked at: of a candidate that is verified, or of each of many timed calls. */
typedef enum rdt_look { RDT_LOOK_VERIFIED, RDT_LOOK_TIMED, RDT_LOOKS } rdt_look;

enum {
    RDT_ANSWERS_SETS_MAX = 128,  /* of inputs: more than verifying and timing one problem has */
    RDT_ANSWERS_TIMED_MAX = 128, /* results that are looked at of a timed call */
    RDT_ANSWERS_APART_MAX = 512, /* of a candidate, where results have gaps */
    RDT_ANSWERS_APART_RUNS = 32, /* of neighbours, that these come in */
};

typedef struct rdt_answer_set {
    rdt_look look;
    uint64_t first; /* the input's first element, in the pool */
    rdt_answer *values;
} rdt_answer_set;

/* Valid when zeroed: of no problem. */
typedef struct rdt_answers {
    const rdt_test_buffers *buffers;
    redtune_problem problem;
    const rdt_pool *pool; /* that has exact results of its count */
    rdt_axis axis;
    rdt_segment_table table; /* of segments */
    rdt_strides strides;     /* of any axes, as are the next */
    rdt_gathered gathered;   /* the latest */
    rdt_key_table keys;      /* by key */
    bool strays;             /* problems are small, and some keys out of range; set beforehand */
    rdt_sample sample[RDT_LOOKS];
    rdt_answer_set set[RDT_ANSWERS_SETS_MAX]; /* the latest; the oldest makes room */
    size_t asked;                             /* sets so far */
} rdt_answers;

/* Makes them those of this problem, unless they are. */
redtune_status rdt_answers_need(rdt_answers *answers, const rdt_test_buffers *buffers,
                                const redtune_problem *problem, redtune_error *err);
void rdt_answers_forget(rdt_answers *answers);

/* Where the elements of result r are, in elements behind the problem's first. */
typedef struct rdt_place {
    uint64_t first, count;
} rdt_place;
rdt_place rdt_answers_place(const rdt_answers *answers, uint64_t r);
/* Where element e of result r is in an input, likewise. */
uint64_t rdt_answers_element(const rdt_answers *answers, int input, uint64_t r, uint64_t e);
/* Asks for result r of the problem whose first element is the pool's number `first`. Along any axes
 * it is one of the sample that was gathered there (rdt_answers_gather). */
rdt_question rdt_answers_question(const rdt_answers *answers, uint64_t first, uint64_t r);
/* The number of the result's element e among those that are there; -1: it is not. */
int64_t rdt_answers_number(const rdt_answers *answers, uint64_t r, uint64_t e);
/* Makes an answer's index, which is a number among those, that of the element, or by key of a row.
 */
void rdt_answers_name(const rdt_answers *answers, uint64_t r, rdt_answer *answer);
/* Has the sample's elements gathered, along any axes. */
redtune_status rdt_answers_gather(rdt_answers *answers, rdt_look look, uint64_t first,
                                  redtune_error *err);
/* What a launch takes of the problem over a pool from its element number `first` on; periods: the
 * second input's begin so many behind. The rest of it is zeroed. */
rdt_operands rdt_answers_operands(const rdt_answers *answers, const rdt_pool *pool, uint64_t first,
                                  uint64_t periods, CUdeviceptr second_output);
/* The scratch of a launch: the test buffers', or by key one with room for its tables. */
redtune_status rdt_answers_scratch(rdt_answers *answers, const rdt_launch *launch, CUdeviceptr *out,
                                   redtune_error *err);
/* Gives the right results of a sample. They stay while the answers are of this problem, and until
 * RDT_ANSWERS_SETS_MAX other sets were asked for. */
redtune_status rdt_answers_get(rdt_answers *answers, rdt_look look, uint64_t first,
                               const rdt_answer **out, redtune_error *err);
