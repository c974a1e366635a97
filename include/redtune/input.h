/* Input: reducing elements and arrays that are not on the GPU, piece by piece. redtune.h includes
 * this. */
#ifndef REDTUNE_INPUT_H
#define REDTUNE_INPUT_H

#include "redtune/redtune.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- input that is not on the GPU -------------------------------------------------------- */

/* Gives the next bytes of an input: fills at most capacity bytes and says how many; a whole number
 * of elements each time, 0 at the end. A status other than REDTUNE_OK ends the reduction with it
 * (fill err with the reason). */
typedef redtune_status redtune_read_fn(void *user, void *buffer, size_t capacity, size_t *bytes,
                                       redtune_error *err);

typedef struct redtune_input {
    redtune_read_fn *read;
    void *user;
    /* The second input of an op of two, which gives as many elements, from a reader of its own, or
     * the mask of a problem that has one, a byte for each element, or the keys of a problem by key
     * (redtune/keys.h), which only redtune_reduce_array takes; its own parameters and initial are
     * NULL. Its own second is the mask of two inputs, or what lies beside elements that have keys,
     * a second input or a mask, and behind that input a mask. Else NULL. */
    const struct redtune_input *second;
    /* The op's parameters, in the order of redtune_op_info; NULL: the defaults. */
    const double *parameters;
    /* As redtune_operands has it; problem.uses is 0. */
    const redtune_value *initial;
    uint64_t reserved[1];
} redtune_input;
typedef struct redtune_reading {
    redtune_value value;
    redtune_dtype dtype; /* of value */
    uint64_t count;      /* elements read, of one input */
    uint64_t pieces;
    double kernel_ns;           /* time on the GPU, the copies left out */
    redtune_info info;          /* the plan that ran */
    redtune_value second;       /* the second result of an op of two */
    redtune_dtype second_dtype; /* its dtype; REDTUNE_DTYPE_NONE: there is no second result */
    uint64_t reserved[1];
} redtune_reading;
/* Reduces elements that are not on the GPU: reads them piece by piece, copies each to the GPU and
 * reduces it there, and combines the results of the pieces. problem->count is the number of
 * elements expected, 0 if unknown. */
REDTUNE_API redtune_status redtune_reduce_input(redtune *rt, const redtune_problem *problem,
                                                const redtune_input *input, redtune_reading *out,
                                                redtune_error *err);

/* Reduces an array that is not on the GPU along its axes, as the problem has them
 * (redtune_problem_fold): reads its elements in the order of memory, from the first one to the
 * last, including the gaps that steps leave, and writes the outer * inner results, elements of the
 * dtype that redtune_problem_result gives, to `bytes` bytes of host memory. Second results follow
 * from the next multiple of 16 bytes on. out is as for redtune_reduce_input, without the values.
 * The array goes to the GPU in pieces of whole outer indices as far as its memory has room for
 * them, and an outer index larger than that in pieces of its own: rows of any op, columns of ops
 * that redtune_op_info says resume. Axes that are neither rows nor columns (docs/api.md) are cut
 * along the one whose step is the largest, again and again: kept ones for any op. Of a second input
 * or a mask likewise from its first element to its last; one with other steps goes in one piece
 * only. REDTUNE_UNSUPPORTED, with the sizes, for columns of other ops,
 * for a single row of columns that does not fit, and for outer indices that overlap. Some results
 * may have been written on failure.
 * A problem by key (redtune/keys.h) has its keys in input->second, in that one's second the second
 * input of an op of two, or else the mask, and in that of a second input the mask of both; all are
 * brought to the GPU whole, and there are as many as the problem says. */
REDTUNE_API redtune_status redtune_reduce_array(redtune *rt, const redtune_problem *problem,
                                                const redtune_input *input, void *results,
                                                size_t bytes, redtune_reading *out,
                                                redtune_error *err);

#ifdef __cplusplus
}
#endif

#endif
