/* Decode form: the decoding of moves, conversions, comparisons and control flow. */
#include "exec/decode.h"
#include "ptx/special.h"

#include <stdio.h>
#include <string.h>

/* A row to write what _ throws away. */
static sim_ref sink_ref(sim_decoder *d) {
    d->row_words[d->program->row_count] = 0;
    return d->program->row_count++ << 1;
}

static char letter_of(sim_type type, bool is_destination) {
    static const char narrow[] = "bhil";
    uint32_t bits = sim_type_table[type].bits;
    bool is_float = sim_type_table[type].class == SIM_FLOAT;
    char letter = type == SIM_PRED ? 'p'
                  : bits == 128    ? 'q'
                  : bits == 64     ? (is_float ? 'e' : narrow[3])
                  : bits == 32     ? (is_float && type == SIM_F32 ? 'f' : narrow[2])
                  : bits == 16     ? narrow[1]
                                   : narrow[0];
    return is_destination ? (char)(letter - 'a' + 'A') : letter;
}

/* mov.b64 {lo, hi}, d and mov.b64 d, {lo, hi} */
static bool decode_mov_parts(sim_decoder *d, sim_type type, bool unpacks) {
    const sim_operand *scalar = sim_decode_operand(d, unpacks ? 1 : 0);
    const sim_operand *vector = sim_decode_operand(d, unpacks ? 0 : 1);
    uint32_t bits = sim_type_table[type].bits, part_bits = bits / vector->count;
    bool fits = (vector->count == 2 || (vector->count == 4 && bits < 128)) && part_bits >= 8;
    if (!fits) return sim_decode_fail(d, "a vector of %u parts", vector->count);
    bool is_wide = bits == 128;
    uint32_t first_part = unpacks ? 0 : is_wide ? 2 : 1;
    uint32_t scalar_slot = unpacks ? vector->count : 0;
    d->inst.count = vector->count;
    d->inst.bytes = (uint8_t)(part_bits / 8);
    d->inst.run = is_wide ? sim_step_move_wide : unpacks ? sim_step_unpack : sim_step_pack;
    char part = part_bits == 8 ? 'b' : part_bits == 16 ? 'h' : part_bits == 32 ? 'i' : 'l';
    char whole = bits == 128 ? 'q' : bits == 64 ? 'l' : bits == 32 ? 'i' : 'h';
    if (unpacks)
        part = (char)(part - 'a' + 'A');
    else
        whole = (char)(whole - 'a' + 'A');
    if (!sim_decode_ref(d, scalar, whole, scalar_slot)) return false;
    for (uint32_t i = 0; i < vector->count; i++) {
        const sim_operand *element =
            SIM_ITEM(&d->function->operands, sim_operand, vector->index + i);
        if (element->kind == SIM_OPERAND_SINK && unpacks) {
            d->inst.ref[first_part + i] = sink_ref(d);
            d->inst.row_defs |= (uint16_t)(1u << (first_part + i));
        } else if (!sim_decode_ref(d, element, part, first_part + i)) {
            return false;
        }
    }
    return true;
}

static bool decode_mov(sim_decoder *d) {
    sim_type type = sim_decode_take_type(&d->opcode);
    if (!type || !sim_decode_done(&d->opcode)) return sim_decode_unknown(d);
    if (!sim_decode_count(d, 2, 2)) return false;
    const sim_operand *to = sim_decode_operand(d, 0), *from = sim_decode_operand(d, 1);
    if (type == SIM_PRED) {
        d->inst.run = sim_step_move_predicate;
        return sim_decode_pattern(d, "Pp");
    }
    if (to->kind == SIM_OPERAND_VECTOR) return decode_mov_parts(d, type, true);
    if (from->kind == SIM_OPERAND_VECTOR) return decode_mov_parts(d, type, false);
    char pattern[3] = {letter_of(type, true), letter_of(type, false), '\0'};
    if (from->kind == SIM_OPERAND_SPECIAL && from->index >= SIM_SPECIAL_CLOCK) {
        d->inst.run = sim_step_clock;
        d->inst.mode = (uint8_t)from->index;
        return sim_decode_ref(d, to, pattern[0], 0);
    }
    d->inst.run = type == SIM_B128 ? sim_step_move_wide : sim_step_move;
    return sim_decode_pattern(d, pattern);
}

static sim_integral take_integral(sim_opcode *opcode) {
    static const char *const names[] = {NULL, "rni", "rzi", "rmi", "rpi"};
    for (int i = SIM_INTEGRAL_RN; i <= SIM_INTEGRAL_RP; i++) {
        if (sim_decode_take(opcode, names[i])) return (sim_integral)i;
    }
    return SIM_INTEGRAL_NONE;
}

