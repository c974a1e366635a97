/* Half: the 16-bit floats on the host, by their bits. */
#pragma once

#include <stdint.h>

/* IEEE 754 binary16. To the nearest, ties to even; every NaN becomes a quiet one. */
uint16_t rdt_half_from_float(float value);
float rdt_half_to_float(uint16_t bits);

/* bfloat16: the upper half of a binary32. To the nearest, ties to even. */
uint16_t rdt_half_bfloat_from_float(float value);
float rdt_half_bfloat_to_float(uint16_t bits);
