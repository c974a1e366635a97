/* Lua limits: keeping what one call of a library function may take small. */
#include "codegen/lua_limits.h"

#include <lauxlib.h>
#include <string.h>

/* Letters that a match may look at, elements that may be moved, copies that may be made. */
static const double steps_max = 1e8;

/* Calls the function that was there before, which is upvalue 1, with the same arguments. */
static int call_former(lua_State *state) {
    lua_pushvalue(state, lua_upvalueindex(1));
    lua_insert(state, 1);
    lua_call(state, lua_gettop(state) - 1, LUA_MULTRET);
    return lua_gettop(state);
}

static int refuse_call(lua_State *state, const char *what) {
    return luaL_error(state, "%s takes too long; give it less", what);
}

/* Each item that repeats may be tried at each letter, and for each that of those before it. */
static int limit_match(lua_State *state) {
    size_t length = 0;
    const char *subject = lua_tolstring(state, 1, &length), *pattern = lua_tostring(state, 2);
    double steps = (double)length + 1;
    if (subject && pattern && !(lua_toboolean(state, 4) && lua_type(state, 4) == LUA_TBOOLEAN))
        for (const char *at = pattern; (at = strpbrk(at, "*+-?")); at++)
            steps *= (double)length + 1;
    return steps > steps_max ? refuse_call(state, "matching a pattern") : call_former(state);
}

static int limit_repeat(lua_State *state) {
    return lua_tonumber(state, 2) > steps_max ? refuse_call(state, "string.rep")
                                              : call_former(state);
}

static int limit_move(lua_State *state) {
    const lua_Number count = lua_tonumber(state, 3) - lua_tonumber(state, 2);
    return count > steps_max ? refuse_call(state, "table.move") : call_former(state);
}

void rdt_lua_limits_set(lua_State *state) {
    static const struct {
        const char *library, *name;
        lua_CFunction function;
    } limited[] = {{"string", "find", limit_match},   {"string", "match", limit_match},
                   {"string", "gmatch", limit_match}, {"string", "gsub", limit_match},
                   {"string", "rep", limit_repeat},   {"table", "move", limit_move}};
    for (size_t i = 0; i < sizeof limited / sizeof *limited; i++) {
        lua_getglobal(state, limited[i].library);
        lua_getfield(state, -1, limited[i].name);
        lua_pushcclosure(state, limited[i].function, 1);
        lua_setfield(state, -2, limited[i].name);
        lua_pop(state, 1);
    }
}
