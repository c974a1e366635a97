/* Decode operand: the turning of operands into rows, predicates and constants. */
#include "exec/decode.h"
#include "ptx/special.h"

#include <string.h>

/* The meaning of each letter of a pattern. bits 0: any general register. */
static const struct letter {
    char letter;
    uint8_t bits;
    bool is_float;
    bool is_predicate;
} letters[] = {
    {'h', 16, false, false},  {'i', 32, false, false}, {'l', 64, false, false},
    {'f', 32, true, false},   {'e', 64, true, false},  {'g', 16, false, false},
    {'q', 128, false, false}, {'b', 0, false, false},  {'p', 1, false, true},
    {'r', 1, false, true},
};

static const struct letter *find_letter(char c) {
    char low = c >= 'A' && c <= 'Z' ? (char)(c - 'A' + 'a') : c;
    for (size_t i = 0; i < sizeof letters / sizeof *letters; i++) {
        if (letters[i].letter == low) return &letters[i];
    }
    return NULL;
}

const sim_operand *sim_decode_operand(sim_decoder *d, uint32_t index) {
    return SIM_ITEM(&d->function->operands, sim_operand, d->statement->operands + index);
}

bool sim_decode_count(sim_decoder *d, uint32_t least, uint32_t most) {
    uint32_t count = d->statement->operand_count;
    if (count >= least && count <= most) return true;
    return sim_decode_fail(d, "%u operands where %u should stand", count, least);
}

static uint32_t register_bits(sim_decoder *d, uint32_t reg) {
    return sim_type_table[SIM_ITEM(&d->function->regs, sim_reg, reg)->type].bits;
}

uint32_t sim_decode_bits(sim_decoder *d, const sim_operand *operand) {
    return operand->kind == SIM_OPERAND_REG ? register_bits(d, operand->index) : 0;
}

bool sim_decode_register(sim_decoder *d, uint32_t reg, uint32_t *out) {
    uint32_t *place = &d->registers[reg];
    uint32_t bits = register_bits(d, reg);
    if (*place == SIM_NONE && bits == 1) {
        *place = d->program->predicate_count++;
    } else if (*place == SIM_NONE) {
        uint32_t rows = bits == 128 ? 2 : 1;
        *place = d->program->row_count;
        for (uint32_t i = 0; i < rows; i++) {
            d->row_words[d->program->row_count++] = bits > 32 ? 2 : 1;
        }
    }
    *out = *place;
    return true;
}

bool sim_decode_constant(sim_decoder *d, uint64_t value, sim_ref *out) {
    uint32_t bucket = (uint32_t)((value * 0x9E3779B97F4A7C15ull) >> 40) % SIM_CONSTANT_BUCKETS;
    sim_constant_slot *slot = d->values[bucket];
    while (slot && slot->value != value) slot = slot->next;
    if (!slot) {
        slot = sim_arena_get(&d->ast->arena, sizeof *slot);
        uint64_t *constant = sim_arena_push(&d->ast->arena, &d->constants);
        if (!slot || !constant) return sim_decode_no_memory(d);
        *constant = value;
        *slot = (sim_constant_slot){value, d->constants.count - 1, d->values[bucket]};
        d->values[bucket] = slot;
    }
    *out = slot->index << 1 | 1;
    return true;
}

static bool special_row(sim_decoder *d, uint32_t special, sim_ref *out) {
    for (uint32_t i = 0; i < d->specials.count; i++) {
        sim_special_row *known = SIM_ITEM(&d->specials, sim_special_row, i);
        if (known->special != special) continue;
        *out = known->row << 1;
        return true;
    }
    sim_special_row *added = sim_arena_push(&d->ast->arena, &d->specials);
    if (!added) return sim_decode_no_memory(d);
    d->row_words[d->program->row_count] = 0; /* hardware keeps these elsewhere */
    *added = (sim_special_row){special, d->program->row_count++};
    *out = added->row << 1;
    return true;
}

/* A literal as an operand of `bits` bits holds it. */
static bool literal_bits(sim_decoder *d, const sim_operand *operand, const struct letter *letter,
                         uint64_t *out) {
    uint64_t bits = operand->bits;
    float narrow = 0;
    double wide = 0;
    uint32_t narrow_bits = (uint32_t)bits;
    bool is_float = operand->number == SIM_FLOAT;
    if (letter->is_float && !is_float) return sim_decode_fail(d, "an integer for a float operand");
    if (is_float && letter->is_float && operand->float_bits != letter->bits) {
        if (letter->bits == 32) {
            memcpy(&wide, &bits, sizeof wide);
            narrow = (float)wide;
            memcpy(&narrow_bits, &narrow, sizeof narrow_bits);
            bits = narrow_bits;
        } else {
            memcpy(&narrow, &narrow_bits, sizeof narrow);
            wide = narrow;
            memcpy(&bits, &wide, sizeof bits);
        }
    } else if (is_float && letter->bits && operand->float_bits > letter->bits) {
        return sim_decode_fail(d, "a float literal that does not fit its operand");
    }
    if (letter->bits && letter->bits < 64) bits &= (1ull << letter->bits) - 1;
    *out = bits;
    return true;
}

