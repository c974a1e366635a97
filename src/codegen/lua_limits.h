/* Lua limits: keeping what one call of a library function may take small. The count of instructions
 * ends a loop of Lua's, and sees nothing of a loop within a function that is written in C. */
#pragma once

#include <lua.h>

/* string.rep, the functions that match patterns and table.move refuse from then on what would take
 * long. */
void rdt_lua_limits_set(lua_State *state);
