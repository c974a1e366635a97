/* Op reader: entries of ops, as Lua has them, as the traits that C goes by. */
#include "codegen/op_reader.h"

#include <lauxlib.h>
#include <stdlib.h>
#include <string.h>
#include "model/dtype.h"

enum { NO_NUMBER = RDT_OPS_MAX }; /* behind all that have one */

#define NAME(value, name) name,
static const char *const result_names[] = {RDT_RESULT_LIST(NAME) NULL};
static const char *const combines_names[] = {RDT_COMBINES_LIST(NAME) NULL};
#undef NAME

/* Which entry is read, for messages. */
typedef struct entry {
    const char *file, *op;
} entry;

/* The following read a field of the entry on top of the stack. */

static void read_text(lua_State *state, const entry *of, const char *field, char *out,
                      size_t bytes) {
    size_t length = 0;
    lua_getfield(state, -1, field);
    const char *text = lua_type(state, -1) == LUA_TSTRING ? lua_tolstring(state, -1, &length) : "";
    if (!length || length >= bytes || strlen(text) < length)
        luaL_error(state, "%s: the %s of %s must be a text of 1 to %d bytes", of->file, field,
                   of->op, (int)bytes - 1);
    memcpy(out, text, length + 1);
    lua_pop(state, 1);
}

/* -1 for none. */
static int index_in(const char *const *names, const char *text) {
    for (int i = 0; names[i]; i++)
        if (!strcmp(names[i], text)) return i;
    return -1;
}

static int read_choice(lua_State *state, const entry *of, const char *field,
                       const char *const *names) {
    lua_getfield(state, -1, field);
    const char *text = lua_type(state, -1) == LUA_TSTRING ? lua_tostring(state, -1) : "";
    const int at = index_in(names, text);
    if (at >= 0) {
        lua_pop(state, 1);
        return at;
    }
    return luaL_error(state, "%s: the %s of %s must not be '%s'", of->file, field, of->op, text);
}

static int read_integer(lua_State *state, const entry *of, const char *field, int missing,
                        int most) {
    int out = missing;
    if (lua_getfield(state, -1, field) != LUA_TNIL) {
        if (!lua_isinteger(state, -1) || lua_tointeger(state, -1) < 0 ||
            lua_tointeger(state, -1) > most)
            luaL_error(state, "%s: the %s of %s must be a number from 0 to %d", of->file, field,
                       of->op, most);
        out = (int)lua_tointeger(state, -1);
    }
    lua_pop(state, 1);
    return out;
}

static bool read_flag(lua_State *state, const char *field) {
    lua_getfield(state, -1, field);
    bool out = lua_toboolean(state, -1);
    lua_pop(state, 1);
    return out;
}

/* How many entries the list of that field has, or `missing` without one; it stays on the stack. */
static int push_list(lua_State *state, const entry *of, const char *field, int missing, int most) {
    if (lua_getfield(state, -1, field) == LUA_TNIL) return missing;
    if (!lua_istable(state, -1))
        luaL_error(state, "%s: the %s of %s must be a list", of->file, field, of->op);
    const lua_Integer count = luaL_len(state, -1);
    if (count < 1 || count > most)
        luaL_error(state, "%s: %s must have 1 to %d %s", of->file, of->op, most, field);
    return (int)count;
}

static void push_member(lua_State *state, const entry *of, const char *field, int i) {
    if (lua_rawgeti(state, -1, i + 1) != LUA_TTABLE)
        luaL_error(state, "%s: each of the %s of %s must be a table", of->file, field, of->op);
}

/* The dtypes that the op is for; without the field all of them. */
static void read_dtypes(lua_State *state, const entry *of, rdt_op_traits *out) {
    const int count = push_list(state, of, "dtypes", 0, REDTUNE_DTYPE_END);
    for (int i = 0; i < count; i++) {
        lua_rawgeti(state, -1, i + 1);
        const char *name = lua_type(state, -1) == LUA_TSTRING ? lua_tostring(state, -1) : "";
        redtune_dtype dtype = REDTUNE_DTYPE_NONE;
        if (redtune_dtype_find(name, &dtype, NULL))
            luaL_error(state, "%s: the dtypes of %s must not have '%s'", of->file, of->op, name);
        out->dtypes |= 1u << dtype;
        lua_pop(state, 1);
    }
    lua_pop(state, 1);
}

/* A class, or the name of a dtype. */
static void read_result_class(lua_State *state, const entry *of, rdt_op_output *out) {
    lua_getfield(state, -1, "result");
    const char *text = lua_type(state, -1) == LUA_TSTRING ? lua_tostring(state, -1) : "";
    out->dtype = REDTUNE_DTYPE_NONE;
    const bool is_dtype = !redtune_dtype_find(text, &out->dtype, NULL);
    lua_pop(state, 1);
    out->result = is_dtype ? RDT_RESULT_DTYPE
                           : (rdt_result_class)read_choice(state, of, "result", result_names);
}

