/* Segments and lists: many reductions in one launch, of parts of one buffer or of many arrays, each
 * with a result of its own, or all with one. Tables on the GPU say where elements are. redtune.h,
 * whose conventions hold here, says what plans and runs are; docs/lists.md explains. */
#ifndef REDTUNE_LIST_H
#define REDTUNE_LIST_H

#include "redtune/redtune.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Arrays whose addresses and lengths the host knows: their tables, made once. */
typedef struct redtune_list redtune_list;

/* Makes the list of `count` arrays of the dtype: array i has counts[i] elements from d_arrays[i]
 * on, which is aligned to one and may be NULL where there are none. Both tables are in host memory,
 * and read during the call only. Arrays may be empty and overlap. The list takes 16 bytes of the
 * GPU's memory for each; any number of runs may use it at once. Waits for the GPU. Not during
 * stream capture on this thread. REDTUNE_INVALID for impossible arguments; REDTUNE_DEVICE. */
REDTUNE_API redtune_status redtune_list_create(redtune *rt, redtune_dtype dtype,
                                               const void *const *d_arrays, const uint64_t *counts,
                                               size_t count, redtune_list **out,
                                               redtune_error *err);
/* An array as NumPy, PyTorch and DLPack have it: redtune_problem_fold says what shape and strides
 * are. */
typedef struct redtune_view {
    const void *d_in; /* the element whose indices are 0; may be NULL where there are none */
    const int64_t *shape;
    const int64_t *strides; /* in elements; NULL: packed, row-major */
    size_t dimensions;
    uint64_t reserved[2];
} redtune_view;

/* The same of arrays with any strides, whose elements are those in row-major order of their shape.
 * One whose elements do not lie so, side by side, is copied by each run ahead of its launch, by one
 * launch for all of them, into memory of the list's, as much as their elements take
 * (docs/lists.md). REDTUNE_UNSUPPORTED for more than REDTUNE_AXES_MAX axes that do not join. */
REDTUNE_API redtune_status redtune_list_create_views(redtune *rt, redtune_dtype dtype,
                                                     const redtune_view *views, size_t count,
                                                     redtune_list **out, redtune_error *err);
/* Makes a list of the arrays of another one, each with a mask: d_masks[i] has a byte for each
 * element of array i or, where first_bits is not NULL, a bit, the first one's number first_bits[i];
 * NULL: all elements of that array are there. Its runs are those of plans of
 * REDTUNE_MASK_LISTED_BYTES, or of REDTUNE_MASK_LISTED_BITS. It takes 24 bytes of the GPU's memory
 * for each array, ones for as many elements as the longest array without a mask has, and memory of
 * its own for the arrays that its runs copy. The rest is as for redtune_list_create, and the other
 * list may be destroyed. */
REDTUNE_API redtune_status redtune_list_create_masked(const redtune_list *of,
                                                      const void *const *d_masks,
                                                      const uint64_t *first_bits,
                                                      redtune_list **out, redtune_error *err);
/* Copies the elements of a view side by side to d_out, in row-major order of its shape, by a launch
 * on the stream: the packed copy that segments, offsets, keys and masks with gaps need. d_out has
 * room for them, is aligned to one, and overlaps neither the view's elements nor what lies between;
 * memory is fastest aligned to 16 bytes. A view without elements launches nothing. May be captured,
 * except for the first call of rt's, which makes the kernel: REDTUNE_UNPREPARED. Else as
 * redtune_list_create_views, and as redtune_plan_run on threads and streams. */
REDTUNE_API redtune_status redtune_pack(redtune *rt, redtune_dtype dtype, const redtune_view *view,
                                        void *d_out, struct CUstream_st *stream,
                                        redtune_error *err);
/* list may be NULL. No run of it may still be under way, and no graph that captured one may run
 * again; call it before rt is closed. */
REDTUNE_API void redtune_list_destroy(redtune_list *list);

/* Segments of one buffer: segment i has the elements of d_in from number d_begin[i] up to, and
 * without, number d_end[i]. They may be empty, overlap, and lie in any order. One that ends before
 * it begins is empty. An empty segment's result is that of a whole array of count 0, such as 0 for
 * a sum, -1 for argmin and NaN for a mean. An index counts from the segment's beginning.
 *
 * The elements of a segment are combined in an order that depends on the plan's configuration, the
 * GPU model and the tables alone: the same ones give the same bits. */
