/* Tuning: the tuning database, one shareable SQLite file of measurements. */
#include "cache/tuning.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "base/text.h"
#include "cache/guarded.h"
#include "cache/schema.h"
#include "cache/tuning_inside.h"

enum statement {
    ADD_GPU,
    FIND_GPU,
    ADD_ORIGIN,
    FIND_ORIGIN,
    LATEST,
    ADD,
    EVERY,
    EACH,
    NEXT_CLASS,
    EVERY_CONTENDER,
    EACH_CONTENDER,
    EACH_NEAR,
    EVERY_QUICK,
    EACH_QUICK,
    UNKNOWN_KERNELS,
    EACH_UNKNOWN_KERNEL,
    SET_KERNEL,
    EACH_GPU,
    CENSUS
};

#define GPU_KEY    "name, major, minor, sm_count, l2_bytes, bus_bits, memory_khz"
#define ORIGIN_KEY "machine, driver_version, nvrtc_version, templates"
#define JOIN_ORIGINS                                                                               \
    " CROSS JOIN gpu AS g ON g.id = m.gpu CROSS JOIN origin AS o ON o.id = m.origin"

#define CLASS_NAMES "op, dtype, result, layout, ordering"
#define SUBJECT     RDT_ROW_CLASS ", gpu, " RDT_ROW_EXTENT
#define OF_CLASS    " AND (" RDT_ROW_CLASS ") = (?, ?, ?, ?, ?, ?, ?, ?, ?)"

#define NEAR " AND gpu IN (SELECT id FROM gpu WHERE name = ?) AND count BETWEEN ? AND ?"

/* The rows that may have a say in who wins, by the rule in model/winner.h: good ones measured with
 * enough care, the default's, and those that ended badly. They are told by the index alone. where
 * names the class, or is "". */
#define CONTENDERS "m.outcome <> 'good' OR m.is_default OR m.samples >= s.most - s.most / 2"
/* The others that were measured here. */
#define QUICK "m.import IS NULL AND NOT (" CONTENDERS ")"
#define ROWS_OF(where, which)                                                                      \
    "WITH sampled AS (SELECT " SUBJECT ", origin,"                                                 \
    "  min(max(samples) FILTER (WHERE outcome = 'good' AND samples <= 1000000000), 32) AS most"    \
    "  FROM measurement WHERE true" where "  GROUP BY " SUBJECT ", origin)"                        \
    " SELECT " RDT_ROW_COLUMNS " FROM sampled AS s CROSS JOIN measurement AS m"                    \
    "  ON m.op = s.op AND m.dtype = s.dtype AND m.result = s.result AND m.layout = s.layout"       \
    "  AND m.ordering = s.ordering AND m.mask = s.mask AND m.key_dtype = s.key_dtype"              \
    "  AND m.spread = s.spread AND m.cache_state = s.cache_state AND m.gpu = s.gpu"                \
    "  AND m.count = s.count AND m.kept = s.kept AND m.reduced = s.reduced"                        \
    "  AND m.greatest = s.greatest AND m.median = s.median AND m.keys = s.keys"                    \
    "  AND m.origin = s.origin AND (" which ")" JOIN_ORIGINS

