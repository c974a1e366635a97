/* Rules: what a family says of a problem, a device and a config: whether it serves, its default,
 * whether a config is right, its launch, and what it is called.
 *
 * A family has a problem on a device if it combines in the problem's order, unless its rule
 * "serves" says no; one without that rule has all. Its other rules are asked only about what it
 * serves. */
#include "codegen/marshal.h"

#include <stdio.h>
#include <string.h>

/* ---- asking --------------------------------------------------------------------------------- */

/* A rule's question and answer. */
typedef struct rule_call {
    rdt_codegen *codegen;
    int family;
    rdt_case at;
    const rdt_point *point;
    rdt_point *point_out;
    rdt_launch *launch_out;
    rdt_about *about_out;
    rdt_scope scope;
    bool yes, yields, says_why;
    char reason[200];
} rule_call;

static rule_call call_of(rdt_codegen *codegen, rdt_case at, const rdt_point *point) {
    return (rule_call){.codegen = codegen, .family = point->family, .at = at, .point = point};
}

/* Calls the function on top, its arguments pushed already: an answer and perhaps a reason, which is
 * a text, or a format and its values. */
static void take_answer(lua_State *state, int arguments, rule_call *call) {
    const int answer = lua_gettop(state) - arguments;
    lua_call(state, arguments, LUA_MULTRET);
    call->yes = lua_toboolean(state, answer);
    const int parts = lua_gettop(state) - answer;
    if (call->yes || !call->says_why) {
        lua_settop(state, answer - 1);
        return;
    }
    if (parts > 1) {
        lua_getglobal(state, "string");
        lua_getfield(state, -1, "format");
        lua_replace(state, answer);
        lua_pop(state, 1);
        lua_call(state, parts, 1);
    }
    const char *reason = lua_tostring(state, -1);
    rdt_text_copy(call->reason, sizeof call->reason, reason ? reason : "the template's rules");
    lua_settop(state, answer - 1);
}

/* The family's order, and the rule "serves", which a family may do without. */
static void ask_serves(lua_State *state, rule_call *call) {
    const int top = lua_gettop(state), order = call->codegen->family[call->family].order;
    call->yes = order < 0 || order == (int)call->at.problem->order;
    if (!call->yes) return;
    lua_rawgeti(state, LUA_REGISTRYINDEX, call->codegen->family[call->family].table);
    call->yes = lua_getfield(state, -1, "serves") == LUA_TNIL;
    if (!call->yes) {
        rdt_marshal_push_case(state, call->codegen, call->at);
        take_answer(state, 2, call);
    }
    lua_settop(state, top);
}

/* Pushes a rule and what all rules about a point are given. */
static void push_call(lua_State *state, const rule_call *call, const char *rule) {
    rdt_marshal_push_rule(state, call->codegen, call->family, rule);
    rdt_marshal_push_config(state, &call->codegen->space[call->family], call->point, false);
    rdt_marshal_push_case(state, call->codegen, call->at);
}

static int call_default(lua_State *state) {
    rule_call *call = lua_touserdata(state, 1);
    ask_serves(state, call);
    if (!call->yes) return 0;
    rdt_marshal_push_rule(state, call->codegen, call->family, "default");
    rdt_marshal_push_case(state, call->codegen, call->at);
    lua_call(state, 2, 1);
    luaL_checktype(state, -1, LUA_TTABLE);
    rdt_marshal_read_config(state, lua_gettop(state), &call->codegen->space[call->family],
                            call->point_out);
    lua_rawgeti(state, LUA_REGISTRYINDEX, call->codegen->family[call->family].table);
    if (lua_getfield(state, -1, "yields") == LUA_TNIL) return 0;
    rdt_marshal_push_case(state, call->codegen, call->at);
    lua_call(state, 2, 1);
    call->yields = lua_toboolean(state, -1);
    return 0;
}

static void ask_rule(lua_State *state, rule_call *call, const char *rule) {
    push_call(state, call, rule);
    take_answer(state, 3, call);
}

static int call_allowed(lua_State *state) {
    rule_call *call = lua_touserdata(state, 1);
    ask_serves(state, call);
    if (call->yes) ask_rule(state, call, "allowed");
    return 0;
}

static int call_is_point(lua_State *state) {
    rule_call *call = lua_touserdata(state, 1);
    ask_rule(state, call, "distinct");
    if (call->yes && call->scope == RDT_SCOPE_USEFUL) ask_rule(state, call, "useful");
    return 0;
}

/* A positive number; 0: the family does not say. */
static uint32_t number_of(lua_State *state, int table, const char *field) {
    const bool says = lua_getfield(state, table, field) != LUA_TNIL;
    lua_pop(state, 1);
    return says ? (uint32_t)rdt_marshal_integer(state, table, field, 1, 1 << 24) : 0;
}

