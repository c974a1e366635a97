/* Facts about hostile values: whatever stands in a column, of a database or of a line, it is
 * refused on import or is plain text, and it reaches no statement, no source, no page and no
 * terminal as anything else. That holds too where such a database is used as it is. */
#define _GNU_SOURCE
#include "forge.h"

#include <math.h>
#include "compiler/compiler.h"
#include "unit/markup.h"
#include "redtune/records.h"
#include "redtune/tools.h"

static redtune_error err;

/* ---- what a column may be given -------------------------------------------------------------- */

typedef enum kind {
    NAMED = 1,    /* one of a set of names, or a config of the space */
    LABEL = 2,    /* a name that somebody chose */
    SENTENCE = 4, /* any plain text */
    INTEGER = 8,
    REAL = 16,
} kind;

enum { TEXTS = NAMED | LABEL | SENTENCE, NUMBERS = INTEGER | REAL };

static const struct {
    const char *table, *name, *member;
    kind kind;
    bool optional; /* NULL is a value of it */
} columns[] = {
    {"gpu", "name", "gpu", LABEL, false},
    {"gpu", "major", "major", INTEGER, false},
    {"gpu", "minor", "minor", INTEGER, false},
    {"gpu", "sm_count", "sm_count", INTEGER, false},
    {"gpu", "l2_bytes", "l2_bytes", INTEGER, false},
    {"gpu", "bus_bits", "bus_bits", INTEGER, false},
    {"gpu", "memory_khz", "memory_khz", INTEGER, false},
    {"origin", "machine", "machine", LABEL, false},
    {"origin", "driver_version", "driver_version", INTEGER, false},
    {"origin", "nvrtc_version", "nvrtc_version", INTEGER, false},
    {"origin", "templates", "templates", NAMED, false},
    {"measurement", "op", "op", NAMED, false},
    {"measurement", "dtype", "dtype", NAMED, false},
    {"measurement", "result", "result", NAMED, false},
    {"measurement", "count", "count", NAMED, false},
    {"measurement", "layout", "layout", NAMED, false},
    {"measurement", "ordering", "ordering", NAMED, false},
    {"measurement", "mask", "mask", NAMED, false},
    {"measurement", "key_dtype", "key_dtype", NAMED, false},
    {"measurement", "spread", "spread", NAMED, false},
    {"measurement", "kept", "kept", NAMED, false},
    {"measurement", "reduced", "reduced", NAMED, false},
    {"measurement", "keys", "keys", NAMED, false},
    {"measurement", "kernel", "kernel", NAMED, true},
    {"measurement", "cache_state", "cache_state", NAMED, false},
    {"measurement", "family", "family", NAMED, false},
    {"measurement", "config", "config", NAMED, false},
    {"measurement", "is_default", "is_default", INTEGER, false},
    {"measurement", "outcome", "outcome", NAMED, false},
    {"measurement", "median_ns", "median_ns", REAL, false},
    {"measurement", "spread_ns", "spread_ns", REAL, false},
    {"measurement", "samples", "samples", INTEGER, false},
    {"measurement", "place", "place", INTEGER, true},
    {"measurement", "cause", "cause", SENTENCE, true},
    {"measurement", "sm_mhz", "sm_mhz", INTEGER, true},
    {"measurement", "throttle", "throttle", INTEGER, true},
    {"measurement", "others", "others", INTEGER, true},
    {"measurement", "date", "date", INTEGER, false},
};

enum { COLUMNS = sizeof columns / sizeof *columns };

