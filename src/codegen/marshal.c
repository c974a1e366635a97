/* Marshal: how problems, devices and configs look from Lua. */
#include "codegen/marshal.h"

#include <string.h>
#include "codegen/own_op.h"
#include "codegen/translate.h"
#include "model/problem.h"

/* The entry of that name in the table that a template file returns; raises an error if none. */
static void push_entry(lua_State *state, const char *file, const char *name) {
    rdt_lua_require(state, file);
    if (!lua_istable(state, -1)) luaL_error(state, "%s.lua must return a table", file);
    lua_pushstring(state, name);
    if (lua_rawget(state, -2) != LUA_TTABLE)
        luaL_error(state, "%s.lua has no entry '%s'", file, name);
    lua_remove(state, -2);
}

/* That of the op: of the templates, or of a file of the user's. */
static void push_op(lua_State *state, redtune_op op) {
    const rdt_own_op *own = rdt_user_ops_find(op);
    if (own)
        rdt_own_op_push(state, own);
    else
        push_entry(state, "ops", redtune_op_name(op));
}

void rdt_marshal_push_rule(lua_State *state, const rdt_codegen *codegen, int family,
                           const char *name) {
    lua_rawgeti(state, LUA_REGISTRYINDEX, codegen->family[family].table);
    if (lua_getfield(state, -1, name) != LUA_TFUNCTION)
        luaL_error(state, "family %s has no function %s", codegen->space[family].family, name);
    lua_remove(state, -2);
}

void rdt_marshal_set_param(lua_State *state, const rdt_param *param, int64_t value) {
    int at = rdt_space_param_find(param, value);
    if (at >= 0 && param->label[at][0])
        lua_pushstring(state, param->label[at]);
    else
        lua_pushinteger(state, value);
    lua_setfield(state, -2, param->name);
}

void rdt_marshal_push_config(lua_State *state, const rdt_space *space, const rdt_point *point,
                             bool compiled_only) {
    lua_createtable(state, 0, space->param_count);
    for (int i = 0; i < space->param_count; i++) {
        const rdt_param *param = &space->param[i];
        if (!compiled_only || !param->launch) rdt_marshal_set_param(state, param, point->value[i]);
    }
}

void rdt_marshal_read_config(lua_State *state, int table, const rdt_space *space, rdt_point *out) {
    for (int i = 0; i < space->param_count; i++) {
        const rdt_param *param = &space->param[i];
        lua_getfield(state, table, param->name);
        int at = -1;
        if (lua_type(state, -1) == LUA_TSTRING) {
            for (int j = 0; j < param->value_count; j++)
                if (!strcmp(param->label[j], lua_tostring(state, -1))) at = j;
        } else if (lua_isinteger(state, -1)) {
            at = rdt_space_param_find(param, lua_tointeger(state, -1));
        }
        if (at < 0)
            luaL_error(state, "%s=%s is not in the space", param->name,
                       luaL_tolstring(state, -1, NULL));
        out->value[i] = param->value[at];
        lua_pop(state, 1);
    }
}

int rdt_marshal_family_order(lua_State *state, int table) {
    const int type = lua_getfield(state, table, "order");
    const char *name = type == LUA_TSTRING ? lua_tostring(state, -1) : "free";
    const bool any = !strcmp(name, "any");
    const int order = rdt_problem_find_order(name);
    if (order < 0 && !any) luaL_error(state, "there is no order '%s'", name);
    lua_pop(state, 1);
    return order;
}

void rdt_marshal_push_class(lua_State *state, const redtune_problem *problem) {
    lua_newtable(state);
    push_op(state, problem->op);
    lua_setfield(state, -2, "op");
    push_entry(state, "dtypes", redtune_dtype_name(problem->result));
    lua_setfield(state, -2, "result");
    const redtune_dtype second = rdt_problem_second(problem);
    if (second)
        push_entry(state, "dtypes", redtune_dtype_name(second));
    else
        lua_pushboolean(state, false);
    lua_setfield(state, -2, "second");
    lua_pushboolean(state, (problem->uses & REDTUNE_USE_ACCUMULATE) != 0);
    lua_setfield(state, -2, "resumes");
    lua_pushboolean(state, (problem->uses & REDTUNE_USE_DEVICE_COUNT) != 0);
    lua_setfield(state, -2, "counts");
    lua_pushboolean(state, false);
    lua_setfield(state, -2, "placed");
    push_entry(state, "dtypes", redtune_dtype_name(problem->dtype));
    if (lua_getfield(state, -1, "accumulator") != LUA_TSTRING)
        luaL_error(state, "dtypes.lua: %s has no accumulator", redtune_dtype_name(problem->dtype));
    push_entry(state, "dtypes", lua_tostring(state, -1));
    lua_setfield(state, -4, "acc");
    lua_pop(state, 1);
    lua_setfield(state, -2, "dtype");
    lua_pushstring(state, rdt_problem_layout_name((int)rdt_problem_layout(problem)));
    lua_setfield(state, -2, "layout");
    lua_pushstring(state, rdt_problem_order_name((int)problem->order));
    lua_setfield(state, -2, "order");
    lua_pushstring(state, rdt_problem_ordering_accuracy((int)problem->accuracy));
    lua_setfield(state, -2, "accuracy");
}

