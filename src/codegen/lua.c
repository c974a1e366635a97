/* Lua: a state in which templates run. They see tables, strings and arithmetic, each other through
 * require, and nothing of the machine; an undefined name is an error. */
#include "codegen/lua.h"

#include <stdlib.h>
#include <string.h>
#include "base/locale.h"
#include "codegen/op_text.h"

enum {
    MEMORY_BYTES_MAX = 64 << 20,
    /* A render takes some ten thousand instructions: this many is a loop without an end. */
    CALL_INSTRUCTIONS_MAX = 200 * 1000 * 1000,
};

/* The addresses are the keys; the values do not matter. */
static const char key_sandbox, key_loaded;

static void *count_allocation(void *user, void *block, size_t old_bytes, size_t new_bytes) {
    rdt_lua *lua = user;
    const size_t kind = old_bytes; /* what a new block is for */
    if (!block) old_bytes = 0;
    if (!new_bytes) {
        free(block);
        lua->used_bytes -= old_bytes;
        return NULL;
    }
    const char *refused = NULL;
    if (lua->used_bytes - old_bytes + new_bytes > MEMORY_BYTES_MAX)
        refused = "it takes more than 64 MiB of memory";
    else if (lua->limits.on && new_bytes > old_bytes)
        refused = rdt_lua_limits_refuse(lua, block, kind, new_bytes);
    if (refused) {
        lua->refused = refused;
        return NULL;
    }
    void *grown = realloc(block, new_bytes);
    if (grown) lua->used_bytes += new_bytes - old_bytes;
    return grown;
}

static void stop_running(lua_State *state, lua_Debug *debug) {
    lua_getinfo(state, "Sl", debug);
    luaL_error(state, "%s:%d: it runs too long: a loop without an end?", debug->short_src,
               debug->currentline);
}

rdt_lua *rdt_lua_owner(lua_State *state) {
    void *lua;
    lua_getallocf(state, &lua);
    return lua;
}

int rdt_lua_raise(lua_State *state, redtune_status status, const char *message) {
    rdt_lua_owner(state)->raised = status;
    return luaL_error(state, "%s", message);
}

static int undefined_name(lua_State *state) {
    return luaL_error(state, "undefined name '%s'", luaL_tolstring(state, 2, NULL));
}

static int assigned_name(lua_State *state) {
    return luaL_error(state, "'%s' is assigned but not declared local",
                      luaL_tolstring(state, 2, NULL));
}

static int require_from_lua(lua_State *state) {
    rdt_lua_require(state, luaL_checkstring(state, 1));
    return 1;
}

/* refused_text(text): what an op's CUDA text must not have, and has; or nil. */
static int refused_text(lua_State *state) {
    size_t bytes = 0;
    const char *text = luaL_checklstring(state, 1, &bytes);
    char found[RDT_OP_TEXT_FOUND_BYTES];
    redtune_error failure;
    if (rdt_lua_owner(state)->limits.on) rdt_lua_limits_spend(state, 8 * (double)bytes);
    if (rdt_op_text_check(text, bytes, false, found, &failure))
        rdt_lua_raise(state, failure.status, failure.message);
    if (!found[0]) return 0;
    lua_pushfstring(state, "'%s'; leave it out: %s", found, RDT_OP_TEXT_RULE);
    return 1;
}

/* sorted_keys(t): a list of those that are strings. */
static int sorted_keys(lua_State *state) {
    lua_Integer count = 0, all = 0;
    luaL_checktype(state, 1, LUA_TTABLE);
    lua_settop(state, 1);
    lua_newtable(state);
    lua_pushnil(state);
    for (; lua_next(state, 1); all++) {
        lua_pop(state, 1);
        if (lua_type(state, -1) != LUA_TSTRING) continue;
        lua_pushvalue(state, -1);
        lua_rawseti(state, 2, ++count);
    }
    if (rdt_lua_owner(state)->limits.on) rdt_lua_limits_spend(state, (double)all);
    lua_getglobal(state, "table");
    lua_getfield(state, -1, "sort");
    lua_pushvalue(state, 2);
    lua_call(state, 1, 0);
    lua_settop(state, 2);
    return 1;
}

/* No pairs and next: their order differs from run to run, and the same input must give the same
 * bytes. No pcall: it would swallow the end of a loop without an end. */
