/* Decode warp: the decoding of collective instructions: shuffles, votes, reductions and barriers.
 */
#include "exec/decode.h"

#include <string.h>

/* The index of the modifier that stands there, of count; -1: none. */
static int take_one(sim_opcode *opcode, const char *const *names, int count) {
    for (int i = 0; i < count; i++) {
        if (sim_decode_take(opcode, names[i])) return i;
    }
    return -1;
}

static bool take_mask(sim_decoder *d, uint32_t index) {
    d->inst.flow = SIM_FLOW_COLLECTIVE;
    return sim_decode_ref(d, sim_decode_operand(d, index), 'i', SIM_REF_MASK);
}

/* d or d|p: the row into ref[0], the predicate into ref[1], 0 without one */
static bool take_row_and_predicate(sim_decoder *d, char letter) {
    sim_operand row = *sim_decode_operand(d, 0);
    sim_operand predicate = row;
    predicate.index = row.pair;
    predicate.pair = SIM_NONE;
    predicate.kind = SIM_OPERAND_REG;
    bool has_predicate = row.pair != SIM_NONE;
    row.pair = SIM_NONE;
    return sim_decode_ref(d, &row, letter, 0) &&
           (!has_predicate || sim_decode_ref(d, &predicate, 'P', 1));
}

/* shfl.sync.down.b32 d|p, a, b, c, mask */
static bool decode_shfl(sim_decoder *d) {
    static const char *const modes[] = {"up", "down", "bfly", "idx"};
    int mode = take_one(&d->opcode, modes, 4);
    bool known = sim_decode_take(&d->opcode, "sync") && sim_decode_take(&d->opcode, "b32") &&
                 mode >= 0 && sim_decode_done(&d->opcode);
    if (!known) return sim_decode_unknown(d);
    if (!sim_decode_count(d, 5, 5)) return false;
    d->inst.run = sim_step_shuffle;
    d->inst.mode = (uint8_t)mode;
    if (!take_row_and_predicate(d, 'I') || !take_mask(d, 4)) return false;
    for (uint32_t i = 1; i <= 3; i++) {
        if (!sim_decode_ref(d, sim_decode_operand(d, i), 'i', 1 + i)) return false;
    }
    return true;
}

/* vote.sync.any.pred d, a, mask; vote.sync.ballot.b32 d, a, mask */
static bool decode_vote(sim_decoder *d) {
    static const char *const modes[] = {"all", "any", "uni", "ballot"};
    int mode = take_one(&d->opcode, modes, 4);
    bool is_ballot = mode == SIM_VOTE_BALLOT;
    bool known = mode >= 0 && sim_decode_take(&d->opcode, "sync") &&
                 sim_decode_take(&d->opcode, is_ballot ? "b32" : "pred") &&
                 sim_decode_done(&d->opcode);
    if (!known) return sim_decode_unknown(d);
    d->inst.run = sim_step_vote;
    d->inst.mode = (uint8_t)mode;
    return sim_decode_count(d, 3, 3) &&
           sim_decode_ref(d, sim_decode_operand(d, 0), is_ballot ? 'I' : 'P', 0) &&
           sim_decode_ref(d, sim_decode_operand(d, 1), 'p', 1) && take_mask(d, 2);
}

/* match.any.sync.b32 d, a, mask; match.all.sync.b64 d|p, a, mask */
static bool decode_match(sim_decoder *d) {
    static const char *const modes[] = {"any", "all"};
    int mode = take_one(&d->opcode, modes, 2);
    bool is_wide = sim_decode_take(&d->opcode, "b64");
    bool known = mode >= 0 && sim_decode_take(&d->opcode, "sync") &&
                 (is_wide || sim_decode_take(&d->opcode, "b32")) && sim_decode_done(&d->opcode);
    if (!known) return sim_decode_unknown(d);
    d->inst.run = sim_step_match;
    d->inst.mode = (uint8_t)mode;
    return sim_decode_count(d, 3, 3) && take_row_and_predicate(d, 'I') &&
           sim_decode_ref(d, sim_decode_operand(d, 1), is_wide ? 'l' : 'i', 2) && take_mask(d, 2);
}

/* redux.sync.add.u32 d, a, mask; redux.sync.min.NaN.f32 */
static bool decode_redux(sim_decoder *d) {
    static const char *const modes[] = {"add", "min", "max", "and", "or", "xor"};
    int mode = take_one(&d->opcode, modes, 6);
    bool is_absolute = sim_decode_take(&d->opcode, "abs");
    bool keeps_nan = sim_decode_take(&d->opcode, "NaN");
    sim_type type = sim_decode_take_type(&d->opcode);
    bool known = mode >= 0 && sim_decode_take(&d->opcode, "sync") && sim_decode_done(&d->opcode);
    bool is_bitwise = mode >= SIM_REDUCE_AND, is_float = type == SIM_F32;
    bool fits = is_bitwise ? type == SIM_B32 : type == SIM_U32 || type == SIM_S32 || is_float;
    if (is_float ? mode == SIM_REDUCE_ADD : is_absolute || keeps_nan) fits = false;
    if (!known || !fits) return sim_decode_unknown(d);
    d->inst.run = sim_step_reduce;
    d->inst.mode = (uint8_t)mode;
    d->inst.count = type;
    d->inst.imm = (is_absolute ? 1u : 0u) | (keeps_nan ? 2u : 0u);
    return sim_decode_count(d, 3, 3) && sim_decode_ref(d, sim_decode_operand(d, 0), 'I', 0) &&
           sim_decode_ref(d, sim_decode_operand(d, 1), 'i', 1) && take_mask(d, 2);
}

