/* Facts about a kernel cache whose bytes have changed, as a program sees it: a plan is made all the
 * same and is right, whichever byte of a kernel, of a cached plan or of the file between them it
 * is. On the simulated GPU. */
#define _GNU_SOURCE
#include "../unit/database.h"
#include "api/running/plan.h"
#include "api/choosing/plan_cache.h"
#include "adder.h"
#include "shaped.h"

enum { COUNT = 20000, CACHE_BYTES_MAX = 1 << 20 };

static char cache[256], recipe_key[RDT_HASH_TEXT_BYTES], kernel_key[RDT_HASH_TEXT_BYTES];
static redtune_error err;
static adder ones;

static const redtune_options options = {.database = "/nowhere/at/all.db"};
/* Several blocks, and a count that does not fill them. */
static const shaped asked = {
    .op = REDTUNE_SUM, .dtype = REDTUNE_F32, .count = COUNT, .config = "finish=poll"};

/* ---- a program ------------------------------------------------------------------------------- */

/* The launch and the words about it; zeros where there was no plan. */
typedef struct telling {
    rdt_launch launch;
    redtune_info info;
} telling;

/* Opens, plans and runs as a new process would. */
static bool go_round(telling *out) {
    const redtune_problem problem = shaped_problem(asked);
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    bool good = !redtune_open(&options, &rt, &err) &&
                !redtune_plan_create(rt, &problem, &plan, &err) &&
                adder_sum(&ones, plan, COUNT, &err) == COUNT &&
                adder_sum(&ones, plan, COUNT - 77, &err) == COUNT - 77 &&
                adder_sum(&ones, plan, 3, &err) == 3 && adder_sum(&ones, plan, 0, &err) == 0;
    if (good) {
        memset(out, 0, sizeof *out);
        out->launch = rdt_plan_executable(plan)->launch;
        redtune_plan_info(plan, &out->info);
    } else {
        fprintf(stderr, "%s\n", err.message);
    }
    redtune_plan_destroy(plan);
    redtune_close(rt);
    return good;
}

static bool same(const telling *a, const telling *b) {
    const rdt_launch *one = &a->launch, *other = &b->launch;
    return one->threads == other->threads && one->tile == other->tile &&
           one->blocks_max == other->blocks_max && one->partials == other->partials &&
           one->overlap == other->overlap && !strcmp(a->info.config, b->info.config) &&
           !strcmp(a->info.family, b->info.family) && a->info.match == b->info.match &&
           shaped_of(&a->info.problem).count == shaped_of(&b->info.problem).count;
}

/* ---- the cache ------------------------------------------------------------------------------- */

static telling expected;

