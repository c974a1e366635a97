/* Decode: the decoding of an entry: from statements to instructions that run. */
#include "exec/decode.h"
#include "ptx/special.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum {
    SHARED_GAP_BYTES = 128,
    SHARED_BYTES_MAX = 1 << 22,
    SHARED_NAMED_BYTES_MAX = 48 * 1024, /* as ptxas has it, on every GPU */
    LOCAL_BYTES_MAX = 1 << 16,
    REGISTERS_MAX = 255, /* of a thread */
    SM_REGISTERS = 65536 /* on every architecture so far */
};

static const sim_op_table *const tables[] = {
    &sim_ops_integer, &sim_ops_bits, &sim_ops_float, &sim_ops_double, &sim_ops_half,
};

bool sim_decode_fail(sim_decoder *d, const char *format, ...) {
    char why[128];
    va_list args;
    va_start(args, format);
    vsnprintf(why, sizeof why, format, args);
    va_end(args);
    int length = d->statement->opcode.length > 64 ? 64 : (int)d->statement->opcode.length;
    snprintf(d->problem->text, sizeof d->problem->text, "instruction '%.*s': %s", length,
             d->statement->opcode.at, why);
    d->problem->line = d->statement->line;
    return false;
}

bool sim_decode_no_memory(sim_decoder *d) {
    snprintf(d->problem->text, sizeof d->problem->text, "cannot decode '%s': no memory",
             d->function->name);
    d->problem->line = 0;
    return false;
}

bool sim_decode_unknown(sim_decoder *d) { return sim_decode_fail(d, "unknown to the simulator"); }

static void split_opcode(sim_text text, sim_opcode *out) {
    memset(out, 0, sizeof *out);
    sim_text *part = &out->root;
    *part = (sim_text){text.at, 0};
    for (uint32_t i = 0; i < text.length; i++) {
        if (text.at[i] != '.') {
            part->length++;
            continue;
        }
        if (out->count == SIM_MODS_MAX) {
            part->length++; /* too many: the last one becomes a modifier that nothing knows */
            continue;
        }
        part = &out->mods[out->count++];
        *part = (sim_text){text.at + i + 1, 0};
    }
}

bool sim_decode_take(sim_opcode *opcode, const char *mod) {
    for (uint32_t i = 0; i < opcode->count; i++) {
        if (opcode->taken >> i & 1 || !sim_arena_text_equal(opcode->mods[i], mod)) continue;
        opcode->taken |= 1u << i;
        return true;
    }
    return false;
}

bool sim_decode_take_any(sim_opcode *opcode, const char *const *mods, uint32_t count) {
    bool taken = false;
    for (uint32_t i = 0; i < count; i++) taken |= sim_decode_take(opcode, mods[i]);
    return taken;
}

sim_type sim_decode_take_type(sim_opcode *opcode) {
    for (uint32_t i = 0; i < opcode->count; i++) {
        if (opcode->taken >> i & 1) continue;
        for (int type = SIM_TYPE_NONE + 1; type < SIM_TYPE_COUNT; type++) {
            if (!sim_arena_text_equal(opcode->mods[i], sim_type_table[type].name)) continue;
            opcode->taken |= 1u << i;
            return (sim_type)type;
        }
    }
    return SIM_TYPE_NONE;
}

bool sim_decode_done(const sim_opcode *opcode) {
    return opcode->taken == (1u << opcode->count) - 1;
}

static uint32_t hash_name(const char *name, uint32_t length) {
    uint32_t hash = 2166136261u;
    for (uint32_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)name[i]) * 16777619u;
    return hash % SIM_OP_BUCKETS;
}

/* The tables are constant, so each decoding indexes them for itself. */
static bool index_ops(sim_decoder *d) {
    for (size_t t = 0; t < sizeof tables / sizeof *tables; t++) {
        for (uint32_t i = 0; i < tables[t]->count; i++) {
            const sim_op *op = &tables[t]->ops[i];
            sim_op_slot *slot = sim_arena_get(&d->ast->arena, sizeof *slot);
            if (!slot) return sim_decode_no_memory(d);
            uint32_t bucket = hash_name(op->name, (uint32_t)strlen(op->name));
            *slot = (sim_op_slot){op, d->ops[bucket]};
            d->ops[bucket] = slot;
        }
    }
    return true;
}

static uint8_t take_flags(sim_opcode *opcode) {
    static const struct {
        const char *mod;
        uint8_t flag;
    } flags[] = {
        {"rn", 0},           {"rz", SIM_FLAG_RZ},   {"rm", SIM_FLAG_RM},
        {"rp", SIM_FLAG_RP}, {"ftz", SIM_FLAG_FTZ}, {"sat", SIM_FLAG_SAT},
    };
    uint8_t found = 0;
    for (size_t i = 0; i < sizeof flags / sizeof *flags; i++) {
        if (sim_decode_take(opcode, flags[i].mod)) found |= flags[i].flag;
    }
    return found;
}

