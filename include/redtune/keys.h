/* Keys: reductions by key. out[k] is the op of all elements x[i] whose key is k, in any order.
 * redtune.h, whose conventions hold here, says what plans and runs are; docs/keys.md explains. */
#ifndef REDTUNE_KEYS_H
#define REDTUNE_KEYS_H

#include "redtune/redtune.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A problem of `count` elements with a key each: it has `keys` results, one of each key from 0 to
 * keys - 1. key_dtype is an integer's. All other fields have their defaults; the caller may set
 * op, dtypes, order, accuracy, mask, spread, REDTUNE_USE_ACCUMULATE, _INITIAL, _BOOLS, and config
 * of a plan's. In fixed order a result has the bits of its elements packed in their order. */
REDTUNE_API redtune_problem redtune_problem_by_key(redtune_op op, redtune_dtype dtype,
                                                   redtune_dtype key_dtype, uint64_t keys,
                                                   uint64_t count);

/* The same of rows, of width elements side by side and a key each: the results are keys rows as
 * wide, one behind the other, of each column by itself. An index that an op finds is a row's. */
REDTUNE_API redtune_problem redtune_problem_rows_by_key(redtune_op op, redtune_dtype dtype,
                                                        redtune_dtype key_dtype, uint64_t keys,
                                                        uint64_t rows, uint64_t width);

/* What a run by key is given. Zero fields mean the default. */
typedef struct redtune_keyed {
    const void *d_in; /* the elements, aligned to one; may be NULL where count is 0 */
    const void
        *d_keys;    /* as many keys, aligned to one; element i has key i. Those that are
                       negative, or not below `keys`, are skipped, and their elements with them */
    uint64_t count; /* of keys: elements, or rows as wide as the problem's; redtune_run_keyed goes
                       by the problem's where it is 0 */
    uint64_t keys;  /* 0: as many as the problem has. A plan takes at most these */
    /* Take `keys` results, or rows of them, each, side by side, the second those of ops of two,
     * else NULL. A key that no element has gets the result of a whole array of count 0, such as 0
     * for a sum, -1 for argmin and NaN for a mean. Outputs overlap nothing that the run reads or
     * writes. */
    void *d_out[2];
    /* NULL, or a uint64 on the GPU, to which the run adds how many keys it skipped. */
    void *d_skipped;
    /* As in redtune_operands. A run takes room for its tables behind its scratch:
     * redtune_keyed_workspace_bytes; a smaller workspace is REDTUNE_INVALID. */
    redtune_workspace *workspace;
    const double *parameters;
    const double *d_parameters;
    uint64_t accumulate;
    const redtune_value *initial;
    /* The second input of an op of two: element i belongs to that of d_in; else NULL. */
    const void *d_second;
    /* The mask of a problem that has one (problem.mask), a byte or a bit for each element of d_in:
     * 0, and the element, or the pair of both inputs, is absent, and its key is not counted in
     * d_skipped; of rows keys are, as there are elements of their own. mask_first: as in
     * redtune_operands. */
    const void *d_mask;
    uint64_t mask_first;
    uint64_t reserved[1];
} redtune_keyed;

/* Runs a plan whose problem is by key, on any number of elements; it is fastest near the problem's.
 * Indices that an op finds count through all elements. Results of floats may differ in the last
 * place from run to run where blocks add to one table, in the order that they come. Two or three
 * launches. Else as redtune_plan_run, which refuses such a plan. */
REDTUNE_API redtune_status redtune_plan_run_keyed(redtune_plan *plan, const redtune_keyed *keyed,
                                                  struct CUstream_st *stream, redtune_error *err);

/* The same through the table of plans inside rt, as redtune_run. problem->keys and, unless it is 0,
 * keyed->keys are the same, and so are the counts. redtune_prepare makes its plan. */
REDTUNE_API redtune_status redtune_run_keyed(redtune *rt, const redtune_problem *problem,
                                             const redtune_keyed *keyed, struct CUstream_st *stream,
                                             redtune_error *err);

/* Bytes of a workspace that any run of the plan fits, or where it brings elements into the order of
 * their keys (docs/keys.md) each run of as many elements as the problem has. Where a plan that was
 * pending (redtune_plan_info) changes to a kernel that takes more, runs in such a workspace go on
 * with the one before. 0: the plan's problem is not by key. */
REDTUNE_API size_t redtune_keyed_workspace_bytes(const redtune_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
