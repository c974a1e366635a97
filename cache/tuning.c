/* Tuning: the tuning database, one shareable SQLite file of measurements. */
#include "cache/tuning.h"

#include <stdlib.h>
#include <time.h>
#include "cache/row.h"
#include "cache/sqlite.h"

enum statement { ADD_GPU, FIND_GPU, ADD_ORIGIN, FIND_ORIGIN, ADD, EACH, EACH_WINNER, CENSUS };

#define GPU_KEY    "name, major, minor, sm_count, l2_bytes, bus_bits, memory_khz"
#define ORIGIN_KEY "machine, driver_version, nvrtc_version, templates"
#define JOIN_ORIGINS                                                                               \
    " CROSS JOIN gpu AS g ON g.id = m.gpu CROSS JOIN origin AS o ON o.id = m.origin"

static const rdt_sqlite_kind kind = {
    .what = "tuning database",
    .remedy = "name another with --db or REDTUNE_DB",
    .settings = "PRAGMA synchronous=FULL; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;"
                "PRAGMA temp_store=MEMORY",
    .busy_ms = 10000,
    .schema = &rdt_schema_tuning,
    .statements =
        {
            [ADD_GPU] = "INSERT INTO gpu(" GPU_KEY ") VALUES(?,?,?,?,?,?,?)"
                        " ON CONFLICT(" GPU_KEY ") DO NOTHING",
            [FIND_GPU] = "SELECT id FROM gpu WHERE (" GPU_KEY ") = (?,?,?,?,?,?,?)",
            [ADD_ORIGIN] = "INSERT INTO origin(" ORIGIN_KEY ") VALUES(?,?,?,?)"
                           " ON CONFLICT(" ORIGIN_KEY ") DO NOTHING",
            [FIND_ORIGIN] = "SELECT id FROM origin WHERE (" ORIGIN_KEY ") = (?,?,?,?)",
            [ADD] = "INSERT INTO measurement(" RDT_ROW_MEASUREMENT ")"
                    " VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
            [EACH] = "SELECT " RDT_ROW_COLUMNS " FROM measurement AS m" JOIN_ORIGINS
                     " WHERE m.op = ? AND m.dtype = ? AND m.result = ? AND m.cache_state = ?"
                     " ORDER BY m.count, m.gpu, m.date, m.id",
            /* Of each problem those with enough samples, the best first. */
            [EACH_WINNER] =
                "WITH sampled AS (SELECT op, dtype, result, cache_state, count, gpu,"
                "  max(samples) AS most FROM measurement"
                "  WHERE outcome = 'good' AND samples <= 1000000000"
                "  GROUP BY op, dtype, result, cache_state, count, gpu)"
                " SELECT " RDT_ROW_COLUMNS " FROM sampled AS s CROSS JOIN measurement AS m"
                "  ON m.op = s.op AND m.dtype = s.dtype AND m.result = s.result"
                "  AND m.cache_state = s.cache_state AND m.count = s.count AND m.gpu = s.gpu"
                "  AND m.outcome = 'good' AND m.samples >= (s.most + 1) / 2" JOIN_ORIGINS
                " ORDER BY s.op, s.dtype, s.result, s.cache_state, s.count, s.gpu,"
                "  m.median_ns, m.date, m.id",
            [CENSUS] = "SELECT (SELECT count(*) FROM measurement), (SELECT count(*) FROM gpu)",
        },
};

struct rdt_tuning {
    rdt_sqlite file;
    bool empty; /* opened for reading while it had no bytes: nothing is in it */
};

/* Another process may be filling the file just now: decided under its lock. */
static redtune_status fill(rdt_sqlite *file, redtune_error *err) {
    bool empty = true;
    redtune_status status = rdt_sqlite_begin(file, err);
    if (status) return status;
    status = rdt_sqlite_identify(file, &empty, err);
    if (!status && empty) status = rdt_schema_create(file, err);
    return rdt_sqlite_end(file, status, err);
}

static redtune_status prepare(rdt_tuning *tuning, rdt_sqlite_access access, redtune_error *err) {
    rdt_sqlite *file = &tuning->file;
    bool write = access == RDT_SQLITE_WRITE, empty;
    redtune_status status = rdt_sqlite_identify(file, &empty, err);
    if (!status && write) status = rdt_sqlite_check_writable(file, err);
    /* The first read rolls back what another process left half done, its creation even. */
    if (!status) status = rdt_sqlite_run(file, "open", kind.settings, err);
    if (!status) status = rdt_sqlite_identify(file, &empty, err);
    if (!status && write && empty) status = fill(file, err);
    tuning->empty = !status && empty && !write;
    if (status || tuning->empty) return status;
    return rdt_schema_check(file, err);
}