typedef struct redtune_segments {
    /* The buffer. Aligned to its elements; only the elements of segments are read. May be NULL
     * where all segments are empty. */
    const void *d_in;
    uint64_t count; /* of segments; 0: no table is read, all may be NULL, and d_out, too, where
                       each segment has a result */
    /* Offsets on the GPU, aligned to their bytes, that are read when kernels run, and so anew by
     * each replay of a graph. As signed integers none may be negative. */
    const void *d_begin;
    /* NULL: segment i ends where the next one begins, and d_begin has count + 1 offsets, as in CSR
     * matrices and Arrow's lists. These take one launch if offsets do not decrease, and
     * two for one result of all in fixed order. If some decrease, the results are right, too, but a
     * single multiprocessor may have to compute them. The address of
     * d_begin's second offset is the same as NULL. Else count offsets: at most two launches, for
     * segments in any order. */
    const void *d_end;
    uint64_t offset_bytes; /* of an offset: 4, or 8 (0: 8) */
    /* Take the results, one of each segment, or one of all; as in redtune_operands, with the four
     * below. They must overlap no table and no array of a list. The caller makes sure that they
     * overlap no elements that only tables on the GPU name. */
    void *d_out[2];
    redtune_workspace *workspace;
    const double *parameters;
    const double *d_parameters;
    uint64_t accumulate;
    /* NULL, or a table on the GPU of where arrays are, aligned to elements: segment i is in array
     * i, and d_in is NULL. There are two tables then; d_begin NULL: all begin at 0, and d_end has
     * their lengths. */
    const void *const *d_arrays;
    /* NULL, or a list, of which all arrays are reduced, in one launch. Then everything above d_out
     * is 0, and d_arrays NULL. */
    const redtune_list *list;
    /* For plans of problems with a mask, else NULL: a byte or a bit for each element of d_in, the
     * first one beside element 0, as in redtune_operands. For those of REDTUNE_MASK_LISTED_BYTES
     * and _BITS a table on the GPU beside d_arrays, aligned to 8 bytes: 64-bit addresses of each
     * array's mask, or numbers of its first bit, eight times its byte's address and its place
     * there. A list has its own, and this is NULL. */
    const void *d_mask;
    uint64_t mask_first;
    /* The second input of ops that have two, else NULL: an element for each of d_in, the first one
     * beside element 0. d_arrays and list are NULL then; a mask leaves out pairs. */
    const void *d_second;
    uint64_t reserved[1];
} redtune_segments;

/* Runs a plan whose problem is segmented, on any number of segments of any lengths; it is fastest
 * near problem.outer segments of problem.count elements on average. REDTUNE_SEGMENTED_EACH makes
 * d_out[i] of segment i; REDTUNE_SEGMENTED_ALL makes *d_out of all, as if their elements stood in
 * one array, in the order of the tables: an index counts through all of them. Else as
 * redtune_plan_run, which refuses such a plan. Tables of ends that are not the
 * next beginnings, and arrays, may need a kernel of their own: the first run on such makes it, and
 * within a capture is REDTUNE_UNPREPARED, unless one was before; the capture goes on. */
REDTUNE_API redtune_status redtune_plan_run_segments(redtune_plan *plan,
                                                     const redtune_segments *segments,
                                                     struct CUstream_st *stream,
                                                     redtune_error *err);

/* The same through the table of plans inside rt, as redtune_run. problem->outer is how many
 * segments there are, or 0. redtune_prepare makes its plan, for tables of any form. */
REDTUNE_API redtune_status redtune_run_segments(redtune *rt, const redtune_problem *problem,
                                                const redtune_segments *segments,
                                                struct CUstream_st *stream, redtune_error *err);

/* Reduces segments of elements that are not on the GPU: reads these in their order, from the first
 * to the last, and writes a result of each of problem->outer segments, elements of the dtype that
 * redtune_problem_result gives, to `bytes` bytes of host memory. Second results follow from the
 * next multiple of 16 bytes on. offsets has problem->outer + 1 numbers of elements, which do not
 * decrease: segment i has those from offsets[i] up to, and without, offsets[i + 1]; where outer is
 * 0 there are no segments, and offsets and results may be NULL. Results overlap no offset. Elements
 * of no segment are read and ignored. problem->segmented is REDTUNE_SEGMENTED_EACH; where its count
 * is 0, count, median and greatest are taken from the offsets. out is as for redtune_reduce_input,
 * without the values. The segments go to the GPU in pieces of whole ones, a longer one as an input
 * of its own. REDTUNE_INVALID, with the segment, for offsets that decrease or lead beyond the
 * input's end. Some results may have been written on failure. */
REDTUNE_API redtune_status redtune_reduce_segments_input(
    redtune *rt, const redtune_problem *problem, const redtune_input *input,
    const uint64_t *offsets, void *results, size_t bytes, redtune_reading *out, redtune_error *err);

#ifdef __cplusplus
}
#endif

#endif