/* The class with count, outer, inner, outer_step and step. */
static void push_problem(lua_State *state, const redtune_problem *problem) {
    rdt_marshal_push_class(state, problem);
    const rdt_extents extents = rdt_problem_extents(problem);
    const struct {
        const char *name;
        uint64_t value;
    } fields[] = {{"count", extents.count},       {"outer", extents.outer},
                  {"inner", extents.inner},       {"outer_step", extents.outer_step},
                  {"step", extents.step},         {"median", problem->median},
                  {"greatest", problem->greatest}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        lua_pushinteger(state, (lua_Integer)fields[i].value);
        lua_setfield(state, -2, fields[i].name);
    }
}

void rdt_marshal_push_facts(lua_State *state, const rdt_facts *facts) {
    const struct {
        const char *name;
        lua_Integer value;
    } fields[] = {
        {"major", facts->major},
        {"minor", facts->minor},
        {"sm_count", facts->sm_count},
        {"threads_per_sm", facts->threads_per_sm},
        {"threads_per_block", facts->threads_per_block},
        {"shared_bytes_per_block", facts->shared_bytes_per_block},
        {"l2_bytes", (lua_Integer)facts->l2_bytes},
        {"peak_mbps", (lua_Integer)(1e3 * rdt_facts_peak_gbps(facts))}, /* 0: unknown */
        {"blocks_max", RDT_BLOCKS_MAX}, /* what scratch has room for */
        {"words_bytes", RDT_BLOCKS_MAX * RDT_SCRATCH_WORDS_BYTES},
        {"slots_bytes", RDT_BLOCKS_MAX * RDT_SCRATCH_SLOT_BYTES},
    };
    lua_newtable(state);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        lua_pushinteger(state, fields[i].value);
        lua_setfield(state, -2, fields[i].name);
    }
}

bool rdt_marshal_is_class(const rdt_asked *asked, rdt_case at) {
    return asked->problem.uses == at.problem->uses &&
           rdt_problem_same_class(&asked->problem, at.problem) &&
           rdt_facts_same(&asked->facts, at.facts);
}

bool rdt_marshal_is_case(const rdt_asked *asked, rdt_case at) {
    return rdt_marshal_is_class(asked, at) && rdt_problem_same_extents(&asked->problem, at.problem);
}

void rdt_marshal_push_case(lua_State *state, rdt_codegen *codegen, rdt_case at) {
    rdt_pushed *last = &codegen->pushed;
    if (!last->is_whole || !rdt_marshal_is_case(&last->asked, at)) {
        last->is_whole = false;
        push_problem(state, at.problem);
        lua_rawsetp(state, LUA_REGISTRYINDEX, &last->asked.problem);
        rdt_marshal_push_facts(state, at.facts);
        lua_rawsetp(state, LUA_REGISTRYINDEX, &last->asked.facts);
        *last = (rdt_pushed){true, {*at.problem, *at.facts}};
    }
    lua_rawgetp(state, LUA_REGISTRYINDEX, &last->asked.problem);
    lua_rawgetp(state, LUA_REGISTRYINDEX, &last->asked.facts);
}

uint32_t rdt_marshal_slot_bytes(lua_State *state, rdt_codegen *codegen, rdt_case at) {
    rdt_lua_require(state, "lib/limits");
    lua_getfield(state, -1, "slot_bytes");
    rdt_marshal_push_case(state, codegen, at);
    lua_call(state, 2, 1);
    const uint32_t bytes = (uint32_t)lua_tointeger(state, -1);
    lua_pop(state, 2);
    return bytes;
}

bool rdt_marshal_flag(lua_State *state, int table, const char *field) {
    lua_getfield(state, table, field);
    bool flag = lua_toboolean(state, -1);
    lua_pop(state, 1);
    return flag;
}

