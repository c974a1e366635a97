/* Op convert: the conversions of cvt. */
#include "exec/half.h"
#include "exec/lanes.h"

#include <fenv.h>
#include <math.h>

static const uint64_t F64_NAN = 0xfff8000000000000ull;

static sim_type to_type(const sim_inst *in) { return (sim_type)(in->imm & 0xff); }
static sim_type from_type(const sim_inst *in) { return (sim_type)(in->imm >> 8); }
static uint32_t bits_of(sim_type type) { return sim_type_table[type].bits; }
static bool is_signed(sim_type type) { return sim_type_table[type].class == SIM_SIGNED; }

static inline uint64_t low_bits(uint32_t bits) {
    return bits == 64 ? UINT64_MAX : (1ull << bits) - 1;
}

static inline int64_t signed_part(uint64_t value, uint32_t shift) {
    return (int64_t)(value << shift) >> shift;
}

static inline uint64_t unsigned_part(uint64_t value, uint32_t shift) {
    return value << shift >> shift;
}

/* Reads at the source's width and sign, cuts to the destination's, and widens to its register. */
void sim_step_convert_integer(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t *d = sim_row(x, in->ref[0]);
    const uint64_t *a = sim_row(x, in->ref[1]);
    uint32_t from = 64 - bits_of(from_type(in)), to = 64 - bits_of(to_type(in));
    uint64_t keep = low_bits(in->result_bits);
    bool from_signed = is_signed(from_type(in)), to_signed = is_signed(to_type(in));
    if (from_signed && to_signed) {
        SIM_FOR_LANES(i, lanes,
                      d[i] = (uint64_t)signed_part((uint64_t)signed_part(a[i], from), to) & keep);
    } else if (from_signed) {
        SIM_FOR_LANES(i, lanes, d[i] = unsigned_part((uint64_t)signed_part(a[i], from), to) & keep);
    } else if (to_signed) {
        SIM_FOR_LANES(i, lanes, d[i] = (uint64_t)signed_part(unsigned_part(a[i], from), to) & keep);
    } else {
        SIM_FOR_LANES(i, lanes, d[i] = unsigned_part(unsigned_part(a[i], from), to) & keep);
    }
}

static uint64_t saturate(uint64_t value, bool from_signed, sim_type to) {
    uint32_t bits = bits_of(to);
    uint64_t most = is_signed(to) ? low_bits(bits - 1) : low_bits(bits);
    if (from_signed && (int64_t)value < 0) {
        if (!is_signed(to)) return 0;
        int64_t least = -(int64_t)most - 1;
        return (int64_t)value < least ? (uint64_t)least : value;
    }
    return value > most ? most : value;
}

void sim_step_convert_saturate(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t *d = sim_row(x, in->ref[0]);
    const uint64_t *a = sim_row(x, in->ref[1]);
    uint32_t shift = 64 - bits_of(from_type(in));
    bool from_signed = is_signed(from_type(in));
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(rest);
        uint64_t value =
            from_signed ? (uint64_t)signed_part(a[i], shift) : unsigned_part(a[i], shift);
        d[i] = saturate(value, from_signed, to_type(in)) & low_bits(in->result_bits);
    }
}

static double flush(double value, sim_type type) {
    bool is_small = type == SIM_F32 && fabs(value) < 0x1p-126;
    return is_small ? copysign(0.0, value) : value;
}

/* Every narrower format fits into double exactly. */
static double read_float(uint64_t bits, sim_type type, bool ftz) {
    double value = type == SIM_F64   ? sim_f64(bits)
                   : type == SIM_F32 ? (double)sim_f32(bits)
                   : type == SIM_F16 ? sim_half_to_double((uint16_t)bits, &sim_f16_format)
                                     : sim_half_to_double((uint16_t)bits, &sim_bf16_format);
    return ftz ? flush(value, type) : value;
}

static double make_integral(double value, sim_integral how) {
    switch (how) {
    case SIM_INTEGRAL_RN: return nearbyint(value);
    case SIM_INTEGRAL_RZ: return trunc(value);
    case SIM_INTEGRAL_RM: return floor(value);
    case SIM_INTEGRAL_RP: return ceil(value);
    case SIM_INTEGRAL_NONE: break;
    }
    return value;
}

/* Out of range becomes the nearest there is. A NaN becomes 0 where f32 and f16 go to 32 bits and
 * less, and otherwise the most negative value, taken as bits. */
