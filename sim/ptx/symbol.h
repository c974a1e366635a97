/* Symbol: names in scope while a module is parsed. */
#pragma once

#include "ptx/arena.h"

typedef enum sim_symbol_kind {
    SIM_SYMBOL_REG,   /* index: of function.regs */
    SIM_SYMBOL_RANGE, /* %r<count>: slots[i] is 1 + the register's index, 0 until it is used */
    SIM_SYMBOL_VAR,
    SIM_SYMBOL_PARAM,
    SIM_SYMBOL_LABEL
} sim_symbol_kind;

typedef struct sim_symbol {
    struct sim_symbol *next;  /* of the same bucket; an inner scope's name stands first */
    struct sim_symbol *older; /* the one defined before this */
    sim_text name;
    uint32_t hash;
    uint32_t depth; /* of the scope that defines it */
    sim_symbol_kind kind;
    uint8_t type; /* of a range: sim_type */
    uint32_t index;
    uint32_t count;
    uint32_t *slots;
} sim_symbol;

enum { SIM_SYMBOL_BUCKETS = 1024 };

typedef struct sim_symbols {
    sim_symbol *buckets[SIM_SYMBOL_BUCKETS];
    sim_symbol *newest;
    uint32_t depth;
} sim_symbols;

/* NULL: no memory. The name may hide one of an outer scope. */
sim_symbol *sim_symbol_put(sim_symbols *symbols, sim_arena *arena, sim_text name,
                           sim_symbol_kind kind);

/* NULL: not in scope. */
sim_symbol *sim_symbol_find(const sim_symbols *symbols, sim_text name);

void sim_symbol_enter(sim_symbols *symbols);
void sim_symbol_leave(sim_symbols *symbols);
