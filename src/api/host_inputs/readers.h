/* Readers: where the elements of inputs that are not on the GPU come from: a caller's readers. */
#pragma once

#include "model/problem.h"
#include "redtune/redtune.h"

/* An op's inputs, and behind them the mask; by key the keys come second. */
enum { RDT_READERS_MAX = RDT_ARRAYS_READ_MAX + 1 };
typedef struct rdt_readers {
    const redtune_input *input[RDT_READERS_MAX];
    int count;
    bool masked; /* the last one is the mask */
    size_t element_bytes[RDT_READERS_MAX];
} rdt_readers;

/* Those that the caller gives for the problem, which is resolved. Refuses a second one too many, or
 * that is missing, and parameters that the op has no use for. */
redtune_status rdt_readers_open(const redtune_problem *problem, const redtune_input *input,
                                rdt_readers *out, redtune_error *err);
/* Whether the second input is one, and has no more beside; else: cannot reduce <how>. has_third: it
 * may have a second of its own. */
redtune_status rdt_readers_check_second(const redtune_input *second, bool has_third,
                                        const char *how, redtune_error *err);
/* Which one is the mask; -1: none. */
int rdt_readers_mask(const rdt_readers *readers);
/* Reads once from that input: at most capacity bytes, 0 at its end. REDTUNE_INVALID for a reader
 * that gives more, or no whole number of elements. */
redtune_status rdt_readers_read(const rdt_readers *readers, int input, void *buffer,
                                size_t capacity, size_t *bytes, redtune_error *err);
/* Reads until capacity bytes are there, or the input ends. */
redtune_status rdt_readers_fill(const rdt_readers *readers, int input, void *buffer,
                                size_t capacity, size_t *bytes, redtune_error *err);
/* "its input", or of two "its first input" and "its second input", or "its mask". */
const char *rdt_readers_name(const rdt_readers *readers, int input);
