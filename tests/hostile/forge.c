/* Forge: honest tuning databases, and how the tests make hostile ones of them. */
#include "forge.h"

#include <stdlib.h>
#include "api/records/convert.h"
#include "api/records/current.h"
#include "gpu/context.h"
#include "redtune/records.h"
#include "redtune/tools.h"
#include "shaped.h"

static rdt_facts gpu = {
    .name = "NVIDIA H200",
    .major = 9,
    .sm_count = 132,
    .l2_bytes = UINT64_C(60) << 20,
    .bus_bits = 6144,
    .memory_khz = 3201000,
};

static rdt_codegen *codegen;

/* What was made before, by the size of the pages. */
static struct {
    int page_bytes;
    char *data;
    size_t bytes;
} kept[5];

/* In place of a page's size: the database with one row. */
enum { SINGLE = -1 };

bool forge_begin(void) {
    redtune_error why;
    if (!rdt_codegen_open(&codegen, &why)) return true;
    fprintf(stderr, "%s\n", why.message);
    return false;
}

void forge_end(void) {
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) free(kept[i].data);
    rdt_codegen_close(codegen);
    codegen = NULL;
}

bool forge_use_simulated(void) {
    rdt_driver *driver = NULL;
    CUdevice device;
    redtune_error why = {0};
    redtune_status status = rdt_driver_open(true, &driver, &why);
    if (!status && driver->device_get(&device, 0)) status = REDTUNE_DEVICE;
    if (!status) status = rdt_context_device_facts(driver, device, &gpu, &why);
    rdt_driver_close(driver);
    if (status) fprintf(stderr, "no simulated GPU: %s\n", why.message);
    return !status;
}

rdt_codegen *forge_codegen(void) { return codegen; }

/* ---- honest databases ------------------------------------------------------------------------ */

static const shaped problems[FORGE_PROBLEMS] = {
    {REDTUNE_SUM, REDTUNE_F32, .count = 1024},     {REDTUNE_SUM, REDTUNE_F32, .count = 1 << 20},
    {REDTUNE_SUM, REDTUNE_F32, .count = 30000001}, {REDTUNE_SUM, REDTUNE_I8, .count = 1 << 20},
    {REDTUNE_ARGMAX, REDTUNE_F16, .count = 65536},
};

enum { PER_PROBLEM = 6 };

redtune_problem forge_problem(size_t i) {
    redtune_problem problem = shaped_problem(problems[i]);
    rdt_problem_resolve(&problem, &problem, NULL);
    return problem;
}

const rdt_facts *forge_gpu(void) { return &gpu; }

static rdt_trial make_trial(const redtune_problem *problem, const rdt_point *point, size_t i) {
    const rdt_spaces *spaces = rdt_codegen_spaces(codegen);
    double bytes = (double)shaped_of(problem).count * (double)redtune_dtype_bytes(problem->dtype);
    rdt_trial trial = {
        .problem = *problem,
        .cache = i % 3 == 2 ? RDT_CACHE_WARM : RDT_CACHE_COLD,
        .outcome = i % 5 == 4 ? RDT_OUTCOME_UNCOMPILED : RDT_OUTCOME_GOOD,
        .rank = rdt_point_rank(spaces, point),
        .conditions = {1980, 3201, 41, 0, 0},
    };
    rdt_point_write(spaces, point, trial.family, trial.config);
    if (trial.outcome == RDT_OUTCOME_GOOD) {
        trial.median_ns = (2000 + 1.3 * bytes / rdt_facts_peak_gbps(&gpu)) * (1 + 0.03 * (double)i);
        trial.spread_ns = trial.median_ns / 90;
        trial.samples = 31;
    } else {
        rdt_text_copy(trial.cause, sizeof trial.cause, "kernel.cu(12): error: too many resources");
    }
    return trial;
}

/* Some of the points worth measuring, and the default. */
static size_t make_trials(const redtune_problem *wanted, rdt_trial out[PER_PROBLEM + 1]) {
    const rdt_facts facts = rdt_convert_complete(&gpu);
    redtune_problem problem;
    rdt_point *points = NULL, baseline;
    size_t count = 0, made = 0;
    if (rdt_problem_resolve(wanted, &problem, NULL)) return 0;
    rdt_case at = {&problem, &facts};
    if (rdt_points_list(codegen, at, RDT_SCOPE_USEFUL, &points, &count, NULL) ||
        rdt_rules_default(codegen, at, &baseline, NULL))
        count = 0;
    for (size_t i = 0; count && i < PER_PROBLEM; i++, made++)
        out[made] = make_trial(&problem, &points[i * (count - 1) / (PER_PROBLEM - 1)], i);
    if (count) {
        out[made] = make_trial(&problem, &baseline, 0);
        out[made++].is_default = true;
    }
    free(points);
    return made;
}