static const struct {
    const char *name, *sql, *json;
    int fits; /* the kinds of columns that it is an honest value of */
} values[] = {
    {"nothing", "NULL", "null", 0}, /* but where it is optional */
    {"bytes", "CAST('" FORGE_MARK "' AS BLOB)", "[\"" FORGE_MARK "\"]", 0},
    {"a plain text", "'" FORGE_MARK "'", "\"" FORGE_MARK "\"", LABEL | SENTENCE},
    {"a number", "7", "7", NUMBERS},
    {"a fraction", "7.5", "7.5", REAL},
    {"infinity", "9e999", "1e999", 0},
    {"minus infinity", "-9e999", "-1e999", 0},
    {"no number", "x'7ff8000000000000'", "NaN", 0},
    {"a negative number", "-1", "-1", 0},
    {"two to the 63rd", "9223372036854775808", "9223372036854775808", 0},
    {"minus two to the 63rd", "-9223372036854775807 - 1", "-9223372036854775808", 0},
    {"a truth", "x'01'", "true", 0},
    {"an object", "x'7b7d'", "{\"a\":\"" FORGE_MARK "\"}", 0},
    {"a megabyte", "printf('%.*c', 1000000, 'x') || '" FORGE_MARK "'", NULL, 0},
    {"a NUL", "'" FORGE_MARK "' || char(0) || 'x'", "\"" FORGE_MARK "\\u0000x\"", 0},
    {"SQL", "'" FORGE_MARK "''); DROP TABLE measurement; --'",
     "\"" FORGE_MARK "'); DROP TABLE measurement; --\"", SENTENCE},
    {"more SQL", "'\"" FORGE_MARK "\" OR 1=1; ATTACH ''x'' AS y'",
     "\"\\\"" FORGE_MARK "\\\" OR 1=1; ATTACH 'x' AS y\"", SENTENCE},
    {"a script", "'<script>" FORGE_MARK "</script>'", "\"<script>" FORGE_MARK "</script>\"", 0},
    {"an attribute", "'\"><img src=x onerror=" FORGE_MARK ">'",
     "\"\\\"><img src=x onerror=" FORGE_MARK ">\"", 0},
    {"an entity", "'&lt;" FORGE_MARK "&#60;'", "\"&lt;" FORGE_MARK "&#60;\"", 0},
    {"an escape code", "char(27) || ']0;" FORGE_MARK "' || char(7)",
     "\"\\u001b]0;" FORGE_MARK "\\u0007\"", 0},
    {"a C1 code", "char(155) || '2J" FORGE_MARK "'", "\"\\u009b2J" FORGE_MARK "\"", 0},
    {"a raw C1 code", "CAST(x'9b' || '2J" FORGE_MARK "' AS TEXT)", "\"\2332J" FORGE_MARK "\"", 0},
    {"no UTF-8", "CAST(x'fffe' || '" FORGE_MARK "' AS TEXT)", "\"\377\376" FORGE_MARK "\"", 0},
    {"text turned round", "char(8238) || '" FORGE_MARK "'", "\"\\u202e" FORGE_MARK "\"", 0},
    {"a line's end", "'" FORGE_MARK "' || char(10) || '#include \"/etc/passwd\"'",
     "\"" FORGE_MARK "\\n#include \\\"/etc/passwd\\\"\"", 0},
    {"Lua", "'@{os.execute(\"" FORGE_MARK "\")} //@ error()'",
     "\"@{os.execute(\\\"" FORGE_MARK "\\\")} //@ error()\"", SENTENCE},
    {"CUDA", "'256; asm(\"trap;\"); int " FORGE_MARK "'",
     "\"256; asm(\\\"trap;\\\"); int " FORGE_MARK "\"", SENTENCE},
    {"a compiler's option", "'--include-path=/" FORGE_MARK "'",
     "\"--include-path=/" FORGE_MARK "\"", SENTENCE},
    {"a shell's command", "'$(" FORGE_MARK ")`" FORGE_MARK "`'",
     "\"$(" FORGE_MARK ")`" FORGE_MARK "`\"", SENTENCE},
    {"a format", "'%n%s%n" FORGE_MARK "'", "\"%n%s%n" FORGE_MARK "\"", SENTENCE},
    {"a path", "'../../" FORGE_MARK "'", "\"../../" FORGE_MARK "\"", LABEL | SENTENCE},
};

