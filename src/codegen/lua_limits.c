/* Lua limits: what the code of an op file may take, whichever way it takes it. */
#include "codegen/lua_limits.h"

#include <string.h>
#include "base/clock.h"
#include "codegen/lua.h"

/* A step is a letter that is looked at: 5 ns at most. An element that is moved takes several. */
static const double STEPS_MAX = 1e8, TOO_MANY = 1e9, STEP_NS = 5, LOOK_STEPS = 1 << 20,
                    ELEMENT_STEPS = 8;

enum {
    TIME_NS = 1000 * 1000 * 1000,
    CALL_NS = 20 * 1000 * 1000,
    HOOK_INSTRUCTIONS = 500,
    TEXT_BYTES_MAX = 256 << 10,
    NAMES_BYTES_MAX = 512 << 10, /* of the part of a table that has names: 2^13 of them */
    VALUES_MAX = 4096,           /* that a function returns */
};

static const char too_long[] = "it runs too long: a loop without an end?";
#define TAKES_TOO_LONG "%s takes too long; give it less"

/* ---- the clock ------------------------------------------------------------------------------- */

static bool has_time(rdt_lua_limits *limits) {
    const int64_t now = rdt_clock_thread_ns();
    limits->left_ns -= now - limits->seen_ns;
    limits->seen_ns = now;
    return limits->left_ns > 0;
}

static void end_call(lua_State *state) {
    lua_Debug debug;
    int level = 0;
    /* The innermost function of Lua's, which has a line. */
    while (lua_getstack(state, level, &debug) && lua_getinfo(state, "Sl", &debug) &&
           debug.currentline < 0)
        level++;
    luaL_where(state, level);
    lua_pushstring(state, too_long);
    lua_concat(state, 2);
    lua_error(state);
}

static void look(lua_State *state) {
    rdt_lua_limits *limits = &rdt_lua_owner(state)->limits;
    limits->steps = 0; /* so that the message can be made */
    if (!has_time(limits)) end_call(state);
}

static void look_by_hook(lua_State *state, lua_Debug *debug) {
    (void)debug;
    look(state);
}

void rdt_lua_limits_spend(lua_State *state, double steps) {
    rdt_lua_limits *limits = &rdt_lua_owner(state)->limits;
    limits->steps += steps;
    if (limits->steps >= LOOK_STEPS) look(state);
}

/* Where time is over, nothing is allocated any more, however often Lua tries. */
const char *rdt_lua_limits_refuse(rdt_lua *lua, const void *block, size_t old_bytes,
                                  size_t new_bytes) {
    rdt_lua_limits *limits = &lua->limits;
    /* Lua says there what kind of object a new block is for: 0 for a table's names, or the stack.
     */
    const size_t most = old_bytes == LUA_TSTRING ? TEXT_BYTES_MAX : NAMES_BYTES_MAX;
    if (!block && (!old_bytes || old_bytes == LUA_TSTRING) && new_bytes > most)
        return "it makes a text of more than 256 KiB, a table of more than 8192 names, or calls "
               "that are too deep";
    limits->steps += (double)new_bytes;
    if (limits->steps < LOOK_STEPS) return NULL;
    if (!has_time(limits)) return too_long;
    limits->steps = 0;
    return NULL;
}

void rdt_lua_limits_begin(rdt_lua *lua) {
    rdt_lua_limits *limits = &lua->limits;
    limits->left_ns += CALL_NS;
    if (limits->left_ns > TIME_NS) limits->left_ns = TIME_NS;
    limits->seen_ns = rdt_clock_thread_ns();
    limits->steps = 0;
}

/* ---- library functions ----------------------------------------------------------------------- */

/* How many steps a call of a function takes at most, beside those for its texts and lists. */
typedef double steps_fn(lua_State *state);

/* Of a text or a list that is an argument. */
static double argument_length(lua_State *state, int at) {
    const int type = lua_type(state, at);
    return type == LUA_TSTRING || type == LUA_TTABLE ? (double)lua_rawlen(state, at) : 0;
}

/* For the elements from argument `first` to `last`. */
static double range_of(lua_State *state, int first, int last, double usual) {
    const double from = luaL_optnumber(state, first, 1), to = luaL_optnumber(state, last, usual);
    return ELEMENT_STEPS * (to - from + 1);
}

/* At each letter what does not repeat is tried once. What repeats takes up to all letters, and for
 * each number of them what stands behind it is tried. */
static double steps_of_match(lua_State *state) {
    size_t bytes = 0;
    const double letters = argument_length(state, 1) + 1;
    const char *pattern = lua_type(state, 2) == LUA_TSTRING ? lua_tolstring(state, 2, &bytes) : "";
    double branches = 1, steps = 1;
    for (size_t i = 0; i < bytes; i++) {
        const bool escaped = i && pattern[i - 1] == '%';
        const bool scans =
            escaped && (pattern[i] == 'b' || (pattern[i] >= '0' && pattern[i] <= '9'));
        if (pattern[i] && strchr("*+-", pattern[i])) branches *= letters;
        if (pattern[i] == '?') branches *= 2;
        steps += scans ? branches * letters : branches;
    }
    return letters * steps;
}

