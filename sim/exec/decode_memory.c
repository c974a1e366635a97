/* Decode memory: the decoding of loads, stores, atomics and fences. */
#include "exec/decode.h"

#include <string.h>

static const char *const cache_mods[] = {
    "ca",
    "cg",
    "cs",
    "lu",
    "cv",
    "wb",
    "wt",
    "nc",
    "L1::no_allocate",
    "L1::evict_normal",
    "L1::evict_unchanged",
    "L1::evict_first",
    "L1::evict_last",
    "L2::64B",
    "L2::128B",
    "L2::256B",
    "L2::evict_first",
    "L2::evict_last",
    "L2::evict_normal",
    "relaxed",
    "volatile",
    "weak",
    "mmio",
};

static bool take_space(sim_opcode *opcode, sim_space *out) {
    static const struct {
        const char *name;
        sim_space space;
    } spaces[] = {
        {"global", SIM_SPACE_GLOBAL},      {"shared", SIM_SPACE_SHARED},
        {"shared::cta", SIM_SPACE_SHARED}, {"shared::cluster", SIM_SPACE_CLUSTER},
        {"local", SIM_SPACE_LOCAL},        {"const", SIM_SPACE_CONST},
        {"param", SIM_SPACE_PARAM},        {"param::entry", SIM_SPACE_PARAM},
    };
    for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
        if (!sim_decode_take(opcode, spaces[i].name)) continue;
        *out = spaces[i].space;
        return true;
    }
    *out = SIM_SPACE_GENERIC;
    return false;
}

/* Whether the access is one that other blocks may meet: relaxed and above, wider than a block. */
static sim_order take_order(sim_opcode *opcode, uint8_t *fences) {
    static const char *const scopes[] = {"gpu", "sys", "cluster"};
    bool strong = false, names_order = false;
    for (uint32_t i = 0; i < opcode->count; i++) {
        if (sim_arena_text_equal(opcode->mods[i], "volatile") ||
            sim_arena_text_equal(opcode->mods[i], "mmio")) {
            strong = true;
        }
        if (sim_arena_text_equal(opcode->mods[i], "relaxed")) names_order = true;
    }
    if (sim_decode_take(opcode, "acquire")) names_order = true, *fences |= SIM_FENCE_AFTER;
    if (sim_decode_take(opcode, "release")) names_order = true, *fences |= SIM_FENCE_BEFORE;
    if (sim_decode_take(opcode, "acq_rel")) {
        names_order = true;
        *fences |= SIM_FENCE_BEFORE | SIM_FENCE_AFTER;
    }
    bool is_narrow = sim_decode_take(opcode, "cta");
    sim_decode_take_any(opcode, scopes, 3);
    if (is_narrow) *fences = 0;
    if (names_order && !is_narrow) *fences |= SIM_SCOPED;
    return strong || (names_order && !is_narrow) ? SIM_STRONG : SIM_WEAK;
}

/* [register + offset], [variable + offset] or [number] into ref[slot] and imm */
static bool take_address(sim_decoder *d, uint32_t index, uint32_t slot) {
    const sim_operand *operand = sim_decode_operand(d, index);
    if (operand->kind != SIM_OPERAND_ADDRESS) return sim_decode_fail(d, "no address in brackets");
    sim_operand base = *operand;
    base.kind = operand->base;
    d->inst.imm = operand->bits;
    if (base.kind == SIM_OPERAND_VAR) {
        base.bits = 0;
    } else if (base.kind == SIM_OPERAND_IMM) {
        d->inst.imm = 0;
    } else if (base.kind != SIM_OPERAND_REG) {
        return sim_decode_fail(d, "an address that is a parameter's");
    }
    bool is_narrow = sim_decode_bits(d, &base) == 32; /* of shared memory, by 32-bit code */
    if (is_narrow && d->inst.space == SIM_SPACE_GENERIC) {
        return sim_decode_fail(d, "a generic address of 32 bits");
    }
    return sim_decode_ref(d, &base, is_narrow ? 'i' : 'l', slot);
}

