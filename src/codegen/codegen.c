/* Codegen: loading the registered families and their spaces. rules.c asks what they say. */
#include "codegen/marshal.h"

#include <stdlib.h>
#include <string.h>
#include "codegen/user_ops.h"

/* ---- loading ------------------------------------------------------------------------------ */

static void copy_name(lua_State *state, const char *what, char out[RDT_NAME_BYTES]) {
    size_t length = 0;
    const char *name =
        lua_type(state, -1) == LUA_TSTRING ? lua_tolstring(state, -1, &length) : NULL;
    if (!length || length >= RDT_NAME_BYTES ||
        strspn(name, "abcdefghijklmnopqrstuvwxyz_0123456789") != length)
        luaL_error(state, "%s must be 1 to %d characters of a-z, 0-9 and _", what,
                   RDT_NAME_BYTES - 1);
    memcpy(out, name, length + 1);
}

/* The parameter's table is on top. */
static void read_param(lua_State *state, rdt_param *param) {
    int table = lua_gettop(state);
    lua_getfield(state, table, "name");
    copy_name(state, "a parameter's name", param->name);
    param->launch = rdt_marshal_flag(state, table, "launch");
    bool labelled = lua_getfield(state, table, "labels") == LUA_TTABLE;
    if (!labelled) lua_getfield(state, table, "values");
    if (!lua_istable(state, -1))
        luaL_error(state, "parameter %s needs values or labels", param->name);
    lua_Integer count = luaL_len(state, -1);
    if (count < 1 || count > RDT_PARAM_VALUE_MAX)
        luaL_error(state, "parameter %s must have 1 to %d values", param->name,
                   RDT_PARAM_VALUE_MAX);
    for (int i = 0; i < count; i++) {
        lua_geti(state, -1, i + 1);
        if (labelled)
            copy_name(state, "a label", param->label[i]);
        else if (!lua_isinteger(state, -1))
            luaL_error(state, "the values of %s must be integers", param->name);
        param->value[i] = labelled ? i : lua_tointeger(state, -1);
        lua_pop(state, 1);
    }
    param->value_count = (int)count;
    lua_settop(state, table);
}

/* The registry, and the family that is loaded next. */
typedef struct registry_call {
    rdt_codegen *codegen;
    int count, at;
} registry_call;

/* Loads a family behind those loaded already, and leaves the stack as it is. */
static void load_family(lua_State *state, rdt_codegen *codegen, const char *name) {
    const int top = lua_gettop(state);
    if (codegen->family_count == RDT_FAMILY_MAX)
        luaL_error(state, "there are more than %d families", RDT_FAMILY_MAX);
    rdt_family *family = &codegen->family[codegen->family_count];
    rdt_space *space = &codegen->space[codegen->family_count];
    lua_pushfstring(state, "%s/family", name);
    rdt_lua_require(state, lua_tostring(state, -1));
    int table = lua_gettop(state);
    if (!lua_istable(state, table)) luaL_error(state, "%s/family.lua must return a table", name);
    lua_pushstring(state, name);
    copy_name(state, "a family's name", space->family);
    family->order = rdt_marshal_family_order(state, table);
    lua_pushfstring(state, "%s/kernel.cu", name);
    rdt_text_copy(family->template, sizeof family->template, lua_tostring(state, -1));
    rdt_lua_push_file(state, family->template); /* it must be there */
    if (lua_getfield(state, table, "params") != LUA_TTABLE)
        luaL_error(state, "family %s has no params", name);
    lua_Integer count = luaL_len(state, -1);
    if (count < 1 || count > RDT_PARAM_MAX)
        luaL_error(state, "family %s must have 1 to %d parameters", name, RDT_PARAM_MAX);
    for (int i = 0; i < count; i++) {
        lua_geti(state, -1, i + 1);
        read_param(state, &space->param[i]);
        lua_pop(state, 1);
    }
    space->param_count = (int)count;
    lua_pushvalue(state, table);
    family->table = luaL_ref(state, LUA_REGISTRYINDEX);
    codegen->family_count++;
    lua_settop(state, top);
}

/* Puts the families' names into the registry of Lua, and counts them. */
static int load_registry(lua_State *state) {
    registry_call *call = lua_touserdata(state, 1);
    rdt_lua_require(state, "ops");
    rdt_lua_require(state, "dtypes");
    rdt_lua_require(state, "registry");
    if (!lua_istable(state, -1))
        return luaL_error(state, "registry.lua must return a table of families' names");
    lua_Integer count = luaL_len(state, -1);
    if (count < 1 || count > RDT_FAMILY_MAX)
        luaL_error(state, "registry.lua must name 1 to %d families", RDT_FAMILY_MAX);
    call->count = (int)count;
    return 0;
}

