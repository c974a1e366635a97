/* Random: a small generator whose numbers are the same everywhere. */
#pragma once

#include <stdint.h>

/* SplitMix64 (Steele, Lea, Flood, 2014). Any state is a good one to start from. */
typedef struct rdt_random {
    uint64_t state;
} rdt_random;

uint64_t rdt_random_next(rdt_random *random);
/* 0 to bound - 1; bound is small beside 2^64, so that the bias does not matter. */
uint64_t rdt_random_below(rdt_random *random, uint64_t bound);
/* Makes what follows depend on a number as well. */
void rdt_random_mix(rdt_random *random, uint64_t number);