enum { VALUES = sizeof values / sizeof *values };

static bool is_honest(int column, int value) {
    return values[value].fits & (int)columns[column].kind || (!value && columns[column].optional);
}

static bool fails(int column, int value, const char *how, const char *more) {
    fprintf(stderr, "%s in %s.%s: %s%s\n", values[value].name, columns[column].table,
            columns[column].name, how, more);
    return false;
}

/* ---- what is watched ------------------------------------------------------------------------- */

static struct {
    bool on;        /* redtune is running, not the test */
    int statements; /* that were seen */
    int sources;    /* that were compiled */
    bool statement_marked, source_marked;
} watched;

static int see_statement(unsigned kind_of_event, void *user, void *statement, void *text) {
    (void)kind_of_event, (void)user, (void)text;
    const char *sql = watched.on ? sqlite3_sql(statement) : NULL;
    if (sql) watched.statements++;
    if (sql && strstr(sql, FORGE_MARK)) watched.statement_marked = true;
    return 0;
}

/* Runs for each connection that is opened. */
static int watch_connection(sqlite3 *db, char **why, const void *routines) {
    (void)why, (void)routines;
    return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, see_statement, NULL);
}

redtune_status __real_rdt_compiler_compile(rdt_compiler *compiler, const char *source,
                                           const char *name, int major, int minor, bool ptx,
                                           rdt_image *out, redtune_error *error);
redtune_status __wrap_rdt_compiler_compile(rdt_compiler *compiler, const char *source,
                                           const char *name, int major, int minor, bool ptx,
                                           rdt_image *out, redtune_error *error);
redtune_status __wrap_rdt_compiler_compile(rdt_compiler *compiler, const char *source,
                                           const char *name, int major, int minor, bool ptx,
                                           rdt_image *out, redtune_error *error) {
    watched.sources++;
    if (strstr(source, FORGE_MARK) || strstr(name, FORGE_MARK)) watched.source_marked = true;
    return __real_rdt_compiler_compile(compiler, source, name, major, minor, ptx, out, error);
}

/* ---- used as it is --------------------------------------------------------------------------- */

static bool is_in_space(const char *family, const char *config) {
    const rdt_spaces *spaces = rdt_codegen_spaces(forge_codegen());
    rdt_point point;
    char name[RDT_NAME_BYTES], text[RDT_CONFIG_TEXT_BYTES];
    if (rdt_point_read(spaces, family, config, &point, NULL)) return false;
    rdt_point_write(spaces, &point, name, text);
    return !strcmp(text, config);
}

static redtune_status see_row(void *user, const redtune_row *row, redtune_error *error) {
    (void)error;
    bool *plain = user;
    const char *const texts[] = {row->gpu.name, row->family,  row->config,   row->outcome,
                                 row->cause,    row->machine, row->templates};
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (!rdt_text_is_plain(texts[i])) *plain = false;
    if (!isfinite(row->median_ns) || !isfinite(row->spread_ns) || !isfinite(row->gbps) ||
        !redtune_op_name(row->problem.op) || !redtune_dtype_name(row->problem.dtype))
        *plain = false;
    return REDTUNE_OK;
}

/* Each line of a document. */
static bool lines_are_plain(char *text) {
    for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
        if (!rdt_text_is_plain(line)) return false;
    return true;
}

static const char *try_reports(const char *path) {
    static const redtune_format formats[] = {REDTUNE_FORMAT_HTML, REDTUNE_FORMAT_CSV,
                                             REDTUNE_FORMAT_JSON};
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        const redtune_reporting wanted = {.database = path, .gpu = "", .format = formats[i]};
        char *text = NULL;
        markup page;
        redtune_status status = redtune_report(&wanted, &text, &err);
        if (status && (status != REDTUNE_INVALID || !rdt_text_is_plain(err.message)))
            return "the report fails oddly";
        if (status) continue;
        bool good = formats[i] != REDTUNE_FORMAT_HTML || markup_check(&page, text);
        good = lines_are_plain(text) && good;
        redtune_free(text);
        if (!good) return "the report has more than text";
    }
    return NULL;
}

