/* Op: the form of the instruction tables, and the loops that every step over lanes shares. */
#pragma once

#include "exec/program.h"

/* One instruction by its full name, less .ftz, .sat and the rounding. pattern names the operands:
 * a capital is a destination, a small letter a source, of
 * h 16 bits, i 32 bits, l 64 bits, f f32, e f64, g f16 or bf16, q 128 bits, b 8 to 64 bits;
 * P a predicate, R a predicate or a pair p|q, p a predicate source that may be negated. */
typedef struct sim_op {
    const char *name;
    const char *pattern;
    sim_step *run;
    sim_step *run_flagged; /* with .ftz, .sat or a rounding; NULL: there is no such form */
} sim_op;

typedef struct sim_op_table {
    const sim_op *ops;
    uint32_t count;
} sim_op_table;

/* One per file of steps. */
extern const sim_op_table sim_ops_integer, sim_ops_bits, sim_ops_float, sim_ops_double,
    sim_ops_half;

#define SIM_OP_TABLE(array)                                                                        \
    { array, sizeof array / sizeof *array }

/* Steps that instructions with operands of their own decode to. */
sim_step sim_step_nothing;
sim_step sim_step_yield;
sim_step sim_step_move, sim_step_move_wide, sim_step_pack, sim_step_unpack;
sim_step sim_step_move_predicate;
sim_step sim_step_clock, sim_step_activemask, sim_step_zero;
sim_step sim_step_load, sim_step_store, sim_step_param, sim_step_atomic, sim_step_fence;
sim_step sim_step_window, sim_step_is_space, sim_step_map;
sim_step sim_step_shuffle, sim_step_vote, sim_step_match, sim_step_reduce, sim_step_warp_sync;
sim_step sim_step_elect;
sim_step sim_step_convert_integer, sim_step_convert_saturate, sim_step_float_to_integer;
sim_step sim_step_integer_to_float, sim_step_float_to_float, sim_step_pack_halves,
    sim_step_widen_e4m3;
sim_step sim_step_widen_f16, sim_step_widen_f32, sim_step_narrow_f64;

/* Where the forms put what their steps need. */
enum {
    SIM_REF_MASK = 9, /* a collective's member mask */
    SIM_ATOMIC_ADDRESS = 2,
    SIM_ATOMIC_VALUE = 3,
    SIM_ATOMIC_OTHER = 5
};

typedef enum sim_atomic {
    SIM_ATOMIC_ADD,
    SIM_ATOMIC_INC,
    SIM_ATOMIC_DEC,
    SIM_ATOMIC_MIN,
    SIM_ATOMIC_MAX,
    SIM_ATOMIC_AND,
    SIM_ATOMIC_OR,
    SIM_ATOMIC_XOR,
    SIM_ATOMIC_EXCH,
    SIM_ATOMIC_CAS,
    SIM_ATOMIC_NO_RESULT = 128 /* added for red */
} sim_atomic;

typedef enum sim_shuffle {
    SIM_SHUFFLE_UP,
    SIM_SHUFFLE_DOWN,
    SIM_SHUFFLE_BFLY,
    SIM_SHUFFLE_IDX
} sim_shuffle;
typedef enum sim_vote { SIM_VOTE_ALL, SIM_VOTE_ANY, SIM_VOTE_UNI, SIM_VOTE_BALLOT } sim_vote;
typedef enum sim_reduce {
    SIM_REDUCE_ADD,
    SIM_REDUCE_MIN,
    SIM_REDUCE_MAX,
    SIM_REDUCE_AND,
    SIM_REDUCE_OR,
    SIM_REDUCE_XOR
} sim_reduce;
typedef enum sim_barrier {
    SIM_BARRIER_SYNC,
    SIM_BARRIER_ARRIVE,
    SIM_BARRIER_POPC,
    SIM_BARRIER_AND,
    SIM_BARRIER_OR
} sim_barrier;
typedef enum sim_boolean { SIM_BOOL_NONE, SIM_BOOL_AND, SIM_BOOL_OR, SIM_BOOL_XOR } sim_boolean;

/* How a cvt rounds to an integral value. */
typedef enum sim_integral {
    SIM_INTEGRAL_NONE,
    SIM_INTEGRAL_RN,
    SIM_INTEGRAL_RZ,
    SIM_INTEGRAL_RM,
    SIM_INTEGRAL_RP
} sim_integral;

typedef enum sim_cluster_step {
    SIM_CLUSTER_WAIT,
    SIM_CLUSTER_ARRIVE,
    SIM_CLUSTER_ARRIVE_RELAXED
} sim_cluster_step;

/* inst.mode of a fence, and of memory accesses with one inside. SCOPED: the access names an order
 * and a scope wider than a block. */
enum { SIM_FENCE_BEFORE = 1, SIM_FENCE_AFTER = 2, SIM_SCOPED = 4 };

/* The comparison of a setp or set by its name, such as "lt". NULL: there is no such one. */
sim_compare *sim_op_compare_find(sim_text comparison, sim_type type);
sim_step sim_step_setp, sim_step_set;
