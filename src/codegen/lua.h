/* Lua: a state in which templates run. They see tables, strings and arithmetic, each other through
 * require, and nothing of the machine; an undefined name is an error. */
#pragma once

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdbool.h>
#include "codegen/lua_limits.h"
#include "codegen/source.h"

typedef struct rdt_lua {
    lua_State *state;
    rdt_source source;
    size_t used_bytes;
    const char *refused;   /* why the current call got no memory; NULL: it got all */
    redtune_status raised; /* by rdt_lua_raise in the current call */
    const char *of_file;   /* a user's, whose code runs here: see rdt_lua_limit; or NULL */
    rdt_lua_limits limits;
    char *file; /* read, and not yet pushed: kept where Lua's memory runs out in between */
} rdt_lua;

/* lua must stay where it is until it is closed. */
redtune_status rdt_lua_open(rdt_lua *lua, redtune_error *err);
void rdt_lua_close(rdt_lua *lua);

/* Runs function(state, data) so that Lua errors, running out of memory and running too long become
 * a status whose message starts with what. The stack is as before afterwards. */
redtune_status rdt_lua_call(rdt_lua *lua, const char *what, lua_CFunction function, void *data,
                            redtune_error *err);

/* For functions that run inside rdt_lua_call; they raise Lua errors.
 * rdt_lua_raise raises one with which that call ends in this status. */
int rdt_lua_raise(lua_State *state, redtune_status status, const char *message);
/* rdt_lua_require pushes what the template file "<name>.lua" returns, loaded once. */
void rdt_lua_require(lua_State *state, const char *name);
/* Pushes a new table whose missing names are found in the sandbox, and are errors beyond. */
void rdt_lua_push_environment(lua_State *state);
/* Likewise for a piece: an undefined name's message says that `includer`, a file and a line,
 * includes it. */
void rdt_lua_push_piece(lua_State *state, const char *includer);
/* The state is about to run the code of an op file: from now on it has limits (lua_limits.h), and
 * failures name the file, whose name must live as long. Nothing else may be rendered in it. */
void rdt_lua_limit(lua_State *state, const char *file);
/* Whose state it is. */
rdt_lua *rdt_lua_owner(lua_State *state);
/* A field of the table on top of the stack. */
void rdt_lua_set_text(lua_State *state, const char *name, const char *text);
void rdt_lua_set_integer(lua_State *state, const char *name, int64_t value);
void rdt_lua_set_real(lua_State *state, const char *name, double value);
void rdt_lua_set_truth(lua_State *state, const char *name, bool truth);
/* Loads text as a function whose globals are the table on top of the stack, which it replaces. */
void rdt_lua_load(lua_State *state, const char *text, size_t length, const char *chunk);
/* Likewise from what lua_dump wrote of such a function. */
void rdt_lua_load_dumped(lua_State *state, const char *dumped, size_t length);
/* Pushes a template file as a string. */
void rdt_lua_push_file(lua_State *state, const char *name);