static uint8_t take_rounding(sim_opcode *opcode) {
    if (sim_decode_take(opcode, "rz")) return SIM_FLAG_RZ;
    if (sim_decode_take(opcode, "rm")) return SIM_FLAG_RM;
    if (sim_decode_take(opcode, "rp")) return SIM_FLAG_RP;
    sim_decode_take(opcode, "rn");
    return 0;
}

static bool is_float(sim_type type) {
    return sim_type_table[type].class == SIM_FLOAT || sim_type_table[type].class == SIM_BRAIN;
}

/* cvt.rn.f16x2.f32 d, high, low */
static bool decode_cvt_pack(sim_decoder *d, sim_type to, sim_type from) {
    if (from != SIM_F32) return sim_decode_unknown(d);
    d->inst.run = sim_step_pack_halves;
    d->inst.mode = to == SIM_BF16X2;
    return sim_decode_pattern(d, "Iff");
}

/* cvt.rn.f16x2.e4m3x2 d, a */
static bool decode_cvt_e4m3(sim_decoder *d) {
    if (!sim_decode_done(&d->opcode)) return sim_decode_unknown(d);
    d->inst.run = sim_step_widen_e4m3;
    return sim_decode_pattern(d, "Ih");
}

static sim_step *convert_step(sim_type to, sim_type from, uint8_t flags, sim_integral integral) {
    bool plain = !flags && !integral;
    if (plain && to == SIM_F32 && from == SIM_F16) return sim_step_widen_f16;
    if (plain && to == SIM_F64 && from == SIM_F32) return sim_step_widen_f32;
    if (plain && to == SIM_F32 && from == SIM_F64) return sim_step_narrow_f64;
    if (is_float(to)) return is_float(from) ? sim_step_float_to_float : sim_step_integer_to_float;
    if (is_float(from)) return sim_step_float_to_integer;
    return flags & SIM_FLAG_SAT ? sim_step_convert_saturate : sim_step_convert_integer;
}

static bool decode_cvt(sim_decoder *d) {
    sim_integral integral = take_integral(&d->opcode);
    d->inst.flags = take_rounding(&d->opcode);
    if (sim_decode_take(&d->opcode, "ftz")) d->inst.flags |= SIM_FLAG_FTZ;
    if (sim_decode_take(&d->opcode, "sat")) d->inst.flags |= SIM_FLAG_SAT;
    sim_type to = sim_decode_take_type(&d->opcode);
    if (to == SIM_F16X2 && sim_decode_take(&d->opcode, "e4m3x2")) return decode_cvt_e4m3(d);
    sim_type from = sim_decode_take_type(&d->opcode);
    if (!to || !from || !sim_decode_done(&d->opcode)) return sim_decode_unknown(d);
    if (to == SIM_F16X2 || to == SIM_BF16X2) return decode_cvt_pack(d, to, from);
    const sim_type_info *types = sim_type_table;
    bool sane = types[to].bits >= 8 && types[to].bits <= 64 && types[from].bits >= 8 &&
                types[from].bits <= 64 && from != SIM_F16X2 && from != SIM_BF16X2 &&
                types[to].class != SIM_BITS && types[from].class != SIM_BITS;
    /* A float that becomes an integer always says how; an integer never becomes one by rni. */
    if (sane && is_float(from) && !is_float(to) && !integral) sane = false;
    if (sane && !is_float(from) && integral) sane = false;
    if (!sane) return sim_decode_unknown(d);
    if (!sim_decode_count(d, 2, 2)) return false;
    d->inst.run = convert_step(to, from, d->inst.flags, integral);
    d->inst.mode = (uint8_t)integral;
    d->inst.imm = (uint64_t)to | (uint64_t)from << 8;
    const sim_operand *source = sim_decode_operand(d, 1);
    bool is_literal = source->kind == SIM_OPERAND_IMM;
    if (!sim_decode_ref(d, sim_decode_operand(d, 0), 'B', 0)) return false;
    if (!sim_decode_ref(d, source, is_literal ? letter_of(from, false) : 'b', 1)) return false;
    d->inst.result_bits = (uint8_t)sim_decode_bits(d, sim_decode_operand(d, 0));
    bool fits =
        d->inst.result_bits >= types[to].bits && (is_literal || source->kind != SIM_OPERAND_REG ||
                                                  sim_decode_bits(d, source) >= types[from].bits);
    return fits || sim_decode_fail(d, "a register too narrow for its type");
}

