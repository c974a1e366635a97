/* Op warp: the steps of collective instructions: shuffles, votes, matches and reductions. */
#include "exec/lanes.h"

#include <math.h>

/* The lanes that meet under one mask. Halves of a warp may meet apart at one instruction. */
static uint32_t peers_of(sim_run *x, const sim_inst *in, uint32_t lanes, uint32_t lane) {
    const uint64_t *masks = sim_row(x, in->ref[SIM_REF_MASK]);
    uint32_t peers = 0;
    for (uint32_t i = 0; i < SIM_LANES; i++) {
        peers |= (uint32_t)(masks[i] == masks[lane]) << i;
    }
    return peers & lanes & (uint32_t)masks[lane];
}

/* The usual case: the whole warp, and nobody left out. */
static bool all_meet(const uint64_t *masks, uint32_t lanes) {
    uint64_t common = lanes;
    for (uint32_t i = 0; i < SIM_LANES; i++) common &= masks[i];
    return (uint32_t)common == SIM_ALL_LANES;
}

/* false: the launch is over, since a lane names a mask without itself. */
static bool masks_hold(sim_run *x, const sim_inst *in, uint32_t lanes) {
    const uint64_t *masks = sim_row(x, in->ref[SIM_REF_MASK]);
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(rest);
        if (masks[i] >> i & 1) continue;
        if (sim_find(x, in, i, REDTUNE_SIM_BAD_MASK,
                     "meets other lanes under mask 0x%08x, which leaves its own lane %u out",
                     (uint32_t)masks[i], i)) {
            return false;
        }
    }
    return true;
}

/* Where a lane reads from; its own lane when the source is out of range. */
static inline uint32_t source_lane(sim_shuffle mode, uint32_t lane, uint32_t b, uint32_t c,
                                   bool *in_range) {
    uint32_t clamp = c & 31, segment = c >> 8 & 31;
    uint32_t most = (lane & segment) | (clamp & ~segment), least = lane & segment;
    int from = (int)lane;
    b &= 31;
    switch (mode) {
    case SIM_SHUFFLE_UP:
        from -= (int)b;
        *in_range = from >= (int)most;
        break;
    case SIM_SHUFFLE_DOWN:
        from += (int)b;
        *in_range = from <= (int)most;
        break;
    case SIM_SHUFFLE_BFLY:
        from ^= (int)b;
        *in_range = from <= (int)most;
        break;
    case SIM_SHUFFLE_IDX:
        from = (int)(least | (b & ~segment));
        *in_range = from <= (int)most;
        break;
    }
    return *in_range ? (uint32_t)from : lane;
}

/* The whole warp, and nobody left out; the mode is a constant of each call. */
static inline uint32_t shuffle_all(sim_shuffle mode, uint64_t *d, const uint64_t *source,
                                   const uint64_t *b, const uint64_t *c) {
    uint32_t valid = 0;
    for (uint32_t i = 0; i < SIM_LANES; i++) {
        bool in_range = false;
        d[i] = source[source_lane(mode, i, (uint32_t)b[i], (uint32_t)c[i], &in_range)];
        valid |= (uint32_t)in_range << i;
    }
    return valid;
}

static uint32_t shuffle_whole(sim_shuffle mode, uint64_t *d, const uint64_t *source,
                              const uint64_t *b, const uint64_t *c) {
    switch (mode) {
    case SIM_SHUFFLE_UP: return shuffle_all(SIM_SHUFFLE_UP, d, source, b, c);
    case SIM_SHUFFLE_DOWN: return shuffle_all(SIM_SHUFFLE_DOWN, d, source, b, c);
    case SIM_SHUFFLE_BFLY: return shuffle_all(SIM_SHUFFLE_BFLY, d, source, b, c);
    case SIM_SHUFFLE_IDX: break;
    }
    return shuffle_all(mode, d, source, b, c);
}

/* What sums of a warp are made of: all lanes are there, they have one distance, and a segment is
 * the whole warp. */
static bool is_one_distance(const sim_inst *in, const uint64_t *b, const uint64_t *c,
                            const uint64_t *masks, uint32_t lanes) {
    const uint64_t whole = in->mode == SIM_SHUFFLE_UP ? 0 : SIM_LANES - 1;
    uint64_t apart = 0;
    for (uint32_t i = 0; i < SIM_LANES; i++)
        apart |= (b[i] ^ b[0]) | (c[i] ^ whole) | (masks[i] ^ SIM_ALL_LANES);
    return !(uint32_t)apart && lanes == SIM_ALL_LANES;
}

