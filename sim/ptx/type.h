/* Type: the types that a PTX instruction can name, as one table of name, bits and class. */
#pragma once

#include <stdint.h>

typedef enum sim_class {
    SIM_BITS,
    SIM_UNSIGNED,
    SIM_SIGNED,
    SIM_FLOAT,
    SIM_BRAIN,
    SIM_PREDICATE
} sim_class;

#define SIM_TYPE_LIST(X)                                                                           \
    X(PRED, "pred", 1, SIM_PREDICATE)                                                              \
    X(B8, "b8", 8, SIM_BITS)                                                                       \
    X(B16, "b16", 16, SIM_BITS)                                                                    \
    X(B32, "b32", 32, SIM_BITS)                                                                    \
    X(B64, "b64", 64, SIM_BITS)                                                                    \
    X(B128, "b128", 128, SIM_BITS)                                                                 \
    X(U8, "u8", 8, SIM_UNSIGNED)                                                                   \
    X(U16, "u16", 16, SIM_UNSIGNED)                                                                \
    X(U32, "u32", 32, SIM_UNSIGNED)                                                                \
    X(U64, "u64", 64, SIM_UNSIGNED)                                                                \
    X(S8, "s8", 8, SIM_SIGNED)                                                                     \
    X(S16, "s16", 16, SIM_SIGNED)                                                                  \
    X(S32, "s32", 32, SIM_SIGNED)                                                                  \
    X(S64, "s64", 64, SIM_SIGNED)                                                                  \
    X(F16, "f16", 16, SIM_FLOAT)                                                                   \
    X(F16X2, "f16x2", 32, SIM_FLOAT)                                                               \
    X(F32, "f32", 32, SIM_FLOAT)                                                                   \
    X(F64, "f64", 64, SIM_FLOAT)                                                                   \
    X(BF16, "bf16", 16, SIM_BRAIN)                                                                 \
    X(BF16X2, "bf16x2", 32, SIM_BRAIN)

typedef enum sim_type {
    SIM_TYPE_NONE,
#define X(id, name, bits, class) SIM_##id,
    SIM_TYPE_LIST(X)
#undef X
        SIM_TYPE_COUNT
} sim_type;

typedef struct sim_type_info {
    const char *name;
    uint8_t bits;
    uint8_t class; /* sim_class */
} sim_type_info;

/* Indexed by sim_type; entry SIM_TYPE_NONE has no name and no bits. */
extern const sim_type_info sim_type_table[SIM_TYPE_COUNT];