static const struct {
    const char *name;
    sim_space space;
    uint64_t window;
} windows[] = {
    {"global", SIM_SPACE_GLOBAL, 0},
    {"const", SIM_SPACE_CONST, 0},
    {"shared", SIM_SPACE_SHARED, SIM_WINDOW_SHARED},
    {"shared::cta", SIM_SPACE_SHARED, SIM_WINDOW_SHARED},
    {"shared::cluster", SIM_SPACE_SHARED, SIM_WINDOW_SHARED},
    {"local", SIM_SPACE_LOCAL, SIM_WINDOW_LOCAL},
    {"param", SIM_SPACE_PARAM, SIM_WINDOW_PARAM},
};

/* cvta.shared.u64 makes a generic address of one in a space; cvta.to.shared.u64 the reverse. */
static bool decode_cvta(sim_decoder *d) {
    bool leaves = sim_decode_take(&d->opcode, "to");
    bool known = false;
    for (size_t i = 0; i < sizeof windows / sizeof *windows && !known; i++) {
        known = sim_decode_take(&d->opcode, windows[i].name);
        if (known) d->inst.imm = leaves ? 0 - windows[i].window : windows[i].window;
    }
    known = known && sim_decode_take(&d->opcode, "u64") && sim_decode_done(&d->opcode);
    if (!known) return sim_decode_unknown(d);
    d->inst.run = d->inst.imm ? sim_step_window : sim_step_move;
    return sim_decode_pattern(d, "Ll");
}

static bool decode_isspacep(sim_decoder *d) {
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        if (!sim_decode_take(&d->opcode, windows[i].name)) continue;
        d->inst.space = (uint8_t)windows[i].space;
        d->inst.run = sim_step_is_space;
        if (!sim_decode_done(&d->opcode)) break;
        return sim_decode_pattern(d, "Pl");
    }
    return sim_decode_unknown(d);
}

/* mapa.shared::cluster.u32 d, a, rank and mapa.u64 d, a, rank of generic addresses */
static bool decode_mapa(sim_decoder *d) {
    bool is_shared = sim_decode_take(&d->opcode, "shared::cluster");
    bool is_narrow = is_shared && sim_decode_take(&d->opcode, "u32");
    bool known = is_narrow || sim_decode_take(&d->opcode, "u64");
    if (!known || !sim_decode_done(&d->opcode)) return sim_decode_unknown(d);
    d->inst.run = sim_step_map;
    return sim_decode_pattern(d, is_narrow ? "Iii" : "Lli");
}

static uint8_t take_boolean(sim_opcode *opcode) {
    if (sim_decode_take(opcode, "and")) return SIM_BOOL_AND;
    if (sim_decode_take(opcode, "or")) return SIM_BOOL_OR;
    if (sim_decode_take(opcode, "xor")) return SIM_BOOL_XOR;
    return SIM_BOOL_NONE;
}

/* setp.lt.and.s32 p|q, a, b, c */
static bool decode_setp(sim_decoder *d) {
    if (d->opcode.count == 0) return sim_decode_unknown(d);
    sim_text comparison = d->opcode.mods[0];
    d->opcode.taken |= 1;
    d->inst.mode = take_boolean(&d->opcode);
    if (sim_decode_take(&d->opcode, "ftz")) d->inst.flags = SIM_FLAG_FTZ;
    sim_type type = sim_decode_take_type(&d->opcode);
    d->inst.compare = sim_op_compare_find(comparison, type);
    if (!d->inst.compare || !sim_decode_done(&d->opcode)) return sim_decode_unknown(d);
    d->inst.run = sim_step_setp;
    char letter = letter_of(type, false);
    char pattern[5] = {'R', letter, letter, d->inst.mode ? 'p' : '\0', '\0'};
    return sim_decode_pattern(d, pattern);
}

/* set.lt.u32.f32 d, a, b: all ones, or 1.0 when the result is a float */
static bool decode_set(sim_decoder *d) {
    if (d->opcode.count == 0) return sim_decode_unknown(d);
    sim_text comparison = d->opcode.mods[0];
    d->opcode.taken |= 1;
    d->inst.mode = take_boolean(&d->opcode);
    if (sim_decode_take(&d->opcode, "ftz")) d->inst.flags = SIM_FLAG_FTZ;
    sim_type to = sim_decode_take_type(&d->opcode);
    sim_type type = sim_decode_take_type(&d->opcode);
    d->inst.compare = sim_op_compare_find(comparison, type);
    bool known = d->inst.compare && (to == SIM_U32 || to == SIM_S32 || to == SIM_F32) &&
                 sim_decode_done(&d->opcode);
    if (!known) return sim_decode_unknown(d);
    d->inst.run = sim_step_set;
    d->inst.imm = to == SIM_F32 ? 0x3f800000u : 0xffffffffu;
    char letter = letter_of(type, false);
    char pattern[5] = {'I', letter, letter, d->inst.mode ? 'p' : '\0', '\0'};
    return sim_decode_pattern(d, pattern);
}

