/* User ops: the ops that redtune does not come with, those of the user's template folder first and
 * then those of the user's files.
 *
 * The table only grows: an entry is whole before the count says that it is there, and stays as it
 * is. So who reads needs no lock. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "codegen/lua.h"
#include "codegen/op_reader.h"
#include "codegen/own_op.h"

enum { FILE_BYTES_MAX = 64 << 10 };

static struct user_ops {
    rdt_op_table ops;
    int of_folder;                                       /* the first of them */
    rdt_own_op file[RDT_OPS_MAX];                        /* of the others */
    atomic_uint checked[RDT_OPS_MAX][REDTUNE_DTYPE_END]; /* by dtype: 1 << result, or'ed */
    redtune_status status;                               /* of the folder, or REDTUNE_OPS */
    redtune_error error;
    pthread_mutex_t lock;            /* of adding */
    atomic_bool without_environment; /* another process gives the files */
} user = {.lock = PTHREAD_MUTEX_INITIALIZER};
static pthread_once_t user_once = PTHREAD_ONCE_INIT;

static const rdt_op_traits *find_compiled_in(const char *name) {
    for (int i = 0; i < rdt_op_compiled_in.count; i++)
        if (!strcmp(rdt_op_compiled_in.entry[i].name, name)) return &rdt_op_compiled_in.entry[i];
    return NULL;
}

/* ---- the template folder --------------------------------------------------------------------- */

static int read_ops(lua_State *state) {
    rdt_op_table *out = lua_touserdata(state, 1);
    rdt_op_table all = {0};
    rdt_lua_require(state, "ops");
    rdt_op_reader_read(state, &all);
    for (int i = 0; i < all.count; i++) {
        if (find_compiled_in(all.entry[i].name)) continue;
        out->entry[out->count] = all.entry[i];
        out->entry[out->count].op = (redtune_op)(rdt_op_compiled_in.count + out->count);
        out->count++;
    }
    return 0;
}

static redtune_status read_folder(redtune_error *err) {
    rdt_lua lua;
    redtune_status status = rdt_lua_open(&lua, err);
    if (status) return status;
    if (lua.source.folder) status = rdt_lua_call(&lua, "read the ops", read_ops, &user.ops, err);
    rdt_lua_close(&lua);
    user.of_folder = user.ops.count;
    return status;
}

/* ---- files ----------------------------------------------------------------------------------- */

/* The op of that name that is there; NULL: none. */
static const rdt_op_traits *find_taken(const char *name) {
    for (int i = 0; i < user.ops.count; i++)
        if (!strcmp(user.ops.entry[i].name, name)) return &user.ops.entry[i];
    return find_compiled_in(name);
}

static redtune_status refuse_taken(const rdt_own_op *file, const rdt_op_traits *taken,
                                   redtune_error *err) {
    return rdt_fail(err, REDTUNE_TEMPLATE, 0,
                    "cannot use an op file: %.300s:%d: the name '%s' is taken by the op of %.200s; "
                    "choose another",
                    file->name, file->line.name, taken->name,
                    taken->file ? taken->file : "redtune itself");
}

/* Takes over what file holds. The lock is held. */
static redtune_status keep_file(rdt_own_op *file, rdt_op_traits *traits, redtune_error *err) {
    const rdt_op_traits *taken = find_taken(traits->name);
    const int at = user.ops.count;
    if (taken && (!taken->file || taken->content != traits->content))
        return refuse_taken(file, taken, err);
    if (taken) {
        rdt_own_op_free(file);
        return REDTUNE_OK;
    }
    if (rdt_op_compiled_in.count + at >= RDT_OPS_MAX - 1)
        return rdt_fail(
            err, REDTUNE_INVALID, 0,
            "cannot use an op file: %.300s: there are more than %d ops; name fewer files",
            file->name, RDT_OPS_MAX - 1);
    traits->op = (redtune_op)(rdt_op_compiled_in.count + at);
    user.ops.entry[at] = *traits;
    user.file[at] = *file;
    __atomic_store_n(&user.ops.count, at + 1, __ATOMIC_RELEASE);
    return REDTUNE_OK;
}

