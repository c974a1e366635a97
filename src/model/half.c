/* Half: the 16-bit floats on the host, by their bits. */
#include "model/half.h"

#include <math.h>
#include <string.h>

static uint32_t bits_of(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint16_t rdt_half_from_float(float value) {
    uint16_t sign = (uint16_t)(bits_of(value) >> 16 & 0x8000);
    float magnitude = fabsf(value);
    if (isnan(value)) return sign | 0x7e00;
    if (magnitude >= 65520.0f) return sign | 0x7c00; /* half way to 2^16 and up: infinity */
    if (magnitude < 0x1p-14f) /* subnormal, or just too large for that: a multiple of 2^-24 */
        return sign | (uint16_t)nearbyintf(magnitude * 0x1p24f);
    /* The exponent's bias goes from 127 to 15, and 13 bits of the fraction go: a carry out of the
     * fraction is one more in the exponent, as it should be. */
    uint32_t bits = bits_of(magnitude) - (112u << 23);
    uint32_t round = (bits >> 13 & 1) + 0xfff;
    return sign | (uint16_t)((bits + round) >> 13);
}

float rdt_half_to_float(uint16_t bits) {
    uint32_t sign = (uint32_t)(bits & 0x8000) << 16, rest = bits & 0x7fff;
    if (rest >= 0x7c00) return float_of(sign | 0x7f800000 | (rest & 0x3ff) << 13);
    float magnitude = rest < 0x400 ? (float)rest * 0x1p-24f : float_of((rest << 13) + (112u << 23));
    return float_of(bits_of(magnitude) | sign);
}

uint16_t rdt_half_bfloat_from_float(float value) {
    uint32_t bits = bits_of(value);
    if (isnan(value)) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

float rdt_half_bfloat_to_float(uint16_t bits) { return float_of((uint32_t)bits << 16); }
