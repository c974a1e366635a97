/* Estimate: how long a point takes where nothing is measured, as its family puts it, and which
 * family's default serves there. */
#include <stdio.h>
#include <string.h>
#include "codegen/marshal.h"

typedef struct time_call {
    rdt_codegen *codegen;
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
    rdt_marshal_push_case(state, call->codegen, call->at);
    lua_call(state, 3, 1);
    call->time_ns = luaL_checknumber(state, -1);
    if (!(call->time_ns > 0)) luaL_error(state, "a time must be above 0");
    return 0;
}

redtune_status rdt_estimate_time(rdt_codegen *codegen, rdt_case at, const rdt_point *point,
                                 double *time_ns, redtune_error *err) {
    redtune_status status = rdt_codegen_turn(&codegen, at.problem->op, err);
    if (status) return status;
    time_call call = {codegen, at, point, 0};
    char text[96];
    snprintf(text, sizeof text, "estimate a config of template %s",
             codegen->space[point->family].family);
    status = rdt_lua_call(&codegen->lua, text, call_time, &call, err);
    if (!status) *time_ns = call.time_ns;
    return status;
}

double rdt_estimate_time_or_none(rdt_codegen *codegen, rdt_case at, const rdt_point *point) {
    redtune_error ignored;
    double time_ns = 0;
    return rdt_estimate_time(codegen, at, point, &time_ns, &ignored) ? 0 : time_ns;
}

/* By the estimates, so much faster another family's default takes the place of the first one's. */
static const double FAMILY_WORTH = 0.97;

redtune_status rdt_estimate_order(rdt_codegen *codegen, rdt_case at, rdt_point *points,
                                  size_t count, redtune_error *err) {
    size_t best = 0;
    double best_ns = 0;
    redtune_status status =
        count > 1 ? rdt_estimate_time(codegen, at, &points[0], &best_ns, err) : REDTUNE_OK;
    for (size_t i = 1; !status && best_ns > 0 && i < count; i++) {
        double time_ns = 0;
        status = rdt_estimate_time(codegen, at, &points[i], &time_ns, err);
        if (status || time_ns <= 0 || time_ns >= FAMILY_WORTH * best_ns) continue;
        best = i;
        best_ns = time_ns;
    }
    if (status) return status;
    const rdt_point first = points[best];
    memmove(&points[1], &points[0], best * sizeof *points);
    points[0] = first;
    return REDTUNE_OK;
}