static redtune_status open_as(const char *path, rdt_sqlite_access access, rdt_tuning **out,
                              redtune_error *err) {
    rdt_tuning *tuning = calloc(1, sizeof *tuning);
    if (!tuning) return rdt_fail_memory(err, sizeof *tuning);
    redtune_status status = rdt_sqlite_open(&tuning->file, &kind, path, access, err);
    if (!status) status = prepare(tuning, access, err);
    if (status) {
        rdt_tuning_close(tuning);
        return status;
    }
    *out = tuning;
    return REDTUNE_OK;
}

redtune_status rdt_tuning_open(const char *path, rdt_tuning **out, redtune_error *err) {
    return open_as(path, RDT_SQLITE_WRITE, out, err);
}

redtune_status rdt_tuning_open_read(const char *path, rdt_tuning **out, redtune_error *err) {
    return open_as(path, RDT_SQLITE_READ, out, err);
}

void rdt_tuning_close(rdt_tuning *tuning) {
    if (!tuning) return;
    rdt_sqlite_close(&tuning->file);
    free(tuning);
}

/* Runs a statement whose parameters are bound; rc is what binding them gave. */
static redtune_status finish(rdt_sqlite *file, sqlite3_stmt *statement, int rc,
                             redtune_error *err) {
    bool row;
    if (rc) return rdt_sqlite_fail(file, "write", rc, err);
    return rdt_sqlite_step(file, "write", statement, &row, err);
}

/* Gives the id that a statement, whose parameters are bound, selects. */
static redtune_status select_id(rdt_sqlite *file, sqlite3_stmt *statement, int rc, int64_t *id,
                                redtune_error *err) {
    bool row = false;
    if (rc) return rdt_sqlite_fail(file, "write", rc, err);
    redtune_status status = rdt_sqlite_step(file, "write", statement, &row, err);
    if (status) return status;
    /* Just added or there before: only a damaged index can lose it. */
    if (!row) return rdt_sqlite_fail(file, "write", SQLITE_CORRUPT, err);
    *id = sqlite3_column_int64(statement, 0);
    sqlite3_reset(statement);
    return REDTUNE_OK;
}

static redtune_status put_gpu(rdt_sqlite *file, const rdt_facts *gpu, int64_t *id,
                              redtune_error *err) {
    sqlite3_stmt *add, *find;
    redtune_status status = rdt_sqlite_statement(file, ADD_GPU, &add, err);
    if (!status) status = finish(file, add, rdt_row_bind_gpu(add, gpu), err);
    if (!status) status = rdt_sqlite_statement(file, FIND_GPU, &find, err);
    if (!status) status = select_id(file, find, rdt_row_bind_gpu(find, gpu), id, err);
    return status;
}

static redtune_status put_origin(rdt_sqlite *file, const rdt_origin *origin, int64_t *id,
                                 redtune_error *err) {
    sqlite3_stmt *add, *find;
    redtune_status status = rdt_sqlite_statement(file, ADD_ORIGIN, &add, err);
    if (!status) status = finish(file, add, rdt_row_bind_origin(add, origin), err);
    if (!status) status = rdt_sqlite_statement(file, FIND_ORIGIN, &find, err);
    if (!status) status = select_id(file, find, rdt_row_bind_origin(find, origin), id, err);
    return status;
}

static redtune_status put_all(rdt_sqlite *file, rdt_row *row, const rdt_trial *trials, size_t count,
                              redtune_error *err) {
    int64_t gpu = 0, origin = 0;
    sqlite3_stmt *add;
    redtune_status status = put_gpu(file, &row->gpu, &gpu, err);
    if (!status) status = put_origin(file, &row->origin, &origin, err);
    for (size_t i = 0; i < count && !status; i++) {
        row->trial = trials[i];
        status = rdt_sqlite_statement(file, ADD, &add, err);
        if (!status)
            status = finish(file, add, rdt_row_bind_measurement(add, row, gpu, origin), err);
    }
    return status;
}

