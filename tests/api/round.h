/* Round: what a program does with redtune from opening to closing, on the simulated GPU, while a
 * call of the driver fails; and what it leaves behind. */
#pragma once

#include <stdbool.h>
#include "adder.h"
#include "gpu/simulator.h"

enum { ROUND_COUNT = 3000 };

/* Open from the beginning of the tests. */
extern adder round_ones;
extern simulator round_sim;

/* The call of the driver that is to fail, counted within redtune only. */
typedef struct fault {
    const char *entry; /* NULL: none */
    const char *error;
    uint64_t left;  /* calls of the entry until the one that fails; 0: it has */
    uint64_t calls; /* of the entry, in this round */
    bool hit;
} fault;

extern fault round_fault;

/* What a round gave. */
typedef struct outcome {
    redtune_status status; /* of the first step that failed */
    const char *step;
    bool told;  /* it filled the error */
    bool right; /* every step that came back as done gave what it should */
} outcome;

/* Opens, runs in every way and closes; device as for redtune_open. */
outcome round_go(const char *device);

/* What there is now. */
typedef struct census {
    size_t leaks; /* device memory and modules */
    int64_t streams, contexts;
    CUcontext current;
} census;

census round_census(void);
