/* Facts about moving rows between databases: what is merged in any order is the same, what is
 * written out and read in again is the same to the last bit, and what is taken back is gone. */
#include "trials.h"
#include "base/random.h"
#include "cache/exchange.h"
#include "cache/rows.h"
#include "cache/tuning.h"
#include "cache/untrusted.h"
#include "disk.h"

#include <limits.h>
#include <math.h>
#include <time.h>
#include "redtune/records.h"
#include "shaped.h"

enum { SHARDS = 8, ROWS = 200, ORDERS = 40, ROUND_ROWS = 2000 };

/* ---- rows ------------------------------------------------------------------------------------ */

static int pick(rdt_random *random, int bound) {
    return (int)rdt_random_below(random, (uint64_t)bound);
}

/* One that the templates allow and hardware can do, in a few configs of a few problems, so that
 * many compete and some are alike but for one column. */
static rdt_row plausible(rdt_random *random) {
    rdt_row row = {
        .gpu = trials_gpu, .origin = trials_origin, .date = 1700000000 + pick(random, 2)};
    char config[128];
    snprintf(config, sizeof config,
             "block=%d,vec=4,unroll=%d,load=no_allocate,tail=shuffle,finish=poll,per_sm=4",
             64 << pick(random, 2), 1 << pick(random, 2));
    row.trial = trials_make(1u << (19 + pick(random, 2)), config, 0, 16 + pick(random, 2));
    row.trial.median_ns =
        2000 + (double)rdt_random_below(random, UINT64_C(1) << 53) / (INT64_C(1) << 43);
    if (pick(random, 2)) row.trial.median_ns = 2000 + (double)pick(random, 2) / 3;
    row.trial.spread_ns = (double)pick(random, 2) / 7;
    row.trial.rank = INT_MAX;
    row.trial.is_default = !pick(random, 9);
    row.gpu.sm_count += pick(random, 2);
    row.origin.driver_version += pick(random, 2);
    snprintf(row.origin.machine, sizeof row.origin.machine, "bench %d", pick(random, 9));
    if (!pick(random, 2)) row.trial.conditions = (rdt_conditions){.sm_mhz = 1980, .others = 1};
    if (!pick(random, 6)) {
        row.trial.outcome = RDT_OUTCOME_WRONG;
        row.trial.median_ns = row.trial.spread_ns = row.trial.samples = 0;
        rdt_text_copy(row.trial.cause, sizeof row.trial.cause, "gave 1, not 2");
    }
    return row;
}

static bool put_rows(const char *path, const rdt_rows *rows) {
    rdt_tuning *to = NULL;
    uint64_t added = 0;
    redtune_status status = rdt_tuning_open(path, &to, &err);
    if (!status) status = rdt_exchange_begin(to, &err);
    if (!status) {
        status = rdt_exchange_add(to, NULL, rows, &added, &err);
        status = rdt_exchange_end(to, status, &err);
    }
    rdt_tuning_close(to);
    return !status;
}

/* ---- dumps ----------------------------------------------------------------------------------- */

typedef struct dump {
    void *data[2]; /* as a database and as lines */
    size_t bytes[2];
    char *imported; /* which rows count as such */
} dump;

static void dump_free(dump *self) {
    free(self->data[0]), free(self->data[1]), free(self->imported);
    *self = (dump){.imported = NULL};
}

