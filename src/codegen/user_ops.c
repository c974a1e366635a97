/* User ops: the ops of the user's template folder that redtune does not come with. */
#include <pthread.h>
#include <string.h>
#include "codegen/lua.h"
#include "codegen/op_reader.h"

/* Written once, and constant from then on. */
static struct user_ops {
    rdt_op_table ops;
    redtune_status status;
    redtune_error error;
} user;
static pthread_once_t user_once = PTHREAD_ONCE_INIT;

static bool is_compiled_in(const char *name) {
    for (int i = 0; i < rdt_op_compiled_in.count; i++)
        if (!strcmp(rdt_op_compiled_in.entry[i].name, name)) return true;
    return false;
}

static int read_ops(lua_State *state) {
    rdt_op_table *out = lua_touserdata(state, 1);
    rdt_op_table all = {0};
    rdt_lua_require(state, "ops");
    rdt_op_reader_read(state, &all);
    for (int i = 0; i < all.count; i++) {
        if (is_compiled_in(all.entry[i].name)) continue;
        out->entry[out->count] = all.entry[i];
        out->entry[out->count].op = (redtune_op)(rdt_op_compiled_in.count + out->count);
        out->count++;
    }
    return 0;
}

static void read_user(void) {
    rdt_lua lua;
    user.status = rdt_lua_open(&lua, &user.error);
    if (user.status) return;
    if (lua.source.folder)
        user.status = rdt_lua_call(&lua, "read the ops", read_ops, &user.ops, &user.error);
    rdt_lua_close(&lua);
}

const rdt_op_table *rdt_user_ops_table(redtune_error *err) {
    pthread_once(&user_once, read_user);
    if (user.status && err) *err = user.error;
    return user.status ? NULL : &user.ops;
}
