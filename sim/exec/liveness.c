/* Liveness: when values live, so that values share rows, and loads are waited for where they are
 * used.
 *
 * The instructions form basic blocks. A backward pass over sets of rows finds what lives at their
 * ends; each row then has a first and a last instruction, and rows whose spans do not meet share
 * one. The same walk marks the first instruction that needs a loaded value: there the clock counts
 * the wait. */
#include "exec/decode.h"

#include <string.h>

enum { RESERVED_REGISTERS = 10 }; /* what hardware takes for addressing and the like */

/* Sets larger than this many bits are not worth it: only text made to be hostile has them. */
static const uint64_t SET_BITS_MAX = 1ull << 26;

typedef struct flow_block {
    uint32_t first, last; /* instructions, both inside */
    uint64_t *used;       /* rows read before this block writes them */
    uint64_t *defined;
    uint64_t *in, *out;
    uint32_t changes; /* of in */
    uint32_t seen;    /* those of its successors when it was last looked at; SIM_NONE: never */
} flow_block;

typedef struct analysis {
    sim_decoder *d;
    sim_inst *insts;
    uint32_t inst_count, row_count, words;
    flow_block *blocks;
    uint32_t block_count;
    uint32_t *block_of;    /* per instruction; of those that start one */
    uint32_t *start, *end; /* per row: where it lives first and last; SIM_NONE: nowhere */
} analysis;

static bool has_bit(const uint64_t *set, uint32_t bit) { return set[bit / 64] >> (bit % 64) & 1; }
static void add_bit(uint64_t *set, uint32_t bit) { set[bit / 64] |= 1ull << (bit % 64); }

static bool is_row(sim_ref ref) { return !(ref & 1); }

/* Where control can go from an instruction besides the next one. */
static uint32_t target_count(const sim_inst *inst) {
    return inst->flow == SIM_FLOW_BRANCH ? 1 : inst->flow == SIM_FLOW_TABLE ? inst->count : 0;
}

static uint32_t target_at(const analysis *a, const sim_inst *inst, uint32_t i) {
    return inst->flow == SIM_FLOW_BRANCH ? inst->target
                                         : *SIM_ITEM(&a->d->targets, uint32_t, inst->target + i);
}

static bool falls_through(const sim_inst *inst) {
    bool leaves =
        inst->flow == SIM_FLOW_EXIT || inst->flow == SIM_FLOW_TRAP || target_count(inst) > 0;
    return !leaves || inst->guard != 0;
}

static bool find_blocks(analysis *a) {
    sim_arena *arena = &a->d->ast->arena;
    uint8_t *leads = sim_arena_get(arena, a->inst_count + 1);
    a->block_of = sim_arena_get(arena, (a->inst_count + 1) * sizeof *a->block_of);
    if (!leads || !a->block_of) return false;
    leads[0] = 1;
    for (uint32_t i = 0; i < a->inst_count; i++) {
        const sim_inst *inst = &a->insts[i];
        for (uint32_t t = 0; t < target_count(inst); t++) leads[target_at(a, inst, t)] = 1;
        if (target_count(inst) || !falls_through(inst)) leads[i + 1] = 1;
    }
    for (uint32_t i = 0; i < a->inst_count; i++) a->block_count += leads[i];
    a->words = (a->row_count + 63) / 64;
    if ((uint64_t)a->block_count * a->words * 64 > SET_BITS_MAX) return true;
    a->blocks = sim_arena_get(arena, a->block_count * sizeof *a->blocks);
    uint64_t *sets = sim_arena_get(arena, (size_t)a->block_count * a->words * 4 * 8);
    if (!a->blocks || !sets) return false;
    uint32_t at = 0;
    for (uint32_t i = 0; i < a->inst_count; i++) {
        if (leads[i]) {
            flow_block *block = &a->blocks[at];
            block->first = i;
            block->used = sets + (size_t)at * a->words * 4;
            block->defined = block->used + a->words;
            block->in = block->defined + a->words;
            block->out = block->in + a->words;
            a->block_of[i] = at++;
        }
        a->blocks[at - 1].last = i;
    }
    return true;
}

