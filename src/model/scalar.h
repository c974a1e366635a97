/* Scalar: one number of any dtype on the host: read, ordered, converted. An element is named by its
 * array and index, so that a redtune_value is an array of one. */
#pragma once

#include "model/problem.h"

bool rdt_scalar_is_float(redtune_dtype dtype);
bool rdt_scalar_is_signed(redtune_dtype dtype); /* an integer that has a sign */
bool rdt_scalar_is_nan(redtune_dtype dtype, const void *array, uint64_t index);

/* Integers modulo 2^64, with their sign extended; floats as they lie in memory. */
uint64_t rdt_scalar_bits(redtune_dtype dtype, const void *array, uint64_t index);
/* The nearest double: exact for all but integers beyond 2^53. */
double rdt_scalar_real(redtune_dtype dtype, const void *array, uint64_t index);

/* A number that orders as the elements of dtype do, -0 before +0; NaN has no place in it. */
uint64_t rdt_scalar_key(redtune_dtype dtype, const void *array, uint64_t index);

/* Bit for bit the same; any NaN equals any other. */
bool rdt_scalar_same(redtune_dtype dtype, const redtune_value *a, const redtune_value *b);

/* The value of these low bits. */
redtune_value rdt_scalar_from_bits(redtune_dtype dtype, uint64_t bits);
/* The nearest value, ties to even, narrower floats by way of f32; an integer dtype takes whole
 * numbers in its range only. */
redtune_value rdt_scalar_from_real(redtune_dtype dtype, double real);

/* The nearest value of the dtype: whole for an integer, within its range. real is no NaN. */
redtune_value rdt_scalar_nearest(redtune_dtype dtype, double real);
/* Writes a number into the element at index of an array of dtype; it must be exact there. */
void rdt_scalar_store(redtune_dtype dtype, void *array, uint64_t index, int64_t number);
/* Decimal, with as many digits as tell the value apart from its neighbours. */
void rdt_scalar_print(redtune_dtype dtype, const redtune_value *value, rdt_text *out);