static bool put_problems(const char *path, const redtune_problem *list, size_t count, size_t from,
                         size_t most) {
    rdt_origin origin = {.machine = "bench 7", .driver_version = 13000, .nvrtc_version = 12090};
    rdt_trial trials[PER_PROBLEM + 1];
    rdt_tuning *tuning = NULL;
    redtune_error why = {0};
    rdt_text_copy(origin.templates, sizeof origin.templates, rdt_codegen_hash(codegen));
    unlink(path);
    redtune_status status = rdt_tuning_open(path, &tuning, &why);
    for (size_t i = 0; !status && i < count; i++) {
        size_t made = make_trials(&list[i], trials);
        status = made ? rdt_current_put(tuning, codegen, &gpu, &origin, trials + from,
                                        made - from < most ? made - from : most, &why)
                      : REDTUNE_TEMPLATE;
    }
    rdt_tuning_close(tuning);
    if (status) fprintf(stderr, "cannot forge %s: %s\n", path, why.message);
    /* One date for all, so that the same bytes come out at any time. */
    return !status && run_sql(path, "UPDATE measurement SET date = 1700000000");
}

static bool make_single(const char *path) {
    const redtune_problem problem = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, FORGE_COUNT);
    return put_problems(path, &problem, 1, 1, 1);
}

static bool make_database(const char *path, int page_bytes) {
    if (page_bytes == SINGLE) return make_single(path);
    char pages[64];
    snprintf(pages, sizeof pages, "PRAGMA page_size=%d; VACUUM", page_bytes);
    redtune_problem all[FORGE_PROBLEMS];
    for (size_t i = 0; i < FORGE_PROBLEMS; i++) all[i] = shaped_problem(problems[i]);
    return put_problems(path, all, FORGE_PROBLEMS, 0, PER_PROBLEM + 1) &&
           (!page_bytes || run_sql(path, pages));
}

bool forge_database(const char *path, int page_bytes) {
    size_t i = 0, last = sizeof kept / sizeof *kept - 1;
    while (i < last && kept[i].data && kept[i].page_bytes != page_bytes) i++;
    if (kept[i].data && kept[i].page_bytes == page_bytes)
        return write_bytes(path, kept[i].data, kept[i].bytes);
    free(kept[i].data);
    kept[i].data = make_database(path, page_bytes) ? read_bytes(path, &kept[i].bytes) : NULL;
    kept[i].page_bytes = page_bytes;
    return kept[i].data != NULL;
}

bool forge_single(const char *path) { return forge_database(path, SINGLE); }

bool forge_export(const char *path) {
    const redtune_rows_query query = {.database = path, .gpu = "all"};
    void *data = NULL;
    size_t bytes = 0;
    bool good = !redtune_export(&query, REDTUNE_EXPORT_JSON, &data, &bytes, NULL) &&
                write_bytes(path, data, bytes);
    redtune_free(data);
    return good;
}

bool forge_lines(const char *path) { return forge_database(path, 0) && forge_export(path); }

/* ---- others ---------------------------------------------------------------------------------- */

bool forge_patch(const char *path, size_t offset, const void *data, size_t bytes) {
    int file = open(path, O_WRONLY | O_CLOEXEC);
    bool good = file >= 0 && pwrite(file, data, bytes, (off_t)offset) == (ssize_t)bytes;
    return file >= 0 && !close(file) && good;
}

static void put_u32(unsigned char *at, uint32_t value) {
    for (int i = 0; i < 4; i++) at[i] = (unsigned char)(value >> (24 - 8 * i));
}