const rdt_sqlite_kind rdt_tuning_kind = {
    .what = "tuning database",
    .remedy = "name another with --db or REDTUNE_DB, of the system with REDTUNE_SYSTEM_DB",
    .repair = "redtune doctor --repair",
    .reads_wal = true,
    .settings = "PRAGMA synchronous=EXTRA; PRAGMA cell_size_check=ON; PRAGMA mmap_size=0;"
                "PRAGMA temp_store=MEMORY",
    .schema = &rdt_schema_tuning,
    .statements =
        {
            [ADD_GPU] = "INSERT INTO gpu(" GPU_KEY ") VALUES(?,?,?,?,?,?,?)"
                        " ON CONFLICT(" GPU_KEY ") DO NOTHING",
            [FIND_GPU] = "SELECT id FROM gpu WHERE (" GPU_KEY ") = (?,?,?,?,?,?,?)",
            [ADD_ORIGIN] = "INSERT INTO origin(" ORIGIN_KEY ") VALUES(?,?,?,?)"
                           " ON CONFLICT(" ORIGIN_KEY ") DO NOTHING",
            [FIND_ORIGIN] = "SELECT id FROM origin WHERE (" ORIGIN_KEY ") = (?,?,?,?)",
            [LATEST] = "SELECT max(date) FROM measurement WHERE (" SUBJECT
                       ") = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            [ADD] = "INSERT INTO measurement(" RDT_ROW_MEASUREMENT ") VALUES(" RDT_ROW_VALUES ")",
            [EVERY] = "SELECT " RDT_ROW_COLUMNS " FROM measurement AS m" JOIN_ORIGINS,
            [EACH] = "SELECT " RDT_ROW_COLUMNS " FROM measurement AS m" JOIN_ORIGINS
                     " WHERE true" OF_CLASS " ORDER BY m.count, m.gpu, m.date, m.id",
            [NEXT_CLASS] = "SELECT " CLASS_NAMES " FROM measurement WHERE (" CLASS_NAMES
                           ") > (?, ?, ?, ?, ?) ORDER BY " CLASS_NAMES " LIMIT 1",
            [EVERY_CONTENDER] = ROWS_OF("", CONTENDERS),
            [EACH_CONTENDER] = ROWS_OF(OF_CLASS, CONTENDERS),
            [EACH_NEAR] = ROWS_OF(OF_CLASS NEAR, CONTENDERS),
            [EVERY_QUICK] = ROWS_OF("", QUICK),
            [EACH_QUICK] = ROWS_OF(OF_CLASS, QUICK),
            [UNKNOWN_KERNELS] = "SELECT EXISTS(SELECT 1 FROM measurement AS m WHERE kernel IS NULL"
                                " AND origin IN (SELECT id FROM origin WHERE templates = ?))",
            [EACH_UNKNOWN_KERNEL] =
                "SELECT " RDT_ROW_COLUMNS ", m.id FROM measurement AS m" JOIN_ORIGINS
                " WHERE m.kernel IS NULL AND o.templates = ?",
            [SET_KERNEL] = "UPDATE measurement SET kernel = ? WHERE id = ?",
            [EACH_GPU] =
                "SELECT " GPU_KEY ", latest FROM gpu CROSS JOIN (SELECT gpu, max(date) AS latest"
                " FROM measurement GROUP BY gpu) AS m ON m.gpu = id ORDER BY " GPU_KEY,
            [CENSUS] = "SELECT (SELECT count(*) FROM measurement), (SELECT count(*) FROM gpu)",
        },
};

/* Puts what the row has of a table that measurements refer to, unless it is there: by statement
 * `add`, and finds its id by the next one. */
static redtune_status put_key(rdt_sqlite *file, enum statement add, const rdt_row *row,
                              int (*bind)(sqlite3_stmt *, const rdt_row *), int64_t *id,
                              redtune_error *err) {
    sqlite3_stmt *put, *find;
    redtune_status status = rdt_sqlite_statement(file, add, &put, err);
    if (!status) status = rdt_sqlite_execute(file, "write", put, bind(put, row), 0, NULL, err);
    if (!status) status = rdt_sqlite_statement(file, add + 1, &find, err);
    if (!status) status = rdt_sqlite_execute(file, "write", find, bind(find, row), 1, id, err);
    return status;
}

static bool same_origin(const rdt_origin *a, const rdt_origin *b) {
    return a->driver_version == b->driver_version && a->nvrtc_version == b->nvrtc_version &&
           !strcmp(a->machine, b->machine) && !strcmp(a->templates, b->templates);
}

redtune_status rdt_tuning_put_keys(rdt_sqlite *file, const rdt_row *row, const rdt_row *last,
                                   int64_t *gpu, int64_t *origin, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    if (!last || !rdt_facts_same(&last->gpu, &row->gpu))
        status = put_key(file, ADD_GPU, row, rdt_row_bind_gpu, gpu, err);
    if (!status && (!last || !same_origin(&last->origin, &row->origin)))
        status = put_key(file, ADD_ORIGIN, row, rdt_row_bind_origin, origin, err);
    return status;
}