/* The results: those in the list, or the one of the field result. */
static void read_outputs(lua_State *state, const entry *of, rdt_op_traits *out) {
    out->outputs = push_list(state, of, "outputs", 0, RDT_OP_OUTPUTS_MAX);
    for (int i = 0; i < out->outputs; i++) {
        push_member(state, of, "outputs", i);
        read_text(state, of, "name", out->output[i].name, sizeof out->output[i].name);
        read_result_class(state, of, &out->output[i]);
        lua_pop(state, 1);
    }
    lua_pop(state, 1);
    if (!out->outputs) {
        out->outputs = 1;
        strcpy(out->output[0].name, "result");
        read_result_class(state, of, &out->output[0]);
    }
    out->result = out->output[0].result;
}

static void read_parameters(lua_State *state, const entry *of, rdt_op_traits *out) {
    out->parameters = push_list(state, of, "parameters", 0, RDT_OP_PARAMETERS_MAX);
    for (int i = 0; i < out->parameters; i++) {
        rdt_op_parameter *parameter = &out->parameter[i];
        push_member(state, of, "parameters", i);
        read_text(state, of, "name", parameter->name, sizeof parameter->name);
        if (lua_getfield(state, -1, "usual") != LUA_TNUMBER)
            luaL_error(state, "%s: the usual value of %s's %s must be a number", of->file, of->op,
                       parameter->name);
        parameter->usual = lua_tonumber(state, -1);
        lua_pop(state, 2);
    }
    lua_pop(state, 1);
}

void rdt_op_reader_read_entry(lua_State *state, const char *file, const char *key,
                              rdt_op_traits *out) {
    const entry of = {file, key};
    if (!lua_istable(state, -1)) luaL_error(state, "%s: %s is no table", file, key);
    read_text(state, &of, "name", out->name, sizeof out->name);
    if (strcmp(out->name, key))
        luaL_error(state, "%s: the entry %s has the name %s", file, key, out->name);
    read_text(state, &of, "formula", out->formula, sizeof out->formula);
    out->op = (redtune_op)read_integer(state, &of, "number", NO_NUMBER, RDT_OPS_MAX - 2);
    read_outputs(state, &of, out);
    read_parameters(state, &of, out);
    out->inputs = read_integer(state, &of, "inputs", 1, RDT_OP_INPUTS_MAX);
    out->combines = (rdt_combines)read_choice(state, &of, "combines", combines_names);
    out->power = read_integer(state, &of, "power", 1, 4);
    out->f64_from = read_integer(state, &of, "f64_from", 1, 8);
    out->lost_bits = read_integer(state, &of, "lost_bits", 0, 8);
    out->tolerance = read_integer(state, &of, "tolerance", 0, 1 << 20);
    out->values = read_integer(state, &of, "values", 1, 4);
    out->range_bytes = read_integer(state, &of, "range_bytes", 0, 32);
    out->accumulator_bytes = read_integer(state, &of, "accumulator_bytes", 0, 32);
    out->indexed = read_flag(state, "indexed");
    out->ignores_nan = read_flag(state, "ignores_nan");
    out->bools = read_flag(state, "bools");
    out->resumes = read_flag(state, "resumes");
    out->compensated = read_flag(state, "compensated");
    out->exact = read_flag(state, "exact");
    read_dtypes(state, &of, out);
    lua_getfield(state, -1, "make");
    if (!lua_isfunction(state, -1)) luaL_error(state, "%s: %s has no function make", file, key);
    lua_pop(state, 1);
}

static int compare(const void *a, const void *b) {
    const rdt_op_traits *x = a, *y = b;
    return x->op != y->op ? (x->op > y->op) - (x->op < y->op) : strcmp(x->name, y->name);
}

void rdt_op_reader_read(lua_State *state, rdt_op_table *out) {
    if (!lua_istable(state, -1)) luaL_error(state, "ops.lua must return a table");
    lua_pushnil(state);
    while (lua_next(state, -2)) {
        if (lua_type(state, -2) != LUA_TSTRING)
            luaL_error(state, "ops.lua: an entry's key must be its name");
        if (out->count == RDT_OPS_MAX - 1)
            luaL_error(state, "ops.lua has more than %d ops", RDT_OPS_MAX - 1);
        rdt_op_reader_read_entry(state, "ops.lua", lua_tostring(state, -2),
                                 &out->entry[out->count++]);
        lua_pop(state, 1);
    }
    qsort(out->entry, (size_t)out->count, sizeof *out->entry, compare);
}
