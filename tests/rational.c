/* Rational: sums of products of floats without any rounding. */
#include "rational.h"

#include <math.h>
#include "model/scalar.h"

static const uint64_t pending_max = 1u << 30;

/* Leaves every limb but the last from 0 to 2^32 - 1; the last has the sign. */
static void carry(rational *self) {
    for (int i = 0; i + 1 < RATIONAL_LIMBS; i++) {
        const int64_t low = self->limb[i] & 0xffffffff;
        self->limb[i + 1] += (self->limb[i] - low) / ((int64_t)1 << 32);
        self->limb[i] = low;
    }
    self->pending = 0;
}

/* x as an integer without trailing zeros, times 2^*exponent; x is finite and not 0. */
static int64_t split(double x, int *exponent) {
    int64_t integer = (int64_t)ldexp(frexp(x, exponent), 53);
    const int zeros = __builtin_ctzll((uint64_t)integer);
    *exponent += zeros - 53;
    return integer / ((int64_t)1 << zeros);
}

/* Adds a number below 2^64, or takes it away, at that bit. */
static void add_at(rational *self, int bit, uint64_t number, bool negative) {
    unsigned __int128 shifted = (unsigned __int128)number << bit % 32;
    for (int i = bit / 32; shifted; i++, shifted >>= 32) {
        const int64_t part = (int64_t)(shifted & 0xffffffff);
        self->limb[i] += negative ? -part : part;
    }
}

void rational_add(rational *self, double x, double y) {
    int of_x, of_y;
    if (!isfinite(x) || !isfinite(y)) {
        self->special += x * y;
        return;
    }
    if (x == 0 || y == 0) return;
    const __int128 product = (__int128)split(x, &of_x) * split(y, &of_y);
    const bool negative = product < 0;
    const unsigned __int128 size = (unsigned __int128)(negative ? -product : product);
    const int bit = of_x + of_y + RATIONAL_BEHIND;
    add_at(self, bit, (uint64_t)size, negative);
    add_at(self, bit + 64, (uint64_t)(size >> 64), negative);
    if (++self->pending > pending_max) carry(self);
}

/* The magnitude, each limb from 0 to 2^32 - 1, and whether it is negative. */
static rational magnitude_of(const rational *self, bool *negative) {
    rational out = *self;
    carry(&out);
    *negative = out.limb[RATIONAL_LIMBS - 1] < 0;
    if (!*negative) return out;
    for (int i = 0; i < RATIONAL_LIMBS; i++) out.limb[i] = -out.limb[i];
    carry(&out);
    return out;
}

static bool bit_of(const rational *self, int bit) {
    return bit >= 0 && self->limb[bit / 32] >> bit % 32 & 1;
}

/* The highest bit that is set, or -1. */
static int top_of(const rational *self) {
    int bit = 32 * RATIONAL_LIMBS - 1;
    while (bit >= 0 && !bit_of(self, bit)) bit--;
    return bit;
}

long double rational_real(const rational *self) {
    bool negative;
    if (self->special != 0) return self->special;
    const rational size = magnitude_of(self, &negative);
    const int top = top_of(&size);
    uint64_t integer = 0;
    if (top < 0) return 0;
    for (int i = 0; i < 64; i++) integer = integer << 1 | bit_of(&size, top - i);
    const long double real = ldexpl((long double)integer, top - 63 - RATIONAL_BEHIND);
    return negative ? -real : real;
}

static double round_to(const rational *self, int digits, int least, int most) {
    bool negative, rest = false;
    const rational size = magnitude_of(self, &negative);
    const int top = top_of(&size), lowest = least + RATIONAL_BEHIND;
    if (top < 0) return 0;
    const int from = top - digits + 1 > lowest ? top - digits + 1 : lowest;
    uint64_t integer = 0;
    for (int bit = top; bit >= from; bit--) integer = integer << 1 | bit_of(&size, bit);
    for (int bit = from - 2; bit >= 0 && !rest; bit--) rest = bit_of(&size, bit);
    integer += bit_of(&size, from - 1) && (rest || integer & 1);
    const double real = ldexp((double)integer, from - RATIONAL_BEHIND);
    const double out = real >= ldexp(1, most) ? (double)INFINITY : real;
    return negative ? -out : out;
}

redtune_value rational_round(const rational *self, redtune_dtype dtype) {
    double real = self->special;
    if (real != 0) return rdt_scalar_from_real(dtype, real);
    const rdt_dtype_traits *format = rdt_dtype_find(dtype);
    const int bits = format->fraction_bits, most = 1 << (format->exponent_bits - 1);
    /* E4M3 has numbers where others have infinities. */
    const int end = most + (dtype == REDTUNE_E4M3);
    return rdt_scalar_from_real(dtype, round_to(self, bits + 1, 2 - most - bits, end));
}
