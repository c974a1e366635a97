/* Program: a kernel in the form that runs: instructions decoded once, operands turned into rows.
 */
#pragma once

#include "ptx/ast.h"

typedef struct sim_run sim_run;
typedef struct sim_inst sim_inst;

/* Executes one instruction for the given lanes of a warp. */
typedef void sim_step(sim_run *x, const sim_inst *in, uint32_t lanes);

/* A general operand is a row of 32 values of 64 bits: (row << 1) of the warp's registers, or
 * (row << 1 | 1) of the program's constants. A value narrower than 64 bits is kept with zeros
 * above it. A predicate operand is a mask of 32 lanes: (index << 1), with | 1 its negation;
 * predicate 0 is always true. */
typedef uint32_t sim_ref;

enum { SIM_LANES = 32, SIM_INST_REFS = 10 };

/* The lanes for which a comparison of two rows holds. */
typedef uint32_t sim_compare(const uint64_t *a, const uint64_t *b);

typedef enum sim_flow {
    SIM_FLOW_NEXT,
    SIM_FLOW_BRANCH, /* to target */
    SIM_FLOW_TABLE,  /* to targets[value of ref[0]], count of them */
    SIM_FLOW_EXIT,
    SIM_FLOW_BARRIER,    /* bar: the block's */
    SIM_FLOW_CLUSTER,    /* barrier.cluster */
    SIM_FLOW_COLLECTIVE, /* a .sync of a warp: waits for the lanes of its mask */
    SIM_FLOW_TRAP
} sim_flow;

typedef enum sim_flag {
    SIM_FLAG_RZ = 1,
    SIM_FLAG_RM = 2,
    SIM_FLAG_RP = 4,
    SIM_FLAG_ROUND = SIM_FLAG_RZ | SIM_FLAG_RM | SIM_FLAG_RP, /* none of them: nearest even */
    SIM_FLAG_FTZ = 8,
    SIM_FLAG_SAT = 16
} sim_flag;

/* Of a memory access: STRONG is relaxed and above. */
typedef enum sim_order { SIM_WEAK, SIM_STRONG } sim_order;

typedef struct sim_inst {
    sim_step *run;
    sim_compare *compare;
    sim_ref ref[SIM_INST_REFS];
    uint16_t row_defs; /* bit i: ref[i] is a row that the instruction writes */
    uint16_t row_uses; /* bit i: ref[i] is a row that it reads, a constant maybe */
    sim_ref guard;
    uint64_t imm;        /* address offset, lookup table, … */
    uint32_t target;     /* instruction, or the first of program.targets */
    uint32_t count;      /* of vector elements, or of targets */
    uint8_t flow;        /* sim_flow */
    uint8_t flags;       /* sim_flag */
    uint8_t space;       /* sim_space */
    uint8_t order;       /* sim_order */
    uint8_t bytes;       /* of a memory element */
    uint8_t mode;        /* what the step itself distinguishes */
    uint8_t sign_shift;  /* 64 - bits of a signed value to widen; 0: unsigned */
    uint8_t result_bits; /* of the destination register */
    bool waits;          /* the first to need what loads before it bring */
    uint32_t line;       /* of the PTX text */
    uint32_t source_file;
    uint32_t source_line;
} sim_inst;

typedef struct sim_special_row {
    uint32_t special; /* sim_special */
    uint32_t row;
} sim_special_row;

typedef struct sim_program {
    const char *name;
    sim_inst *insts;
    uint32_t inst_count;
    uint32_t row_count;
    uint32_t predicate_count;
    uint64_t *constants; /* rows of SIM_LANES */
    uint32_t constant_count;
    uint32_t *targets;
    sim_special_row *specials;
    uint32_t special_count;
    uint32_t register_count;     /* 32-bit ones a thread would take: an estimate */
    uint32_t max_threads;        /* of a block */
    uint32_t cluster_blocks;     /* of a cluster; 1: there are none */
    uint32_t shared_bytes;       /* laid out, with the gaps between variables */
    uint32_t shared_named_bytes; /* without the gaps */
    unsigned char *shared_valid; /* per byte of shared_bytes: belongs to a variable */
    bool uses_dynamic_shared;
    uint32_t local_bytes; /* per thread */
    const sim_param *params;
    uint32_t param_count;
    uint32_t param_bytes;
    const sim_file *files;
    uint32_t file_count;
} sim_program;

/* Generic addresses: a window of one space has its number in the top byte. */
#define SIM_WINDOW_SHIFT  56
#define SIM_WINDOW_SHARED (1ull << SIM_WINDOW_SHIFT)
#define SIM_WINDOW_LOCAL  (2ull << SIM_WINDOW_SHIFT)
#define SIM_WINDOW_PARAM  (3ull << SIM_WINDOW_SHIFT)
#define SIM_WINDOW_MASK   (0xffull << SIM_WINDOW_SHIFT)

/* An address of shared memory that mapa made has 1 + the block's rank in its cluster above the
 * offset; without one, it is of the block's own. */
#define SIM_RANK_SHIFT 24
#define SIM_RANK_MASK  (0xffull << SIM_RANK_SHIFT)

/* Decodes the index-th entry of ast into the ast's own arena. addresses holds that of every
 * variable of the ast in global memory. false: *problem says why. */
bool sim_decode(sim_ast *ast, uint32_t index, const uint64_t *addresses, sim_program *out,
                sim_problem *problem);
