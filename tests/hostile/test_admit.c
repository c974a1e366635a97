/* Facts about what is admitted: rows that a tune with these templates on such a GPU could have
 * given, and no others; each refusal is counted under its reason. */
#define _GNU_SOURCE
#include "forge.h"
#include "redtune/records.h"

static redtune_error err;

/* The GPU moves 2 * 3201000 kHz * 6144 bits / 8 = 4916.736 bytes a ns, so that 2^20 f32 take
 * 853.07 ns, and from an L2 that is 16 times as fast 53.32 ns. */
#define BELOW    "time below"
#define SET      "UPDATE measurement SET "
#define UNKNOWN  "UPDATE gpu SET bus_bits = 0; "
#define CONFIG   SET "place = NULL, config = "
#define COUNT(n) "count = " #n ", reduced = '" #n "', "
#define ROWS     SET "layout = 'rows', count = 1024, "
#define COLUMNS  SET "layout = 'columns', count = 1024, reduced = '1024@1024', "
#define DISALLOW "do not allow"
#define SPACE    "not in the templates' space"
#define WRITTEN  "not written as"

/* Each is done to an honest database with one row. */
static const struct {
    const char *sql;
    const char *reason; /* NULL: the row is admitted */
} rows[] = {
    {"SELECT 1", NULL},
    {SET "median_ns = 853.0", BELOW},
    {SET "median_ns = 853.2", NULL},
    {SET "median_ns = 1e-300", BELOW},
    {SET "median_ns = 1e15", NULL},
    {SET "median_ns = 53.2, cache_state = 'warm'", BELOW},
    {SET "median_ns = 53.4, cache_state = 'warm'", NULL},
    {SET COUNT(1) "median_ns = 49.9", BELOW},
    {SET COUNT(1) "median_ns = 50.1", NULL},
    {SET COUNT(1048000) "median_ns = 853.0", NULL},
    /* A bus that is not known, or that nobody builds, moves 100000 bytes a ns at most. */
    {UNKNOWN SET "median_ns = 853.0", NULL},
    {UNKNOWN SET COUNT(1073741824) "median_ns = 42949", BELOW},
    {UNKNOWN SET COUNT(1073741824) "median_ns = 42950", NULL},
    {"UPDATE gpu SET bus_bits = 1000000, memory_khz = 1000000000; " SET COUNT(
         1073741824) "median_ns = 42949",
     BELOW},
    {SET COUNT(1099511627776) "cause = NULL", BELOW},
    /* Rows and columns take as long as their elements; rows that overlap, as what they span. */
    {ROWS "kept = '1024', reduced = '1024', median_ns = 853.0", BELOW},
    {ROWS "kept = '1024', reduced = '1024', median_ns = 853.2", DISALLOW},
    {ROWS "kept = '1024@4096', reduced = '1024@1', median_ns = 853.0", BELOW},
    {ROWS "kept = '1024@2', reduced = '1024@1', median_ns = 853.0", DISALLOW},
    {SET "layout = 'rows', count = 1 << 40, kept = '16777216@2', reduced = '1099511627776@1', "
         "median_ns = 853.2",
     BELOW},
    {COLUMNS "kept = '1024@1', median_ns = 853.0", BELOW},
    {COLUMNS "kept = '1024@1', median_ns = 853.2", DISALLOW},
    {COLUMNS "kept = '4@1048576 1024@1', median_ns = 853.2", BELOW},
    {SET "outcome = 'hung', median_ns = NULL, spread_ns = NULL, samples = NULL", NULL},
    {SET "date = CAST(strftime('%s', 'now') AS INTEGER) + 86400 * 2", "in the future"},
    {SET "date = CAST(strftime('%s', 'now') AS INTEGER) + 3600", NULL},
    {SET "date = 0", NULL},
    {SET "date = 9223372036854775807", "in the future"},
    {SET "place = place + 1", "its rank"},
    {SET "place = NULL", NULL},
    {SET "is_default = 1", NULL},
    {SET "kernel = '0123456789abcdef'", NULL},
    {SET "kernel = '0123456789ABCDEF'", "the hash of its kernel"},
    {SET "kernel = '0123456789abcdeg'", "the hash of its kernel"},
    {SET "family = 'ladder'", "no such family"},
    {SET "family = 'other'", "no such family"},
    {SET "family = 'Block'", "no such family"},
    {CONFIG "replace(config, 'block=', 'blocks=')", SPACE},
    {CONFIG "'block=257,' || substr(config, instr(config, 'vec'))", SPACE},
    {CONFIG "'block=0256,' || substr(config, instr(config, 'vec'))", WRITTEN},
    {CONFIG "'block=-256,' || substr(config, instr(config, 'vec'))", SPACE},
    {CONFIG "'block=18446744073709551872,' || substr(config, instr(config, 'vec'))", SPACE},
    {CONFIG "'block=256.0,' || substr(config, instr(config, 'vec'))", SPACE},
    {CONFIG "'block= 256,' || substr(config, instr(config, 'vec'))", SPACE},
    {CONFIG "'block=256,block=256,' || substr(config, instr(config, 'vec'))", SPACE},
    {CONFIG "config || ','", WRITTEN},
    {CONFIG "substr(config, instr(config, 'vec'))", WRITTEN},
    {CONFIG "substr(config, instr(config, 'vec')) || ',block=256'", WRITTEN},
    {CONFIG "upper(config)", SPACE},
    {CONFIG "''", WRITTEN},
    {CONFIG "'block=256,vec=16,unroll=1,load=no_allocate,tail=shuffle,finish=poll,per_sm=1'",
     DISALLOW},
    {CONFIG "'block=256,vec=4,unroll=1,load=no_allocate,tail=shuffle,finish=single,per_sm=2'",
     DISALLOW},
    {CONFIG "'block=256,vec=4,unroll=1,load=no_allocate,tail=shuffle,finish=single,per_sm=1'",
     NULL},
    {"UPDATE origin SET templates = '00112233445566778899aabbccddeeff'", NULL},
    {"UPDATE origin SET templates = '00112233445566778899AABBCCDDEEFF'", "version of the templ"},
    {"UPDATE origin SET templates = substr(templates, 2)", "version of the templates"},
    {"UPDATE origin SET templates = ''", "version of the templates"},
    {"UPDATE origin SET machine = 'B' || char(252) || 'ro 7, (east)'", NULL},
    {"UPDATE origin SET machine = ''", NULL},
    {"UPDATE origin SET machine = '$HOME'", "label"},
    {"UPDATE origin SET machine = '<b>'", "label"},
    {"UPDATE gpu SET name = 'NVIDIA A100-SXM4-80GB MIG 1g.10gb'", NULL},
    {"UPDATE gpu SET name = 'Quadro RTX 5000 with Max-Q Design'", NULL},
    {"UPDATE gpu SET name = '`x`'", "name of its GPU"},
    {SET "cause = 'kernel.cu(3): error: identifier \"x\" is undefined; it''s 100 % wrong'", NULL},
    {SET "cause = 'a < b'", "cause"},
    {SET "cause = '&amp;'", "cause"},
    {SET "op = 'none'", "its op is not here"},
    {SET "result = 'i32'", "missing or out of range"}, /* no sum of f32 is one */
    {SET "dtype = 'f64'", NULL},                       /* its result may be f32 */
};