static uint64_t float_to_bits(double value, sim_type to, sim_type from) {
    uint32_t bits = bits_of(to);
    if (isnan(value)) {
        if (bits < 64 && from != SIM_F64) return 0;
        return is_signed(to) ? ~low_bits(bits - 1) : 1ull << (bits - 1);
    }
    if (is_signed(to)) {
        double limit = ldexp(1.0, (int)bits - 1);
        if (value >= limit) return low_bits(bits - 1);
        if (value < -limit) return ~low_bits(bits - 1);
        return (uint64_t)(int64_t)value;
    }
    if (value <= 0) return 0;
    return value >= ldexp(1.0, (int)bits) ? low_bits(bits) : (uint64_t)value;
}

void sim_step_float_to_integer(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t *d = sim_row(x, in->ref[0]);
    const uint64_t *a = sim_row(x, in->ref[1]);
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(rest);
        double value = read_float(a[i], from_type(in), in->flags & SIM_FLAG_FTZ);
        value = make_integral(value, (sim_integral)in->mode);
        d[i] = float_to_bits(value, to_type(in), from_type(in)) & low_bits(in->result_bits);
    }
}

static int rounding_of(uint8_t flags) {
    return flags & SIM_FLAG_RZ   ? FE_TOWARDZERO
           : flags & SIM_FLAG_RM ? FE_DOWNWARD
           : flags & SIM_FLAG_RP ? FE_UPWARD
                                 : FE_TONEAREST;
}

static uint64_t clean_f32(float value, uint8_t flags) {
    if (flags & SIM_FLAG_FTZ) value = (float)flush(value, SIM_F32);
    if (flags & SIM_FLAG_SAT) value = value >= 1.0f ? 1.0f : value > 0.0f ? value : 0.0f;
    return value != value ? 0x7fffffffu : sim_f32_bits(value);
}

static uint64_t clean_f64(double value, uint8_t flags) {
    if (flags & SIM_FLAG_SAT) value = value >= 1.0 ? 1.0 : value > 0.0 ? value : 0.0;
    return value != value ? F64_NAN : sim_f64_bits(value);
}

/* An integer as a double that still rounds right: what does not fit is kept odd. */
static double integer_as_double(uint64_t value, bool negative) {
    uint64_t magnitude = negative ? 0 - value : value;
    if (magnitude >> 53) magnitude = (magnitude & ~0x7ffull) | ((magnitude & 0x7ff) ? 0x800 : 0);
    return negative ? -(double)magnitude : (double)magnitude;
}

static uint64_t half_bits(double value, sim_type type, uint8_t flags) {
    const sim_half_format *format = type == SIM_F16 ? &sim_f16_format : &sim_bf16_format;
    uint8_t rounding = flags & SIM_FLAG_ROUND;
    if (flags & SIM_FLAG_SAT) value = value >= 1.0 ? 1.0 : value > 0.0 ? value : 0.0;
    return sim_half_from_double(value, format, rounding);
}

void sim_step_integer_to_float(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t *d = sim_row(x, in->ref[0]);
    const uint64_t *a = sim_row(x, in->ref[1]);
    sim_type to = to_type(in);
    uint32_t shift = 64 - bits_of(from_type(in));
    bool from_signed = is_signed(from_type(in));
    fesetround(rounding_of(in->flags));
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(rest);
        uint64_t value =
            from_signed ? (uint64_t)signed_part(a[i], shift) : unsigned_part(a[i], shift);
        bool negative = from_signed && (int64_t)value < 0;
        if (to == SIM_F32) {
            float result = negative ? (float)(int64_t)value : (float)value;
            d[i] = clean_f32(result, in->flags);
        } else if (to == SIM_F64) {
            d[i] = clean_f64(negative ? (double)(int64_t)value : (double)value, in->flags);
        } else {
            d[i] = half_bits(integer_as_double(value, negative), to, in->flags);
        }
    }
    fesetround(FE_TONEAREST);
}

static uint64_t float_bits(double value, sim_type to, uint8_t flags) {
    if (to == SIM_F64) return clean_f64(value, flags);
    if (to != SIM_F32) return half_bits(value, to, flags);
    if (flags & SIM_FLAG_FTZ) value = flush(value, SIM_F32); /* what is too small before rounding */
    return clean_f32((float)value, flags);
}

/* Between f64 and others a NaN keeps its sign and the upper bits of its payload. */
static uint64_t pass_nan(uint64_t bits, sim_type to, sim_type from, bool ftz) {
    static const struct {
        uint8_t bits, mantissa;
    } formats[SIM_TYPE_COUNT] = {[SIM_F16] = {16, 10}, [SIM_F32] = {32, 23}, [SIM_F64] = {64, 52}};
    uint32_t to_mantissa = formats[to].mantissa, from_mantissa = formats[from].mantissa;
    if (ftz && from == SIM_F32) bits = 0x7fffffff;
    uint64_t sign = bits >> (formats[from].bits - 1) & 1;
    uint64_t payload = bits & low_bits(from_mantissa);
    payload = to_mantissa > from_mantissa ? payload << (to_mantissa - from_mantissa)
                                          : payload >> (from_mantissa - to_mantissa);
    payload |= 1ull << (to_mantissa - 1);
    uint64_t exponent = low_bits(formats[to].bits - 1u) & ~low_bits(to_mantissa);
    return sign << (formats[to].bits - 1) | exponent | payload;
}

