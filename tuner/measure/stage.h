/* Stage: inputs of small shapes, side by side on the GPU, for a kernel to be verified with.
 *
 * Result r of a shape has the contents of number r % RDT_STAGE_CONTENTS, which are elements of the
 * dense pool from some place on, one of which may be replaced by what decides or by a NaN. Between
 * and around the elements of a shape lies poison: it would decide, too, or is a NaN, and so shows
 * in any result that it gets into.
 *
 * The second input has a stage of its own, in which a shape has the same place, but for a few
 * elements: the two lie at all distances from an alignment. What is replaced is in either. */
#pragma once

#include "tuner/measure/sample.h"
#include "tuner/measure/test_buffers.h"

enum {
    RDT_STAGE_SHAPES_MAX = 48,
    /* Prime: results that a kernel mixes up are not often of the same contents. */
    RDT_STAGE_CONTENTS = 127,
};

/* A result's elements, and its right value. */
typedef struct rdt_content {
    uint64_t first;     /* in the dense pool */
    int64_t planted_at; /* -1: nothing is */
    int input;          /* in which it is */
    redtune_value planted;
    rdt_answer expected;
} rdt_content;

typedef struct rdt_staged {
    rdt_extents extents;                 /* complete */
    uint64_t offset[RDT_OP_INPUTS_MAX];  /* of its first element, in elements of each stage */
    uint64_t output[RDT_OP_OUTPUTS_MAX]; /* of its first results, in bytes of the results */
    size_t content, content_count;
    uint64_t shift; /* 0, or of a sweep: elements of the axis from one outer index to the next */
} rdt_staged;

typedef struct rdt_stage {
    const rdt_test_buffers *buffers;
    char *elements[RDT_OP_INPUTS_MAX]; /* of a whole stage each, in host memory */
    uint64_t used, output_used;
    rdt_staged shape[RDT_STAGE_SHAPES_MAX];
    size_t shape_count, content_count;
    rdt_content content[RDT_STAGE_SHAPES_MAX * RDT_STAGE_CONTENTS];
} rdt_stage;

redtune_status rdt_stage_create(const rdt_test_buffers *buffers, rdt_stage **out,
                                redtune_error *err);
/* stage may be NULL. */
void rdt_stage_destroy(rdt_stage *stage);

/* Adds a shape of complete extents, whose first element is `misaligned` elements behind a 16-byte
 * boundary. What is planted goes by the elements' numbers in `borders`. false: there is no room. */
bool rdt_stage_add(rdt_stage *stage, const rdt_extents *extents, uint64_t misaligned,
                   const uint64_t *borders, size_t border_count);
/* Adds a sweep: a shape whose outer indices share most of their elements, for each begins `shift`
 * elements of the axis behind the one before, which sets its outer_step. One shared element
 * decides, number `at` of the first outer index: so it has another place in each result. Up to
 * RDT_STAGE_CONTENTS results. false: there is no room. */
bool rdt_stage_add_sweep(rdt_stage *stage, rdt_extents extents, uint64_t shift, uint64_t at,
                         uint64_t misaligned);
/* Asks what the results should be, puts the inputs on the GPU and poison in place of results. */
redtune_status rdt_stage_set(rdt_stage *stage, redtune_error *err);
/* Reads what a kernel made of all shapes; REDTUNE_WRONG names the first wrong result. */
redtune_status rdt_stage_check(const rdt_stage *stage, redtune_error *err);
