/* Points: those of all families that a search of a problem may measure. */
#include "codegen/marshal.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "model/problem.h"

/* ---- asking the family --------------------------------------------------------------------- */

typedef struct list_call {
    rdt_codegen *codegen;
    rdt_case at;
    rdt_point baseline; /* the default of the current family, which is always a point */
    rdt_points points;
} list_call;

/* Steps to the next point in the order of the space (rdt_point_rank). changed: bits of the
 * parameters with other values. */
static bool next_point(const rdt_space *space, uint8_t index[RDT_PARAM_MAX], uint32_t *changed) {
    *changed = 0;
    for (int named = 0; named < 2; named++)
        for (int i = space->param_count - 1; i >= 0; i--) {
            if (rdt_space_param_is_named(&space->param[i]) != named) continue;
            *changed |= UINT32_C(1) << i;
            if (++index[i] < space->param[i].value_count) return true;
            index[i] = 0;
        }
    return false;
}

/* A point of no values, and its table on top. One table serves all configs: making one for each
 * would take longer than the rules. */
static rdt_point push_point(lua_State *state, const rdt_space *space, int family) {
    rdt_point point = {.family = family};
    for (int i = 0; i < space->param_count; i++) point.value[i] = INT64_MIN;
    lua_createtable(state, 0, space->param_count);
    return point;
}

/* Gives the point, and its table on top, the values that have changed. */
static void set_values(lua_State *state, const rdt_space *space, const uint8_t *index,
                       rdt_point *point) {
    for (int i = 0; i < space->param_count; i++) {
        const int64_t value = space->param[i].value[index[i]];
        if (point->value[i] == value) continue;
        point->value[i] = value;
        rdt_marshal_set_param(state, &space->param[i], value);
    }
}

static_assert(RDT_PARAM_MAX <= 32, "a bit each");

/* Of upvalues: the values by name, the bits of parameters by name, and where the bits go of those
 * that were read. */
static int read_value(lua_State *state) {
    enum { VALUES = 1, BITS, READ };
    uint32_t *const read = lua_touserdata(state, lua_upvalueindex(READ));
    lua_pushvalue(state, 2);
    lua_rawget(state, lua_upvalueindex(BITS));
    *read |= (uint32_t)lua_tointeger(state, -1);
    lua_pushvalue(state, 2);
    lua_rawget(state, lua_upvalueindex(VALUES));
    return 1;
}

static int refuse_change(lua_State *state) {
    return luaL_error(state, "a rule changes %s of the config, which is asked about only",
                      luaL_tolstring(state, 2, NULL));
}

/* A config with the values of the table on top. Returns where the bits of those go that a rule
 * read, which lives as long as the config. */
static uint32_t *push_observed(lua_State *state, const rdt_space *space) {
    const int values = lua_gettop(state);
    lua_createtable(state, 0, 0);
    lua_createtable(state, 0, 2);
    lua_pushvalue(state, values);
    lua_createtable(state, 0, space->param_count);
    for (int i = 0; i < space->param_count; i++) {
        lua_pushinteger(state, INT64_C(1) << i);
        lua_setfield(state, -2, space->param[i].name);
    }
    uint32_t *const read = lua_newuserdatauv(state, sizeof *read, 0);
    *read = UINT32_MAX; /* no rule was asked yet */
    lua_pushcclosure(state, read_value, 3);
    lua_setfield(state, -2, "__index");
    lua_pushcfunction(state, refuse_change);
    lua_setfield(state, -2, "__newindex");
    lua_setmetatable(state, -2);
    return read;
}

/* Calls the rule at stack index with the arguments behind it; whether it says yes. */
static bool holds(lua_State *state, int rule, int config, int problem, int facts) {
    lua_pushvalue(state, rule);
    lua_pushvalue(state, config);
    lua_pushvalue(state, problem);
    lua_pushvalue(state, facts);
    lua_call(state, 3, 1);
    bool yes = lua_toboolean(state, -1);
    lua_pop(state, 1);
    return yes;
}

/* The rule sees no extents: what it allows serves all of them; but of tables by key. It is asked
 * again where a value differs that its last answer came from. */
static int collect_allowed(lua_State *state) {
    list_call *call = lua_touserdata(state, 1);
    const int family = call->baseline.family;
    const rdt_space *space = &call->codegen->space[family];
    rdt_allowed *out = &call->codegen->allowed[family];
    enum { ALLOWED = 2, CLASS, FACTS, VALUES, CONFIG };
    rdt_marshal_push_rule(state, call->codegen, family, "allowed");
    if (rdt_problem_is_keyed(call->at.problem)) {
        rdt_marshal_push_case(state, call->codegen, call->at);
    } else {
        rdt_marshal_push_class(state, call->at.problem);
        rdt_marshal_push_facts(state, call->at.facts);
    }
    rdt_point point = push_point(state, space, family);
    uint32_t *const read = push_observed(state, space), changed = UINT32_MAX;
    uint8_t index[RDT_PARAM_MAX] = {0};
    bool is_allowed = false;
    out->count = 0;
    do {
        if (changed & *read) {
            lua_pushvalue(state, VALUES);
            set_values(state, space, index, &point);
            lua_pop(state, 1);
            *read = 0;
            is_allowed = holds(state, ALLOWED, CONFIG, CLASS, FACTS);
        }
        if (!is_allowed) continue;
        if (RDT_ARRAY_RESERVE(out->index, out->capacity, out->count + 1, NULL))
            rdt_lua_raise(state, REDTUNE_MEMORY, "out of memory for the space");
        memcpy(out->index[out->count++], index, sizeof index);
    } while (next_point(space, index, &changed));
    return 0;
}