static const char *const sandbox_names[] = {"assert", "error",    "ipairs",   "select", "string",
                                            "table",  "math",     "tonumber", "type",   "tostring",
                                            "utf8",   "rawequal", NULL};

/* Not in those tables: what differs from run to run, and bytes, which no template is made of. */
static const char *const removed[][2] = {{"math", "random"},   {"math", "randomseed"},
                                         {"string", "dump"},   {"string", "pack"},
                                         {"string", "unpack"}, {"string", "packsize"}};

static int open_state(lua_State *state) {
    luaL_openlibs(state);
    lua_newtable(state);
    for (const char *const *name = sandbox_names; *name; name++) {
        lua_getglobal(state, *name);
        lua_setfield(state, -2, *name);
    }
    for (size_t i = 0; i < sizeof removed / sizeof *removed; i++) {
        lua_getfield(state, -1, removed[i][0]);
        lua_pushnil(state);
        lua_setfield(state, -2, removed[i][1]);
        lua_pop(state, 1);
    }
    lua_pushcfunction(state, require_from_lua);
    lua_setfield(state, -2, "require");
    lua_pushcfunction(state, sorted_keys);
    lua_setfield(state, -2, "sorted_keys");
    lua_pushcfunction(state, refused_text);
    lua_setfield(state, -2, "refused_text");
    lua_newtable(state);
    lua_pushcfunction(state, undefined_name);
    lua_setfield(state, -2, "__index");
    lua_setmetatable(state, -2);
    lua_rawsetp(state, LUA_REGISTRYINDEX, &key_sandbox);
    lua_newtable(state);
    lua_rawsetp(state, LUA_REGISTRYINDEX, &key_loaded);
    return 0;
}

redtune_status rdt_lua_open(rdt_lua *lua, redtune_error *err) {
    *lua = (rdt_lua){0};
    redtune_status status = rdt_source_open(&lua->source, err);
    if (status) return status;
    lua->state = lua_newstate(count_allocation, lua);
    if (!lua->state) {
        rdt_lua_close(lua);
        return rdt_fail_memory(err, sizeof *lua);
    }
    status = rdt_lua_call(lua, "start Lua", open_state, lua, err);
    if (status) rdt_lua_close(lua);
    return status;
}

void rdt_lua_close(rdt_lua *lua) {
    if (lua->state) lua_close(lua->state);
    rdt_source_close(&lua->source);
    *lua = (rdt_lua){0};
}

/* What Lua says is on top. A file of the user's is named, and what it may not take is its fault. */
static redtune_status tell_of_lua(const rdt_lua *lua, const char *what, int rc,
                                  redtune_error *err) {
    const char *message = lua_tostring(lua->state, -1), *file = lua->of_file;
    redtune_status status = rc == LUA_ERRMEM ? REDTUNE_MEMORY : lua->raised;
    if (!message) message = "an error that is no text";
    if (file && lua->refused && !strcmp(message, "not enough memory")) {
        status = REDTUNE_TEMPLATE;
        message = lua->refused;
    }
    if (file && !strstr(message, file))
        return rdt_fail(err, status, rc, "cannot %s: %s: %s", what, file, message);
    return rdt_fail(err, status, rc, "cannot %s: %s", what, message);
}

redtune_status rdt_lua_call(rdt_lua *lua, const char *what, lua_CFunction function, void *data,
                            redtune_error *err) {
    lua_State *state = lua->state;
    /* With a hook Lua looks at every instruction, a fourth of the time; the templates that are
     * compiled in are known to end. */
    if (lua->limits.on)
        rdt_lua_limits_begin(lua);
    else if (lua->source.folder)
        lua_sethook(state, stop_running, LUA_MASKCOUNT, CALL_INSTRUCTIONS_MAX);
    lua->raised = REDTUNE_TEMPLATE;
    lua->refused = NULL;
    lua_pushcfunction(state, function);
    lua_pushlightuserdata(state, data);
    /* Lua prints and compares as the locale has it. */
    void *before = rdt_locale_enter();
    int rc = lua_pcall(state, 1, 0, 0);
    rdt_locale_leave(before);
    free(lua->file);
    lua->file = NULL;
    if (!rc) return REDTUNE_OK;
    redtune_status status = tell_of_lua(lua, what, rc, err);
    lua_settop(state, 0);
    return status;
}

