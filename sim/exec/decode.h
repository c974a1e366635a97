/* What the files of the decoder share: its state, and how an opcode and its operands are taken. */
#ifndef SIM_EXEC_DECODE_H
#define SIM_EXEC_DECODE_H

#include "exec/op.h"

enum { SIM_MODS_MAX = 12, SIM_OP_BUCKETS = 1024, SIM_CONSTANT_BUCKETS = 256 };

/* An opcode, taken apart at its dots. Each form takes the modifiers it knows, in any order; one
   that is left makes the instruction unknown. */
struct sim_opcode {
    struct sim_text root;
    struct sim_text mods[SIM_MODS_MAX];
    uint32_t count;
    uint32_t taken; /* bit i: mods[i] */
};

struct sim_op_slot {
    const struct sim_op *op;
    struct sim_op_slot *next;
};

struct sim_constant_slot {
    uint64_t value;
    uint32_t index;
    struct sim_constant_slot *next;
};

struct sim_decoder {
    struct sim_ast *ast;
    struct sim_function *function;
    const uint64_t *addresses; /* of the ast's variables */
    struct sim_program *program;
    struct sim_problem *problem;
    const struct sim_statement *statement;
    struct sim_opcode opcode;
    struct sim_inst inst;      /* being put together */
    struct sim_list insts;     /* struct sim_inst */
    struct sim_list constants; /* uint64_t: one value each */
    struct sim_list specials;  /* struct sim_special_row */
    struct sim_list targets;   /* uint32_t: labels until all are known */
    uint32_t *registers;       /* row or predicate of each register, SIM_NONE until it is used */
    uint8_t *row_words;        /* per row: 32-bit registers it stands for */
    struct sim_op_slot *ops[SIM_OP_BUCKETS];
    struct sim_constant_slot *values[SIM_CONSTANT_BUCKETS];
};

/* All that return bool have recorded why when false. */
bool sim_decode_fail(struct sim_decoder *d, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
bool sim_decode_no_memory(struct sim_decoder *d);
bool sim_decode_unknown(struct sim_decoder *d);

/* Modifiers. take: true once for a modifier that stands there. */
bool sim_opcode_take(struct sim_opcode *opcode, const char *mod);
enum sim_type sim_opcode_take_type(struct sim_opcode *opcode);
bool sim_opcode_take_any(struct sim_opcode *opcode, const char *const *mods, uint32_t count);
bool sim_opcode_done(const struct sim_opcode *opcode);

/* Operands of the statement at hand. index counts from 0. */
const struct sim_operand *sim_decode_operand(struct sim_decoder *d, uint32_t index);
bool sim_decode_count(struct sim_decoder *d, uint32_t least, uint32_t most);

/* Puts the operand into d->inst.ref[slot]; letter as in struct sim_op.pattern. */
bool sim_decode_ref(struct sim_decoder *d, const struct sim_operand *operand, char letter,
                    uint32_t slot);
bool sim_decode_constant(struct sim_decoder *d, uint64_t value, sim_ref *out);
bool sim_decode_register(struct sim_decoder *d, uint32_t reg, uint32_t *out);
bool sim_decode_pattern(struct sim_decoder *d, const char *pattern);
uint32_t sim_decode_bits(struct sim_decoder *d, const struct sim_operand *operand);

/* Forms with operands of their own, by root. NULL: none; the tables of struct sim_op decide. */
typedef bool sim_form(struct sim_decoder *d);
sim_form *sim_form_find(struct sim_text root);
sim_form *sim_form_memory_find(struct sim_text root);
sim_form *sim_form_warp_find(struct sim_text root);

/* Renames rows so that values which do not live at once share one; estimates registers. */
bool sim_liveness_pack(struct sim_decoder *d);
/* Marks the instructions that wait for earlier loads. */
bool sim_liveness_mark_waits(struct sim_decoder *d);

#endif