static redtune_status need_allowed(list_call *call, const char *what, redtune_error *err) {
    rdt_allowed *self = &call->codegen->allowed[call->baseline.family];
    const bool is_same = rdt_problem_is_keyed(call->at.problem)
                             ? rdt_marshal_is_case(&self->asked, call->at)
                             : rdt_marshal_is_class(&self->asked, call->at);
    if (self->index && is_same) return REDTUNE_OK;
    rdt_lua *lua = &call->codegen->lua;
    redtune_status status = rdt_lua_call(lua, what, collect_allowed, call, err);
    self->asked = (rdt_asked){*call->at.problem, *call->at.facts};
    if (status) {
        free(self->index);
        *self = (rdt_allowed){.index = NULL};
    }
    return status;
}

static void add_point(lua_State *state, rdt_points *points, const rdt_point *point) {
    if (RDT_ARRAY_RESERVE(points->point, points->capacity, points->count + 1, NULL))
        rdt_lua_raise(state, REDTUNE_MEMORY, "out of memory for the space");
    points->point[points->count++] = *point;
}

static int collect_points(lua_State *state) {
    list_call *call = lua_touserdata(state, 1);
    const int family = call->baseline.family;
    const rdt_space *space = &call->codegen->space[family];
    const rdt_allowed *allowed = &call->codegen->allowed[family];
    const bool any_use = call->points.scope == RDT_SCOPE_DISTINCT;
    enum { DISTINCT = 2, USEFUL, PROBLEM, FACTS, CONFIG };
    rdt_marshal_push_rule(state, call->codegen, family, "distinct");
    rdt_marshal_push_rule(state, call->codegen, family, "useful");
    rdt_marshal_push_case(state, call->codegen, call->at);
    rdt_point point = push_point(state, space, family);
    for (size_t i = 0; i < allowed->count; i++) {
        set_values(state, space, allowed->index[i], &point);
        if (rdt_point_same(&point, &call->baseline) ||
            ((any_use || holds(state, USEFUL, CONFIG, PROBLEM, FACTS)) &&
             holds(state, DISTINCT, CONFIG, PROBLEM, FACTS)))
            add_point(state, &call->points, &point);
    }
    return 0;
}

static int by_family(const void *a, const void *b) {
    return ((const rdt_point *)a)->family - ((const rdt_point *)b)->family;
}

static redtune_status list_points(rdt_codegen *codegen, rdt_case at, rdt_scope scope,
                                  rdt_points *out, redtune_error *err) {
    rdt_point defaults[RDT_FAMILY_MAX];
    size_t families = 0;
    list_call call = {.codegen = codegen,
                      .at = at,
                      .points = {.scope = scope, .asked = {*at.problem, *at.facts}}};
    redtune_status status = rdt_rules_defaults(codegen, at, defaults, &families, err);
    if (!status) qsort(defaults, families, sizeof *defaults, by_family);
    for (size_t i = 0; !status && i < families; i++) {
        char what[96];
        call.baseline = defaults[i];
        snprintf(what, sizeof what, "list the space of template %s",
                 codegen->space[defaults[i].family].family);
        status = need_allowed(&call, what, err);
        if (!status) status = rdt_lua_call(&codegen->lua, what, collect_points, &call, err);
    }
    if (status)
        free(call.points.point);
    else
        *out = call.points;
    return status;
}

/* ---- keeping the answer -------------------------------------------------------------------- */

static const rdt_points *find_kept(const rdt_codegen *codegen, rdt_case at, rdt_scope scope) {
    for (int i = 0; i < RDT_POINTS_KEPT; i++) {
        const rdt_points *each = &codegen->kept[i];
        if (each->point && each->scope == scope && rdt_marshal_is_case(&each->asked, at))
            return each;
    }
    return NULL;
}

static const rdt_points *keep_points(rdt_codegen *codegen, const rdt_points *points) {
    rdt_points *place = &codegen->kept[codegen->kept_next];
    codegen->kept_next = (codegen->kept_next + 1) % RDT_POINTS_KEPT;
    free(place->point);
    *place = *points;
    return place;
}

redtune_status rdt_points_list(rdt_codegen *codegen, rdt_case at, rdt_scope scope,
                               rdt_point **points, size_t *count, redtune_error *err) {
    redtune_status status = rdt_codegen_turn(&codegen, at.problem->op, err);
    if (status) return status;
    const rdt_points *found = find_kept(codegen, at, scope);
    if (!found) {
        rdt_points listed = {0};
        status = list_points(codegen, at, scope, &listed, err);
        if (status) return status;
        found = keep_points(codegen, &listed);
    }
    const size_t bytes = found->count * sizeof *found->point;
    *points = malloc(bytes);
    if (!*points) return rdt_fail_memory(err, bytes);
    memcpy(*points, found->point, bytes);
    *count = found->count;
    return REDTUNE_OK;
}

void rdt_points_forget(rdt_codegen *codegen) {
    for (int i = 0; i < RDT_POINTS_KEPT; i++) free(codegen->kept[i].point);
    for (int i = 0; i < RDT_FAMILY_MAX; i++) free(codegen->allowed[i].index);
}