static bool decode_bra(sim_decoder *d) {
    sim_decode_take(&d->opcode, "uni");
    if (!sim_decode_done(&d->opcode)) return sim_decode_unknown(d);
    if (!sim_decode_count(d, 1, 1)) return false;
    const sim_operand *label = sim_decode_operand(d, 0);
    if (label->kind != SIM_OPERAND_LABEL) return sim_decode_fail(d, "a target that is no label");
    d->inst.flow = SIM_FLOW_BRANCH;
    d->inst.run = sim_step_nothing;
    d->inst.target = label->index;
    return true;
}

/* brx.idx index, table */
static bool decode_brx(sim_decoder *d) {
    bool known = sim_decode_take(&d->opcode, "idx");
    sim_decode_take(&d->opcode, "uni");
    if (!known || !sim_decode_done(&d->opcode)) return sim_decode_unknown(d);
    if (!sim_decode_count(d, 2, 2)) return false;
    const sim_operand *operand = sim_decode_operand(d, 1);
    const sim_label *table = operand->kind == SIM_OPERAND_LABEL
                                 ? SIM_ITEM(&d->function->labels, sim_label, operand->index)
                                 : NULL;
    if (!table || table->targets == SIM_NONE) return sim_decode_fail(d, "no table of targets");
    d->inst.flow = SIM_FLOW_TABLE;
    d->inst.run = sim_step_nothing;
    d->inst.target = d->targets.count;
    d->inst.count = table->target_count;
    for (uint32_t i = 0; i < table->target_count; i++) {
        uint32_t *target = sim_arena_push(&d->ast->arena, &d->targets);
        if (!target) return sim_decode_no_memory(d);
        *target = SIM_ITEM(&d->function->operands, sim_operand, table->targets + i)->index;
    }
    return sim_decode_ref(d, sim_decode_operand(d, 0), 'i', 0);
}

static bool decode_leave(sim_decoder *d) {
    sim_decode_take(&d->opcode, "uni");
    if (!sim_decode_done(&d->opcode)) return sim_decode_unknown(d);
    bool leaves =
        sim_arena_text_equal(d->opcode.root, "ret") || sim_arena_text_equal(d->opcode.root, "exit");
    d->inst.flow = leaves ? SIM_FLOW_EXIT : SIM_FLOW_TRAP;
    d->inst.run = sim_step_nothing;
    return sim_decode_count(d, 0, 0);
}

static bool decode_nanosleep(sim_decoder *d) {
    if (!sim_decode_take(&d->opcode, "u32")) return sim_decode_unknown(d);
    d->inst.run = sim_step_yield;
    return sim_decode_pattern(d, "i");
}

/* griddepcontrol: no launch here overlaps the one before it. */
static bool decode_griddep(sim_decoder *d) {
    bool known =
        sim_decode_take(&d->opcode, "wait") || sim_decode_take(&d->opcode, "launch_dependents");
    d->inst.run = sim_step_nothing;
    if (known && d->ast->target < 90)
        return sim_decode_fail(d, "griddepcontrol requires .target sm_90 or higher");
    return known && sim_decode_done(&d->opcode) ? sim_decode_count(d, 0, 0) : sim_decode_unknown(d);
}

static const struct {
    const char *root;
    sim_form *form;
} forms[] = {
    {"mov", decode_mov},
    {"cvt", decode_cvt},
    {"cvta", decode_cvta},
    {"setp", decode_setp},
    {"set", decode_set},
    {"isspacep", decode_isspacep},
    {"mapa", decode_mapa},
    {"bra", decode_bra},
    {"brx", decode_brx},
    {"ret", decode_leave},
    {"exit", decode_leave},
    {"trap", decode_leave},
    {"brkpt", decode_leave},
    {"nanosleep", decode_nanosleep},
    {"griddepcontrol", decode_griddep},
};

sim_form *sim_decode_form_find(sim_text root) {
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        if (sim_arena_text_equal(root, forms[i].root)) return forms[i].form;
    }
    return NULL;
}
