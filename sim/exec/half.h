/* Half: the 16-bit floating formats: to double exactly, and from double with every rounding. */
#pragma once

#include "exec/program.h"

/* A format of 16 bits: 1 sign, exponent_bits, the rest mantissa. */
typedef struct sim_half_format {
    int exponent_bits;
    int mantissa_bits;
    uint16_t nan; /* what operations give */
} sim_half_format;

extern const sim_half_format sim_f16_format, sim_bf16_format;

double sim_half_to_double(uint16_t half, const sim_half_format *format);

/* flags: the rounding of sim_flag, and SIM_FLAG_SAT for what lies beyond the finite range.
 * value must not itself be the product of a rounding to nearest that this would repeat: see
 * sim_half_odd_add. */
uint16_t sim_half_from_double(double value, const sim_half_format *format, uint8_t flags);

/* a + b and a * b + c rounded to odd: what a second, narrower rounding then makes right. */
double sim_half_odd_add(double a, double b);
double sim_half_odd_fma(double a, double b, double c);
