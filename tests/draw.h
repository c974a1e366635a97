/* Draw: numbers for tests, the same in every run of a program that draws them in one sequence. */
#pragma once

#include <stdint.h>

static uint64_t draw_state = 1;

/* From 0 up to below. Knuth's linear congruential generator (MMIX), of which the upper bits count.
 */
static uint64_t draw(uint64_t below) {
    draw_state = draw_state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (draw_state >> 33) % below;
}

/* Begins the sequence of that number: what follows depends on nothing that was drawn before. */
__attribute__((unused)) static void draw_from(uint64_t number) {
    draw_state = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
}
