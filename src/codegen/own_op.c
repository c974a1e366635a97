/* Own op: one file of the user's in a Lua state. */
#include "codegen/own_op.h"

#include <stdlib.h>
#include <string.h>
#include "base/hash.h"
#include "codegen/op_reader.h"

/* ---- the entry ------------------------------------------------------------------------------- */

/* Runs the text, and pushes what it returns as an entry (templates/lib/own_op.lua). */
static void push_made(lua_State *state, const rdt_own_op *op) {
    rdt_lua_require(state, "lib/own_op");
    rdt_lua_limit(state, op->name);
    const char *chunk = lua_pushfstring(state, "@%s", op->name);
    rdt_lua_push_environment(state);
    rdt_lua_load(state, op->text, op->bytes, chunk);
    lua_call(state, 0, 1);
    lua_remove(state, -2);
    lua_pushstring(state, op->name);
    lua_pushlstring(state, op->text, op->bytes);
    lua_call(state, 3, 1);
}

void rdt_own_op_push(lua_State *state, const rdt_own_op *op) {
    if (lua_rawgetp(state, LUA_REGISTRYINDEX, op) != LUA_TNIL) return;
    lua_pop(state, 1);
    push_made(state, op);
    lua_pushvalue(state, -1);
    lua_rawsetp(state, LUA_REGISTRYINDEX, op);
}

/* ---- examples -------------------------------------------------------------------------------- */

/* The examples are in the table on top, the current one above it. */

static void fail_example(lua_State *state, const rdt_own_op *op, const char *message) {
    luaL_error(state, "%s:%d: example %d: %s", op->name, op->line.examples, (int)op->example_count,
               message);
}

/* Reads the list of numbers of that field. */
static void read_example_elements(lua_State *state, const rdt_own_op *op, rdt_own_example *out,
                                  int input) {
    const char *const fields[] = {"x", "y"}, *field = fields[input];
    if (lua_getfield(state, -1, field) != LUA_TTABLE)
        fail_example(state, op, "x must be a list of numbers, and y for two inputs");
    const lua_Integer count = luaL_len(state, -1);
    if (count > RDT_OWN_EXAMPLE_COUNT_MAX || (input && (uint64_t)count != out->count))
        fail_example(state, op, "x may have 4096 numbers at most, and y must have as many as x");
    out->count = (uint64_t)count;
    out->elements[input] = calloc((size_t)count + 1, sizeof(double));
    if (!out->elements[input]) rdt_lua_raise(state, REDTUNE_MEMORY, "cannot keep an example");
    for (lua_Integer i = 0; i < count; i++) {
        if (lua_rawgeti(state, -1, i + 1) != LUA_TNUMBER)
            fail_example(state, op, "each element must be a number");
        out->elements[input][i] = lua_tonumber(state, -1);
        lua_pop(state, 1);
    }
    lua_pop(state, 1);
}

/* The number of the table on top, or the field of that name in it. */
static double read_named(lua_State *state, const rdt_own_op *op, const char *field,
                         const char *name, const double *usual) {
    double out = usual ? *usual : 0;
    int type = lua_getfield(state, -1, field);
    const bool within = type == LUA_TTABLE;
    if (within) type = lua_getfield(state, -1, name);
    if (type == LUA_TNUMBER)
        out = lua_tonumber(state, -1);
    else if (type != LUA_TNIL || !usual)
        fail_example(state, op, "result must be a number, or a table of those of each name");
    lua_pop(state, within ? 2 : 1);
    return out;
}

static void read_example(lua_State *state, rdt_own_op *op, const rdt_op_traits *traits) {
    rdt_own_example *out = &op->examples[op->example_count++];
    if (!lua_istable(state, -1)) fail_example(state, op, "it must be a table");
    for (int i = 0; i < traits->inputs; i++) read_example_elements(state, op, out, i);
    for (int i = 0; i < traits->outputs; i++)
        out->result[i] = read_named(state, op, "result", traits->output[i].name, NULL);
    for (int i = 0; i < traits->parameters; i++)
        out->parameter[i] = read_named(state, op, "parameters", traits->parameter[i].name,
                                       &traits->parameter[i].usual);
}

