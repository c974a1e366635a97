/* Facts about docs/database.md: its queries do what it says, as they stand there. */
#define _GNU_SOURCE
#include "trials.h"

enum { QUERIES = 10 };

/* The blocks between "```sql" and "```", and what stands before them. */
static struct {
    char *page;
    char *text[QUERIES + 1];
    int count;
} queries;

static bool read_queries(const char *page) {
    size_t bytes = 0;
    queries.page = read_bytes(page, &bytes);
    char *at = queries.page;
    while (at && (at = strstr(at, "\n```sql\n"))) {
        char *text = at + strlen("\n```sql\n"), *end = strstr(text, "\n```");
        if (!end || queries.count > QUERIES) return false;
        *at = *end = '\0';
        queries.text[queries.count++] = text;
        at = end + 1;
    }
    return queries.count == QUERIES;
}

/* ---- a database with something for each ------------------------------------------------------ */

static bool fill(void) {
    rdt_trial trials[5] = {
        trials_make(1 << 20, "default", 2000, 31), trials_make(1 << 20, "fast", 1000, 31),
        trials_make(1 << 20, "fast", 1100, 31),    trials_make(1 << 20, "hot", 1500, 31),
        trials_make(1 << 20, "bad", 0, 0),
    };
    rdt_origin older = trials_origin;
    trials[0].is_default = true;
    trials[3].conditions.throttle = 8;
    trials[4].outcome = RDT_OUTCOME_HUNG;
    older.templates[0] = 'x';
    rdt_trial old = trials_make(4096, "old", 10, 31), imported = trials_make(2048, "taken", 10, 31);
    if (!begin() || rdt_tuning_put(tuning, &trials_gpu, &older, &old, 1, &err)) return false;
    return !put(trials, 5) && !put(&imported, 1) &&
           sql("INSERT INTO import VALUES(1, 'other.db', 1700000000);"
               "UPDATE measurement SET import = 1 WHERE config = 'taken';"
               "UPDATE measurement SET date = date - 100 WHERE config = 'old'");
}

/* The first row's columns with "|" between. Returns how many rows there are, -1 for an error. */
static int run_query(int number, char first[1024]) {
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    int rows = 0;
    first[0] = '\0';
    int rc = sqlite3_open(in_scratch("tuning.db"), &db);
    if (!rc) rc = sqlite3_prepare_v2(db, queries.text[number], -1, &row, NULL);
    while (!rc && (rc = sqlite3_step(row)) == SQLITE_ROW) {
        for (int i = 0; !rows && i < sqlite3_column_count(row); i++) {
            const char *text = (const char *)sqlite3_column_text(row, i);
            size_t used = strlen(first);
            snprintf(first + used, 1024 - used, "%s%s", i ? "|" : "", text ? text : "NULL");
        }
        rows++;
        rc = SQLITE_OK;
    }
    if (rc != SQLITE_DONE) fprintf(stderr, "%s\n%s\n", queries.text[number], sqlite3_errmsg(db));
    sqlite3_finalize(row);
    sqlite3_close(db);
    return rc == SQLITE_DONE ? rows : -1;
}

/* ---- facts ----------------------------------------------------------------------------------- */

FACT(each_finds_what_it_is_for) {
    /* Rows, and a part of the first. A call of 2^20 f32 in 1 us moves 4194.3 GB/s. */
    static const struct {
        int rows;
        const char *part;
    } wanted[QUERIES - 1] = {
        {3, "NVIDIA Test GPU|sum|f32|2048|taken|0.01|819.2|NULL"},
        {1, "NVIDIA Test GPU|132|sum|f32|3|7|6|"},
        {4, "fast|1000.0|15.625|31"},
        {1, "hung|sum|f32|1048576|block|bad|"},
        {1, "1048576|fast|2|1000.0|1100.0"},
        {3, "NVIDIA Test GPU|f32|2048|16.7"},
        {2, "bench 7|NVIDIA Test GPU|13000|12090|x0112233|1|"},
        {1, "1|other.db|2023-11-14 22:13:20|1"},
        {1, "sum|f32|1048576|hot|1500.0|NULL|NULL|8|0"},
    };
    CHECK(fill());
    for (int i = 0; i < QUERIES - 1; i++) {
        char first[1024];
        int rows = run_query(i, first);
        if (rows != wanted[i].rows || !strstr(first, wanted[i].part)) {
            fprintf(stderr, "%s\n%d rows, %s\n", queries.text[i], rows, first);
            CHECK(false);
        }
    }
}

