/* Op reader: entries of ops, as Lua has them, as the traits that C goes by. The build runs it, too,
 * for the ops that are compiled in: it knows Lua and nothing else of redtune. */
#pragma once

#include <lua.h>
#include "model/op.h"

/* Reads the table of entries on top of the stack, those with a number first and in its order, the
 * others by name. *out is zeroed. Raises a Lua error that names the entry and its fault. */
void rdt_op_reader_read(lua_State *state, rdt_op_table *out);
/* Reads the entry on top of the stack, whose name is key; messages begin with file. *out is zeroed.
 */
void rdt_op_reader_read_entry(lua_State *state, const char *file, const char *key,
                              rdt_op_traits *out);