/* An instruction of the tables: its name without the flags says everything. */
static bool decode_plain(sim_decoder *d) {
    char name[80];
    uint32_t length = 0;
    uint8_t flags = take_flags(&d->opcode);
    if (d->statement->opcode.length >= sizeof name) return sim_decode_unknown(d);
    memcpy(name, d->opcode.root.at, d->opcode.root.length);
    length = d->opcode.root.length;
    for (uint32_t i = 0; i < d->opcode.count; i++) {
        if (d->opcode.taken >> i & 1) continue;
        name[length++] = '.';
        memcpy(name + length, d->opcode.mods[i].at, d->opcode.mods[i].length);
        length += d->opcode.mods[i].length;
    }
    name[length] = '\0';
    const sim_op_slot *slot = d->ops[hash_name(name, length)];
    while (slot && strcmp(slot->op->name, name) != 0) slot = slot->next;
    if (!slot) return sim_decode_unknown(d);
    d->inst.run = flags ? slot->op->run_flagged : slot->op->run;
    d->inst.flags = flags;
    if (!d->inst.run) return sim_decode_unknown(d);
    return sim_decode_pattern(d, slot->op->pattern);
}

static bool decode_statement(sim_decoder *d, const sim_statement *statement) {
    d->statement = statement;
    split_opcode(statement->opcode, &d->opcode);
    memset(&d->inst, 0, sizeof d->inst);
    d->inst.line = statement->line;
    d->inst.source_file = statement->source_file;
    d->inst.source_line = statement->source_line;
    if (statement->guard != SIM_NONE) {
        uint32_t predicate = 0;
        if (!sim_decode_register(d, statement->guard, &predicate)) return false;
        d->inst.guard = predicate << 1 | statement->guard_negated;
    }
    sim_form *form = sim_decode_form_find(d->opcode.root);
    if (!form) form = sim_decode_memory_find(d->opcode.root);
    if (!form) form = sim_decode_warp_find(d->opcode.root);
    if (!(form ? form(d) : decode_plain(d))) return false;
    sim_inst *slot = sim_arena_push(&d->ast->arena, &d->insts);
    if (!slot) return sim_decode_no_memory(d);
    *slot = d->inst;
    return true;
}

static uint64_t align_up(uint64_t value, uint64_t align) {
    return (value + align - 1) & ~(align - 1);
}

/* Gives the entry's shared and local variables their places. Those in shared memory get gaps
 * between them, so that running out of one is found before it reaches the next. */
static bool place_variables(sim_decoder *d, uint64_t *places) {
    sim_program *program = d->program;
    uint64_t shared = 0, named = 0, local = 0;
    for (uint32_t i = 0; i < d->function->variables.count; i++) {
        uint32_t index = *SIM_ITEM(&d->function->variables, uint32_t, i);
        sim_variable *variable = SIM_ITEM(&d->ast->variables, sim_variable, index);
        if (places[index] != UINT64_MAX) continue;
        if (variable->space == SIM_SPACE_LOCAL) {
            uint64_t end = variable->local_offset + variable->size_bytes;
            places[index] = variable->local_offset;
            if (end > local) local = end;
        } else if (variable->space == SIM_SPACE_SHARED && variable->size_bytes) {
            uint64_t align = variable->align_bytes > 16 ? variable->align_bytes : 16;
            places[index] = align_up(shared, align);
            shared = align_up(places[index] + variable->size_bytes, 16) + SHARED_GAP_BYTES;
            named = align_up(named, variable->align_bytes) + variable->size_bytes;
        }
        if (shared > SHARED_BYTES_MAX || local > LOCAL_BYTES_MAX) {
            snprintf(d->problem->text, sizeof d->problem->text,
                     "'%s' needs too much shared or local memory", d->function->name);
            return false;
        }
    }
    if (named > SHARED_NAMED_BYTES_MAX) {
        snprintf(d->problem->text, sizeof d->problem->text,
                 "'%s' uses too much shared data (0x%llx bytes, 0x%x max)", d->function->name,
                 (unsigned long long)named, SHARED_NAMED_BYTES_MAX);
        return false;
    }
    program->shared_bytes = (uint32_t)align_up(shared, 1024);
    program->shared_named_bytes = (uint32_t)named;
    program->local_bytes = (uint32_t)align_up(local, 16);
    for (uint32_t i = 0; i < d->ast->variables.count; i++) {
        sim_variable *variable = SIM_ITEM(&d->ast->variables, sim_variable, i);
        bool is_dynamic = variable->space == SIM_SPACE_SHARED && !variable->size_bytes;
        if (is_dynamic) places[i] = program->shared_bytes; /* behind all the others */
        bool elsewhere = variable->space == SIM_SPACE_GLOBAL || variable->space == SIM_SPACE_CONST;
        if (elsewhere) places[i] = d->addresses ? d->addresses[i] : 0;
    }
    return true;
}

static bool mark_shared(sim_decoder *d, const uint64_t *places) {
    sim_program *program = d->program;
    program->shared_valid = sim_arena_get(&d->ast->arena, program->shared_bytes + 1);
    if (!program->shared_valid) return sim_decode_no_memory(d);
    for (uint32_t i = 0; i < d->function->variables.count; i++) {
        uint32_t index = *SIM_ITEM(&d->function->variables, uint32_t, i);
        sim_variable *variable = SIM_ITEM(&d->ast->variables, sim_variable, index);
        if (variable->space != SIM_SPACE_SHARED) continue;
        if (!variable->size_bytes) program->uses_dynamic_shared = true;
        memset(program->shared_valid + places[index], 1, variable->size_bytes);
    }
    return true;
}