static int call_launch(lua_State *state) {
    rule_call *call = lua_touserdata(state, 1);
    push_call(state, call, "launch");
    lua_call(state, 3, 1);
    luaL_checktype(state, -1, LUA_TTABLE);
    int table = lua_gettop(state);
    bool partials = rdt_marshal_flag(state, table, "partials");
    int64_t blocks_max = partials ? INT32_MAX : RDT_BLOCKS_MAX; /* what scratch has room for */
    *call->launch_out = (rdt_launch){
        .threads = (uint32_t)rdt_marshal_integer(state, table, "threads", 1, 1024),
        .results = number_of(state, table, "results"),
        .columns = rdt_marshal_flag(state, table, "columns"),
        .tile = (uint32_t)rdt_marshal_integer(state, table, "tile", 1, 1 << 24),
        .blocks_max = (uint32_t)rdt_marshal_integer(state, table, "blocks_max", 1, blocks_max),
        .cluster = number_of(state, table, "cluster"),
        .waiting_max = number_of(state, table, "waiting_max"),
        .partials = partials,
        .segments = rdt_marshal_flag(state, table, "segments"),
        .packed = rdt_marshal_flag(state, table, "packed"),
        .overlap = rdt_marshal_flag(state, table, "overlap"),
        .keyed = rdt_marshal_flag(state, table, "keyed"),
        .sliced = rdt_marshal_flag(state, table, "sliced"),
        .sorts = rdt_marshal_flag(state, table, "sorts"),
        .reorders = rdt_marshal_flag(state, table, "reorders"),
        .pairs = rdt_marshal_flag(state, table, "pairs"),
        .masked = rdt_marshal_flag(state, table, "masked"),
        .cell_bytes = number_of(state, table, "cell_bytes"),
        .dynamic_bytes = number_of(state, table, "dynamic_bytes"),
        .slot_bytes = rdt_marshal_slot_bytes(state, call->codegen, call->at),
    };
    return 0;
}

static redtune_status call_family(rdt_codegen *codegen, const char *what, lua_CFunction function,
                                  rule_call *call, redtune_error *err) {
    char text[96];
    redtune_status status =
        call->at.problem ? rdt_codegen_turn(&codegen, call->at.problem->op, err) : REDTUNE_OK;
    if (status) return status;
    call->codegen = codegen;
    snprintf(text, sizeof text, "%s of template %s", what, codegen->space[call->family].family);
    return rdt_lua_call(&codegen->lua, text, function, call, err);
}

redtune_status rdt_rules_check(rdt_codegen *codegen, rdt_case at, const rdt_point *point,
                               redtune_error *err) {
    rule_call call = call_of(codegen, at, point);
    call.says_why = err != NULL;
    redtune_status status = call_family(codegen, "check a config", call_allowed, &call, err);
    if (status || call.yes) return status;
    if (!err) return REDTUNE_UNSUPPORTED; /* most are asked for a yes or no */
    char text[RDT_POINT_TEXT_BYTES];
    rdt_point_format(&codegen->spaces, point, text);
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0, "cannot use config %s: %s", text, call.reason);
}

redtune_status rdt_rules_is_point(rdt_codegen *codegen, rdt_case at, rdt_scope scope,
                                  const rdt_point *point, bool *out, redtune_error *err) {
    rule_call call = call_of(codegen, at, point);
    call.scope = scope;
    redtune_status status = call_family(codegen, "judge a config", call_is_point, &call, err);
    if (!status) *out = call.yes;
    return status;
}

redtune_status rdt_rules_launch(rdt_codegen *codegen, rdt_case at, const rdt_point *point,
                                rdt_launch *out, redtune_error *err) {
    rdt_launch launch = {0};
    rule_call call = call_of(codegen, at, point);
    call.launch_out = &launch;
    redtune_status status = call_family(codegen, "find the launch", call_launch, &call, err);
    if (!status) *out = launch;
    return status;
}

/* ---- defaults ------------------------------------------------------------------------------ */

/* Finds the default of the family, unless it is known of this case. */
static redtune_status ask_default(rdt_codegen *codegen, int family, rdt_case at,
                                  const rdt_kept_default **out, redtune_error *err) {
    rdt_kept_default *kept = &codegen->kept_default[family];
    *out = kept;
    if (kept->is_known && rdt_marshal_is_case(&kept->asked, at)) return REDTUNE_OK;
    rdt_point point = {.family = family};
    rule_call call = call_of(codegen, at, &point);
    call.point_out = &point;
    redtune_status status = call_family(codegen, "find the default", call_default, &call, err);
    if (!status && call.yes) status = rdt_rules_check(codegen, at, &point, err);
    if (status) return status;
    *kept = (rdt_kept_default){true,
                               {*at.problem, *at.facts},
                               !call.yes     ? RDT_SERVES_NOT
                               : call.yields ? RDT_YIELDS
                                             : RDT_SERVES,
                               point};
    return REDTUNE_OK;
}

