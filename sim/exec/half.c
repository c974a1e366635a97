/* Half: the 16-bit floating formats. */
#include "exec/half.h"

#include <math.h>
#include <string.h>

const sim_half_format sim_f16_format = {5, 10, 0x7fff};
const sim_half_format sim_bf16_format = {8, 7, 0x7fff};

double sim_half_to_double(uint16_t half, const sim_half_format *format) {
    int bias = (1 << (format->exponent_bits - 1)) - 1;
    int exponent = half >> format->mantissa_bits & ((1 << format->exponent_bits) - 1);
    int mantissa = half & ((1 << format->mantissa_bits) - 1);
    double sign = half & 0x8000 ? -1.0 : 1.0;
    if (exponent == (1 << format->exponent_bits) - 1) {
        return mantissa ? (double)NAN : sign * INFINITY;
    }
    if (exponent == 0) return sign * ldexp(mantissa, 1 - bias - format->mantissa_bits);
    mantissa |= 1 << format->mantissa_bits;
    return sign * ldexp(mantissa, exponent - bias - format->mantissa_bits);
}

/* Whether a magnitude between two neighbours goes to the upper one. */
static bool rounds_up(double rest, bool is_odd, bool is_negative, uint8_t flags) {
    if (flags & SIM_FLAG_RZ) return false;
    if (flags & SIM_FLAG_RM) return is_negative && rest > 0;
    if (flags & SIM_FLAG_RP) return !is_negative && rest > 0;
    return rest > 0.5 || (rest == 0.5 && is_odd);
}

uint16_t sim_half_from_double(double value, const sim_half_format *format, uint8_t flags) {
    if (isnan(value)) return format->nan;
    bool is_negative = signbit(value);
    uint16_t sign = is_negative ? 0x8000 : 0;
    int bias = (1 << (format->exponent_bits - 1)) - 1;
    int top = (1 << format->exponent_bits) - 1;
    uint16_t infinity = (uint16_t)(top << format->mantissa_bits);
    double magnitude = fabs(value);
    if (isinf(value)) return (uint16_t)(sign | (flags & SIM_FLAG_SAT ? infinity - 1 : infinity));
    if (magnitude == 0) return sign;
    int exponent = 0;
    frexp(magnitude, &exponent);
    exponent--; /* magnitude = 1.x * 2^exponent */
    if (exponent < 1 - bias) exponent = 1 - bias;
    double scaled = ldexp(magnitude, format->mantissa_bits - exponent);
    double whole = floor(scaled);
    uint32_t mantissa = (uint32_t)whole;
    if (rounds_up(scaled - whole, mantissa & 1, is_negative, flags)) mantissa++;
    uint32_t bits = mantissa; /* of a subnormal, or of what became the least normal number */
    if (mantissa >> format->mantissa_bits) {
        bits = ((uint32_t)(exponent + bias - 1) << format->mantissa_bits) + mantissa;
    }
    if (bits >= infinity) {
        bool stays = flags & (SIM_FLAG_RZ | SIM_FLAG_SAT) ||
                     (flags & SIM_FLAG_RM && !is_negative) || (flags & SIM_FLAG_RP && is_negative);
        bits = stays ? infinity - 1u : infinity;
    }
    return (uint16_t)(sign | bits);
}

/* result is rounded to nearest and misses the exact value by error: move it, if it is even, to
 * the odd neighbour on the other side of the exact value. */
static double make_odd(double result, double error) {
    uint64_t bits;
    if (error == 0 || !isfinite(result)) return result;
    memcpy(&bits, &result, sizeof bits);
    if (bits & 1) return result;
    bool grows = (error > 0) == (result > 0);
    if (result == 0) return error > 0 ? 0x1p-1074 : -0x1p-1074;
    bits = grows ? bits + 1 : bits - 1;
    memcpy(&result, &bits, sizeof result);
    return result;
}

double sim_half_odd_add(double a, double b) {
    double sum = a + b;
    double part = sum - a;
    double error = (a - (sum - part)) + (b - part); /* Knuth's two-sum: exact */
    return make_odd(sum, isfinite(sum) ? error : 0);
}

/* The products of 16-bit floats are exact in double, so only the sum rounds. */
double sim_half_odd_fma(double a, double b, double c) { return sim_half_odd_add(a * b, c); }
