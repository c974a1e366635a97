/* Readers: where the elements of inputs that are not on the GPU come from: a caller's readers. */
#pragma once

#include "model/problem.h"
#include "redtune/redtune.h"

/* An op's inputs; the second may be the mask. */
typedef struct rdt_readers {
    const redtune_input *input[RDT_OP_INPUTS_MAX];
    int count;
    bool masked;
    size_t element_bytes[RDT_OP_INPUTS_MAX];
} rdt_readers;

/* Those that the caller gives for the problem, which is resolved. Refuses a second one too many, or
 * that is missing, and parameters that the op has no use for. */
redtune_status rdt_readers_open(const redtune_problem *problem, const redtune_input *input,
                                rdt_readers *out, redtune_error *err);
/* Whether the second input is one, and has no more beside; else: cannot reduce <how>. */
redtune_status rdt_readers_check_second(const redtune_input *second, const char *how,
                                        redtune_error *err);
/* Reads once from that input: at most capacity bytes, 0 at its end. REDTUNE_INVALID for a reader
 * that gives more, or no whole number of elements. */
redtune_status rdt_readers_read(const rdt_readers *readers, int input, void *buffer,
                                size_t capacity, size_t *bytes, redtune_error *err);
/* Reads until capacity bytes are there, or the input ends. */
redtune_status rdt_readers_fill(const rdt_readers *readers, int input, void *buffer,
                                size_t capacity, size_t *bytes, redtune_error *err);
/* "its input", or where there are two "its first input" and "its second input", or "its mask". */
const char *rdt_readers_name(const rdt_readers *readers, int input);