static double steps_of_find(lua_State *state) {
    return lua_toboolean(state, 4) ? argument_length(state, 1) * argument_length(state, 2)
                                   : steps_of_match(state);
}

static double steps_of_repeat(lua_State *state) {
    return lua_tonumber(state, 2) * (argument_length(state, 1) + argument_length(state, 3) + 1);
}

static double steps_of_move(lua_State *state) { return range_of(state, 2, 3, 0); }

static double steps_of_concat(lua_State *state) {
    return range_of(state, 3, 4, argument_length(state, 1));
}

/* The worst order, and texts that differ in their last letters only. */
static double steps_of_sort(lua_State *state) {
    const double count = argument_length(state, 1);
    double longest = 1;
    if (count > VALUES_MAX) return TOO_MANY;
    for (lua_Integer i = 1; i <= (lua_Integer)count; i++) {
        lua_rawgeti(state, 1, i);
        if (argument_length(state, -1) > longest) longest = argument_length(state, -1);
        lua_pop(state, 1);
    }
    return count * count * longest;
}

/* Many values at once would make each instruction that passes them on take long. */
static double steps_of_values(lua_State *state) {
    const bool list = lua_istable(state, 1);
    const double length = argument_length(state, 1), first = luaL_optnumber(state, 2, 1);
    const double last = luaL_optnumber(state, 3, list ? length : first);
    const double values = !list && first * last < 0 ? length : last - first;
    return values > VALUES_MAX && (list || length > VALUES_MAX) ? TOO_MANY : 0;
}

static const struct rule {
    const char *library, *name; /* NULL: all others of the library */
    const char *what;           /* takes long */
    steps_fn *steps;
} rules[] = {
    {"string", "find", "matching a pattern", steps_of_find},
    {"string", "match", "matching a pattern", steps_of_match},
    {"string", "gmatch", "matching a pattern", steps_of_match},
    {"string", "gsub", "matching a pattern", steps_of_match},
    {"string", "rep", "string.rep", steps_of_repeat},
    {"string", "byte", "string.byte", steps_of_values},
    {"string", NULL, "a function of string", NULL},
    {"table", "move", "table.move", steps_of_move},
    {"table", "concat", "table.concat", steps_of_concat},
    {"table", "sort", "table.sort", steps_of_sort},
    {"table", "unpack", "table.unpack", steps_of_values},
    {"table", NULL, "a function of table", NULL},
    {"utf8", "codepoint", "utf8.codepoint", steps_of_values},
    {"utf8", NULL, "a function of utf8", NULL},
};

/* Upvalue 1, which has none itself, where upvalue 2, its rule, allows it. A call that may take long
 * is what is named where time is over behind it. */
static int call_limited(lua_State *state) {
    const struct rule *rule = lua_touserdata(state, lua_upvalueindex(2));
    rdt_lua_limits *limits = &rdt_lua_owner(state)->limits;
    double steps = rule->steps ? rule->steps(state) : 0;
    if (steps < 0) steps = 0;
    for (int i = lua_gettop(state); i; i--) steps += argument_length(state, i);
    if (!(steps <= STEPS_MAX) || steps * STEP_NS > (double)limits->left_ns + CALL_NS)
        return luaL_error(state, TAKES_TOO_LONG, rule->what);
    rdt_lua_limits_spend(state, steps);
    const int results = lua_tocfunction(state, lua_upvalueindex(1))(state);
    if (steps < LOOK_STEPS || has_time(limits)) return results;
    limits->steps = 0; /* so that the message can be made */
    return luaL_error(state, TAKES_TOO_LONG, rule->what);
}

/* The function that is the value on top gives way to one with limits; its name is below. */
static void limit_function(lua_State *state, const char *library) {
    const struct rule *rule = rules;
    const char *name = lua_tostring(state, -2);
    while (strcmp(rule->library, library) || (rule->name && strcmp(rule->name, name))) rule++;
    lua_pushlightuserdata(state, (void *)rule);
    lua_pushcclosure(state, call_limited, 2);
}

void rdt_lua_limits_set(lua_State *state) {
    static const char *const libraries[] = {"string", "table", "utf8"};
    rdt_lua *lua = rdt_lua_owner(state);
    if (lua->limits.on) return;
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++) {
        lua_getglobal(state, libraries[i]);
        lua_pushnil(state);
        while (lua_next(state, -2)) {
            if (!lua_isfunction(state, -1)) {
                lua_pop(state, 1);
                continue;
            }
            limit_function(state, libraries[i]);
            lua_pushvalue(state, -2);
            lua_insert(state, -2);
            lua_rawset(state, -4); /* a field that is there: the traversal goes on */
        }
        lua_pop(state, 1);
    }
    lua->limits = (rdt_lua_limits){.on = true, .left_ns = TIME_NS};
    rdt_lua_limits_begin(lua);
    lua_sethook(state, look_by_hook, LUA_MASKCOUNT, HOOK_INSTRUCTIONS);
}