static char reason[128];
static uint64_t refusals;

static void see_refusal(void *user, const char *file, const char *why, uint64_t count) {
    (void)user, (void)file;
    rdt_text_copy(reason, sizeof reason, why);
    refusals += count;
}

static redtune_status import_row(const char *sql, redtune_import_counts *report) {
    char path[300], local[300];
    const char *files[] = {path};
    const redtune_importing wanted = {
        .database = local, .files = files, .file_count = 1, .refused = see_refusal};
    rdt_text_copy(path, sizeof path, in_scratch("theirs.db"));
    rdt_text_copy(local, sizeof local, in_scratch("local.db"));
    unlink(local);
    reason[0] = '\0';
    refusals = 0;
    *report = (redtune_import_counts){0};
    if (!forge_single(path) || !run_sql(path, sql)) return REDTUNE_FILE;
    return redtune_import(&wanted, report, &err);
}

FACT(only_what_a_tune_could_give_is_admitted) {
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        redtune_import_counts report;
        CHECK_OK(import_row(rows[i].sql, &report), err);
        bool good = rows[i].reason ? report.refused == 1 && !report.added && refusals == 1 &&
                                         strstr(reason, rows[i].reason)
                                   : report.added == 1 && !report.refused && !refusals;
        if (!good)
            fprintf(stderr, "%s: %d added, refused for '%s'\n", rows[i].sql, (int)report.added,
                    reason);
        CHECK(good);
    }
}

/* Of a file with both, what is good is taken, and what is not is told by its reasons. */
FACT(each_row_is_judged_alone) {
    redtune_import_counts report;
    char path[300];
    const char *files[] = {path};
    const redtune_importing wanted = {.database = in_scratch("mixed.db"),
                                      .files = files,
                                      .file_count = 1,
                                      .refused = see_refusal};
    rdt_text_copy(path, sizeof path, in_scratch("theirs.db"));
    CHECK(forge_database(path, 0));
    int64_t all = ask_sql(path, "SELECT count(*) FROM measurement");
    CHECK(run_sql(path, "UPDATE measurement SET config = 'block=7' WHERE id = 3;"
                        "UPDATE measurement SET config = 'vec=7' WHERE id = 4;"
                        "UPDATE measurement SET median_ns = 1 WHERE id = 1"));
    refusals = 0;
    CHECK_OK(redtune_import(&wanted, &report, &err), err);
    CHECK_INT(report.rows, all);
    CHECK_INT(report.added, all - 3);
    CHECK_INT(report.refused, 3);
    CHECK_INT(refusals, 3);
}

int main(int argc, char **argv) {
    if (!scratch_begin() || !forge_begin()) return 1;
    int failed = check_run(argc, argv);
    forge_end();
    scratch_end();
    return failed;
}