static bool ask_text(const char *sql, char *out, size_t bytes) {
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    int rc = sqlite3_open(cache, &db);
    if (!rc) rc = sqlite3_prepare_v2(db, sql, -1, &row, NULL);
    bool found = !rc && sqlite3_step(row) == SQLITE_ROW;
    if (found) snprintf(out, bytes, "%s", (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    sqlite3_close(db);
    return found;
}

/* One kernel and its cached plan, made anew. */
static bool fill_cache(void) {
    telling again;
    unlink(cache);
    return go_round(&expected) && go_round(&again) && same(&again, &expected) &&
           ask_text("SELECT r.key FROM kernel AS r JOIN kernel AS k"
                    " ON substr(r.content, 1, 32) = CAST(k.key AS BLOB)",
                    recipe_key, sizeof recipe_key) &&
           ask_text("SELECT k.key FROM kernel AS r JOIN kernel AS k"
                    " ON substr(r.content, 1, 32) = CAST(k.key AS BLOB)",
                    kernel_key, sizeof kernel_key);
}

/* Turns bits of one byte of the content of a key over. */
static bool flip(const char *key, int at, int bits) {
    sqlite3 *db = NULL;
    sqlite3_blob *blob = NULL;
    unsigned char byte = 0;
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT rowid FROM kernel WHERE key = '%s'", key);
    int64_t row = ask_sql(cache, sql);
    int rc = sqlite3_open(cache, &db);
    if (!rc) rc = sqlite3_exec(db, "PRAGMA synchronous=OFF", NULL, NULL, NULL);
    if (!rc) rc = sqlite3_blob_open(db, "main", "kernel", "content", row, 1, &blob);
    if (!rc) rc = sqlite3_blob_read(blob, &byte, 1, at);
    byte ^= (unsigned char)bits;
    if (!rc) rc = sqlite3_blob_write(blob, &byte, 1, at);
    sqlite3_blob_close(blob);
    sqlite3_close(db);
    return !rc;
}

static int content_bytes(const char *key) {
    char sql[200];
    snprintf(sql, sizeof sql, "SELECT length(content) FROM kernel WHERE key = '%s'", key);
    return (int)ask_sql(cache, sql);
}

/* ---- facts ----------------------------------------------------------------------------------- */

static bool follows(redtune *rt) {
    rdt_executable *variant = calloc(1, sizeof *variant);
    bool followed = variant && rdt_plan_cache_follow(rt, recipe_key, false, variant);
    rdt_executable_destroy(rt, variant);
    return followed;
}

FACT(a_recipe_with_any_byte_changed_is_not_followed) {
    static const int bits[] = {1, 0x80, 0xff};
    redtune *rt = NULL;
    CHECK(fill_cache());
    int bytes = content_bytes(recipe_key);
    CHECK(bytes > (int)sizeof(rdt_launch));
    CHECK_OK(redtune_open(&options, &rt, &err), err);
    CHECK(follows(rt));
    for (int at = 0; at < bytes; at++) {
        int turned = bits[at % 3];
        CHECK(flip(recipe_key, at, turned));
        CHECK(!follows(rt));
        CHECK(flip(recipe_key, at, turned));
    }
    CHECK(follows(rt));
    printf("%d bytes\n", bytes);
    redtune_close(rt);
}

/* Through the interface: some bytes of each, and each of the launch's. */
FACT(a_plan_from_a_changed_recipe_or_kernel_is_right) {
    CHECK(fill_cache());
    const int sizes[] = {content_bytes(recipe_key), content_bytes(kernel_key)};
    for (int which = 0; which < 2; which++) {
        const char *key = which ? kernel_key : recipe_key;
        int step = sizes[which] / 12;
        for (int at = 0; at < sizes[which];) {
            telling told;
            CHECK(flip(key, at, 0x11));
            CHECK(go_round(&told) && same(&told, &expected));
            /* A damaged cache is emptied, and filled again as plans are made. */
            CHECK(go_round(&told) && same(&told, &expected));
            CHECK(content_bytes(recipe_key) == sizes[0] && content_bytes(kernel_key) == sizes[1]);
            at += !which && at >= 32 && at < 40 + (int)sizeof(rdt_launch) ? 1 : step;
        }
    }
}

FACT(a_plan_from_a_changed_file_is_right) {
    size_t bytes = 0;
    CHECK(fill_cache());
    char *whole = read_bytes(cache, &bytes);
    CHECK(whole && bytes < CACHE_BYTES_MAX);
    size_t rounds = 0;
    /* More of the headers of the file and of its first page. */
    for (size_t at = 0; at < bytes; at += at < 110 ? 5 : bytes / 60 | 1) {
        telling told;
        whole[at] ^= 0x41;
        CHECK(write_bytes(cache, whole, bytes));
        whole[at] ^= 0x41;
        bool good = go_round(&told) && same(&told, &expected);
        if (!good) fprintf(stderr, "byte %zu of %zu\n", at, bytes);
        CHECK(good);
        rounds++;
    }
    printf("%zu of %zu bytes\n", rounds, bytes);
    free(whole);
}

int main(int argc, char **argv) {
    if (!scratch_begin() || setenv("XDG_CACHE_HOME", scratch, 1)) return 1;
    snprintf(cache, sizeof cache, "%s/redtune/kernels.db", scratch);
    redtune_status status = adder_open(&ones, COUNT, &err);
    if (status) fprintf(stderr, "%s\n", err.message);
    int failed = status ? 1 : check_run(argc, argv);
    adder_close(&ones);
    scratch_end();
    return failed;
}