static uint32_t shuffle_one_distance(sim_shuffle mode, uint64_t *d, const uint64_t *source,
                                     uint32_t b) {
    const size_t bytes = sizeof *d;
    switch (mode) {
    case SIM_SHUFFLE_UP:
        memcpy(d, source, b * bytes);
        memcpy(d + b, source, (SIM_LANES - b) * bytes);
        return SIM_ALL_LANES << b;
    case SIM_SHUFFLE_DOWN:
        memcpy(d, source + b, (SIM_LANES - b) * bytes);
        memcpy(d + SIM_LANES - b, source + SIM_LANES - b, b * bytes);
        return SIM_ALL_LANES >> b;
    case SIM_SHUFFLE_BFLY:
        for (uint32_t i = 0; i < SIM_LANES; i++) d[i] = source[i ^ b];
        break;
    case SIM_SHUFFLE_IDX:
        for (uint32_t i = 0; i < SIM_LANES; i++) d[i] = source[b];
        break;
    }
    return SIM_ALL_LANES;
}

void sim_step_shuffle(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t source[SIM_LANES];
    uint64_t *d = sim_row(x, in->ref[0]);
    const uint64_t *b = sim_row(x, in->ref[3]), *c = sim_row(x, in->ref[4]);
    const uint64_t *masks = sim_row(x, in->ref[SIM_REF_MASK]);
    uint32_t valid = 0;
    if (is_one_distance(in, b, c, masks, lanes)) {
        memcpy(source, sim_row(x, in->ref[2]), sizeof source);
        valid =
            shuffle_one_distance((sim_shuffle)in->mode, d, source, (uint32_t)*b & (SIM_LANES - 1));
        sim_mask_put(x, in->ref[1], lanes, valid);
        x->counters->shuffles++;
        return;
    }
    const bool all = all_meet(masks, lanes);
    if (!all && !masks_hold(x, in, lanes)) return;
    memcpy(source, sim_row(x, in->ref[2]), sizeof source);
    if (all) valid = shuffle_whole((sim_shuffle)in->mode, d, source, b, c);
    for (uint32_t rest = all ? 0 : lanes; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(rest);
        bool in_range = false;
        uint32_t from =
            source_lane((sim_shuffle)in->mode, i, (uint32_t)b[i], (uint32_t)c[i], &in_range);
        uint32_t present = lanes & (uint32_t)masks[i];
        if (!(present >> from & 1) &&
            sim_find(x, in, i, REDTUNE_SIM_BAD_MASK,
                     "shuffles from lane %u, which is not there: mask 0x%08x, at the "
                     "instruction 0x%08x",
                     from, (uint32_t)masks[i], lanes)) {
            return;
        }
        d[i] = source[from];
        valid |= (uint32_t)in_range << i;
    }
    sim_mask_put(x, in->ref[1], lanes, valid);
    x->counters->shuffles++;
}

static uint32_t vote(sim_vote mode, uint32_t peers, uint32_t votes) {
    switch (mode) {
    case SIM_VOTE_ALL: return votes == peers;
    case SIM_VOTE_ANY: return votes != 0;
    case SIM_VOTE_UNI: return votes == 0 || votes == peers;
    case SIM_VOTE_BALLOT: break;
    }
    return votes;
}

void sim_step_vote(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint32_t given = sim_mask(x, in->ref[1]);
    if (!masks_hold(x, in, lanes)) return;
    for (uint32_t rest = lanes; rest;) {
        uint32_t peers = peers_of(x, in, lanes, (uint32_t)__builtin_ctz(rest));
        rest &= peers ? ~peers : rest - 1;
        uint32_t result = vote((sim_vote)in->mode, peers, given & peers);
        if (in->mode == SIM_VOTE_BALLOT) {
            uint64_t *d = sim_row(x, in->ref[0]);
            SIM_FOR_LANES(i, peers, d[i] = result);
        } else {
            sim_mask_put(x, in->ref[0], peers, 0u - result);
        }
    }
    x->counters->shuffles++;
}

void sim_step_match(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t value[SIM_LANES];
    uint64_t *d = sim_row(x, in->ref[0]);
    memcpy(value, sim_row(x, in->ref[2]), sizeof value);
    if (!masks_hold(x, in, lanes)) return;
    for (uint32_t rest = lanes; rest; rest &= rest - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(rest), same = 0;
        uint32_t peers = peers_of(x, in, lanes, i);
        for (uint32_t k = 0; k < SIM_LANES; k++) same |= (uint32_t)(value[k] == value[i]) << k;
        same &= peers;
        bool all = same == peers;
        d[i] = in->mode && !all ? 0 : same;
        sim_mask_put(x, in->ref[1], 1u << i, 0u - (uint32_t)all);
    }
    x->counters->shuffles++;
}

