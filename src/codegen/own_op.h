/* Own op: one file of the user's in a Lua state: read for what C knows of it, or as the entry that
 * templates render kernels from. */
#pragma once

#include "codegen/lua.h"
#include "codegen/user_ops.h"

/* Reads the file's text, which *out has with its name, and fills in the rest and the traits, but
 * for op. */
redtune_status rdt_own_op_read(rdt_own_op *out, rdt_op_traits *traits, redtune_error *err);
/* Frees what *op holds. */
void rdt_own_op_free(rdt_own_op *op);
/* Within rdt_lua_call: pushes the op's entry, made once in each state. */
void rdt_own_op_push(lua_State *state, const rdt_own_op *op);
