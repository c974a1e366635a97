/* Segments: many reductions in one launch, whose beginnings and ends are in tables on the GPU.
 * redtune.h, whose conventions hold here, says what plans and runs are; docs/lists.md explains. */
#ifndef REDTUNE_LIST_H
#define REDTUNE_LIST_H

#include "redtune/redtune.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Segments of one buffer: segment i has the elements of d_in from number d_begin[i] up to, and
 * without, number d_end[i]. They may be empty, overlap, and lie in any order. One that ends before
 * it begins is empty. An empty segment's result is that of a whole array of count 0, such as 0 for
 * a sum, -1 for argmin and NaN for a mean.
 *
 * The elements of a segment are combined in an order that depends on the plan's configuration, the
 * GPU model and the tables alone: the same ones give the same bits. */
typedef struct redtune_segments {
    /* The buffer. Needs only its element's alignment; nothing but the elements of segments is read.
     * May be NULL where all segments are empty. */
    const void *d_in;
    uint64_t count; /* of segments; 0: nothing is read or written */
    /* Offsets on the GPU, aligned to their bytes, that are read when kernels run, and so anew by
     * each replay of a graph. As signed integers none may be negative. */
    const void *d_begin;
    /* NULL: segment i ends where the next one begins, and d_begin has count + 1 offsets, as in CSR
     * matrices and Arrow's lists. These take one launch where offsets do not decrease. The results
     * of others are right, too, but as slow as one multiprocessor makes them. Else count offsets:
     * two launches, in whatever order segments are. */
    const void *d_end;
    uint64_t offset_bytes; /* of an offset: 4, or 8 (0: 8) */
    /* Take the results, one of each segment; as in redtune_operands, with the four below. No table
     * may lie within them. */
    void *d_out[2];
    redtune_workspace *workspace;
    const double *parameters;
    const double *d_parameters;
    uint64_t accumulate;
    uint64_t reserved[6];
} redtune_segments;

/* Runs a plan whose problem has segmented REDTUNE_SEGMENTED_EACH, on any number of segments of any
 * lengths; it is fastest near problem.outer segments of problem.count elements on average. Else as
 * redtune_plan_run, which refuses such a plan. Ops have one input. */
REDTUNE_API redtune_status redtune_plan_run_segments(redtune_plan *plan,
                                                     const redtune_segments *segments,
                                                     struct CUstream_st *stream,
                                                     redtune_error *err);

/* The same through the table of plans inside rt, as redtune_run. problem->outer is segments->count,
 * or 0. redtune_prepare makes its plan. */
REDTUNE_API redtune_status redtune_run_segments(redtune *rt, const redtune_problem *problem,
                                                const redtune_segments *segments,
                                                struct CUstream_st *stream, redtune_error *err);

#ifdef __cplusplus
}
#endif

#endif