static redtune_problem asked(void) {
    return redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, FORGE_COUNT);
}

static const char *try_explain(const char *path) {
    const redtune_question question = {.database = path, .gpu = "", .problem = asked()};
    redtune_explanation found;
    redtune_status status = redtune_explain(&question, &found, &err);
    if (status) return rdt_text_is_plain(err.message) ? NULL : "explain's error is not plain";
    if (!is_in_space(found.info.family, found.info.config)) return "explain leaves the space";
    return rdt_text_is_plain(found.gpu.name) && rdt_text_is_plain(found.info.gpu) &&
                   rdt_text_is_plain(found.info.machine) && rdt_text_is_plain(found.info.templates)
               ? NULL
               : "explain's texts are not plain";
}

static bool no_nvrtc;

static const char *try_plan(const char *path) {
    const redtune_options options = {.device = "sim", .database = path};
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    redtune_info info = {.pending = 0};
    redtune_status status = redtune_open(&options, &rt, &err);
    const redtune_problem problem = asked();
    if (!status) status = redtune_plan_create(rt, &problem, &plan, &err);
    if (!status) redtune_plan_info(plan, &info);
    redtune_plan_destroy(plan);
    redtune_close(rt);
    if (status == REDTUNE_LIBRARY) {
        no_nvrtc = true;
        return NULL;
    }
    if (status) return "there is no plan";
    return is_in_space(info.family, info.config) ? NULL : "the plan leaves the space";
}

/* What is wrong with how the database is used, or NULL. */
static const char *try_all(const char *path, bool plan) {
    const redtune_rows_query query = {.database = path, .gpu = "all"};
    bool plain = true;
    const char *wrong = NULL;
    watched.on = true;
    if (redtune_rows_each(&query, see_row, &plain, &err)) wrong = "it cannot be listed";
    if (!plain) wrong = "a row has more than text";
    if (!wrong) wrong = try_reports(path);
    if (!wrong) wrong = try_explain(path);
    if (!wrong && plan) wrong = try_plan(path);
    watched.on = false;
    if (watched.statement_marked) wrong = "it reaches a statement";
    if (watched.source_marked) wrong = "it reaches a source";
    return wrong;
}

static bool forge_value(const char *path, int column, int value) {
    char sql[256];
    snprintf(sql, sizeof sql, "UPDATE %s SET %s = %s", columns[column].table, columns[column].name,
             values[value].sql);
    return forge_single(path) && forge_unchecked(path, sql);
}

/* Without this the others would say little. */
FACT(an_honest_row_is_taken_and_chosen) {
    redtune_import_counts report;
    redtune_explanation found;
    CHECK(forge_single(in_scratch("theirs.db")));
    CHECK_OK(forge_import(in_scratch("fresh.db"), in_scratch("theirs.db"), &report, &err), err);
    CHECK_INT(report.added, 1);
    const redtune_question question = {
        .database = in_scratch("theirs.db"), .gpu = "", .problem = asked()};
    CHECK_OK(redtune_explain(&question, &found, &err), err);
    CHECK_INT(found.info.match, REDTUNE_MATCH_EXACT);
    no_nvrtc = false;
    CHECK(!try_all(in_scratch("theirs.db"), true));
    CHECK(no_nvrtc || watched.sources > 0);
}

FACT(values_do_no_harm_where_they_stand) {
    for (int column = 0; column < COLUMNS; column++)
        for (int value = 0; value < VALUES; value++) {
            const char *path = in_scratch("theirs.db");
            CHECK(forge_value(path, column, value));
            /* Numbers choose among configs, as explain does; only texts might become a source. */
            const char *wrong = try_all(path, columns[column].kind & TEXTS);
            if (wrong) fails(column, value, wrong, "");
            CHECK(!wrong);
        }
    CHECK(watched.statements > 100);
}

