/* Marshal: how problems, devices and configs look from Lua. */
#include "codegen/marshal.h"

#include <string.h>
#include "codegen/own_op.h"
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
    const uint64_t resumes = REDTUNE_USE_ACCUMULATE | REDTUNE_USE_INITIAL;
    rdt_lua_set_truth(state, "resumes", (problem->uses & resumes) != 0);
    rdt_lua_set_truth(state, "begins", (problem->uses & REDTUNE_USE_INITIAL) != 0);
    rdt_lua_set_truth(state, "counts", (problem->uses & REDTUNE_USE_DEVICE_COUNT) != 0);
    rdt_lua_set_truth(state, "placed", false);
    rdt_lua_set_truth(state, "mask", false);
    if (problem->mask) rdt_lua_set_text(state, "mask", rdt_problem_mask_name((int)problem->mask));
    if (problem->uses & REDTUNE_USE_BOOLS)
        rdt_lua_require(state, "lib/bools");
    else
        push_entry(state, "dtypes", redtune_dtype_name(problem->dtype));
    if (lua_getfield(state, -1, "accumulator") != LUA_TSTRING)
        luaL_error(state, "dtypes.lua: %s has no accumulator", redtune_dtype_name(problem->dtype));
    push_entry(state, "dtypes", lua_tostring(state, -1));
    lua_setfield(state, -4, "acc");
    lua_pop(state, 1);
    lua_setfield(state, -2, "dtype");
    rdt_lua_set_text(state, "layout", rdt_problem_layout_name((int)rdt_problem_layout(problem)));
    if (rdt_problem_is_keyed(problem)) {
        push_entry(state, "dtypes", redtune_dtype_name(problem->key_dtype));
        lua_setfield(state, -2, "key");
        rdt_lua_set_truth(state, "of_rows", rdt_problem_keyed_width(problem) > 1);
    }
    rdt_lua_set_text(state, "order", rdt_problem_order_name((int)problem->order));
    rdt_lua_set_text(state, "accuracy", rdt_problem_ordering_accuracy((int)problem->accuracy));
}

static void push_lane(lua_State *state, const char *name, const rdt_lanes *lanes) {
    lua_newtable(state);
    rdt_lua_set_integer(state, "vec", (int64_t)lanes->vec);
    rdt_lua_set_integer(state, "run", (int64_t)lanes->run);
    rdt_lua_set_integer(state, "step", (int64_t)lanes->step);
    rdt_lua_set_integer(state, "beside", (int64_t)lanes->beside);
    rdt_lua_set_integer(state, "axes", (int64_t)lanes->axes);
    lua_setfield(state, -2, name);
}

/* The innermost axes, as strides.h has them. */
static void push_lanes(lua_State *state, const redtune_problem *problem) {
    const rdt_strides_lanes lanes = rdt_strides_lanes_of(problem);
    push_lane(state, "reduced", &lanes.reduced);
    push_lane(state, "kept", &lanes.kept);
}

/* The class with count, outer, inner, outer_step and step. */
static void push_problem(lua_State *state, const redtune_problem *problem) {
    rdt_marshal_push_class(state, problem);
    const rdt_extents extents = rdt_problem_extents(problem);
    rdt_lua_set_integer(state, "count", (int64_t)extents.count);
    rdt_lua_set_integer(state, "outer", (int64_t)extents.outer);
    rdt_lua_set_integer(state, "inner", (int64_t)extents.inner);
    rdt_lua_set_integer(state, "outer_step", (int64_t)extents.outer_step);
    rdt_lua_set_integer(state, "step", (int64_t)extents.step);
    rdt_lua_set_integer(state, "median", (int64_t)problem->median);
    rdt_lua_set_integer(state, "greatest", (int64_t)problem->greatest);
    if (rdt_problem_is_strided(problem)) push_lanes(state, problem);
    if (!rdt_problem_is_keyed(problem)) return;
    rdt_lua_set_integer(state, "keys", (int64_t)problem->keys);
    rdt_lua_set_text(state, "spread", rdt_problem_spread_name((int)problem->spread));
}

void rdt_marshal_push_facts(lua_State *state, const rdt_facts *facts) {
    lua_newtable(state);
    rdt_lua_set_integer(state, "major", facts->major);
    rdt_lua_set_integer(state, "minor", facts->minor);
    rdt_lua_set_integer(state, "sm_count", facts->sm_count);
    rdt_lua_set_integer(state, "threads_per_sm", facts->threads_per_sm);
    rdt_lua_set_integer(state, "threads_per_block", facts->threads_per_block);
    rdt_lua_set_integer(state, "shared_bytes_per_block", facts->shared_bytes_per_block);
    rdt_lua_set_integer(state, "l2_bytes", (int64_t)facts->l2_bytes);
    /* 0: unknown */
    rdt_lua_set_integer(state, "peak_mbps", (int64_t)(1e3 * rdt_facts_peak_gbps(facts)));
    /* What scratch has room for. */
    rdt_lua_set_integer(state, "blocks_max", RDT_BLOCKS_MAX);
    rdt_lua_set_integer(state, "words_bytes", RDT_BLOCKS_MAX * RDT_SCRATCH_WORDS_BYTES);
    rdt_lua_set_integer(state, "slots_bytes", RDT_BLOCKS_MAX * RDT_SCRATCH_SLOT_BYTES);
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
        const bool has_facts = last->is_whole && rdt_facts_same(&last->asked.facts, at.facts);
        last->is_whole = false;
        push_problem(state, at.problem);
        lua_rawsetp(state, LUA_REGISTRYINDEX, &last->asked.problem);
        if (!has_facts) {
            rdt_marshal_push_facts(state, at.facts);
            lua_rawsetp(state, LUA_REGISTRYINDEX, &last->asked.facts);
        }
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