void rdt_lua_limit(lua_State *state, const char *file) {
    rdt_lua_owner(state)->of_file = file;
    rdt_lua_limits_set(state);
}

void rdt_lua_push_file(lua_State *state, const char *name) {
    rdt_lua *lua = rdt_lua_owner(state);
    size_t length = 0;
    redtune_error failure;
    if (rdt_source_read(&lua->source, name, &lua->file, &length, &failure))
        rdt_lua_raise(state, failure.status, failure.message);
    lua_pushlstring(state, lua->file, length);
    free(lua->file);
    lua->file = NULL;
}

/* A new table whose missing names are found in the table, or by the function, on top, which it
 * replaces. */
static void push_scope(lua_State *state) {
    lua_newtable(state);
    lua_newtable(state);
    lua_pushvalue(state, -3);
    lua_setfield(state, -2, "__index");
    lua_pushcfunction(state, assigned_name);
    lua_setfield(state, -2, "__newindex");
    lua_setmetatable(state, -2);
    lua_remove(state, -2);
}

void rdt_lua_push_environment(lua_State *state) {
    lua_rawgetp(state, LUA_REGISTRYINDEX, &key_sandbox);
    push_scope(state);
}

/* What the base does not have. Upvalue 1 is the base, upvalue 2 the place that includes the piece.
 */
static int undefined_in_piece(lua_State *state) {
    lua_pushvalue(state, 2);
    if (lua_rawget(state, lua_upvalueindex(1)) != LUA_TNIL) return 1;
    return luaL_error(state, "undefined name '%s': this piece does not take it from %s",
                      luaL_tolstring(state, 2, NULL), lua_tostring(state, lua_upvalueindex(2)));
}

void rdt_lua_push_piece(lua_State *state, const char *includer) {
    lua_rawgetp(state, LUA_REGISTRYINDEX, &key_sandbox);
    lua_pushstring(state, includer);
    lua_pushcclosure(state, undefined_in_piece, 2);
    push_scope(state);
}

static void load(lua_State *state, const char *text, size_t length, const char *chunk,
                 const char *mode) {
    int rc = luaL_loadbufferx(state, text, length, chunk, mode);
    if (rc == LUA_ERRMEM) rdt_lua_raise(state, REDTUNE_MEMORY, lua_tostring(state, -1));
    if (rc) lua_error(state);
    lua_insert(state, -2);
    lua_setupvalue(state, -2, 1);
}

void rdt_lua_load(lua_State *state, const char *text, size_t length, const char *chunk) {
    load(state, text, length, chunk, "t");
}

void rdt_lua_set_text(lua_State *state, const char *name, const char *text) {
    lua_pushstring(state, text);
    lua_setfield(state, -2, name);
}

void rdt_lua_set_integer(lua_State *state, const char *name, int64_t value) {
    lua_pushinteger(state, value);
    lua_setfield(state, -2, name);
}

void rdt_lua_set_real(lua_State *state, const char *name, double value) {
    lua_pushnumber(state, value);
    lua_setfield(state, -2, name);
}

void rdt_lua_set_truth(lua_State *state, const char *name, bool truth) {
    lua_pushboolean(state, truth);
    lua_setfield(state, -2, name);
}

void rdt_lua_load_dumped(lua_State *state, const char *dumped, size_t length) {
    load(state, dumped, length, "=dumped", "b");
}

void rdt_lua_require(lua_State *state, const char *name) {
    lua_rawgetp(state, LUA_REGISTRYINDEX, &key_loaded);
    int loaded = lua_gettop(state);
    if (lua_getfield(state, loaded, name) != LUA_TNIL) {
        lua_remove(state, loaded);
        return;
    }
    lua_pop(state, 1);
    const char *file = lua_pushfstring(state, "%s.lua", name);
    const char *chunk = lua_pushfstring(state, "@%s", file);
    rdt_lua_push_file(state, file);
    size_t length;
    const char *text = lua_tolstring(state, -1, &length);
    rdt_lua_push_environment(state);
    rdt_lua_load(state, text, length, chunk);
    lua_call(state, 0, 1);
    if (lua_isnil(state, -1)) luaL_error(state, "%s returns nothing", file);
    lua_pushvalue(state, -1);
    lua_setfield(state, loaded, name);
    lua_replace(state, loaded);
    lua_settop(state, loaded);
}