/* elect.sync d|p, mask */
static bool decode_elect(sim_decoder *d) {
    if (!sim_decode_take(&d->opcode, "sync") || !sim_decode_done(&d->opcode)) {
        return sim_decode_unknown(d);
    }
    if (!sim_decode_count(d, 2, 2)) return false;
    d->inst.run = sim_step_elect;
    if (sim_decode_operand(d, 0)->kind != SIM_OPERAND_SINK) {
        return take_row_and_predicate(d, 'I') && take_mask(d, 1);
    }
    sim_operand predicate = *sim_decode_operand(d, 0);
    if (predicate.pair == SIM_NONE) return sim_decode_fail(d, "no destination");
    predicate.index = predicate.pair;
    predicate.pair = SIM_NONE;
    predicate.kind = SIM_OPERAND_REG;
    d->inst.mode = 1; /* only the predicate */
    return sim_decode_ref(d, &predicate, 'P', 1) && take_mask(d, 1);
}

static bool decode_activemask(sim_decoder *d) {
    if (!sim_decode_take(&d->opcode, "b32") || !sim_decode_done(&d->opcode)) {
        return sim_decode_unknown(d);
    }
    d->inst.run = sim_step_activemask;
    return sim_decode_pattern(d, "I");
}

/* bar.red.popc.u32 d, a[, b], p and bar.red.or.pred d, a[, b], p */
static bool decode_bar_red(sim_decoder *d) {
    static const char *const modes[] = {"popc", "and", "or"};
    int mode = take_one(&d->opcode, modes, 3);
    bool counts = mode == 0;
    bool known = mode >= 0 && sim_decode_take(&d->opcode, counts ? "u32" : "pred") &&
                 sim_decode_done(&d->opcode);
    if (!known) return sim_decode_unknown(d);
    if (!sim_decode_count(d, 3, 4)) return false;
    bool has_count = d->statement->operand_count == 4;
    d->inst.mode = (uint8_t)(SIM_BARRIER_POPC + mode);
    d->inst.count = has_count;
    return sim_decode_ref(d, sim_decode_operand(d, 0), counts ? 'I' : 'P', 0) &&
           sim_decode_ref(d, sim_decode_operand(d, 1), 'i', 1) &&
           (!has_count || sim_decode_ref(d, sim_decode_operand(d, 2), 'i', 2)) &&
           sim_decode_ref(d, sim_decode_operand(d, has_count ? 3 : 2), 'p', 3);
}

/* barrier.cluster.arrive[.release] or .relaxed, barrier.cluster.wait[.acquire]; each .aligned or
 * not
 */
static bool decode_bar_cluster(sim_decoder *d) {
    bool arrives = sim_decode_take(&d->opcode, "arrive");
    if (!arrives && !sim_decode_take(&d->opcode, "wait")) return sim_decode_unknown(d);
    bool is_relaxed = arrives && sim_decode_take(&d->opcode, "relaxed");
    if (!is_relaxed) sim_decode_take(&d->opcode, arrives ? "release" : "acquire");
    if (!sim_decode_done(&d->opcode)) return sim_decode_unknown(d);
    d->inst.flow = SIM_FLOW_CLUSTER;
    d->inst.mode = (uint8_t)(is_relaxed ? SIM_CLUSTER_ARRIVE_RELAXED
                             : arrives  ? SIM_CLUSTER_ARRIVE
                                        : SIM_CLUSTER_WAIT);
    return sim_decode_count(d, 0, 0);
}

/* bar.sync a[, b]; bar.arrive a, b; bar.warp.sync mask; and the same as barrier */
static bool decode_bar(sim_decoder *d) {
    sim_decode_take(&d->opcode, "cta");
    sim_decode_take(&d->opcode, "aligned");
    d->inst.run = sim_step_nothing;
    if (sim_decode_take(&d->opcode, "warp")) {
        d->inst.run = sim_step_warp_sync;
        bool known = sim_decode_take(&d->opcode, "sync") && sim_decode_done(&d->opcode);
        if (!known) return sim_decode_unknown(d);
        return sim_decode_count(d, 1, 1) && take_mask(d, 0);
    }
    if (sim_decode_take(&d->opcode, "cluster")) return decode_bar_cluster(d);
    d->inst.flow = SIM_FLOW_BARRIER;
    if (sim_decode_take(&d->opcode, "red")) return decode_bar_red(d);
    bool arrives = sim_decode_take(&d->opcode, "arrive");
    if (!arrives && !sim_decode_take(&d->opcode, "sync")) return sim_decode_unknown(d);
    if (!sim_decode_done(&d->opcode)) return sim_decode_unknown(d);
    if (!sim_decode_count(d, arrives ? 2 : 1, 2)) return false;
    d->inst.mode = arrives ? SIM_BARRIER_ARRIVE : SIM_BARRIER_SYNC;
    d->inst.count = d->statement->operand_count == 2;
    return sim_decode_ref(d, sim_decode_operand(d, 0), 'i', 1) &&
           (!d->inst.count || sim_decode_ref(d, sim_decode_operand(d, 1), 'i', 2));
}

static const struct {
    const char *root;
    sim_form *form;
} forms[] = {
    {"shfl", decode_shfl},   {"vote", decode_vote},   {"match", decode_match},
    {"redux", decode_redux}, {"elect", decode_elect}, {"activemask", decode_activemask},
    {"bar", decode_bar},     {"barrier", decode_bar},
};

sim_form *sim_decode_warp_find(sim_text root) {
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (sim_arena_text_equal(root, forms[i].root)) return forms[i].form;
    }
    return NULL;
}