void sim_step_float_to_float(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t *d = sim_row(x, in->ref[0]);
    const uint64_t *a = sim_row(x, in->ref[1]);
    sim_type to = to_type(in), from = from_type(in);
    bool ftz = in->flags & SIM_FLAG_FTZ, saturates = in->flags & SIM_FLAG_SAT;
    bool has_payload = (to == SIM_F64 || from == SIM_F64) && to != SIM_BF16 && !saturates;
    fesetround(rounding_of(in->flags)); /* nearest, where the value becomes integral as well */
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(rest);
        double value = read_float(a[i], from, ftz);
        if (isnan(value) && has_payload && from != SIM_BF16) {
            d[i] = pass_nan(a[i], to, from, ftz);
        } else if (from == SIM_BF16 && to == SIM_F32 && !in->flags) {
            d[i] = (a[i] & 0xffff) << 16; /* hardware only shifts, NaN or not */
        } else {
            value = make_integral(value, (sim_integral)in->mode);
            d[i] = float_bits(value, to, in->flags);
        }
    }
    fesetround(FE_TONEAREST);
}

/* cvt.f32.f16, which every sum of halves is full of: exact, and without a branch. */
void sim_step_widen_f16(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t *d = sim_row(x, in->ref[0]);
    const uint64_t *a = sim_row(x, in->ref[1]);
    SIM_FOR_LANES(i, lanes, uint32_t magnitude = (uint32_t)a[i] & 0x7fff;
                  uint32_t sign = ((uint32_t)a[i] & 0x8000) << 16;
                  uint32_t bits = (uint32_t)sim_f32_bits(sim_f32(magnitude << 13) * 0x1p112f);
                  bits = magnitude >= 0x7c00 ? 0x7f800000u : bits;
                  d[i] = magnitude > 0x7c00 ? 0x7fffffffu : bits | sign);
}

/* Between f32 and f64, to nearest. Rows with a NaN take the long way. */
void sim_step_widen_f32(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t *d = sim_row(x, in->ref[0]), nans = 0;
    const uint64_t *a = sim_row(x, in->ref[1]);
    for (uint32_t i = 0; i < SIM_LANES; i++) nans |= (a[i] & 0x7fffffff) > 0x7f800000;
    if (nans) {
        sim_step_float_to_float(x, in, lanes);
        return;
    }
    SIM_FOR_LANES(i, lanes, d[i] = sim_f64_bits((double)sim_f32(a[i])));
}

void sim_step_narrow_f64(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t *d = sim_row(x, in->ref[0]), nans = 0;
    const uint64_t *a = sim_row(x, in->ref[1]);
    for (uint32_t i = 0; i < SIM_LANES; i++) nans |= (a[i] << 1) > 0x7ffull << 53;
    if (nans) {
        sim_step_float_to_float(x, in, lanes);
        return;
    }
    SIM_FOR_LANES(i, lanes, d[i] = sim_f32_bits((float)sim_f64(a[i])));
}

/* cvt.rn.f16x2.f32 d, a, b: a is the upper half */
void sim_step_pack_halves(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t *d = sim_row(x, in->ref[0]);
    const uint64_t *a = sim_row(x, in->ref[1]), *b = sim_row(x, in->ref[2]);
    sim_type to = in->mode ? SIM_BF16 : SIM_F16;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(rest);
        uint64_t high = half_bits(sim_f32(a[i]), to, in->flags);
        d[i] = high << 16 | half_bits(sim_f32(b[i]), to, in->flags);
    }
}

/* A float of 8 bits without infinities; times 2^8 it has the bits of an f16 seven places higher. */
static uint32_t widen_e4m3(uint32_t byte) {
    const uint32_t magnitude = byte & 0x7f, sign = (byte & 0x80) << 8;
    if (magnitude == 0x7f) return 0x7fff;
    const double value = sim_half_to_double((uint16_t)(magnitude << 7), &sim_f16_format) * 0x1p8;
    return (uint32_t)half_bits(value, SIM_F16, 0) | sign;
}

/* cvt.rn.f16x2.e4m3x2 d, a: the upper byte becomes the upper half */
void sim_step_widen_e4m3(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t *d = sim_row(x, in->ref[0]);
    const uint64_t *a = sim_row(x, in->ref[1]);
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(rest);
        d[i] = widen_e4m3((uint32_t)a[i] >> 8 & 0xff) << 16 | widen_e4m3((uint32_t)a[i] & 0xff);
    }
}