/* One row of a table of the page, from its first column to the end of the line. */
static bool row_names(const char *column, const char *name) {
    char start[32], quoted[32];
    snprintf(start, sizeof start, "\n| `%s` |", column);
    snprintf(quoted, sizeof quoted, "`%s`", name);
    const char *row = strstr(queries.page, start);
    const char *found = row ? strstr(row, quoted) : NULL;
    return found && strcspn(row + 1, "\n") > (size_t)(found - row);
}

/* Of every op that has an enumerator, and every dtype. */
FACT(the_page_names_each_op_and_dtype) {
    for (const rdt_op_traits *op = rdt_op_compiled_in.entry;
         op < &rdt_op_compiled_in.entry[rdt_op_compiled_in.count]; op++)
        if (!row_names("op", op->name)) CHECK_TEXT("an op that is not in the page", op->name);
    for (const rdt_dtype_traits *dtype = rdt_dtype_table; dtype->name; dtype++)
        if (!row_names("dtype", dtype->name))
            CHECK_TEXT("a dtype that is not in the page", dtype->name);
}

/* A second column is GB/s, the sixth query's fourth a share of the bus's 4916.736 GB/s. */
FACT(bytes_are_those_of_the_dtype) {
    for (const rdt_dtype_traits *dtype = rdt_dtype_table; dtype->name; dtype++) {
        char first[1024], want[32];
        rdt_trial trial = trials_make(1 << 20, "one", 10000, 31);
        trial.problem.op = REDTUNE_MAX;
        trial.problem.dtype = trial.problem.result = dtype->dtype;
        double gbps = 1048576e-4 * (double)dtype->bytes;
        CHECK(begin());
        CHECK_OK(put(&trial, 1), err);
        CHECK_INT(run_query(0, first), 1);
        snprintf(want, sizeof want, "|one|10.0|%.1f|", gbps);
        CHECK_CONTAINS(first, want);
        CHECK_INT(run_query(5, first), 1);
        snprintf(want, sizeof want, "|%.1f", 100 * gbps / 4916.736);
        CHECK_CONTAINS(first, want);
    }
}

FACT(the_last_forgets_what_older_templates_gave) {
    char first[1024];
    CHECK(fill());
    CHECK_INT(ask("SELECT count(*) FROM measurement"), 7);
    CHECK_INT(run_query(QUERIES - 1, first), 0);
    CHECK_INT(ask("SELECT count(*) FROM measurement"), 6);
    CHECK_INT(ask("SELECT count(*) FROM measurement WHERE config = 'old'"), 0);
    /* The file is one that redtune takes. */
    rdt_tuning_close(tuning);
    tuning = NULL;
    CHECK_OK(rdt_tuning_open(in_scratch("tuning.db"), &tuning, &err), err);
    CHECK_INT(take_all(&sum_f32), 6);
}

int main(int argc, char **argv) {
    if (!scratch_begin()) return 1;
    bool good = read_queries(RDT_TEST_DATABASE_PAGE);
    if (!good) fprintf(stderr, RDT_TEST_DATABASE_PAGE " has %d queries\n", queries.count);
    int failed = good ? check_run(argc, argv) : 1;
    rdt_tuning_close(tuning);
    free(queries.page);
    scratch_end();
    return failed;
}