/* ld.param: by name and constant offset, or from an address that a mov made of a name. */
static bool take_param(sim_decoder *d) {
    const sim_operand *operand = sim_decode_operand(d, 1);
    d->inst.run = sim_step_load;
    if (operand->kind == SIM_OPERAND_ADDRESS && operand->base == SIM_OPERAND_REG)
        return take_address(d, 1, d->inst.count);
    bool named = operand->kind == SIM_OPERAND_ADDRESS && operand->base == SIM_OPERAND_PARAM;
    if (!named) return sim_decode_fail(d, "a parameter that is not named");
    const sim_param *param = SIM_ITEM(&d->function->params, sim_param, operand->index);
    uint64_t size = (uint64_t)d->inst.bytes * d->inst.count;
    bool fits = operand->bits <= param->size_bytes && size <= param->size_bytes - operand->bits;
    if (!fits) return sim_decode_fail(d, "reads past the end of its parameter");
    d->inst.imm = param->offset_bytes + operand->bits;
    d->inst.run = sim_step_param;
    return true;
}

/* Whether an access of the space .param is of what a call passes: ptx/parse_call.c. */
static bool is_of_call(sim_decoder *d, uint32_t index) {
    if (index >= d->statement->operand_count) return false;
    const sim_operand *operand = sim_decode_operand(d, index);
    return operand->kind == SIM_OPERAND_ADDRESS && operand->base == SIM_OPERAND_VAR;
}

/* The registers or values of a load or store, from ref[first] on. */
static bool take_elements(sim_decoder *d, uint32_t index, sim_type type, bool is_destination) {
    const sim_operand *operand = sim_decode_operand(d, index);
    bool is_vector = operand->kind == SIM_OPERAND_VECTOR;
    uint32_t given = is_vector ? operand->count : 1;
    bool is_wide = type == SIM_B128;
    if (is_wide ? is_vector : given != d->inst.count) {
        return sim_decode_fail(d, "%u elements where another number should stand", given);
    }
    uint32_t bits = sim_type_table[type].bits;
    bool is_float = sim_type_table[type].class == SIM_FLOAT;
    char literal = bits == 64 ? (is_float ? 'e' : 'l') : bits == 32 ? (is_float ? 'f' : 'i') : 'h';
    for (uint32_t i = 0; i < given; i++) {
        sim_operand element =
            is_vector ? *SIM_ITEM(&d->function->operands, sim_operand, operand->index + i)
                      : *operand;
        char letter = is_wide ? 'q' : element.kind == SIM_OPERAND_IMM ? literal : 'b';
        if (is_destination) letter = (char)(letter - 'a' + 'A');
        if (is_destination && element.kind == SIM_OPERAND_SINK) {
            return sim_decode_fail(d, "an element that is thrown away");
        }
        if (!sim_decode_ref(d, &element, letter, i)) return false;
        uint32_t width = sim_decode_bits(d, &element);
        if (width && width < bits) return sim_decode_fail(d, "a register of %u bits", width);
        d->inst.result_bits = (uint8_t)(is_wide ? 64 : width);
    }
    return true;
}

static uint32_t take_vector(sim_opcode *opcode) {
    if (sim_decode_take(opcode, "v2")) return 2;
    if (sim_decode_take(opcode, "v4")) return 4;
    return sim_decode_take(opcode, "v8") ? 8 : 1;
}

