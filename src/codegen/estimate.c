/* Estimate: how long a point takes where nothing is measured, as its family puts it. */
#include <stdio.h>
#include "codegen/marshal.h"

typedef struct time_call {
    const rdt_codegen *codegen;
    rdt_case at;
    const rdt_point *point;
    double time_ns;
} time_call;

static int call_time(lua_State *state) {
    time_call *call = lua_touserdata(state, 1);
    const int family = call->point->family;
    lua_rawgeti(state, LUA_REGISTRYINDEX, call->codegen->family[family].table);
    if (lua_getfield(state, -1, "time") == LUA_TNIL) return 0;
    rdt_marshal_push_config(state, &call->codegen->space[family], call->point, false);
    rdt_marshal_push_problem(state, call->at.problem);
    rdt_marshal_push_facts(state, call->at.facts);
    lua_call(state, 3, 1);
    call->time_ns = luaL_checknumber(state, -1);
    if (!(call->time_ns > 0)) luaL_error(state, "a time must be above 0");
    return 0;
}

redtune_status rdt_estimate_time(rdt_codegen *codegen, rdt_case at, const rdt_point *point,
                                 double *time_ns, redtune_error *err) {
    time_call call = {codegen, at, point, 0};
    char text[96];
    snprintf(text, sizeof text, "estimate a config of template %s",
             codegen->space[point->family].family);
    redtune_status status = rdt_lua_call(&codegen->lua, text, call_time, &call, err);
    if (!status) *time_ns = call.time_ns;
    return status;
}
