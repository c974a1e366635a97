/* Render: a family, a problem and a point into CUDA source. */
#include "codegen/marshal.h"

#include <stdio.h>
#include <string.h>

typedef struct render_call {
    const rdt_family *family;
    const char *template; /* the family's, or what is put behind it */
    const rdt_space *space;
    rdt_case at;
    const rdt_point *point;
    bool lines, accumulates;
    rdt_text out, chunk;
    lua_Integer next_line; /* of the template, that the output's next line would come from */
} render_call;

/* put(line, piece, ...): one line of text. The call is upvalue 1. */
static int put(lua_State *state) {
    render_call *call = lua_touserdata(state, lua_upvalueindex(1));
    lua_Integer line = luaL_checkinteger(state, 1);
    if (call->lines && line != call->next_line)
        rdt_text_addf(&call->out, "#line %lld \"%s\"\n", (long long)line, call->template);
    call->next_line = line + 1;
    int top = lua_gettop(state);
    for (int i = 2; i <= top; i++) {
        if (lua_type(state, i) != LUA_TSTRING && !lua_isinteger(state, i))
            return luaL_error(state, "@{} must give a string or an integer, and gives %s",
                              luaL_tolstring(state, i, NULL));
        size_t length;
        const char *piece = lua_tolstring(state, i, &length);
        rdt_text_add_bytes(&call->out, piece, length);
        if (memchr(piece, '\n', length)) call->next_line = 0; /* needs a #line behind it */
    }
    rdt_text_add(&call->out, "\n");
    return 0;
}

/* Sets a field of the environment at index from the value on top. The environment's metatable
 * refuses assignments, which are for the template's author. */
static void define(lua_State *state, int environment, const char *name) {
    lua_pushstring(state, name);
    lua_insert(state, -2);
    lua_rawset(state, environment);
}

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
    lua_pushinteger(state, RDT_SCRATCH_SLOT_BYTES);
    lua_setfield(state, -2, "slot_bytes");
    lua_pushinteger(state, RDT_SCRATCH_SLOTS_OFFSET);
    lua_setfield(state, -2, "slots_offset");
    lua_pushinteger(state, RDT_SCRATCH_WORDS_OFFSET);
    lua_setfield(state, -2, "words_offset");
}

/* The problem on top becomes one whose result is the op's accumulator. */
static void leave_accumulator(lua_State *state, int arch) {
    rdt_lua_require(state, "lib/accumulate");
    lua_insert(state, -2);
    lua_pushinteger(state, arch);
    lua_call(state, 2, 1);
    luaL_checktype(state, -1, LUA_TTABLE);
}

static void push_template_environment(lua_State *state, void *user) {
    render_call *call = user;
    const int arch = call->at.facts->major * 10 + call->at.facts->minor;
    rdt_lua_push_environment(state);
    int environment = lua_gettop(state);
    rdt_marshal_push_config(state, call->space, call->point, true);
    define_fields(state, environment);
    rdt_marshal_push_problem(state, call->at.problem);
    if (call->accumulates && call->template == call->family->template)
        leave_accumulator(state, arch);
    lua_pushnil(state); /* the source serves every count */
    lua_setfield(state, -2, "count");
    define_fields(state, environment);
    compiled_config_text(call, state);
    define(state, environment, "config");
    lua_pushinteger(state, arch);
    define(state, environment, "arch");
    push_scratch(state);
    define(state, environment, "scratch");
    lua_pushlightuserdata(state, call);
    lua_pushcclosure(state, put, 1);
    define(state, environment, "put");
}

static int run_template(lua_State *state) {
    render_call *call = lua_touserdata(state, 1);
    call->template = call->family->template;
    rdt_marshal_run_template(state, call->template, &call->chunk, push_template_environment, call);
    if (!call->accumulates) return 0;
    call->template = "combine.cu";
    call->next_line = 0;
    rdt_text_free(&call->chunk);
    rdt_marshal_run_template(state, call->template, &call->chunk, push_template_environment, call);
    return 0;
}

static redtune_status render_texts(rdt_codegen *codegen, render_call *call, char **source,
                                   redtune_error *err) {
    char what[64];
    snprintf(what, sizeof what, "render template %s", call->space->family);
    redtune_status status = rdt_lua_call(&codegen->lua, what, run_template, call, err);
    if (!status) status = rdt_text_take(&call->out, source, err);
    rdt_text_free(&call->out);
    rdt_text_free(&call->chunk);
    return status;
}

redtune_status rdt_render_source(rdt_codegen *codegen, rdt_case at, const rdt_point *point,
                                 bool lines, char **source, redtune_error *err) {
    render_call call = {
        .family = &codegen->family[point->family],
        .space = &codegen->space[point->family],
        .at = at,
        .point = point,
        .lines = lines,
    };
    return render_texts(codegen, &call, source, err);
}

redtune_status rdt_render_accumulating(rdt_codegen *codegen, rdt_case at, const rdt_point *point,
                                       char **source, redtune_error *err) {
    render_call call = {
        .family = &codegen->family[point->family],
        .space = &codegen->space[point->family],
        .at = at,
        .point = point,
        .lines = true,
        .accumulates = true,
    };
    return render_texts(codegen, &call, source, err);
}