int64_t rdt_marshal_integer(lua_State *state, int table, const char *field, int64_t low,
                            int64_t high) {
    lua_getfield(state, table, field);
    if (!lua_isinteger(state, -1)) luaL_error(state, "%s must be an integer", field);
    lua_Integer value = lua_tointeger(state, -1);
    if (value < low || value > high)
        luaL_error(state, "%s=%I must be between %I and %I", field, value, (lua_Integer)low,
                   (lua_Integer)high);
    lua_pop(state, 1);
    return value;
}

void rdt_marshal_define(lua_State *state, int environment, const char *name) {
    lua_pushstring(state, name);
    lua_insert(state, -2);
    lua_rawset(state, environment);
}

/* Adds a piece; without #line directives, where there are to be none. */
static void add_piece(rdt_output *output, const char *piece, size_t length) {
    static const char directive[] = "#line ";
    const char *end = piece + length;
    while (!output->lines && piece < end) {
        const char *newline = memchr(piece, '\n', (size_t)(end - piece));
        const char *next = newline ? newline + 1 : end;
        if (strncmp(piece, directive, sizeof directive - 1))
            rdt_text_add_bytes(&output->text, piece, (size_t)(next - piece));
        piece = next;
    }
    rdt_text_add_bytes(&output->text, piece, (size_t)(end - piece));
}

/* put(line, piece, ...): one line of text. The output is upvalue 1. */
static int put(lua_State *state) {
    rdt_output *output = lua_touserdata(state, lua_upvalueindex(1));
    lua_Integer line = luaL_checkinteger(state, 1);
    if (output->lines && line != output->next_line)
        rdt_text_addf(&output->text, "#line %lld \"%s\"\n", (long long)line, output->template);
    output->next_line = line + 1;
    int top = lua_gettop(state);
    for (int i = 2; i <= top; i++) {
        if (lua_type(state, i) != LUA_TSTRING && !lua_isinteger(state, i))
            return luaL_error(state, "@{} must give a string or an integer, and gives %s",
                              luaL_tolstring(state, i, NULL));
        size_t length;
        const char *piece = lua_tolstring(state, i, &length);
        add_piece(output, piece, length);
        if (memchr(piece, '\n', length)) output->next_line = 0; /* needs a #line behind it */
    }
    rdt_text_add(&output->text, "\n");
    return 0;
}

static int include(lua_State *state);

/* Runs a file of template text with the environment on top, which it pops. */
static void run_text(lua_State *state, const char *name, rdt_output *output) {
    const int environment = lua_gettop(state);
    static const struct {
        const char *name;
        lua_CFunction function;
    } functions[] = {{"put", put}, {"include", include}};
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        lua_pushlightuserdata(state, output);
        lua_pushvalue(state, environment);
        lua_pushcclosure(state, functions[i].function, 2);
        rdt_marshal_define(state, environment, functions[i].name);
    }
    size_t length;
    redtune_error failure;
    rdt_lua_push_file(state, name);
    const char *text = lua_tolstring(state, -1, &length);
    rdt_text_clear(&output->chunk);
    if (rdt_translate(name, text, length, &output->chunk, &failure))
        rdt_lua_raise(state, failure.status, failure.message);
    const char *chunk = lua_pushfstring(state, "@%s", name);
    lua_pushvalue(state, environment);
    rdt_lua_load(state, output->chunk.data ? output->chunk.data : "", output->chunk.length, chunk);
    output->template = name;
    output->next_line = 0;
    lua_call(state, 0, 0);
    lua_settop(state, environment - 1);
}

/* include(name): a file's text in place of the line. Upvalue 2 is the environment of the caller. */
static int include(lua_State *state) {
    rdt_output *output = lua_touserdata(state, lua_upvalueindex(1));
    const char *name = luaL_checkstring(state, 1), *template = output->template;
    lua_pushvalue(state, lua_upvalueindex(2));
    rdt_lua_push_locals(state);
    run_text(state, name, output);
    output->template = template;
    output->next_line = 0; /* needs a #line behind it */
    return 0;
}

void rdt_marshal_run_template(lua_State *state, const char *name, rdt_output *output,
                              rdt_push_environment_fn *push_environment, void *user) {
    output->template = name; /* the environment may go by it */
    push_environment(state, user);
    run_text(state, name, output);
}

redtune_status rdt_marshal_render(rdt_codegen *codegen, const char *what, lua_CFunction function,
                                  void *data, rdt_output *output, char **text, redtune_error *err) {
    redtune_status status = rdt_lua_call(&codegen->lua, what, function, data, err);
    if (!status) status = rdt_text_take(&output->text, text, err);
    rdt_text_free(&output->text);
    rdt_text_free(&output->chunk);
    return status;
}