/* The latest date that a measurement of the trial's problem on the GPU has; 0: there is none. */
static redtune_status find_latest(rdt_sqlite *file, const rdt_trial *trial, int64_t gpu,
                                  int64_t *date, redtune_error *err) {
    sqlite3_stmt *find;
    redtune_status status = rdt_sqlite_statement(file, LATEST, &find, err);
    if (status) return status;
    int rc = rdt_row_bind_subject(find, trial, gpu);
    return rdt_sqlite_execute(file, "write", find, rc, 1, date, err);
}

/* Now, but after what the row must be later than: whatever the clock says and said, later dates are
 * those of rows that were put later. */
static int64_t date_after(int64_t now, int64_t latest) {
    return latest <= now ? now : latest < INT64_MAX ? latest + 1 : latest;
}

static redtune_status put_all(rdt_sqlite *file, rdt_row *row, const rdt_trial *trials, size_t count,
                              redtune_error *err) {
    int64_t gpu = 0, origin = 0, latest = 0, now = (int64_t)time(NULL);
    sqlite3_stmt *add;
    redtune_status status = rdt_tuning_put_keys(file, row, NULL, &gpu, &origin, err);
    for (size_t i = 0; i < count && !status; i++) {
        if (!i || rdt_rows_compare_problem(&trials[i - 1], &trials[i]))
            status = find_latest(file, &trials[i], gpu, &latest, err);
        row->trial = trials[i];
        row->date = date_after(now, latest > trials[i].after ? latest : trials[i].after);
        if (!status) status = rdt_sqlite_statement(file, ADD, &add, err);
        if (status) break;
        int rc = rdt_row_bind_measurement(add, row, gpu, origin);
        status = rdt_sqlite_execute(file, "write", add, rc, 0, NULL, err);
    }
    return status;
}

