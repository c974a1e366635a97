/* Marshal: how problems, devices and configs look from Lua. */
#include "codegen/marshal.h"

#include <string.h>
#include "codegen/translate.h"

/* The entry of that name in the table that a template file returns; raises an error if none. */
static void push_entry(lua_State *state, const char *file, const char *name) {
    rdt_lua_require(state, file);
    if (!lua_istable(state, -1)) luaL_error(state, "%s.lua must return a table", file);
    lua_pushstring(state, name);
    if (lua_rawget(state, -2) != LUA_TTABLE)
        luaL_error(state, "%s.lua has no entry '%s'", file, name);
    lua_remove(state, -2);
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

void rdt_marshal_push_problem(lua_State *state, const redtune_problem *problem) {
    lua_newtable(state);
    push_entry(state, "ops", redtune_op_name(problem->op));
    lua_setfield(state, -2, "op");
    push_entry(state, "dtypes", redtune_dtype_name(problem->result));
    lua_setfield(state, -2, "result");
    push_entry(state, "dtypes", redtune_dtype_name(problem->dtype));
    if (lua_getfield(state, -1, "accumulator") != LUA_TSTRING)
        luaL_error(state, "dtypes.lua: %s has no accumulator", redtune_dtype_name(problem->dtype));
    push_entry(state, "dtypes", lua_tostring(state, -1));
    lua_setfield(state, -4, "acc");
    lua_pop(state, 1);
    lua_setfield(state, -2, "dtype");
    lua_pushinteger(state, (lua_Integer)problem->count);
    lua_setfield(state, -2, "count");
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
        {"blocks_max", RDT_BLOCKS_MAX}, /* what scratch has room for */
    };
    lua_newtable(state);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
        lua_pushinteger(state, fields[i].value);
        lua_setfield(state, -2, fields[i].name);
    }
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

void rdt_marshal_run_template(lua_State *state, const char *name, rdt_text *chunk,
                              rdt_push_environment_fn *push_environment, void *user) {
    int top = lua_gettop(state);
    size_t length;
    redtune_error failure;
    rdt_lua_push_file(state, name);
    const char *text = lua_tolstring(state, -1, &length);
    if (rdt_translate(name, text, length, chunk, &failure))
        rdt_lua_raise(state, failure.status, failure.message);
    lua_pushfstring(state, "@%s", name);
    push_environment(state, user);
    rdt_lua_load(state, chunk->data ? chunk->data : "", chunk->length, lua_tostring(state, -2));
    lua_call(state, 0, 0);
    lua_settop(state, top);
}
