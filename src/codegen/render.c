/* Render: a family, a problem and a point into CUDA source. */
#include "codegen/template.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "codegen/op_text.h"
#include "codegen/user_ops.h"

typedef struct render_call {
    const rdt_family *family;
    const rdt_space *space;
    rdt_case at;
    const rdt_point *point;
    rdt_yield yield;
    rdt_output output;
} render_call;

/* Moves every field of the table on top into the environment. */
static void define_fields(lua_State *state, int environment) {
    lua_pushnil(state);
    while (lua_next(state, -2)) {
        lua_pushvalue(state, -2);
        lua_insert(state, -2);
        lua_rawset(state, environment);
    }
    lua_pop(state, 1);
}

static void compiled_config_text(const render_call *call, lua_State *state) {
    const rdt_space *space = call->space;
    rdt_space compiled = {.param_count = 0};
    rdt_point point = {.family = 0};
    for (int i = 0; i < space->param_count; i++) {
        if (space->param[i].launch) continue;
        point.value[compiled.param_count] = call->point->value[i];
        compiled.param[compiled.param_count++] = space->param[i];
    }
    char family[RDT_NAME_BYTES], text[RDT_CONFIG_TEXT_BYTES];
    rdt_point_write(&(rdt_spaces){&compiled, 1}, &point, family, text);
    lua_pushstring(state, text);
}

/* Where things lie in scratch. */
static void push_scratch(lua_State *state) {
    lua_newtable(state);
    rdt_lua_set_integer(state, "slot_bytes", RDT_SCRATCH_SLOT_BYTES);
    rdt_lua_set_integer(state, "slots_offset", RDT_SCRATCH_SLOTS_OFFSET);
    rdt_lua_set_integer(state, "words_offset", RDT_SCRATCH_WORDS_OFFSET);
    rdt_lua_set_integer(state, "words_bytes", RDT_SCRATCH_WORDS_BYTES);
    rdt_lua_set_integer(state, "all_words_bytes", RDT_BLOCKS_MAX * RDT_SCRATCH_WORDS_BYTES);
    rdt_lua_set_integer(state, "all_slots_bytes", RDT_BLOCKS_MAX * RDT_SCRATCH_SLOT_BYTES);
}

/* The problem on top becomes one whose result is the op's accumulator, or a message with it. */
static void leave_accumulator(lua_State *state, int arch, bool message) {
    rdt_lua_require(state, "lib/accumulate");
    lua_insert(state, -2);
    lua_pushinteger(state, arch);
    lua_pushboolean(state, message);
    lua_call(state, 3, 1);
    luaL_checktype(state, -1, LUA_TTABLE);
}

static void push_template_environment(lua_State *state, void *user) {
    render_call *call = user;
    const int arch = call->at.facts->major * 10 + call->at.facts->minor;
    rdt_lua_push_environment(state);
    int environment = lua_gettop(state);
    rdt_marshal_push_config(state, call->space, call->point, true);
    define_fields(state, environment);
    rdt_marshal_push_class(state, call->at.problem); /* the source serves all extents */
    if (call->yield && call->output.template == call->family->template)
        leave_accumulator(state, arch, call->yield == RDT_YIELD_MESSAGE);
    define_fields(state, environment);
    compiled_config_text(call, state);
    rdt_marshal_define(state, environment, "config");
    lua_pushinteger(state, arch);
    rdt_marshal_define(state, environment, "arch");
    push_scratch(state);
    rdt_marshal_define(state, environment, "scratch");
}

static int run_templates(lua_State *state) {
    render_call *call = lua_touserdata(state, 1);
    rdt_template_run(state, call->family->template, &call->output, push_template_environment, call);
    if (call->yield)
        rdt_template_run(state, call->yield == RDT_YIELD_MESSAGE ? "join.cu" : "combine.cu",
                         &call->output, push_template_environment, call);
    return 0;
}

/* Of an op of a user's file. Takes over the source. */
static redtune_status check_own(redtune_op op, char *made, char **source, redtune_error *err) {
    const rdt_own_op *file = rdt_user_ops_find(op);
    char found[RDT_OP_TEXT_FOUND_BYTES] = "";
    redtune_status status =
        file ? rdt_op_text_check(made, strlen(made), true, found, err) : REDTUNE_OK;
    if (!status && found[0])
        status = rdt_fail(err, REDTUNE_TEMPLATE, 0,
                          "cannot use an op file: %.300s: its CUDA text has '%s'; leave it "
                          "out: " RDT_OP_TEXT_RULE,
                          file->name, found);
    if (status)
        free(made);
    else
        *source = made;
    return status;
}

static redtune_status render(rdt_codegen *codegen, rdt_case at, const rdt_point *point, bool lines,
                             rdt_yield yield, char **source, redtune_error *err) {
    redtune_status status = rdt_codegen_turn(&codegen, at.problem->op, err);
    if (status) return status;
    render_call call = {
        .family = &codegen->family[point->family],
        .space = &codegen->space[point->family],
        .at = at,
        .point = point,
        .yield = yield,
        .output = {.lines = lines},
    };
    char what[64];
    snprintf(what, sizeof what, "render template %s", call.space->family);
    char *made = NULL;
    status = rdt_template_render(codegen, what, run_templates, &call, &call.output, &made, err);
    return status ? status : check_own(at.problem->op, made, source, err);
}

redtune_status rdt_render_source(rdt_codegen *codegen, rdt_case at, const rdt_point *point,
                                 bool lines, char **source, redtune_error *err) {
    return render(codegen, at, point, lines, RDT_YIELD_RESULT, source, err);
}

redtune_status rdt_render_part(rdt_codegen *codegen, rdt_case at, const rdt_point *point,
                               rdt_yield yield, char **source, redtune_error *err) {
    return render(codegen, at, point, true, yield, source, err);
}

static void push_plain_environment(lua_State *state, void *user) {
    (void)user;
    rdt_lua_push_environment(state);
}

typedef struct plain_call {
    const char *template;
    rdt_output output;
} plain_call;

static int run_plain(lua_State *state) {
    plain_call *call = lua_touserdata(state, 1);
    rdt_template_run(state, call->template, &call->output, push_plain_environment, call);
    return 0;
}

redtune_status rdt_render_plain(rdt_codegen *codegen, const char *template, char **source,
                                redtune_error *err) {
    char what[64];
    plain_call call = {.template = template, .output = {.lines = true}};
    snprintf(what, sizeof what, "render template %s", template);
    return rdt_template_render(codegen, what, run_plain, &call, &call.output, source, err);
}
