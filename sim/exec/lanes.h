/* Lanes: the loops over a warp's lanes that steps are made of, and the reading of rows as numbers.
 */
#pragma once

#include "exec/op.h"
#include "exec/run.h"

#include <string.h>

/* The rows of one instruction overlap only where they are the same row, lane upon lane. */
#if defined(__clang__)
#define SIM_NO_OVERLAP _Pragma("clang loop vectorize(assume_safety)")
#else
#define SIM_NO_OVERLAP _Pragma("GCC ivdep")
#endif

/* A step over lanes is made twice: for what every x86-64 has, and for twice as wide vectors. */
#if defined(__x86_64__) && defined(__GLIBC__) && defined(__GNUC__) && __GNUC__ >= 12 &&            \
    !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define SIM_WIDE __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define SIM_WIDE
#endif

enum { SIM_ALL_LANES_COUNT = 32 };
#define SIM_ALL_LANES 0xffffffffu

/* Runs the statements for each lane i of lanes; the common case of all of them is a plain loop. */
#define SIM_FOR_LANES(i, lanes, ...)                                                               \
    do {                                                                                           \
        if ((lanes) == SIM_ALL_LANES) {                                                            \
            SIM_NO_OVERLAP                                                                         \
            for (uint32_t i = 0; i < SIM_ALL_LANES_COUNT; i++) {                                   \
                __VA_ARGS__;                                                                       \
            }                                                                                      \
        } else {                                                                                   \
            for (uint32_t rest_ = (lanes); rest_; rest_ &= rest_ - 1) {                            \
                uint32_t i = (uint32_t)__builtin_ctz(rest_);                                       \
                __VA_ARGS__;                                                                       \
            }                                                                                      \
        }                                                                                          \
    } while (0)

static inline uint64_t *sim_row(const sim_run *x, sim_ref ref) {
    return x->rows[ref & 1] + (size_t)(ref >> 1) * SIM_LANES;
}

static inline uint32_t sim_mask(const sim_run *x, sim_ref ref) {
    return x->predicates[ref >> 1] ^ (0u - (ref & 1));
}

/* Predicate 0 is what an absent destination names: it stays true. */
static inline void sim_mask_put(sim_run *x, sim_ref ref, uint32_t lanes, uint32_t value) {
    if (!(ref >> 1)) return;
    uint32_t *mask = &x->predicates[ref >> 1];
    *mask = (*mask & ~lanes) | (value & lanes);
}

static inline float sim_f32(uint64_t bits) {
    uint32_t narrow = (uint32_t)bits;
    float value;
    memcpy(&value, &narrow, sizeof value);
    return value;
}

static inline uint64_t sim_f32_bits(float value) {
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline double sim_f64(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline uint64_t sim_f64_bits(double value) {
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

/* Steps of one, two and three sources: RESULT is an expression of a, b and c, which READ has
 * turned into values; it gives the bits to keep. */
#define SIM_STEP1(name, READ, RESULT)                                                              \
    SIM_WIDE static void name(sim_run *x, const sim_inst *in, uint32_t lanes) {                    \
        uint64_t *d = sim_row(x, in->ref[0]);                                                      \
        const uint64_t *pa = sim_row(x, in->ref[1]);                                               \
        SIM_FOR_LANES(i, lanes, READ(a, pa[i]); d[i] = (RESULT));                                  \
    }

#define SIM_STEP2(name, READ, RESULT)                                                              \
    SIM_WIDE static void name(sim_run *x, const sim_inst *in, uint32_t lanes) {                    \
        uint64_t *d = sim_row(x, in->ref[0]);                                                      \
        const uint64_t *pa = sim_row(x, in->ref[1]), *pb = sim_row(x, in->ref[2]);                 \
        SIM_FOR_LANES(i, lanes, READ(a, pa[i]); READ(b, pb[i]); d[i] = (RESULT));                  \
    }

#define SIM_STEP3(name, READ, RESULT)                                                              \
    SIM_WIDE static void name(sim_run *x, const sim_inst *in, uint32_t lanes) {                    \
        uint64_t *d = sim_row(x, in->ref[0]);                                                      \
        const uint64_t *pa = sim_row(x, in->ref[1]), *pb = sim_row(x, in->ref[2]);                 \
        const uint64_t *pc = sim_row(x, in->ref[3]);                                               \
        SIM_FOR_LANES(i, lanes, READ(a, pa[i]); READ(b, pb[i]); READ(c, pc[i]); d[i] = (RESULT));  \
    }

#define SIM_READ_U16(v, bits) uint16_t v = (uint16_t)(bits)
#define SIM_READ_S16(v, bits) int16_t v = (int16_t)(bits)
#define SIM_READ_U32(v, bits) uint32_t v = (uint32_t)(bits)
#define SIM_READ_S32(v, bits) int32_t v = (int32_t)(bits)
#define SIM_READ_U64(v, bits) uint64_t v = (bits)
#define SIM_READ_S64(v, bits) int64_t v = (int64_t)(bits)
#define SIM_READ_F32(v, bits) float v = sim_f32(bits)
#define SIM_READ_F64(v, bits) double v = sim_f64(bits)