/* A write under a guard leaves the other lanes' values, so it counts as a read as well. */
static void find_uses(analysis *a) {
    for (uint32_t b = 0; b < a->block_count; b++) {
        flow_block *block = &a->blocks[b];
        for (uint32_t i = block->first; i <= block->last; i++) {
            const sim_inst *inst = &a->insts[i];
            uint32_t reads = inst->row_uses | (inst->guard ? inst->row_defs : 0u);
            for (uint32_t r = 0; r < SIM_INST_REFS; r++) {
                sim_ref ref = inst->ref[r];
                bool read = reads >> r & 1 && is_row(ref);
                if (read && !has_bit(block->defined, ref >> 1)) add_bit(block->used, ref >> 1);
            }
            for (uint32_t r = 0; r < SIM_INST_REFS; r++) {
                if (inst->row_defs >> r & 1) add_bit(block->defined, inst->ref[r] >> 1);
            }
        }
    }
}

/* The blocks that can follow a block: its targets, and the next one where it falls through. */
static uint32_t successor_count(const analysis *a, uint32_t b) {
    const sim_inst *last = &a->insts[a->blocks[b].last];
    return target_count(last) + (falls_through(last) && b + 1 < a->block_count);
}

static uint32_t successor_at(const analysis *a, uint32_t b, uint32_t i) {
    const sim_inst *last = &a->insts[a->blocks[b].last];
    return i < target_count(last) ? a->block_of[target_at(a, last, i)] : b + 1;
}

static uint32_t changes_behind(const analysis *a, uint32_t b) {
    uint32_t changes = 0;
    for (uint32_t i = successor_count(a, b); i-- > 0;)
        changes += a->blocks[successor_at(a, b, i)].changes;
    return changes;
}

/* What lives at the block's end and start; whether more does at its start than before. */
static bool flow_back(analysis *a, uint32_t b) {
    flow_block *block = &a->blocks[b];
    uint64_t more = 0;
    for (uint32_t i = successor_count(a, b); i-- > 0;) {
        const uint64_t *in = a->blocks[successor_at(a, b, i)].in;
        for (uint32_t w = 0; w < a->words; w++) block->out[w] |= in[w];
    }
    for (uint32_t w = 0; w < a->words; w++) {
        const uint64_t in = block->used[w] | (block->out[w] & ~block->defined[w]);
        more |= in ^ block->in[w];
        block->in[w] = in;
    }
    return more != 0;
}

/* Sets only grow, so a block whose successors have not changed since it was looked at stays as it
 * is. */
static void find_live(analysis *a) {
    bool changed = true;
    for (uint32_t b = 0; b < a->block_count; b++) a->blocks[b].seen = SIM_NONE;
    while (changed) {
        changed = false;
        for (uint32_t b = a->block_count; b-- > 0;) {
            flow_block *block = &a->blocks[b];
            const uint32_t changes = changes_behind(a, b);
            if (block->seen == changes) continue;
            block->seen = changes;
            if (!flow_back(a, b)) continue;
            block->changes++;
            changed = true;
        }
    }
}

static void extend(analysis *a, uint32_t row, uint32_t at) {
    if (a->start[row] == SIM_NONE || at < a->start[row]) a->start[row] = at;
    if (a->end[row] == SIM_NONE || at > a->end[row]) a->end[row] = at;
}

static void extend_all(analysis *a, const uint64_t *set, uint32_t at) {
    for (uint32_t w = 0; w < a->words; w++)
        for (uint64_t rest = set[w]; rest; rest &= rest - 1)
            extend(a, w * 64 + (uint32_t)__builtin_ctzll(rest), at);
}

static void find_intervals(analysis *a) {
    for (uint32_t b = 0; b < a->block_count; b++) {
        extend_all(a, a->blocks[b].in, a->blocks[b].first);
        extend_all(a, a->blocks[b].out, a->blocks[b].last);
    }
    for (uint32_t i = 0; i < a->inst_count; i++) {
        const sim_inst *inst = &a->insts[i];
        uint32_t named = inst->row_uses | inst->row_defs;
        for (uint32_t r = 0; r < SIM_INST_REFS; r++) {
            if (named >> r & 1 && is_row(inst->ref[r])) extend(a, inst->ref[r] >> 1, i);
        }
    }
    for (uint32_t i = 0; i < a->d->specials.count; i++) {
        uint32_t row = SIM_ITEM(&a->d->specials, sim_special_row, i)->row;
        extend(a, row, 0);
        extend(a, row, a->inst_count - 1);
    }
}

/* Hands out places in the order of the text: a place is free again behind its value's last use,
 * so no instruction writes a row that it reads unless the text says so. */