static int load_registered(lua_State *state) {
    const registry_call *call = lua_touserdata(state, 1);
    rdt_lua_require(state, "registry");
    lua_geti(state, -1, call->at);
    load_family(state, call->codegen, luaL_checkstring(state, -1));
    return 0;
}

/* In a folder of the user's a family that does not load is left out, unless none is left. */
static redtune_status load_families(rdt_codegen *codegen, redtune_error *err) {
    static const char what[] = "load the templates";
    registry_call call = {.codegen = codegen};
    redtune_error why;
    redtune_status status = rdt_lua_call(&codegen->lua, what, load_registry, &call, err);
    for (call.at = 1; !status && call.at <= call.count; call.at++) {
        status = rdt_lua_call(&codegen->lua, what, load_registered, &call, &why);
        const bool may_miss = status == REDTUNE_TEMPLATE && codegen->lua.source.folder;
        if (may_miss && (codegen->family_count || call.at < call.count)) {
            rdt_text_copy(codegen->left_out, sizeof codegen->left_out, why.message);
            status = REDTUNE_OK;
        }
        if (status && err) *err = why;
    }
    codegen->spaces = (rdt_spaces){codegen->space, codegen->family_count};
    return status;
}

/* A family that is loaded by its name. */
typedef struct aside_call {
    rdt_codegen *codegen;
    const char *name;
} aside_call;

static int load_aside(lua_State *state) {
    const aside_call *call = lua_touserdata(state, 1);
    load_family(state, call->codegen, call->name);
    return 0;
}

static redtune_status add_aside(rdt_codegen *codegen, const char *name, redtune_error *err) {
    aside_call call = {codegen, name};
    return rdt_lua_call(&codegen->lua, "load the templates", load_aside, &call, err);
}

redtune_status rdt_codegen_open(rdt_codegen **out, redtune_error *err) {
    rdt_codegen *codegen = calloc(1, sizeof *codegen);
    if (!codegen) return rdt_fail_memory(err, sizeof *codegen);
    redtune_status status = rdt_lua_open(&codegen->lua, err);
    if (!status) status = load_families(codegen, err);
    if (status) {
        rdt_codegen_close(codegen);
        return status;
    }
    rdt_hash_text(&codegen->lua.source.hash, codegen->hash);
    *out = codegen;
    return REDTUNE_OK;
}

void rdt_codegen_close(rdt_codegen *codegen) {
    if (!codegen) return;
    rdt_codegen_close(codegen->next_own);
    rdt_points_forget(codegen);
    rdt_lua_close(&codegen->lua);
    free(codegen);
}

redtune_status rdt_codegen_version(char out[RDT_HASH_TEXT_BYTES], redtune_error *err) {
    rdt_source source;
    redtune_status status = rdt_source_open(&source, err);
    if (status) return status;
    rdt_hash_text(&source.hash, out);
    rdt_source_close(&source);
    return REDTUNE_OK;
}

const char *rdt_codegen_build(void) { return rdt_template_build; }

const char *rdt_codegen_hash(const rdt_codegen *codegen) { return codegen->hash; }

const char *rdt_codegen_folder(const rdt_codegen *codegen) { return codegen->lua.source.folder; }

const char *rdt_codegen_left_out(const rdt_codegen *codegen) { return codegen->left_out; }

const rdt_spaces *rdt_codegen_spaces(const rdt_codegen *codegen) { return &codegen->spaces; }

redtune_status rdt_codegen_find_aside(rdt_codegen *codegen, const char *name, int *family,
                                      redtune_error *err) {
    for (int i = 0; i < codegen->family_count; i++) {
        if (strcmp(name, codegen->space[i].family)) continue;
        if (i < codegen->spaces.count)
            return rdt_fail(err, REDTUNE_INVALID, 0,
                            "cannot keep template '%.40s' aside: the registry names it", name);
        *family = i;
        return REDTUNE_OK;
    }
    redtune_status status = add_aside(codegen, name, err);
    if (!status) *family = codegen->family_count - 1;
    return status;
}

redtune_status rdt_codegen_turn(rdt_codegen **codegen, redtune_op op, redtune_error *err) {
    rdt_codegen *all = *codegen, *own = all;
    if (own->own == op || !rdt_user_ops_find(op)) return REDTUNE_OK;
    while (own && own->own != op) own = own->next_own;
    redtune_status status = own ? REDTUNE_OK : rdt_codegen_open(&own, err);
    if (status) return status;
    if (!own->own) {
        own->own = op;
        own->next_own = all->next_own;
        all->next_own = own;
    }
    /* A family has one number in all states. */
    while (!status && own->family_count < all->family_count)
        status = add_aside(own, all->space[own->family_count].family, err);
    if (!status) *codegen = own;
    return status;
}
