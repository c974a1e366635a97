/* Draw: numbers for tests, the same in every run of a program that draws them in one sequence. */
#pragma once

#include <stdint.h>

/* From 0 up to below. Knuth's linear congruential generator (MMIX), of which the upper bits count.
 */
static uint64_t draw(uint64_t below) {
    static uint64_t state = 1;
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (state >> 33) % below;
}