static bool assign(analysis *a, uint32_t *place, uint32_t *place_count, uint32_t *peak) {
    sim_arena *arena = &a->d->ast->arena;
    size_t rows = (size_t)a->row_count + 1, insts = (size_t)a->inst_count + 1;
    uint32_t *first_start = sim_arena_get(arena, insts * 4);
    uint32_t *first_end = sim_arena_get(arena, insts * 4);
    uint32_t *next_start = sim_arena_get(arena, rows * 4);
    uint32_t *next_end = sim_arena_get(arena, rows * 4);
    uint32_t *free_places = sim_arena_get(arena, rows * 4);
    if (!first_start || !first_end || !next_start || !next_end || !free_places) return false;
    uint32_t free_count = 0, words = 0;
    for (uint32_t row = a->row_count; row-- > 0;) { /* lists hold row + 1; 0 ends them */
        if (a->start[row] == SIM_NONE) continue;
        next_start[row] = first_start[a->start[row]];
        first_start[a->start[row]] = row + 1;
        next_end[row] = first_end[a->end[row]];
        first_end[a->end[row]] = row + 1;
    }
    for (uint32_t i = 0; i < a->inst_count; i++) {
        for (uint32_t row = first_start[i]; row; row = next_start[row - 1]) {
            place[row - 1] = free_count ? free_places[--free_count] : (*place_count)++;
            words += a->d->row_words[row - 1];
        }
        if (words > *peak) *peak = words;
        for (uint32_t row = first_end[i]; row; row = next_end[row - 1]) {
            free_places[free_count++] = place[row - 1];
            words -= a->d->row_words[row - 1];
        }
    }
    return true;
}

static void rename_rows(analysis *a, const uint32_t *place) {
    for (uint32_t i = 0; i < a->inst_count; i++) {
        sim_inst *inst = &a->insts[i];
        uint32_t named = inst->row_uses | inst->row_defs;
        for (uint32_t r = 0; r < SIM_INST_REFS; r++) {
            sim_ref *ref = &inst->ref[r];
            if (named >> r & 1 && is_row(*ref)) *ref = place[*ref >> 1] << 1;
        }
    }
    for (uint32_t i = 0; i < a->d->specials.count; i++) {
        sim_special_row *special = SIM_ITEM(&a->d->specials, sim_special_row, i);
        special->row = place[special->row];
    }
}

bool sim_liveness_pack(sim_decoder *d) {
    analysis a = {.d = d,
                  .insts = d->insts.items,
                  .inst_count = d->insts.count,
                  .row_count = d->program->row_count};
    d->program->register_count = RESERVED_REGISTERS + d->program->row_count;
    if (a.row_count == 0) return true;
    if (!find_blocks(&a)) return sim_decode_no_memory(d);
    if (!a.blocks) return true;
    size_t bytes = (size_t)a.row_count * sizeof(uint32_t);
    uint32_t *place = sim_arena_get(&d->ast->arena, bytes);
    a.start = sim_arena_get(&d->ast->arena, bytes);
    a.end = sim_arena_get(&d->ast->arena, bytes);
    if (!place || !a.start || !a.end) return sim_decode_no_memory(d);
    memset(a.start, 0xff, bytes);
    memset(a.end, 0xff, bytes);
    find_uses(&a);
    find_live(&a);
    find_intervals(&a);
    uint32_t place_count = 0, peak = 0;
    if (!assign(&a, place, &place_count, &peak)) return sim_decode_no_memory(d);
    rename_rows(&a, place);
    d->program->row_count = place_count;
    d->program->register_count = RESERVED_REGISTERS + peak;
    return true;
}

bool sim_liveness_mark_waits(sim_decoder *d) {
    uint32_t words = (d->program->row_count + 63) / 64;
    uint64_t *pending = sim_arena_get(&d->ast->arena, ((size_t)words + 1) * 8);
    if (!pending) return sim_decode_no_memory(d);
    bool any = false;
    for (uint32_t i = 0; i < d->insts.count; i++) {
        sim_inst *inst = SIM_ITEM(&d->insts, sim_inst, i);
        uint32_t named = inst->row_uses | inst->row_defs;
        for (uint32_t r = 0; r < SIM_INST_REFS && any; r++) {
            sim_ref ref = inst->ref[r];
            if (!(named >> r & 1) || !is_row(ref) || !has_bit(pending, ref >> 1)) continue;
            inst->waits = true;
            memset(pending, 0, (size_t)words * 8);
            any = false;
        }
        bool loads = inst->run == sim_step_load || inst->run == sim_step_atomic;
        for (uint32_t r = 0; r < SIM_INST_REFS && loads; r++) {
            if (!(inst->row_defs >> r & 1)) continue;
            add_bit(pending, inst->ref[r] >> 1);
            any = true;
        }
    }
    return true;
}