redtune_status rdt_tuning_put(rdt_tuning *tuning, const rdt_facts *gpu, const rdt_origin *origin,
                              const rdt_trial *trials, size_t count, redtune_error *err) {
    rdt_row row = {.gpu = *gpu, .origin = *origin, .date = (int64_t)time(NULL)};
    for (size_t i = 0; i < count; i++) {
        row.trial = trials[i];
        const char *wrong = rdt_row_check(&row);
        if (wrong)
            return rdt_fail(err, REDTUNE_INVALID, 0, "cannot store measurement %zu of %zu: %s", i,
                            count, wrong);
    }
    if (!count) return REDTUNE_OK;
    redtune_status status = rdt_sqlite_begin(&tuning->file, err);
    if (status) return status;
    status = put_all(&tuning->file, &row, trials, count, err);
    return rdt_sqlite_end(&tuning->file, status, err);
}

/* What a winner is the winner of. */
typedef struct group {
    redtune_problem problem;
    rdt_cache_state cache;
    int64_t gpu; /* its id */
} group;

static bool same_group(const group *a, const group *b) {
    return a->gpu == b->gpu && a->cache == b->cache && a->problem.count == b->problem.count &&
           a->problem.op == b->problem.op && a->problem.dtype == b->problem.dtype &&
           a->problem.result == b->problem.result;
}

/* Gives rows to each; where winners are asked for only the first of each group, as the statement
 * gives the best first. A row that does not fit the model is left out, and then wins nothing. */
static redtune_status give_rows(rdt_tuning *tuning, sqlite3_stmt *statement, bool winners,
                                rdt_tuning_each_fn *each, void *user, redtune_error *err) {
    rdt_row row;
    group last = {0};
    redtune_status status = REDTUNE_OK;
    while (!status) {
        bool more = false;
        int64_t gpu = 0;
        status = rdt_sqlite_step(&tuning->file, "read", statement, &more, err);
        if (status || !more) return status;
        if (!rdt_row_read(statement, &row, &gpu)) {
            int rc = sqlite3_errcode(tuning->file.db);
            if (rc == SQLITE_NOMEM) status = rdt_sqlite_fail(&tuning->file, "read", rc, err);
            continue;
        }
        group now = {row.trial.problem, row.trial.cache, gpu};
        if (winners && same_group(&now, &last)) continue;
        last = now;
        status = each(user, &row, err);
    }
    sqlite3_reset(statement);
    return status;
}

redtune_status rdt_tuning_each(rdt_tuning *tuning, const redtune_problem *problem,
                               rdt_cache_state cache, rdt_tuning_each_fn *each, void *user,
                               redtune_error *err) {
    redtune_problem resolved;
    redtune_status status = rdt_problem_resolve(problem, &resolved, err);
    if (status || tuning->empty) return status;
    sqlite3_stmt *statement;
    status = rdt_sqlite_statement(&tuning->file, EACH, &statement, err);
    if (status) return status;
    int rc = rdt_row_bind_problem(statement, &resolved, cache);
    if (rc) return rdt_sqlite_fail(&tuning->file, "read", rc, err);
    return give_rows(tuning, statement, false, each, user, err);
}

redtune_status rdt_tuning_each_winner(rdt_tuning *tuning, rdt_tuning_each_fn *each, void *user,
                                      redtune_error *err) {
    sqlite3_stmt *statement;
    if (tuning->empty) return REDTUNE_OK;
    redtune_status status = rdt_sqlite_statement(&tuning->file, EACH_WINNER, &statement, err);
    return status ? status : give_rows(tuning, statement, true, each, user, err);
}

redtune_status rdt_tuning_census(rdt_tuning *tuning, int64_t *measurements, int64_t *gpus,
                                 redtune_error *err) {
    sqlite3_stmt *statement;
    bool row = false;
    if (tuning->empty) {
        *measurements = *gpus = 0;
        return REDTUNE_OK;
    }
    redtune_status status = rdt_sqlite_statement(&tuning->file, CENSUS, &statement, err);
    if (!status) status = rdt_sqlite_step(&tuning->file, "read", statement, &row, err);
    if (status || !row) return status;
    *measurements = sqlite3_column_int64(statement, 0);
    *gpus = sqlite3_column_int64(statement, 1);
    sqlite3_reset(statement);
    return REDTUNE_OK;
}