static bool decode_access(sim_decoder *d, bool is_load) {
    sim_space space;
    uint8_t fences = 0;
    d->inst.order = (uint8_t)take_order(&d->opcode, &fences);
    d->inst.mode = fences;
    take_space(&d->opcode, &space);
    if (space == SIM_SPACE_PARAM && is_of_call(d, is_load ? 1 : 0)) space = SIM_SPACE_LOCAL;
    bool has_policy = sim_decode_take(&d->opcode, "L2::cache_hint");
    sim_decode_take_any(&d->opcode, cache_mods, sizeof cache_mods / sizeof *cache_mods);
    d->inst.count = take_vector(&d->opcode);
    d->inst.space = (uint8_t)space;
    sim_type type = sim_decode_take_type(&d->opcode);
    const sim_type_info *info = &sim_type_table[type];
    bool known = type && info->bits >= 8 && sim_decode_done(&d->opcode) &&
                 info->bits * d->inst.count <= 256 && !(type == SIM_B128 && d->inst.count > 1);
    bool writable = space != SIM_SPACE_CONST && space != SIM_SPACE_PARAM;
    if (!known || (!is_load && !writable)) return sim_decode_unknown(d);
    if (!sim_decode_count(d, has_policy ? 3 : 2, has_policy ? 3 : 2)) return false;
    if (!take_elements(d, is_load ? 0 : 1, type, is_load)) return false;
    if (type == SIM_B128) d->inst.count = 2; /* two words that move as one */
    d->inst.bytes = (uint8_t)(type == SIM_B128 ? 8 : info->bits / 8);
    if (info->class == SIM_SIGNED) d->inst.sign_shift = (uint8_t)(64 - info->bits);
    if (is_load && space == SIM_SPACE_PARAM) return take_param(d);
    d->inst.run = is_load ? sim_step_load : sim_step_store;
    return take_address(d, is_load ? 1 : 0, d->inst.count);
}

static bool decode_load(sim_decoder *d) { return decode_access(d, true); }
static bool decode_store(sim_decoder *d) { return decode_access(d, false); }

static const struct {
    const char *name;
    sim_atomic op;
    const char *types; /* those it has, each between blanks */
} atomics[] = {
    {"add", SIM_ATOMIC_ADD, " u32 s32 u64 s64 f32 f64 f16 bf16 f16x2 bf16x2 "},
    {"inc", SIM_ATOMIC_INC, " u32 "},
    {"dec", SIM_ATOMIC_DEC, " u32 "},
    {"min", SIM_ATOMIC_MIN, " u32 s32 u64 s64 "},
    {"max", SIM_ATOMIC_MAX, " u32 s32 u64 s64 "},
    {"and", SIM_ATOMIC_AND, " b32 b64 "},
    {"or", SIM_ATOMIC_OR, " b32 b64 "},
    {"xor", SIM_ATOMIC_XOR, " b32 b64 "},
    {"exch", SIM_ATOMIC_EXCH, " b32 b64 b128 "},
    {"cas", SIM_ATOMIC_CAS, " b16 b32 b64 b128 "},
};

static bool take_atomic_type(sim_decoder *d, uint32_t op) {
    char wanted[12] = " ";
    sim_type type = sim_decode_take_type(&d->opcode);
    if (!type) return false;
    strcat(strcat(wanted, sim_type_table[type].name), " ");
    d->inst.count = type;
    d->inst.bytes = (uint8_t)(sim_type_table[type].bits / 8);
    return strstr(atomics[op].types, wanted) != NULL;
}

