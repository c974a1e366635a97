/* Op reader: the entries that templates/ops.lua gathers as the table that C goes by. The build runs
 * it, too, for the ops that are compiled in: it knows Lua and nothing else of redtune. */
#pragma once

#include <lua.h>
#include "model/op.h"

/* Reads the table of entries on top of the stack, those with a number first and in its order, the
 * others by name. *out is zeroed. Raises a Lua error that names the entry and its fault. */
void rdt_op_reader_read(lua_State *state, rdt_op_table *out);