redtune_status rdt_tuning_put(rdt_tuning *tuning, const rdt_facts *gpu, const rdt_origin *origin,
                              const rdt_trial *trials, size_t count, redtune_error *err) {
    rdt_row row = {.gpu = *gpu, .origin = *origin};
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

/* What does not fit the model is left out, unless it is memory that is missing. */
static redtune_status leave_out(const rdt_sqlite *file, redtune_error *err) {
    int rc = sqlite3_errcode(file->db);
    return rc == SQLITE_NOMEM ? rdt_sqlite_fail(file, "read", rc, err) : REDTUNE_OK;
}

redtune_status rdt_tuning_give_rows(rdt_tuning *tuning, sqlite3_stmt *statement,
                                    rdt_tuning_each_fn *each, void *user, redtune_error *err) {
    rdt_row row;
    redtune_status status = REDTUNE_OK;
    while (!status) {
        bool more = false;
        int64_t gpu = 0;
        status = rdt_sqlite_step(&tuning->file, "read", statement, &more, err);
        if (status || !more) return status;
        status = rdt_row_read(statement, &row, &gpu) ? each(user, &row, err)
                                                     : leave_out(&tuning->file, err);
    }
    sqlite3_reset(statement);
    return status;
}

/* Gives the rows of a statement whose parameters are the problem's class; of the one before it,
 * which has none, where there is no problem. */
static redtune_status give_class(rdt_tuning *tuning, int number, const redtune_problem *problem,
                                 rdt_cache_state cache, rdt_tuning_each_fn *each, void *user,
                                 redtune_error *err) {
    redtune_problem resolved = {0};
    redtune_status status = problem ? rdt_problem_resolve(problem, &resolved, err) : REDTUNE_OK;
    if (status || tuning->empty) return status;
    sqlite3_stmt *statement;
    status = rdt_sqlite_statement(&tuning->file, problem ? number : number - 1, &statement, err);
    if (status) return status;
    const rdt_trial of_class = {.problem = resolved, .cache = cache};
    int rc = problem ? rdt_row_bind_class(statement, &of_class) : SQLITE_OK;
    if (rc) return rdt_sqlite_fail(&tuning->file, "read", rc, err);
    return rdt_tuning_give_rows(tuning, statement, each, user, err);
}

redtune_status rdt_tuning_each(rdt_tuning *tuning, const redtune_problem *problem,
                               rdt_cache_state cache, rdt_tuning_each_fn *each, void *user,
                               redtune_error *err) {
    return give_class(tuning, EACH, problem, cache, each, user, err);
}

/* The names of a class, as the file has them. */
enum { NAMES = 5, NAME_BYTES_MAX = 128 };
typedef struct class_names {
    char name[NAMES][NAME_BYTES_MAX];
} class_names;

/* Steps to the next class behind those names, in their order. One that no name could be (bytes, or
 * a NUL within, which would be found again and again) is the last. SQLite begins where names are
 * equal and goes through all that are: so the last name gets a letter behind it that comes before
 * all others. */
static redtune_status find_class(rdt_sqlite *file, class_names *names, sqlite3_stmt **out,
                                 bool *more, redtune_error *err) {
    redtune_status status = rdt_sqlite_statement(file, NEXT_CLASS, out, err);
    int rc = SQLITE_OK;
    for (int i = 0; !status && !rc && i < NAMES; i++)
        rc = sqlite3_bind_text(*out, i + 1, names->name[i], -1, SQLITE_TRANSIENT);
    if (rc) return rdt_sqlite_fail(file, "read", rc, err);
    if (!status) status = rdt_sqlite_step(file, "read", *out, more, err);
    for (int i = 0; !status && *more && i < NAMES; i++) {
        const bool is_text = sqlite3_column_type(*out, i) == SQLITE_TEXT;
        const char *name = (const char *)sqlite3_column_text(*out, i);
        *more = is_text && name && (int)strlen(name) == sqlite3_column_bytes(*out, i) &&
                strlen(name) < NAME_BYTES_MAX - 1;
        if (*more)
            rdt_text_print(names->name[i], NAME_BYTES_MAX, "%s%s", name,
                           i == NAMES - 1 ? "\001" : "");
    }
    return status;
}

redtune_status rdt_tuning_each_class(rdt_tuning *tuning, const redtune_problem *problem,
                                     rdt_tuning_class_fn *each, void *user, redtune_error *err) {
    class_names names = {{""}};
    sqlite3_stmt *statement = NULL;
    redtune_status status = REDTUNE_OK;
    for (bool more = !tuning->empty; !status && more;) {
        redtune_problem found = *problem;
        status = find_class(&tuning->file, &names, &statement, &more, err);
        if (!status && more)
            status = rdt_row_read_class(statement, &found) ? each(user, &found, err)
                                                           : leave_out(&tuning->file, err);
    }
    if (statement) sqlite3_reset(statement);
    return status;
}

redtune_status rdt_tuning_each_contender(rdt_tuning *tuning, const redtune_problem *problem,
                                         rdt_cache_state cache, rdt_tuning_each_fn *each,
                                         void *user, redtune_error *err) {
    return give_class(tuning, EACH_CONTENDER, problem, cache, each, user, err);
}

redtune_status rdt_tuning_each_near(rdt_tuning *tuning, const redtune_problem *problem,
                                    rdt_cache_state cache, const rdt_tuning_near *near,
                                    rdt_tuning_each_fn *each, void *user, redtune_error *err) {
    enum { NAME = 10, LEAST, MOST }; /* behind the class */
    sqlite3_stmt *statement = NULL;
    if (tuning->empty) return REDTUNE_OK;
    redtune_status status = rdt_sqlite_statement(&tuning->file, EACH_NEAR, &statement, err);
    if (status) return status;
    const rdt_trial of_class = {.problem = *problem, .cache = cache};
    int rc = rdt_row_bind_class(statement, &of_class);
    if (!rc) rc = sqlite3_bind_text(statement, NAME, near->gpu, -1, SQLITE_STATIC);
    if (!rc) rc = sqlite3_bind_int64(statement, LEAST, (int64_t)near->least);
    if (!rc) rc = sqlite3_bind_int64(statement, MOST, (int64_t)near->most);
    if (rc) return rdt_sqlite_fail(&tuning->file, "read", rc, err);
    return rdt_tuning_give_rows(tuning, statement, each, user, err);
}

redtune_status rdt_tuning_each_quick(rdt_tuning *tuning, const redtune_problem *problem,
                                     rdt_cache_state cache, rdt_tuning_each_fn *each, void *user,
                                     redtune_error *err) {
    return give_class(tuning, EACH_QUICK, problem, cache, each, user, err);
}

static redtune_status fill_row(rdt_sqlite *file, sqlite3_stmt *from, rdt_tuning_fill_fn *fill,
                               void *user, redtune_error *err) {
    rdt_row row;
    int64_t gpu = 0;
    sqlite3_stmt *set = NULL;
    if (!rdt_row_read(from, &row, &gpu)) return REDTUNE_OK;
    redtune_status status = fill(user, &row, err);
    if (status || !*row.trial.kernel) return status;
    status = rdt_sqlite_statement(file, SET_KERNEL, &set, err);
    if (status) return status;
    int rc = sqlite3_bind_text(set, 1, row.trial.kernel, -1, SQLITE_STATIC);
    const int id_column = sqlite3_column_count(from) - 1;
    if (!rc) rc = sqlite3_bind_int64(set, 2, sqlite3_column_int64(from, id_column));
    return rdt_sqlite_execute(file, "write", set, rc, 0, NULL, err);
}

redtune_status rdt_tuning_fill_kernels(rdt_tuning *tuning, const char *templates,
                                       rdt_tuning_fill_fn *fill, void *user, redtune_error *err) {
    rdt_sqlite *file = &tuning->file;
    sqlite3_stmt *find = NULL, *each = NULL;
    int64_t any = 0;
    redtune_status status = rdt_sqlite_statement(file, UNKNOWN_KERNELS, &find, err);
    if (status) return status;
    int rc = sqlite3_bind_text(find, 1, templates, -1, SQLITE_STATIC);
    status = rdt_sqlite_execute(file, "write", find, rc, 1, &any, err);
    if (status || !any) return status;
    status = rdt_sqlite_begin(file, err);
    if (status) return status;
    status = rdt_sqlite_statement(file, EACH_UNKNOWN_KERNEL, &each, err);
    rc = status ? SQLITE_OK : sqlite3_bind_text(each, 1, templates, -1, SQLITE_STATIC);
    if (rc) status = rdt_sqlite_fail(file, "write", rc, err);
    for (bool more = true; !status && more;) {
        status = rdt_sqlite_step(file, "write", each, &more, err);
        if (!status && more) status = fill_row(file, each, fill, user, err);
    }
    if (each) sqlite3_reset(each);
    return rdt_sqlite_end(file, status, err);
}

redtune_status rdt_tuning_each_gpu(rdt_tuning *tuning, rdt_tuning_gpu_fn *each, void *user,
                                   redtune_error *err) {
    sqlite3_stmt *statement = NULL;
    if (tuning->empty) return REDTUNE_OK;
    redtune_status status = rdt_sqlite_statement(&tuning->file, EACH_GPU, &statement, err);
    while (!status) {
        rdt_facts gpu = {0};
        bool more = false;
        status = rdt_sqlite_step(&tuning->file, "read", statement, &more, err);
        if (status || !more) return status;
        if (rdt_row_read_gpu(statement, &gpu))
            status = each(user, &gpu, sqlite3_column_int64(statement, 7), err);
    }
    sqlite3_reset(statement);
    return status;
}

redtune_status rdt_tuning_check(rdt_tuning *tuning, redtune_error *err) {
    return tuning->empty ? REDTUNE_OK : rdt_sqlite_check_integrity(&tuning->file, err);
}

redtune_status rdt_tuning_census(rdt_tuning *tuning, int64_t *measurements, int64_t *gpus,
                                 redtune_error *err) {
    sqlite3_stmt *statement;
    int64_t counts[2] = {0};
    redtune_status status = REDTUNE_OK;
    if (!tuning->empty) {
        status = rdt_sqlite_statement(&tuning->file, CENSUS, &statement, err);
        if (!status)
            status =
                rdt_sqlite_execute(&tuning->file, "read", statement, SQLITE_OK, 2, counts, err);
    }
    if (status) return status;
    *measurements = counts[0];
    *gpus = counts[1];
    return REDTUNE_OK;
}

redtune_status rdt_tuning_check_place(const rdt_tuning *tuning, redtune_error *err) {
    return rdt_guarded_check_place(&tuning->file, err);
}

void rdt_tuning_close(rdt_tuning *tuning) {
    if (!tuning) return;
    rdt_sqlite_close(&tuning->file);
    free(tuning);
}