/* atom.global.add.u32 d, [a], b[, c] and red.global.add.u32 [a], b */
static bool decode_atomic(sim_decoder *d) {
    bool has_result = sim_arena_text_equal(d->opcode.root, "atom");
    sim_space space;
    uint8_t fences = 0;
    bool known = false;
    uint32_t op = 0;
    d->inst.order = (uint8_t)take_order(&d->opcode, &fences);
    sim_decode_take(&d->opcode, "relaxed");
    sim_decode_take(&d->opcode, "noftz");
    take_space(&d->opcode, &space);
    for (uint32_t i = 0; i < sizeof atomics / sizeof *atomics && !known; i++) {
        known = sim_decode_take(&d->opcode, atomics[i].name);
        if (known) op = i;
    }
    known = known && space != SIM_SPACE_LOCAL && space != SIM_SPACE_CONST &&
            space != SIM_SPACE_PARAM && take_atomic_type(d, op) && sim_decode_done(&d->opcode);
    if (!known) return sim_decode_unknown(d);
    uint32_t first = has_result, values = atomics[op].op == SIM_ATOMIC_CAS ? 2 : 1;
    if (!sim_decode_count(d, first + 1 + values, first + 1 + values)) return false;
    d->inst.run = sim_step_atomic;
    d->inst.space = (uint8_t)space;
    d->inst.mode = (uint8_t)(atomics[op].op | (has_result ? 0 : SIM_ATOMIC_NO_RESULT));
    d->inst.order = SIM_STRONG;
    d->inst.result_bits = fences;
    const sim_type_info *info = &sim_type_table[d->inst.count];
    bool is_float = info->class == SIM_FLOAT && info->bits >= 32 && d->inst.count != SIM_F16X2;
    char letter = info->bits == 128  ? 'q'
                  : info->bits == 64 ? (is_float ? 'e' : 'l')
                  : info->bits == 32 ? (is_float ? 'f' : 'i')
                                     : 'h';
    char result = (char)(letter - 'a' + 'A');
    return (!has_result || sim_decode_operand(d, 0)->kind == SIM_OPERAND_SINK ||
            sim_decode_ref(d, sim_decode_operand(d, 0), result, 0)) &&
           take_address(d, first, SIM_ATOMIC_ADDRESS) &&
           sim_decode_ref(d, sim_decode_operand(d, first + 1), letter, SIM_ATOMIC_VALUE) &&
           (values == 1 ||
            sim_decode_ref(d, sim_decode_operand(d, first + 2), letter, SIM_ATOMIC_OTHER));
}

/* membar.gl, fence.acq_rel.gpu: one of a block's own scope orders nothing between blocks. */
static bool decode_fence(sim_decoder *d) {
    static const char *const narrow[] = {"cta"};
    static const char *const wide[] = {"gl", "gpu", "sys", "cluster"};
    static const char *const orders[] = {"sc", "acq_rel", "acquire", "release"};
    bool is_narrow = sim_decode_take_any(&d->opcode, narrow, 1);
    bool is_wide = sim_decode_take_any(&d->opcode, wide, 4);
    sim_decode_take_any(&d->opcode, orders, 4);
    if (is_narrow == is_wide || !sim_decode_done(&d->opcode)) return sim_decode_unknown(d);
    d->inst.run = is_wide ? sim_step_fence : sim_step_nothing;
    return sim_decode_count(d, 0, 0);
}

/* Hints: they move nothing that a program can see. */
static bool decode_hint(sim_decoder *d) {
    sim_space space;
    static const char *const mods[] = {
        "L1", "L2", "L2::128B", "L2::evict_normal", "L2::evict_last", "L2::evict_first"};
    take_space(&d->opcode, &space);
    sim_decode_take_any(&d->opcode, mods, sizeof mods / sizeof *mods);
    if (!sim_decode_done(&d->opcode)) return sim_decode_unknown(d);
    d->inst.run = sim_step_nothing;
    return sim_decode_count(d, 1, 2);
}

/* createpolicy.fractional.L2::evict_first.b64 d[, fraction]: a policy is a hint, and 0 serves. */
static bool decode_policy(sim_decoder *d) {
    static const char *const mods[] = {"fractional",       "b64",
                                       "L2::evict_last",   "L2::evict_first",
                                       "L2::evict_normal", "L2::evict_unchanged"};
    sim_decode_take_any(&d->opcode, mods, sizeof mods / sizeof *mods);
    if (!sim_decode_done(&d->opcode)) return sim_decode_unknown(d);
    d->inst.run = sim_step_zero;
    return sim_decode_count(d, 1, 2) && sim_decode_ref(d, sim_decode_operand(d, 0), 'L', 0);
}

static const struct {
    const char *root;
    sim_form *form;
} forms[] = {
    {"ld", decode_load},
    {"st", decode_store},
    {"ldu", decode_load},
    {"atom", decode_atomic},
    {"red", decode_atomic},
    {"membar", decode_fence},
    {"fence", decode_fence},
    {"prefetch", decode_hint},
    {"prefetchu", decode_hint},
    {"applypriority", decode_hint},
    {"createpolicy", decode_policy},
};

sim_form *sim_decode_memory_find(sim_text root) {
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (sim_arena_text_equal(root, forms[i].root)) return forms[i].form;
    }
    return NULL;
}
