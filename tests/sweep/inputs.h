/* Inputs: elements that the sweep reduces, such that results are exact whatever the order, or, of
 * ops with a tolerance, within their bounds. */
#pragma once

#include <stdbool.h>
#include "model/problem.h"

typedef enum input_kind {
    INPUT_NUMBERS, /* numbers that sum, multiply and so on without rounding */
    INPUT_SPECIAL, /* the dtype's edges: infinities, zeros of both signs, the extremes */
    INPUT_NAN,     /* the same with NaN among them */
    INPUT_ZEROS,   /* zeros, of both signs */
    INPUT_TIE,     /* a sum between two numbers of the dtype */
    INPUT_FIRST,   /* one element decides: the first, ... */
    INPUT_LAST,
    INPUT_TILE_END, /* the last of a tile of the kernel, ... */
    INPUT_TILE,     /* and the first behind it */
    INPUT_KINDS
} input_kind;

/* count, offsets and tile are given, the rest is made. */
typedef struct input {
    uint64_t count;
    uint64_t offset[RDT_OP_INPUTS_MAX]; /* elements behind an aligned address, of each input */
    uint64_t tile;
    const char *name;
    void *elements[RDT_OP_INPUTS_MAX]; /* NULL: an input that the op has not */
} input;

/* False where there is no such input for the problem and count. */
bool input_make(const redtune_problem *problem, input_kind kind, input *data);
void input_free(input *data);