static uint32_t get_u32(const unsigned char *at) {
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

bool forge_patch_u32(const char *path, size_t offset, uint32_t value) {
    unsigned char bytes[4];
    put_u32(bytes, value);
    return forge_patch(path, offset, bytes, sizeof bytes);
}

/* Runs SQL on a database in memory, by a connection of its own. */
static bool change(unsigned char **data, sqlite3_int64 *bytes, const char *sql) {
    sqlite3 *db = NULL;
    char *why = NULL;
    int rc = sqlite3_open(":memory:", &db);
    if (!rc)
        rc = sqlite3_deserialize(db, "main", *data, *bytes, *bytes,
                                 SQLITE_DESERIALIZE_FREEONCLOSE | SQLITE_DESERIALIZE_RESIZEABLE);
    *data = NULL;
    if (!rc) rc = sqlite3_exec(db, sql, NULL, NULL, &why);
    if (!rc) *data = sqlite3_serialize(db, "main", bytes, 0);
    if (rc) fprintf(stderr, "%s: %s\n", sql, why ? why : sqlite3_errstr(rc));
    sqlite3_free(why);
    sqlite3_close(db);
    return *data != NULL;
}

/* The text of the schema goes and comes back by connections of their own, since each reads it
 * once. */
bool forge_unchecked(const char *path, const char *sql) {
    static const char relax[] =
        "PRAGMA writable_schema=ON; CREATE TABLE kept AS SELECT name AS n, sql AS s FROM"
        " sqlite_schema; UPDATE sqlite_schema SET sql = replace(replace(replace(replace(replace("
        "replace(sql, ') STRICT', ')'), ' INTEGER NOT NULL', ' BLOB'), ' TEXT NOT NULL', ' BLOB'),"
        " ' INTEGER CHECK', ' BLOB CHECK'), ' REAL CHECK', ' BLOB CHECK'), ' TEXT CHECK',"
        " ' BLOB CHECK') WHERE type = 'table' AND name <> 'kept'";
    static const char restore[] =
        "PRAGMA writable_schema=ON; UPDATE sqlite_schema SET sql ="
        " (SELECT s FROM kept WHERE n = name) WHERE type = 'table' AND name <> 'kept'";
    size_t length = 0;
    char *whole = read_bytes(path, &length);
    char *text =
        sqlite3_mprintf("PRAGMA ignore_check_constraints=ON; PRAGMA foreign_keys=OFF; %s", sql);
    sqlite3_int64 bytes = (sqlite3_int64)length;
    unsigned char *data = whole && text ? sqlite3_malloc64(length) : NULL;
    if (data) memcpy(data, whole, length);
    bool good = data && change(&data, &bytes, relax) && change(&data, &bytes, text) &&
                change(&data, &bytes, restore) && change(&data, &bytes, "DROP TABLE kept") &&
                write_bytes(path, data, (size_t)bytes);
    sqlite3_free(data);
    sqlite3_free(text);
    free(whole);
    return good;
}

enum { MAZE_PAGE = 512, MAZE_DEPTH = 15, MAZE_WIDTH = 60, MAZE_CELL = 5 };

static void make_inner(unsigned char page[MAZE_PAGE], uint32_t left, uint32_t right, int cells) {
    memset(page, 0, MAZE_PAGE);
    int content = MAZE_PAGE - MAZE_CELL * cells;
    page[0] = 5; /* an inner page of a table */
    page[4] = (unsigned char)cells;
    page[5] = (unsigned char)(content >> 8), page[6] = (unsigned char)content;
    put_u32(page + 8, right);
    for (int i = 0; i < cells; i++) {
        int at = content + MAZE_CELL * i;
        page[12 + 2 * i] = (unsigned char)(at >> 8), page[13 + 2 * i] = (unsigned char)at;
        put_u32(page + at, left);
        page[at + 4] = 100; /* the key */
    }
}

static void make_leaf(unsigned char page[MAZE_PAGE], const unsigned char *cell, size_t bytes) {
    size_t content = MAZE_PAGE - bytes;
    memset(page, 0, MAZE_PAGE);
    page[0] = 13;
    page[4] = 1;
    page[5] = page[8] = (unsigned char)(content >> 8);
    page[6] = page[9] = (unsigned char)content;
    memcpy(page + content, cell, bytes);
}

bool forge_maze(const char *path, uint32_t page, const unsigned char *cell, size_t cell_bytes) {
    unsigned char new[MAZE_DEPTH + 2][MAZE_PAGE];
    size_t bytes = 0, header = (page - 1) * (size_t)MAZE_PAGE + (page == 1 ? 100 : 0);
    unsigned char *whole = (unsigned char *)read_bytes(path, &bytes);
    bool good = whole && bytes % MAZE_PAGE == 0 && whole[header] == 5;
    uint32_t first = (uint32_t)(bytes / MAZE_PAGE) + 1;
    if (good) {
        uint32_t last_child = get_u32(whole + header + 8);
        make_leaf(new[0], cell, cell_bytes);
        for (uint32_t i = 1; i <= MAZE_DEPTH; i++)
            make_inner(new[i], first + i - 1, first + i - 1, MAZE_WIDTH);
        make_inner(new[MAZE_DEPTH + 1], last_child, first + MAZE_DEPTH, 1);
        good = forge_patch(path, bytes, new, sizeof new) &&
               forge_patch_u32(path, header + 8, first + MAZE_DEPTH + 1) &&
               forge_patch_u32(path, 28, first + MAZE_DEPTH + 1);
    }
    free(whole);
    return good;
}

bool forge_schema_maze(const char *path) {
    unsigned char cell[64] = {0, 1, 6, 23, 57, 19, 1, 0};
    int64_t root =
        ask_sql(path, "SELECT rootpage FROM sqlite_schema WHERE name = 'sqlite_autoindex_gpu_1'");
    int bytes = 8 + sprintf((char *)cell + 8, "indexsqlite_autoindex_gpu_1gpu");
    cell[bytes++] = (unsigned char)root;
    cell[0] = (unsigned char)(bytes - 2);
    return root > 0 && root < 128 && forge_maze(path, 1, cell, (size_t)bytes);
}

redtune_status forge_import(const char *local, const char *path, redtune_import_counts *report,
                            redtune_error *error) {
    const redtune_importing wanted = {.database = local, .files = &path, .file_count = 1};
    *report = (redtune_import_counts){0};
    return redtune_import(&wanted, report, error);
}