static uint32_t reduce_float(const sim_inst *in, uint32_t a, uint32_t b) {
    float va = sim_f32(a), vb = sim_f32(b);
    bool keeps_nan = in->imm & 2;
    if (in->imm & 1) va = fabsf(va), vb = fabsf(vb);
    if (isnan(va) || isnan(vb)) {
        if (keeps_nan || (isnan(va) && isnan(vb))) return 0x7fffffff;
        return (uint32_t)sim_f32_bits(isnan(va) ? vb : va);
    }
    bool takes_a = in->mode == SIM_REDUCE_MIN ? va < vb || (va == vb && signbit(va))
                                              : va > vb || (va == vb && !signbit(va));
    return (uint32_t)sim_f32_bits(takes_a ? va : vb);
}

static uint32_t reduce(const sim_inst *in, uint32_t a, uint32_t b) {
    if (in->count == SIM_F32) return reduce_float(in, a, b);
    bool less = in->count == SIM_S32 ? (int32_t)a < (int32_t)b : a < b;
    switch ((sim_reduce)in->mode) {
    case SIM_REDUCE_ADD: return a + b;
    case SIM_REDUCE_MIN: return less ? a : b;
    case SIM_REDUCE_MAX: return less ? b : a;
    case SIM_REDUCE_AND: return a & b;
    case SIM_REDUCE_OR: return a | b;
    case SIM_REDUCE_XOR: break;
    }
    return a ^ b;
}

void sim_step_reduce(sim_run *x, const sim_inst *in, uint32_t lanes) {
    uint64_t *d = sim_row(x, in->ref[0]), value[SIM_LANES];
    memcpy(value, sim_row(x, in->ref[1]), sizeof value);
    if (!masks_hold(x, in, lanes)) return;
    for (uint32_t rest = lanes; rest;) {
        uint32_t first = (uint32_t)__builtin_ctz(rest);
        uint32_t peers = peers_of(x, in, lanes, first);
        rest &= peers ? ~peers : rest - 1;
        uint32_t result = (uint32_t)value[first];
        if (in->count == SIM_F32) result = reduce_float(in, result, result);
        for (uint32_t more = peers & (peers - 1); more; more &= more - 1) {
            result = reduce(in, result, (uint32_t)value[__builtin_ctz(more)]);
        }
        SIM_FOR_LANES(i, peers, d[i] = result);
    }
    x->counters->shuffles++;
}

/* The lowest of the lanes is the leader. */
void sim_step_elect(sim_run *x, const sim_inst *in, uint32_t lanes) {
    if (!masks_hold(x, in, lanes)) return;
    for (uint32_t rest = lanes; rest;) {
        uint32_t peers = peers_of(x, in, lanes, (uint32_t)__builtin_ctz(rest));
        rest &= peers ? ~peers : rest - 1;
        if (!peers) continue;
        uint32_t leader = (uint32_t)__builtin_ctz(peers);
        sim_mask_put(x, in->ref[1], peers, 1u << leader);
        if (in->mode) continue;
        uint64_t *d = sim_row(x, in->ref[0]);
        SIM_FOR_LANES(i, peers, d[i] = leader);
    }
}

void sim_warp_log_sync(sim_run *x, uint32_t lanes) {
    sim_warp *warp = x->warp;
    warp->syncs[warp->sync_count++ % SIM_SYNC_LOG] =
        (sim_sync){++x->block->first->cluster_clock, lanes, x->grid->tick};
    if ((lanes & warp->live) == warp->live) warp->full_sync_clock = x->block->first->cluster_clock;
}

/* bar.warp.sync: what its lanes did to memory before is seen by all of them behind. */
void sim_step_warp_sync(sim_run *x, const sim_inst *in, uint32_t lanes) {
    if (!masks_hold(x, in, lanes)) return;
    for (uint32_t rest = lanes; rest;) {
        uint32_t peers = peers_of(x, in, lanes, (uint32_t)__builtin_ctz(rest));
        rest &= peers ? ~peers : rest - 1;
        sim_warp_log_sync(x, peers);
    }
    x->counters->warp_syncs++;
}