static bool value_ref(sim_decoder *d, const sim_operand *operand, const struct letter *letter,
                      sim_ref *out) {
    uint64_t bits = 0;
    switch (operand->kind) {
    case SIM_OPERAND_IMM:
        return literal_bits(d, operand, letter, &bits) && sim_decode_constant(d, bits, out);
    case SIM_OPERAND_SPECIAL:
        if (operand->index >= SIM_SPECIAL_CLOCK) {
            return sim_decode_fail(d, "a clock register outside of a mov");
        }
        return special_row(d, operand->index, out);
    case SIM_OPERAND_PARAM: /* its place among all of them */
        bits = SIM_ITEM(&d->function->params, sim_param, operand->index)->offset_bytes;
        return sim_decode_constant(d, bits + operand->bits, out);
    case SIM_OPERAND_VAR:
        bits = d->addresses[operand->index] + operand->bits;
        if (letter->bits == 32) bits &= UINT32_MAX;
        return sim_decode_constant(d, bits, out);
    default: return sim_decode_fail(d, "an operand of a kind it cannot have");
    }
}

static bool predicate_ref(sim_decoder *d, const sim_operand *operand, bool is_destination,
                          sim_ref *out) {
    uint32_t predicate = 0;
    if (operand->kind == SIM_OPERAND_IMM && !is_destination) {
        *out = (operand->bits == 0) ^ (uint32_t)operand->negated; /* of the one that is true */
        return true;
    }
    bool fits = operand->kind == SIM_OPERAND_REG && register_bits(d, operand->index) == 1 &&
                operand->pair == SIM_NONE && !(is_destination && operand->negated);
    if (!fits) return sim_decode_fail(d, "an operand where a predicate should stand");
    if (!sim_decode_register(d, operand->index, &predicate)) return false;
    *out = predicate << 1 | operand->negated;
    return true;
}

/* A pair p|q takes two slots; a single p leaves the second at 0, which nothing writes. */
static bool pair_ref(sim_decoder *d, const sim_operand *operand, uint32_t slot) {
    sim_operand single = *operand;
    single.pair = SIM_NONE;
    d->inst.ref[slot + 1] = 0;
    if (operand->kind == SIM_OPERAND_SINK) {
        d->inst.ref[slot] = 0;
    } else if (!predicate_ref(d, &single, true, &d->inst.ref[slot])) {
        return false;
    }
    if (operand->pair == SIM_NONE) return true;
    single.kind = SIM_OPERAND_REG;
    single.index = operand->pair;
    return predicate_ref(d, &single, true, &d->inst.ref[slot + 1]);
}

static void mark_ref(sim_decoder *d, uint32_t slot, bool is_destination, bool is_wide) {
    uint16_t mask = (uint16_t)((is_wide ? 3u : 1u) << slot);
    if (is_destination)
        d->inst.row_defs |= mask;
    else
        d->inst.row_uses |= mask;
}

bool sim_decode_ref(sim_decoder *d, const sim_operand *operand, char c, uint32_t slot) {
    const struct letter *letter = find_letter(c);
    bool is_destination = c >= 'A' && c <= 'Z';
    if (c == 'R') return pair_ref(d, operand, slot);
    if (letter->is_predicate) {
        return predicate_ref(d, operand, is_destination, &d->inst.ref[slot]);
    }
    bool is_register =
        operand->kind == SIM_OPERAND_REG && !operand->negated && operand->pair == SIM_NONE;
    if (!is_register) {
        if (is_destination) return sim_decode_fail(d, "a destination that is no register");
        mark_ref(d, slot, false, false);
        return value_ref(d, operand, letter, &d->inst.ref[slot]);
    }
    uint32_t row = 0, bits = register_bits(d, operand->index);
    bool fits = letter->bits ? bits == letter->bits : bits >= 8 && bits <= 64;
    if (!fits) return sim_decode_fail(d, "a register of %u bits where it cannot stand", bits);
    if (!sim_decode_register(d, operand->index, &row)) return false;
    d->inst.ref[slot] = row << 1;
    if (bits == 128) d->inst.ref[slot + 1] = (row + 1) << 1;
    mark_ref(d, slot, is_destination, bits == 128);
    return true;
}

bool sim_decode_pattern(sim_decoder *d, const char *pattern) {
    uint32_t count = (uint32_t)strlen(pattern);
    if (!sim_decode_count(d, count, count)) return false;
    for (uint32_t i = 0, slot = 0; i < count; i++) {
        if (!sim_decode_ref(d, sim_decode_operand(d, i), pattern[i], slot)) return false;
        slot += pattern[i] == 'R' || pattern[i] == 'q' || pattern[i] == 'Q' ? 2 : 1;
    }
    return true;
}