redtune_status rdt_rules_defaults(rdt_codegen *codegen, rdt_case at, rdt_point out[RDT_FAMILY_MAX],
                                  size_t *count, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    size_t found = 0, later = 0;
    rdt_point yielding[RDT_FAMILY_MAX];
    for (int i = 0; !status && i < codegen->spaces.count; i++) {
        const rdt_kept_default *kept;
        status = ask_default(codegen, i, at, &kept, err);
        if (status || kept->serving == RDT_SERVES_NOT) continue;
        if (kept->serving == RDT_YIELDS)
            yielding[later++] = kept->point;
        else
            out[found++] = kept->point;
    }
    for (size_t i = 0; i < later; i++) out[found++] = yielding[i];
    if (!status) status = rdt_estimate_order(codegen, at, out, found, err);
    if (status) return status;
    *count = found;
    if (found) return REDTUNE_OK;
    char problem[RDT_PROBLEM_TEXT_BYTES];
    rdt_problem_describe(at.problem, problem);
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0, "cannot reduce %s: no template serves it",
                    problem);
}

redtune_status rdt_rules_default(rdt_codegen *codegen, rdt_case at, rdt_point *out,
                                 redtune_error *err) {
    rdt_point points[RDT_FAMILY_MAX];
    size_t count;
    redtune_status status = rdt_rules_defaults(codegen, at, points, &count, err);
    if (!status) *out = points[0];
    return status;
}

redtune_status rdt_rules_default_of(rdt_codegen *codegen, rdt_case at, int family, rdt_point *out,
                                    redtune_error *err) {
    const rdt_kept_default *kept;
    redtune_status status = ask_default(codegen, family, at, &kept, err);
    if (status) return status;
    if (kept->serving != RDT_SERVES_NOT) {
        *out = kept->point;
        return REDTUNE_OK;
    }
    char problem[RDT_PROBLEM_TEXT_BYTES];
    rdt_problem_describe(at.problem, problem);
    return rdt_fail(err, REDTUNE_UNSUPPORTED, 0, "cannot use template '%s': it does not serve %s",
                    codegen->space[family].family, problem);
}

redtune_status rdt_rules_find(rdt_codegen *codegen, rdt_case at, const char *family,
                              const char *config, rdt_point *out, redtune_error *err) {
    char name[RDT_NAME_BYTES];
    const char *colon = !family && config ? strchr(config, ':') : NULL;
    int index = 0;
    rdt_point point;
    redtune_status status = REDTUNE_OK;
    if (colon) {
        const size_t length = (size_t)(colon - config);
        snprintf(name, sizeof name, "%.*s", length < sizeof name ? (int)length : 0, config);
        family = name;
        config = colon + 1;
    }
    if (family) status = rdt_space_find_family(&codegen->spaces, family, &index, err);
    if (!status)
        status = family ? rdt_rules_default_of(codegen, at, index, &point, err)
                        : rdt_rules_default(codegen, at, &point, err);
    if (!status && config) status = rdt_point_parse(&codegen->spaces, config, &point, err);
    if (!status) *out = point;
    return status;
}

redtune_status rdt_rules_read(rdt_codegen *codegen, rdt_case at, const char *family,
                              const char *config, rdt_point *out, redtune_error *err) {
    redtune_status status = rdt_point_read(&codegen->spaces, family, config, out, err);
    return status ? status : rdt_rules_check(codegen, at, out, err);
}

redtune_status rdt_rules_scattered(rdt_codegen *codegen, rdt_case at, rdt_point *out,
                                   redtune_error *err) {
    return rdt_rules_find(codegen, at, "ragged", "unit=anywhere", out, err);
}

/* ---- descriptions -------------------------------------------------------------------------- */

static int call_about(lua_State *state) {
    rule_call *call = lua_touserdata(state, 1);
    rdt_marshal_push_rule(state, call->codegen, call->family, "about");
    rdt_marshal_push_config(state, &call->codegen->space[call->family], call->point, false);
    lua_call(state, 1, 1);
    luaL_checktype(state, -1, LUA_TTABLE);
    const int table = lua_gettop(state);
    rdt_about *out = call->about_out;
    lua_getfield(state, table, "place");
    rdt_text_copy(out->place, sizeof out->place, luaL_checkstring(state, -1));
    lua_getfield(state, table, "text");
    rdt_text_copy(out->text, sizeof out->text, luaL_checkstring(state, -1));
    out->variant = rdt_marshal_flag(state, table, "variant");
    out->exists = rdt_marshal_flag(state, table, "exists");
    out->needs_work = rdt_marshal_flag(state, table, "needs_work");
    return 0;
}

redtune_status rdt_rules_about(rdt_codegen *codegen, const rdt_point *point, rdt_about *out,
                               redtune_error *err) {
    rdt_about about = {.variant = false};
    rule_call call = call_of(codegen, (rdt_case){NULL, NULL}, point);
    call.about_out = &about;
    redtune_status status = call_family(codegen, "describe a config", call_about, &call, err);
    if (!status) *out = about;
    return status;
}
