/* Template: runs template text, and the pieces that it includes. */
#include "codegen/template.h"

#include <string.h>
#include "codegen/translate.h"

enum { SOURCE_BYTES_MAX = 4 << 20 };

/* The key of the table of compiled text. The address is the key; the value does not matter. */
static const char key_compiled;

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
    if (output->text.length > SOURCE_BYTES_MAX)
        return luaL_error(state, "the source takes more than 4 MiB");
    rdt_text_add(&output->text, "\n");
    return 0;
}

static void run_text(lua_State *state, const char *name, rdt_output *output);

/* Upvalues of takes: what the including line gives, a table; its environment; where it stands. */
enum { GIVEN = 1, OUTER, PLACE };

/* Pushes the value of a name where the running piece is included; nil: there is none. A name that
 * may be missing is one that the including line gives, or not. */
static void push_taken(lua_State *state, lua_Debug *includer, const char *name, bool may_miss) {
    const char *local;
    lua_pushstring(state, name);
    if (lua_rawget(state, lua_upvalueindex(GIVEN)) != LUA_TNIL || may_miss) return;
    /* In the order of their declaration: of two with one name the later is the one seen. */
    for (int i = 1; (local = lua_getlocal(state, includer, i)); i++)
        if (strcmp(local, name))
            lua_pop(state, 1);
        else
            lua_replace(state, -2);
    if (!lua_isnil(state, -1)) return;
    lua_pop(state, 1);
    lua_pushstring(state, name);
    lua_rawget(state, lua_upvalueindex(OUTER));
}

/* takes(name, ...): the values of these names where the piece that calls it is included. */
static int takes(lua_State *state) {
    enum { INCLUDER = 3 }; /* behind this function, the piece and include */
    const int count = lua_gettop(state);
    lua_Debug includer;
    luaL_checkstack(state, count + LUA_MINSTACK, NULL);
    if (!lua_getstack(state, INCLUDER, &includer)) return luaL_error(state, "nothing includes it");
    for (int i = 1; i <= count; i++) {
        size_t length;
        const char *name = luaL_checklstring(state, i, &length);
        const bool may_miss = length && name[length - 1] == '?';
        if (may_miss) name = lua_pushlstring(state, name, length - 1);
        push_taken(state, &includer, name, may_miss);
        if (may_miss)
            lua_remove(state, -2);
        else if (lua_isnil(state, -1))
            return luaL_error(state, "undefined name '%s': this piece takes it, and %s has none",
                              name, lua_tostring(state, lua_upvalueindex(PLACE)));
    }
    return count;
}

/* include(name, given): a piece's text in place of the line. Upvalue 2 is the environment of the
 * caller. */
static int include(lua_State *state) {
    rdt_output *output = lua_touserdata(state, lua_upvalueindex(1));
    const char *name = luaL_checkstring(state, 1), *template = output->template;
    lua_Debug caller;
    lua_settop(state, 2);
    if (lua_isnil(state, 2)) {
        lua_newtable(state);
        lua_replace(state, 2);
    }
    luaL_checktype(state, 2, LUA_TTABLE);
    lua_getstack(state, 1, &caller);
    lua_getinfo(state, "Sl", &caller);
    const char *place = lua_pushfstring(state, "%s:%d", caller.short_src, caller.currentline);
    rdt_lua_push_piece(state, place);
    lua_pushvalue(state, 2);
    lua_pushvalue(state, lua_upvalueindex(2));
    lua_pushvalue(state, 3);
    lua_pushcclosure(state, takes, PLACE);
    rdt_marshal_define(state, lua_gettop(state) - 1, "takes");
    run_text(state, name, output);
    output->template = template;
    output->next_line = 0; /* needs a #line behind it */
    return 0;
}

static int add_dumped(lua_State *state, const void *bytes, size_t length, void *user) {
    (void)state;
    rdt_text *out = user;
    rdt_text_add_bytes(out, bytes, length);
    return out->failed;
}

/* Replaces a file's text on top by the function that puts it out, in that environment. A function
 * of its own for each run, since a piece may include itself. */
static void compile_text(lua_State *state, const char *name, int environment, rdt_output *output) {
    size_t length;
    redtune_error failure;
    const char *text = lua_tolstring(state, -1, &length);
    rdt_text_clear(&output->chunk);
    if (rdt_translate(name, text, length, &output->chunk, &failure))
        rdt_lua_raise(state, failure.status, failure.message);
    const char *chunk = lua_pushfstring(state, "@%s", name);
    lua_pushvalue(state, environment);
    rdt_lua_load(state, output->chunk.data ? output->chunk.data : "", output->chunk.length, chunk);
    lua_replace(state, -3);
    lua_pop(state, 1);
}

/* The same, compiled once for each file and text: parsing takes longer than all the rest of
 * rendering. */
static void compile_text_once(lua_State *state, const char *name, int environment,
                              rdt_output *output) {
    size_t length;
    const int text = lua_gettop(state), compiled = text + 1, key = text + 2;
    if (lua_rawgetp(state, LUA_REGISTRYINDEX, &key_compiled) == LUA_TNIL) {
        lua_newtable(state);
        lua_replace(state, compiled);
        lua_pushvalue(state, compiled);
        lua_rawsetp(state, LUA_REGISTRYINDEX, &key_compiled);
    }
    lua_pushfstring(state, "%s\n", name);
    lua_pushvalue(state, text);
    lua_concat(state, 2);
    lua_pushvalue(state, key);
    if (lua_rawget(state, compiled) == LUA_TNIL) {
        lua_pushvalue(state, text);
        compile_text(state, name, environment, output);
        rdt_text_clear(&output->chunk);
        if (lua_dump(state, add_dumped, &output->chunk, false))
            rdt_lua_raise(state, REDTUNE_MEMORY, "not enough memory");
        lua_pushvalue(state, key);
        lua_pushlstring(state, output->chunk.data, output->chunk.length);
        lua_rawset(state, compiled);
    } else {
        const char *dumped = lua_tolstring(state, -1, &length);
        lua_pushvalue(state, environment);
        rdt_lua_load_dumped(state, dumped, length);
    }
    lua_replace(state, text);
    lua_settop(state, text);
}

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
    rdt_lua_push_file(state, name);
    if (rdt_lua_owner(state)
            ->limits.on) /* what an op file may take does not go by what ran before */
        compile_text(state, name, environment, output);
    else
        compile_text_once(state, name, environment, output);
    output->template = name;
    output->next_line = 0;
    lua_call(state, 0, 0);
    lua_settop(state, environment - 1);
}

void rdt_template_run(lua_State *state, const char *name, rdt_output *output,
                      rdt_push_environment_fn *push_environment, void *user) {
    output->template = name; /* the environment may go by it */
    push_environment(state, user);
    run_text(state, name, output);
}

redtune_status rdt_template_render(rdt_codegen *codegen, const char *what, lua_CFunction function,
                                   void *data, rdt_output *output, char **text,
                                   redtune_error *err) {
    redtune_status status = rdt_lua_call(&codegen->lua, what, function, data, err);
    if (!status) status = rdt_text_take(&output->text, text, err);
    rdt_text_free(&output->text);
    rdt_text_free(&output->chunk);
    return status;
}
