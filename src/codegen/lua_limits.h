/* Lua limits: what the code of an op file may take, whichever way it takes it.
 *
 * Its state has 1 s of the processor's time, and 20 ms more for each call. Everything that runs
 * looks at the clock: the hook after some instructions, the allocator after a megabyte, and each
 * library function that is asked for much. A function in C cannot be ended: so it says beforehand
 * how many steps it may take, and does not run where these are too many or the time is short. One
 * instruction takes little, since texts are short and tables of names small. Nothing in such a
 * state catches an error: the first one ends the call. */
#pragma once

#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct rdt_lua_limits {
    bool on;
    int64_t left_ns, seen_ns; /* what was left when the clock was last looked at, and its time */
    double steps;             /* since then */
} rdt_lua_limits;

struct rdt_lua;

/* From now on the state has limits. */
void rdt_lua_limits_set(lua_State *state);
/* The following are for states that have limits. A call begins. */
void rdt_lua_limits_begin(struct rdt_lua *lua);
/* Raises an error where so many steps, which were just taken, were too many. */
void rdt_lua_limits_spend(lua_State *state, double steps);
/* Why a block must not be allocated or grown; NULL: it may be. */
const char *rdt_lua_limits_refuse(struct rdt_lua *lua, const void *block, size_t old_bytes,
                                  size_t new_bytes);
