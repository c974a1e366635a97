/* Points: those of all families that a search of a problem may measure. */
#include "codegen/marshal.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "base/array.h"
#include "model/problem.h"

/* ---- asking the family --------------------------------------------------------------------- */

typedef struct list_call {
    const rdt_codegen *codegen;
    rdt_case at;
    rdt_point baseline; /* the default of the current family, which is always a point */
    rdt_points points;
} list_call;

/* A walk over the points of a space in their order (rdt_point_rank), which leaves out those that
 * differ from a refused one only in what its rules did not look at. */
typedef struct walk {
    const rdt_space *space;
    int count, param[RDT_PARAM_MAX]; /* from the one that changes last to the one that does first */
    int index[RDT_PARAM_MAX];        /* of each one's value */
    int read;                        /* the last that rules looked at since it changed */
    rdt_point point;
} walk;

static walk walk_begin(const rdt_space *space, int family) {
    walk self = {.space = space, .point = {.family = family}};
    for (int named = 1; named >= 0; named--)
        for (int i = 0; i < space->param_count; i++)
            if (rdt_space_param_is_named(&space->param[i]) == named) self.param[self.count++] = i;
    return self;
}

/* Takes the values from number `first` on out of the table on top: a rule that looks at one asks
 * for it. */
static void forget_values(lua_State *state, walk *self, int first) {
    for (int k = first; k < self->count; k++) {
        const rdt_param *param = &self->space->param[self->param[k]];
        self->point.value[self->param[k]] = param->value[self->index[k]];
        lua_pushnil(state);
        lua_setfield(state, -2, param->name);
    }
    self->read = first;
}

/* __index of the config: upvalue 1 is the walk. */
static int look_up(lua_State *state) {
    walk *self = lua_touserdata(state, lua_upvalueindex(1));
    const char *name = lua_tostring(state, 2);
    for (int k = self->count - 1; name && k >= 0; k--) {
        const int i = self->param[k];
        if (strcmp(self->space->param[i].name, name)) continue;
        lua_settop(state, 1);
        rdt_marshal_set_param(state, &self->space->param[i], self->point.value[i]);
        lua_getfield(state, 1, name);
        if (k > self->read) self->read = k;
        return 1;
    }
    return 0;
}

static void push_config(lua_State *state, walk *self) {
    lua_createtable(state, 0, self->space->param_count);
    lua_createtable(state, 0, 1);
    lua_pushlightuserdata(state, self);
    lua_pushcclosure(state, look_up, 1);
    lua_setfield(state, -2, "__index");
    lua_setmetatable(state, -2);
    forget_values(state, self, 0);
}

/* To the next point that differs in one of the values up to number `last`. The config is on top. */
static bool next_point(lua_State *state, walk *self, int last) {
    for (int k = last + 1; k < self->count; k++) self->index[k] = 0;
    for (int k = last; k >= 0; k--) {
        if (++self->index[k] < self->space->param[self->param[k]].value_count) {
            forget_values(state, self, k);
            return true;
        }
        self->index[k] = 0;
    }
    return false;
}

/* The last value that a refusal hangs on; all of them, where the default has the same so far. */
static int refused_for(const walk *self, const rdt_point *baseline) {
    for (int k = 0; k <= self->read; k++)
        if (self->point.value[self->param[k]] != baseline->value[self->param[k]]) return self->read;
    return self->count - 1;
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

static void add_point(lua_State *state, rdt_points *points, const rdt_point *point) {
    if (RDT_ARRAY_RESERVE(points->point, points->capacity, points->count + 1, NULL))
        rdt_lua_raise(state, REDTUNE_MEMORY, "out of memory for the space");
    points->point[points->count++] = *point;
}

/* One table serves all configs: making one for each would take longer than the rules. */
static int collect_points(lua_State *state) {
    list_call *call = lua_touserdata(state, 1);
    const int family = call->baseline.family;
    const rdt_space *space = &call->codegen->space[family];
    const bool any_use = call->points.scope == RDT_SCOPE_DISTINCT;
    enum { ALLOWED = 2, DISTINCT, USEFUL, PROBLEM, FACTS, CONFIG };
    walk at = walk_begin(space, family);
    rdt_marshal_push_rule(state, call->codegen, family, "allowed");
    rdt_marshal_push_rule(state, call->codegen, family, "distinct");
    rdt_marshal_push_rule(state, call->codegen, family, "useful");
    rdt_marshal_push_problem(state, call->at.problem);
    rdt_marshal_push_facts(state, call->at.facts);
    push_config(state, &at);
    int last;
    do {
        const bool good = holds(state, ALLOWED, CONFIG, PROBLEM, FACTS) &&
                          (rdt_point_same(&at.point, &call->baseline) ||
                           ((any_use || holds(state, USEFUL, CONFIG, PROBLEM, FACTS)) &&
                            holds(state, DISTINCT, CONFIG, PROBLEM, FACTS)));
        if (good) add_point(state, &call->points, &at.point);
        last = good ? at.count - 1 : refused_for(&at, &call->baseline);
    } while (next_point(state, &at, last));
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
                      .points = {.scope = scope, .problem = *at.problem, .facts = *at.facts}};
    redtune_status status = rdt_codegen_defaults(codegen, at, defaults, &families, err);
    if (!status) qsort(defaults, families, sizeof *defaults, by_family);
    for (size_t i = 0; !status && i < families; i++) {
        char what[96];
        call.baseline = defaults[i];
        snprintf(what, sizeof what, "list the space of template %s",
                 codegen->space[defaults[i].family].family);
        status = rdt_lua_call(&codegen->lua, what, collect_points, &call, err);
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
        if (each->point && each->scope == scope && rdt_problem_same(&each->problem, at.problem) &&
            rdt_facts_same(&each->facts, at.facts))
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
    const rdt_points *found = find_kept(codegen, at, scope);
    if (!found) {
        rdt_points listed = {0};
        redtune_status status = list_points(codegen, at, scope, &listed, err);
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
