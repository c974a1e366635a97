/* Program: what a program that uses redtune gets where its database has claims (claims.h). */
#pragma once

#include "claims.h"

/* What redtune tells while it verifies, in lines. */
typedef struct listener {
    int verified, out, unverified, hopeless;
} listener;

/* rt is NULL before it is started, and closed by its owner. */
typedef struct program {
    redtune *rt;
    redtune_options options;
    listener heard;
} program;

redtune_status program_start(program *self, const redtune_options *options, redtune_error *err);

/* What one plan does. */
typedef struct outcome {
    float sum;
    double ns;      /* of a call, by the GPU's clock */
    double made_ms; /* how long the plan took to be made */
    redtune_info info;
} outcome;

redtune_status program_try(program *self, uint64_t count, outcome *out, redtune_error *err);
/* The same from a program of its own with these options: for one problem, or for each. */
redtune_status program_try_one(const redtune_options *options, uint64_t count, outcome *out,
                               listener *heard, redtune_error *err);
redtune_status program_try_all(const redtune_options *options, outcome out[CLAIMS_PROBLEMS],
                               listener *heard, redtune_error *err);

double program_now_ms(void);