static redtune_status add_text(const char *name, size_t name_bytes, const char *text, size_t bytes,
                               redtune_error *err) {
    rdt_own_op file = {.bytes = bytes};
    rdt_op_traits traits;
    file.name = strndup(name, name_bytes);
    file.text = malloc(bytes + 1);
    redtune_status status = file.name && file.text ? REDTUNE_OK : rdt_fail_memory(err, bytes + 1);
    if (!status) {
        memcpy(file.text, text, bytes);
        status = rdt_own_op_read(&file, &traits, err);
    }
    if (!status) {
        pthread_mutex_lock(&user.lock);
        status = keep_file(&file, &traits, err);
        pthread_mutex_unlock(&user.lock);
    }
    if (status) rdt_own_op_free(&file);
    return status;
}

static redtune_status add_own_file(const char *name, size_t name_bytes, redtune_error *err) {
    char *path = strndup(name, name_bytes), *text = NULL;
    size_t bytes = 0;
    redtune_error why = {0};
    if (!path) return rdt_fail_memory(err, name_bytes + 1);
    redtune_status status = rdt_file_read(path, FILE_BYTES_MAX, &text, &bytes, &why);
    if (status)
        status = rdt_fail(err, status, why.code,
                          "cannot use an op file: %.500s; name a Lua file "
                          "with one op",
                          why.message);
    else
        status = add_text(name, name_bytes, text, bytes, err);
    free(text);
    free(path);
    return status;
}

/* All of them, whatever comes of the first: *status is the first failure's. */
static redtune_status add_files(const char *files, redtune_error *err) {
    redtune_status first = REDTUNE_OK;
    for (const char *at = files ? files : ""; *at;) {
        const size_t length = strcspn(at, ":");
        redtune_error why;
        const redtune_status status = length ? add_own_file(at, length, &why) : REDTUNE_OK;
        if (status && !first && err) *err = why;
        if (!first) first = status;
        at += length + (at[length] == ':');
    }
    return first;
}

/* ---- the table ------------------------------------------------------------------------------- */

static void read_user(void) {
    user.status = read_folder(&user.error);
    if (user.status || atomic_load(&user.without_environment)) return;
    user.status = add_files(getenv("REDTUNE_OPS"), &user.error);
}

const rdt_op_table *rdt_user_ops_table(redtune_error *err) {
    pthread_once(&user_once, read_user);
    if (err) *err = user.status ? user.error : (redtune_error){0};
    return &user.ops;
}

redtune_status redtune_ops_read(const char *files, redtune_error *err) {
    if (!files || !*files) return REDTUNE_OK;
    rdt_user_ops_table(NULL);
    return add_files(files, err);
}

redtune_status rdt_user_ops_add_text(const char *name, const char *text, size_t bytes,
                                     redtune_error *err) {
    rdt_user_ops_table(NULL);
    return add_text(name, strlen(name), text, bytes, err);
}

void rdt_user_ops_leave_environment(void) { atomic_store(&user.without_environment, true); }

int rdt_user_ops_count(void) {
    return rdt_op_table_count(rdt_user_ops_table(NULL)) - user.of_folder;
}

const rdt_own_op *rdt_user_ops_get(int index) { return &user.file[user.of_folder + index]; }

const rdt_own_op *rdt_user_ops_find(redtune_op op) {
    const rdt_op_traits *traits = rdt_op_find(op);
    return traits && traits->file ? &user.file[(int)op - rdt_op_compiled_in.count] : NULL;
}

static atomic_uint *checked_of(redtune_op op, redtune_dtype dtype) {
    return &user.checked[(int)op - rdt_op_compiled_in.count][dtype];
}

bool rdt_user_ops_is_checked(redtune_op op, redtune_dtype dtype, redtune_dtype result) {
    return (atomic_load(checked_of(op, dtype)) & 1u << result) != 0;
}

void rdt_user_ops_set_checked(redtune_op op, redtune_dtype dtype, redtune_dtype result) {
    atomic_fetch_or(checked_of(op, dtype), 1u << result);
}
