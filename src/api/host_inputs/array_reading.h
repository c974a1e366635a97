/* Array reading: an array that is not on the GPU, read in the order of memory, and pieces of it on
 * the GPU. The host fills one staging buffer while the other is copied. Arrays along axes, segments
 * and elements with keys are read so. */
#pragma once

#include "api/host_inputs/readers.h"
#include "api/running/plan.h"
#include "gpu/buffer.h"
#include "gpu/stream.h"
#include "gpu/timer.h"

enum {
    RDT_ARRAY_PIECE_BYTES_MAX = 256 << 20,
    RDT_ARRAY_PASSED_BYTES = 1 << 14, /* at a time, of what is passed over */
};

/* A staging buffer and the stream that copies it to the GPU. */
typedef struct rdt_carrier {
    rdt_pinned staging;
    CUstream stream;
} rdt_carrier;

typedef struct rdt_array_reading {
    redtune *rt;
    const rdt_driver *driver;
    const char *what; /* is reduced, in messages: "an array" */
    rdt_readers readers;
    const double *parameters; /* the caller's; NULL: the usual ones */
    const redtune_value *initial;
    redtune_problem problem;                 /* resolved */
    rdt_extents extents;                     /* complete */
    uint64_t all_bytes;                      /* of an element of each input */
    size_t result_bytes[RDT_OP_OUTPUTS_MAX]; /* the second is 0 where there is one result */
    uint64_t index_elements;                 /* of one outer index, without what follows it */
    uint64_t per_piece;                      /* outer indices */
    uint64_t rows_per_piece;                 /* elements of a column; 0: all of them */
    redtune_plan *plan;
    redtune_workspace *workspace; /* so that no scratch stays behind for the streams */
    rdt_carrier carriers[2];
    int turn;
    rdt_buffer elements[RDT_READERS_MAX], results[RDT_OP_OUTPUTS_MAX]; /* of a piece */
    uint64_t read_count[RDT_READERS_MAX];                              /* elements */
    uint64_t span[RDT_READERS_MAX]; /* elements that each input has */
    rdt_timer timer;
    unsigned char *out[RDT_OP_OUTPUTS_MAX]; /* of the next results */
    redtune_reading so_far;
} rdt_array_reading;

/* Sets what follows from the problem: the dtypes of the results, and their bytes. */
void rdt_array_reading_describe(rdt_array_reading *self);
/* Bytes of the results in the caller's memory, where second ones lie behind the first. */
uint64_t rdt_array_reading_results_bytes(const rdt_array_reading *self, uint64_t results);
/* The next results go to the beginning of that memory. */
void rdt_array_reading_begin(rdt_array_reading *self, void *memory, uint64_t results);

/* Bytes of the GPU's memory for a piece and its results: half of those that are free, so that the
 * plan and others have the rest. */
redtune_status rdt_array_reading_room(const rdt_array_reading *self, uint64_t *bytes,
                                      redtune_error *err);
/* open makes the plan of the pieces, and buffers for these numbers of elements and results. close
 * frees all of it, also after an open that failed. */
redtune_status rdt_array_reading_open(rdt_array_reading *self, const redtune_problem *piece,
                                      const uint64_t elements[RDT_READERS_MAX], uint64_t results,
                                      redtune_error *err);
void rdt_array_reading_close(rdt_array_reading *self);
/* Reads the next elements of that input and copies them to the GPU; the last copies may go on. */
redtune_status rdt_array_reading_carry(rdt_array_reading *self, int input, uint64_t elements,
                                       redtune_error *err);
/* Passes over elements of that input. */
redtune_status rdt_array_reading_skip(rdt_array_reading *self, int input, uint64_t elements,
                                      redtune_error *err);
/* The same of as many elements of each input. */
redtune_status rdt_array_reading_carry_all(rdt_array_reading *self, uint64_t elements,
                                           redtune_error *err);
redtune_status rdt_array_reading_skip_all(rdt_array_reading *self, uint64_t elements,
                                          redtune_error *err);
/* Reduces the piece that lies on the GPU. problem: of any axes; NULL: the extents are those of the
 * operands, in which d_in are where the element with indices 0 is. goes_on: from the results that
 * are there. */
redtune_status rdt_array_reading_run(rdt_array_reading *self, const redtune_problem *problem,
                                     redtune_operands operands, bool goes_on, redtune_error *err);
/* Around what a caller starts on the first carrier's stream: waits for the copies before it, and
 * adds the time that it takes. */
redtune_status rdt_array_reading_start(rdt_array_reading *self, redtune_error *err);
redtune_status rdt_array_reading_stop(rdt_array_reading *self, redtune_error *err);
/* Copies the piece's results to the caller's memory, behind those of the piece before. */
redtune_status rdt_array_reading_take(rdt_array_reading *self, uint64_t results,
                                      redtune_error *err);
/* Reduces the next elements as an input of their own, whose result is the next one: a whole array
 * of such a problem. */
redtune_status rdt_array_reading_reduce_next(rdt_array_reading *self, redtune_problem problem,
                                             uint64_t count, redtune_error *err);

/* Reduces an array of any axes (array_axes.c). */
redtune_status rdt_array_axes_reduce(rdt_array_reading *self, redtune_error *err);