/* Labels were kept as label numbers; an entry's last label may stand behind its last statement. */
static bool resolve_targets(sim_decoder *d) {
    for (uint32_t i = 0; i < d->insts.count; i++) {
        sim_inst *inst = SIM_ITEM(&d->insts, sim_inst, i);
        if (inst->flow != SIM_FLOW_BRANCH) continue;
        inst->target = SIM_ITEM(&d->function->labels, sim_label, inst->target)->statement;
    }
    for (uint32_t i = 0; i < d->targets.count; i++) {
        uint32_t *target = SIM_ITEM(&d->targets, uint32_t, i);
        *target = SIM_ITEM(&d->function->labels, sim_label, *target)->statement;
    }
    return true;
}

/* An entry may end without ret: an exit behind its last statement serves that and late labels. */
static bool decode_statements(sim_decoder *d) {
    for (uint32_t i = 0; i < d->function->statements.count; i++) {
        if (!decode_statement(d, SIM_ITEM(&d->function->statements, sim_statement, i))) {
            return false;
        }
    }
    sim_inst *last = sim_arena_push(&d->ast->arena, &d->insts);
    if (!last) return sim_decode_no_memory(d);
    last->flow = SIM_FLOW_EXIT;
    last->run = sim_step_nothing;
    last->line = d->insts.count > 1 ? last[-1].line : d->function->line;
    return resolve_targets(d) && sim_liveness_mark_waits(d) && sim_liveness_pack(d);
}

/* The estimate, within what a thread can have at all and what the entry's own limit of threads
 * leaves it: a compiler would rather spill than make an entry that cannot be launched. */
static uint32_t limit_registers(uint32_t estimate, uint32_t max_threads) {
    uint32_t most = REGISTERS_MAX;
    if (max_threads) {
        uint32_t each = SM_REGISTERS / ((max_threads + SIM_LANES - 1) / SIM_LANES * SIM_LANES);
        if (each < most) most = each;
    }
    return estimate < most ? estimate : most;
}

static bool fill_program(sim_decoder *d) {
    sim_program *program = d->program;
    program->name = d->function->name;
    program->insts = d->insts.items;
    program->inst_count = d->insts.count;
    program->constant_count = d->constants.count;
    program->constants =
        sim_arena_get(&d->ast->arena, (size_t)(d->constants.count + 1) * SIM_LANES * 8);
    if (!program->constants) return sim_decode_no_memory(d);
    for (uint32_t i = 0; i < d->constants.count; i++) {
        for (uint32_t lane = 0; lane < SIM_LANES; lane++) {
            program->constants[i * SIM_LANES + lane] = *SIM_ITEM(&d->constants, uint64_t, i);
        }
    }
    program->targets = d->targets.items;
    program->specials = d->specials.items;
    program->special_count = d->specials.count;
    program->register_count = limit_registers(program->register_count, d->function->max_threads);
    program->max_threads = d->function->max_threads ? d->function->max_threads : 1024;
    program->cluster_blocks = d->function->cluster_blocks ? d->function->cluster_blocks : 1;
    program->params = d->function->params.items;
    program->param_count = d->function->params.count;
    program->param_bytes = d->function->param_bytes;
    program->files = d->ast->files.items;
    program->file_count = d->ast->files.count;
    return true;
}

bool sim_decode(sim_ast *ast, uint32_t index, const uint64_t *addresses, sim_program *out,
                sim_problem *problem) {
    sim_decoder d = {.ast = ast, .program = out, .problem = problem};
    memset(out, 0, sizeof *out);
    memset(problem, 0, sizeof *problem);
    d.function = SIM_ITEM(&ast->functions, sim_function, index);
    d.insts.item_bytes = sizeof(sim_inst);
    d.constants.item_bytes = sizeof(uint64_t);
    d.specials.item_bytes = sizeof(sim_special_row);
    d.targets.item_bytes = sizeof(uint32_t);
    out->predicate_count = 1; /* 0 is always true */
    uint64_t *places = sim_arena_get(&ast->arena, ((size_t)ast->variables.count + 1) * 8);
    size_t registers = (size_t)d.function->regs.count + 1;
    d.registers = sim_arena_get(&ast->arena, registers * sizeof *d.registers);
    d.row_words = sim_arena_get(&ast->arena, registers * 2 + SIM_SPECIAL_COUNT);
    if (!places || !d.registers || !d.row_words) return sim_decode_no_memory(&d);
    memset(places, 0xff, (size_t)ast->variables.count * 8);
    memset(d.registers, 0xff, registers * sizeof *d.registers);
    d.addresses = addresses;
    if (!index_ops(&d) || !place_variables(&d, places)) return false;
    d.addresses = places;
    return mark_shared(&d, places) && decode_statements(&d) && fill_program(&d);
}