/* The entry is on top. */
static void read_examples(lua_State *state, rdt_own_op *op, const rdt_op_traits *traits) {
    if (lua_getfield(state, -1, "examples") == LUA_TNIL) {
        lua_pop(state, 1);
        return;
    }
    const lua_Integer count = lua_istable(state, -1) ? luaL_len(state, -1) : 0;
    if (count < 1 || count > RDT_OWN_EXAMPLES_MAX)
        luaL_error(state,
                   "%s:%d: examples must be a list of 1 to %d, such as "
                   "{ { x = { 1, 2 }, result = 3 } }",
                   op->name, op->line.examples, RDT_OWN_EXAMPLES_MAX);
    op->examples = calloc((size_t)count, sizeof *op->examples);
    if (!op->examples) rdt_lua_raise(state, REDTUNE_MEMORY, "cannot keep the examples");
    for (lua_Integer i = 0; i < count; i++) {
        lua_rawgeti(state, -1, i + 1);
        read_example(state, op, traits);
        lua_pop(state, 1);
    }
    lua_pop(state, 1);
}

/* ---- reading --------------------------------------------------------------------------------- */

typedef struct reading {
    rdt_own_op *op;
    rdt_op_traits *traits;
} reading;

static double number_in(lua_State *state, const char *field) {
    lua_getfield(state, -1, field);
    const double out = lua_tonumber(state, -1);
    lua_pop(state, 1);
    return out;
}

static int read_entry(lua_State *state) {
    const reading *self = lua_touserdata(state, 1);
    push_made(state, self->op);
    lua_getfield(state, -1, "name");
    const char *name = luaL_checkstring(state, -1);
    lua_pushvalue(state, -2);
    rdt_op_reader_read_entry(state, self->op->name, name, self->traits);
    self->traits->least = number_in(state, "least");
    self->traits->greatest = number_in(state, "greatest");
    lua_getfield(state, -1, "lines");
    self->op->line.name = (int)number_in(state, "name");
    self->op->line.functions = (int)number_in(state, "functions");
    self->op->line.map = (int)number_in(state, "map");
    self->op->line.identity = (int)number_in(state, "identity");
    self->op->line.combine = (int)number_in(state, "combine");
    self->op->line.examples = (int)number_in(state, "examples");
    lua_pop(state, 1);
    lua_getfield(state, -1, "rounds");
    self->op->rounds = lua_toboolean(state, -1);
    lua_pop(state, 1);
    read_examples(state, self->op, self->traits);
    return 0;
}

/* The message names the file; where its line is known, that, too. */
static redtune_status tell_of_file(const rdt_own_op *op, const redtune_error *why,
                                   redtune_error *err) {
    static const char head[] = "cannot use an op file: ";
    const char *text = why->message, *behind = strstr(text, ": ");
    if (behind) text = behind + 2;
    const bool named = strstr(text, ":") && !strncmp(text, op->name, strlen(op->name));
    return rdt_fail(err, why->status, why->code, "%s%.300s%s%.400s%s", head, named ? "" : op->name,
                    named ? "" : ": ", text, strchr(text, ';') ? "" : "; correct it there");
}

redtune_status rdt_own_op_read(rdt_own_op *out, rdt_op_traits *traits, redtune_error *err) {
    rdt_lua lua;
    redtune_error why = {0};
    redtune_status status = rdt_lua_open(&lua, err);
    if (status) return status;
    reading self = {out, traits};
    *traits = (rdt_op_traits){.file = out->name};
    status = rdt_lua_call(&lua, "use an op file", read_entry, &self, &why);
    rdt_lua_close(&lua);
    if (status) return tell_of_file(out, &why, err);
    rdt_hash hash = rdt_hash_begin();
    rdt_hash_add(&hash, out->text, out->bytes);
    traits->content = (uint64_t)hash.state;
    return REDTUNE_OK;
}

void rdt_own_op_free(rdt_own_op *op) {
    for (size_t i = 0; i < op->example_count; i++)
        for (int j = 0; j < RDT_OP_INPUTS_MAX; j++) free(op->examples[i].elements[j]);
    free(op->examples);
    free(op->name);
    free(op->text);
    *op = (rdt_own_op){.name = NULL};
}