/* ---- imported -------------------------------------------------------------------------------- */

/* Whether what is honest is taken to the letter, and nothing else is. */
static bool is_imported_right(const char *path, int column, int value) {
    redtune_import_counts report;
    char local[300], sql[256];
    rdt_text_copy(local, sizeof local, in_scratch("local.db"));
    unlink(local);
    watched.on = true;
    redtune_status status = forge_import(local, path, &report, &err);
    watched.on = false;
    if (watched.statement_marked) return fails(column, value, "it reaches a statement", "");
    if (status && (status != REDTUNE_DATABASE || !rdt_text_is_plain(err.message)))
        return fails(column, value, "the error is odd: ", err.message);
    if (!is_honest(column, value)) {
        bool taken = !status && (report.added || report.refused != 1);
        return (!taken && access(local, F_OK)) || fails(column, value, "was taken", "");
    }
    /* A number may be out of the column's range, or another number may not go with it. */
    if (columns[column].kind & NUMBERS) return true;
    if (status || report.added != 1) return fails(column, value, "was refused: ", err.message);
    /* A kernel that is unknown is filled in. */
    bool filled = !value && !strcmp(columns[column].name, "kernel");
    snprintf(sql, sizeof sql, "SELECT count(*) FROM %s WHERE %s %s %s", columns[column].table,
             columns[column].name, filled ? "IS NOT" : "IS", values[value].sql);
    return ask_sql(local, sql) == 1 || fails(column, value, "is not what it was", "");
}

FACT(values_of_databases_are_refused) {
    CHECK(forge_single(in_scratch("theirs.db")));
    for (int column = 0; column < COLUMNS; column++)
        for (int value = 0; value < VALUES; value++) {
            CHECK(forge_value(in_scratch("theirs.db"), column, value));
            CHECK(is_imported_right(in_scratch("theirs.db"), column, value));
        }
}

/* Writes the honest lines with the value of one member replaced. */
static bool write_lines(const char *path, const char *honest, const char *member,
                        const char *value) {
    char name[64];
    FILE *file = fopen(path, "wb");
    snprintf(name, sizeof name, "\"%s\":", member);
    const char *at = strstr(honest, name);
    if (!file || !at) return false;
    at += strlen(name);
    fwrite(honest, 1, (size_t)(at - honest), file);
    if (value)
        fputs(value, file);
    else
        fprintf(file, "\"%01000000d" FORGE_MARK "\"", 0);
    at += *at == '"' ? strcspn(at + 1, "\"") + 2 : strcspn(at, ",}");
    fputs(at, file);
    return !fclose(file);
}

FACT(values_of_lines_are_refused) {
    size_t bytes = 0;
    char path[300];
    rdt_text_copy(path, sizeof path, in_scratch("theirs.jsonl"));
    CHECK(forge_single(path) && forge_export(path));
    char *honest = read_bytes(path, &bytes);
    CHECK(honest);
    for (int column = 0; column < COLUMNS; column++)
        for (int value = 0; value < VALUES; value++) {
            CHECK(write_lines(path, honest, columns[column].member, values[value].json));
            CHECK(is_imported_right(path, column, value));
        }
    free(honest);
}

int main(int argc, char **argv) {
    sqlite3_auto_extension((void (*)(void))watch_connection);
    if (!scratch_begin() || !forge_begin() || !forge_use_simulated()) return 1;
    /* What is compiled is seen, and not found in a cache. */
    setenv("XDG_CACHE_HOME", scratch, 1);
    int failed = check_run(argc, argv);
    printf("%d statements and %d sources were seen\n", watched.statements, watched.sources);
    forge_end();
    scratch_end();
    return failed;
}