static char *imported_of(const char *path) {
    static const char sql[] =
        "SELECT group_concat(line, x'0a') FROM (SELECT count || config || date || outcome ||"
        " quote(median_ns) || quote(spread_ns) || quote(samples) || is_default || quote(sm_mhz) ||"
        " sm_count || driver_version || (import IS NULL) AS line FROM measurement AS m"
        " JOIN gpu AS g ON g.id = m.gpu JOIN origin AS o ON o.id = m.origin ORDER BY line)";
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    char *text = NULL;
    if (!sqlite3_open(path, &db) && !sqlite3_prepare_v2(db, sql, -1, &row, NULL) &&
        sqlite3_step(row) == SQLITE_ROW && sqlite3_column_text(row, 0))
        text = strdup((const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    sqlite3_close(db);
    return text;
}

static bool dump_take(const char *path, dump *out) {
    const redtune_rows_query query = {.database = path, .gpu = "all", .own = 1};
    bool good = true;
    *out = (dump){.imported = imported_of(path)};
    for (int format = 0; format < 2 && good; format++)
        good = !redtune_export(&query, format ? REDTUNE_EXPORT_JSON : REDTUNE_EXPORT_SQLITE,
                               &out->data[format], &out->bytes[format], &err);
    return good;
}

static bool dump_equals(const dump *a, const dump *b) {
    bool same = (!a->imported && !b->imported) ||
                (a->imported && b->imported && !strcmp(a->imported, b->imported));
    for (int format = 0; format < 2; format++)
        same = same && a->bytes[format] == b->bytes[format] &&
               !memcmp(a->data[format], b->data[format], a->bytes[format]);
    return same;
}

static bool has_dump(const char *path, const dump *want) {
    dump now;
    bool same = dump_take(path, &now) && dump_equals(&now, want);
    dump_free(&now);
    return same;
}

/* ---- merging --------------------------------------------------------------------------------- */

static char shard_path[SHARDS][256];

static bool make_shards(rdt_random *random) {
    rdt_row all[ROWS];
    for (int i = 0; i < ROWS; i++) all[i] = plausible(random);
    for (int s = 0; s < SHARDS; s++) {
        rdt_rows rows = {0};
        bool good = true;
        snprintf(shard_path[s], sizeof shard_path[s], "%s/shard%d.db", scratch, s);
        unlink(shard_path[s]);
        for (int i = 0; i < ROWS; i++) {
            if (pick(random, 3)) continue;
            all[i].trial.imported = !pick(random, 4);
            if (rdt_rows_add(&rows, &all[i], &err)) good = false;
        }
        good = good && put_rows(shard_path[s], &rows);
        rdt_rows_free(&rows);
        if (!good) return false;
    }
    return true;
}

static redtune_status merge(const char *into, const char *const *files, size_t count, bool dry_run,
                            redtune_import_counts *report) {
    const redtune_importing importing = {
        .database = into, .files = files, .file_count = count, .merge = 1, .dry_run = dry_run};
    return redtune_import(&importing, report, &err);
}

/* Every shard at least once, some more often. */
static size_t shuffle(rdt_random *random, const char *out[2 * SHARDS]) {
    size_t count = (size_t)(SHARDS + pick(random, SHARDS + 1));
    for (size_t i = 0; i < count; i++)
        out[i] = shard_path[i < SHARDS ? (int)i : pick(random, SHARDS)];
    for (size_t i = count; i > 1; i--) {
        size_t k = (size_t)pick(random, (int)i);
        const char *swapped = out[i - 1];
        out[i - 1] = out[k];
        out[k] = swapped;
    }
    return count;
}

FACT(shards_give_the_same_in_any_order) {
    rdt_random random = {.state = 20};
    redtune_import_counts report = {0};
    const char *files[2 * SHARDS], *out = in_scratch("merged.db");
    dump first = {.imported = NULL};
    CHECK(make_shards(&random));
    for (int order = 0; order < ORDERS; order++) {
        size_t count = shuffle(&random, files);
        unlink(out);
        if (order % 8) {
            CHECK_OK(merge(out, files, count, false, &report), err);
            CHECK_INT(report.refused, 0);
        } else { /* one after another, and into one that is itself a shard */
            CHECK(copy_file(files[0], out));
            for (size_t i = 0; i < count; i++)
                CHECK_OK(merge(out, &files[i], 1, false, &report), err);
        }
        if (!order) CHECK(dump_take(out, &first));
        CHECK(first.imported && strstr(first.imported, "0\n"));
        CHECK(has_dump(out, &first));
    }
    CHECK_OK(merge(out, &out, 1, false, &report), err);
    CHECK_INT(report.added, 0);
    CHECK(has_dump(out, &first));
    dump_free(&first);
}

/* One's own measurements stay one's own where the clock ran ahead; a stranger's do not come in. */
FACT(own_rows_may_be_dated_ahead) {
    redtune_import_counts report;
    const char *from = in_scratch("ahead.db"), *out = in_scratch("dated.db");
    rdt_random random = {.state = 23};
    CHECK(make_shards(&random));
    CHECK(copy_file(shard_path[0], from));
    CHECK(run_sql(from, "UPDATE measurement SET date = 4102444800 + id"));
    unlink(out);
    CHECK_OK(merge(out, &from, 1, false, &report), err);
    CHECK_INT(report.added, report.rows);
    CHECK_INT(ask_sql(out, "SELECT min(date) > 4102444800 FROM measurement"), 1);
    const redtune_importing theirs = {.database = out, .files = &from, .file_count = 1};
    CHECK_OK(redtune_import(&theirs, &report, &err), err);
    CHECK_INT(report.refused, report.rows);
}

/* ---- importing and taking back ----------------------------------------------------------------
 */

static redtune_status import(const char *into, const char *const *files, size_t count, bool dry_run,
                             redtune_import_counts *report) {
    const redtune_importing importing = {
        .database = into, .files = files, .file_count = count, .dry_run = dry_run};
    return redtune_import(&importing, report, &err);
}

FACT(what_is_taken_back_is_gone) {
    rdt_random random = {.state = 21};
    redtune_import_counts report;
    dump before[SHARDS];
    char path[256], source[256], want[256];
    uint64_t removed = 0;
    snprintf(path, sizeof path, "%s/undone.db", scratch);
    unlink(path);
    CHECK(make_shards(&random));
    CHECK(copy_file(shard_path[0], path));
    CHECK(run_sql(path, "UPDATE measurement SET import = NULL; DELETE FROM import"));
    for (int i = 1; i < SHARDS; i++) {
        const char *file = shard_path[i];
        size_t bytes = 0;
        char *image = read_bytes(path, &bytes);
        CHECK(dump_take(path, &before[i]));
        CHECK_OK(import(path, &file, 1, true, &report), err);
        CHECK(report.added > 0);
        uint64_t promised = report.added, winners = report.winners;
        CHECK(holds_bytes(path, image, bytes));
        CHECK(!has_beside(path, "-journal"));
        free(image);
        CHECK_OK(import(path, &file, 1, false, &report), err);
        CHECK_INT(report.added, promised);
        CHECK_INT(report.winners, winners);
        CHECK(!has_dump(path, &before[i]));
    }
    for (int i = SHARDS; --i > 0;) {
        CHECK_OK(redtune_undo(path, source, &removed, &err), err);
        snprintf(want, sizeof want, "shard%d.db", i);
        CHECK_TEXT(source, want);
        CHECK(removed > 0);
        CHECK(has_dump(path, &before[i]));
        dump_free(&before[i]);
    }
    CHECK_OK(redtune_undo(path, source, &removed, &err), err);
    CHECK_TEXT(source, "");
    CHECK_INT(removed, 0);
}

/* ---- round trips ------------------------------------------------------------------------------
 */

static int64_t extreme(rdt_random *random, int64_t low, int64_t high) {
    int which = pick(random, 4);
    if (which == 0) return low;
    if (which == 1) return high;
    return low + (int64_t)rdt_random_below(random, (uint64_t)(high - low) + 1);
}

/* Any bits that are a legal time. */
static double any_time(rdt_random *random, bool may_be_zero) {
    static const double edges[] = {1e15,
                                   4.9406564584124654e-324,
                                   2.2250738585072014e-308,
                                   0.1,
                                   123456789.12345679,
                                   1,
                                   999999999999999.9,
                                   1.0 / 3};
    if (may_be_zero && !pick(random, 8)) return 0;
    if (!pick(random, 4)) return edges[pick(random, (int)(sizeof edges / sizeof *edges))];
    for (;;) {
        uint64_t bits = rdt_random_next(random) >> 1;
        double value;
        memcpy(&value, &bits, sizeof value);
        if (value > 0 && value <= 1e15) return value;
    }
}

static void any_text(rdt_random *random, char *out, size_t bytes) {
    static const char *const pieces[] = {"a",       "\"",       "\\",   "'",
                                         "%s",      "</b>",     " ",    "{",
                                         "\\u0041", "\xc3\xa9", "$.op", "\xf0\x9f\x98\x80",
                                         "]",       "\\n"};
    size_t length = 0, most = pick(random, 8) ? (size_t)pick(random, 20) : bytes;
    out[0] = '\0';
    for (;;) {
        const char *piece = pieces[pick(random, (int)(sizeof pieces / sizeof *pieces))];
        if (length + strlen(piece) >= bytes || length + strlen(piece) > most) return;
        strcpy(out + length, piece);
        length += strlen(piece);
    }
}

/* Any row that a tuning database may hold. */
static rdt_row legal(rdt_random *random) {
    rdt_row row = {.gpu = trials_gpu, .date = extreme(random, 0, INT64_MAX)};
    rdt_trial *trial = &row.trial;
    *trial = trials_make((uint64_t)extreme(random, 1, INT64_C(1) << 58), "", 0, 0);
    trial->cache = pick(random, 2) ? RDT_CACHE_WARM : RDT_CACHE_COLD;
    any_text(random, trial->config, sizeof trial->config);
    trial->is_default = pick(random, 2);
    trial->outcome = (rdt_outcome)pick(random, RDT_OUTCOME_COUNT);
    trial->spread_ns = 0;
    if (trial->outcome == RDT_OUTCOME_GOOD) {
        trial->median_ns = any_time(random, false);
        trial->spread_ns = any_time(random, true);
        trial->samples = (int)extreme(random, 1, 1000000000);
    }
    trial->rank = (int)extreme(random, 0, INT_MAX);
    any_text(random, trial->cause, sizeof trial->cause);
    if (pick(random, 3))
        trial->conditions = (rdt_conditions){
            .sm_mhz = (int)extreme(random, 0, 1000000),
            .memory_mhz = (int)extreme(random, 0, 1000000),
            .temperature_c = (int)extreme(random, 0, 1000),
            .throttle = (uint64_t)extreme(random, 0, INT64_MAX - 1),
            .others = (int)extreme(random, 0, 1000000000),
        };
    snprintf(row.gpu.name, sizeof row.gpu.name, "GPU ");
    any_text(random, row.gpu.name + 4, sizeof row.gpu.name - 4);
    row.gpu.l2_bytes = (uint64_t)extreme(random, 0, INT64_C(1) << 40);
    row.gpu.memory_khz = (int)extreme(random, 0, 1000000000);
    any_text(random, row.origin.machine, sizeof row.origin.machine);
    any_text(random, row.origin.templates, sizeof row.origin.templates);
    row.origin.nvrtc_version = (int)extreme(random, 0, 1000000000);
    return row;
}

static bool same_trial(const rdt_trial *a, const rdt_trial *b) {
    return !memcmp(&a->median_ns, &b->median_ns, sizeof a->median_ns) &&
           !memcmp(&a->spread_ns, &b->spread_ns, sizeof a->spread_ns) && a->samples == b->samples &&
           a->problem.op == b->problem.op && a->problem.dtype == b->problem.dtype &&
           a->problem.result == b->problem.result &&
           shaped_of(&a->problem).count == shaped_of(&b->problem).count && a->cache == b->cache &&
           !strcmp(a->family, b->family) && !strcmp(a->config, b->config) &&
           a->is_default == b->is_default && a->outcome == b->outcome && a->rank == b->rank &&
           !strcmp(a->cause, b->cause) && a->conditions.sm_mhz == b->conditions.sm_mhz &&
           a->conditions.memory_mhz == b->conditions.memory_mhz &&
           a->conditions.temperature_c == b->conditions.temperature_c &&
           a->conditions.throttle == b->conditions.throttle &&
           a->conditions.others == b->conditions.others;
}

static bool same_row(const rdt_row *a, const rdt_row *b) {
    return same_trial(&a->trial, &b->trial) && a->date == b->date &&
           !strcmp(a->gpu.name, b->gpu.name) && a->gpu.l2_bytes == b->gpu.l2_bytes &&
           a->gpu.memory_khz == b->gpu.memory_khz && a->gpu.sm_count == b->gpu.sm_count &&
           !strcmp(a->origin.machine, b->origin.machine) &&
           !strcmp(a->origin.templates, b->origin.templates) &&
           a->origin.nvrtc_version == b->origin.nvrtc_version &&
           a->origin.driver_version == b->origin.driver_version;
}

static bool unfit;

static void note_unfit(void *user, const rdt_refusal *refusal) {
    (void)user, (void)refusal;
    unfit = true;
}

static bool read_back(const void *data, size_t bytes, rdt_rows *out) {
    unfit = false;
    if (rdt_untrusted_each("file", data, bytes, rdt_rows_keep, note_unfit, out, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return false;
    }
    rdt_rows_sort(out);
    return !unfit;
}

FACT(what_is_written_is_read_to_the_last_bit) {
    rdt_random random = {.state = 22};
    rdt_rows rows = {0}, back = {0}, again = {0};
    void *json = NULL, *file = NULL, *second = NULL;
    size_t json_bytes = 0, file_bytes = 0, second_bytes = 0;
    for (int i = 0; i < ROUND_ROWS; i++) {
        rdt_row row = legal(&random);
        CHECK_OK(rdt_rows_add(&rows, &row, &err), err);
    }
    rdt_rows_sort(&rows);
    CHECK_OK(rdt_exchange_write_json(&rows, &json, &json_bytes, &err), err);
    CHECK(read_back(json, json_bytes, &back));
    CHECK_INT(back.count, ROUND_ROWS);
    for (size_t i = 0; i < back.count; i++) CHECK(same_row(&back.row[i], &rows.row[i]));
    CHECK_OK(rdt_exchange_write_file(&back, &file, &file_bytes, &err), err);
    CHECK(read_back(file, file_bytes, &again));
    CHECK_INT(again.count, ROUND_ROWS);
    for (size_t i = 0; i < again.count; i++) CHECK(same_row(&again.row[i], &rows.row[i]));
    CHECK_OK(rdt_exchange_write_json(&again, &second, &second_bytes, &err), err);
    CHECK(second_bytes == json_bytes && !memcmp(second, json, json_bytes));
    free(json), free(file), free(second);
    rdt_rows_free(&rows), rdt_rows_free(&back), rdt_rows_free(&again);
}

/* ---- turns ------------------------------------------------------------------------------------
 */

enum { HOLD_MS = 700 };

/* Process 0 writes for a while; process 1 imports meanwhile. */
static bool write_or_import(int index) {
    const struct timespec hold = {.tv_nsec = HOLD_MS * 1000000}, moment = {.tv_nsec = 200000000};
    const char *path = in_scratch("turns.db"), *file = shard_path[1];
    redtune_import_counts report = {0};
    if (index) {
        nanosleep(&moment, NULL);
        return !import(path, &file, 1, false, &report) && report.added > 0;
    }
    sqlite3 *db = NULL;
    bool good = !sqlite3_open(path, &db) &&
                !sqlite3_exec(db, "BEGIN EXCLUSIVE; UPDATE origin SET machine = machine || ' mine'",
                              NULL, NULL, NULL);
    nanosleep(&hold, NULL);
    good = good && !sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
    sqlite3_close(db);
    return good;
}

FACT(an_import_waits_its_turn) {
    rdt_random random = {.state = 23};
    CHECK(make_shards(&random));
    CHECK(copy_file(shard_path[0], in_scratch("turns.db")));
    CHECK(run_processes(2, write_or_import));
    CHECK(ask_sql(in_scratch("turns.db"),
                  "SELECT count(*) FROM import WHERE source = 'shard1.db'") == 1);
    CHECK(ask_sql(in_scratch("turns.db"),
                  "SELECT count(*) FROM origin WHERE machine LIKE '% mine'") > 0);
}

int main(int argc, char **argv) {
    /* The disk does not sync in truth: that takes most of the time. */
    if (!scratch_begin() || !disk_install()) return 1;
    int failed = check_run(argc, argv);
    scratch_end();
    return failed;
}
