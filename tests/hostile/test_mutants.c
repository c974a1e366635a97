/* Facts about mutants: thousands of databases that are an honest one with bytes, pages or values
 * changed. Whatever of them is taken, and however they are used, every source that comes out is
 * one that the templates' space has. */
#define _GNU_SOURCE
#include "forge.h"

#include "api/records/convert.h"
#include "base/random.h"
#include "compiler/compiler.h"
#include "redtune/records.h"

static redtune_error err;
static rdt_random random_state = {20260101};
static int mutants = 500;

static uint64_t below(uint64_t bound) { return rdt_random_below(&random_state, bound); }

/* ---- the sources that can be reached --------------------------------------------------------- */

typedef struct hash {
    char text[RDT_HASH_TEXT_BYTES];
} hash;

/* Of all problems; sorted. */
static hash *reachable;
static size_t reachable_count;

static hash hash_of(const char *source) {
    hash out;
    rdt_hash state = rdt_hash_begin();
    rdt_hash_add_string(&state, source);
    rdt_hash_text(&state, out.text);
    return out;
}

static int compare_hashes(const void *a, const void *b) {
    return strcmp(((const hash *)a)->text, ((const hash *)b)->text);
}

static bool is_reachable(const char *source) {
    hash key = hash_of(source);
    return bsearch(&key, reachable, reachable_count, sizeof key, compare_hashes) != NULL;
}

/* The next point of the space by its first parameters' values, launch parameters left alone; false
 * after the last. index counts the values. */
static bool step(const rdt_space *space, int index[RDT_PARAM_MAX], rdt_point *point) {
    for (int i = 0; i < space->param_count; i++) {
        const rdt_param *param = &space->param[i];
        if (param->launch) continue;
        index[i] = (index[i] + 1) % param->value_count;
        point->value[i] = param->value[index[i]];
        if (index[i]) return true;
    }
    return false;
}

static bool add_source(rdt_case at, const rdt_point *point) {
    char *source = NULL;
    hash *grown = realloc(reachable, (reachable_count + 1) * sizeof *grown);
    if (!grown) return false;
    reachable = grown;
    if (rdt_render_source(forge_codegen(), at, point, true, &source, NULL)) return false;
    reachable[reachable_count++] = hash_of(source);
    free(source);
    return true;
}

static bool add_sources(const redtune_problem *problem) {
    const rdt_space *space = rdt_codegen_spaces(forge_codegen())->space;
    const rdt_facts facts = rdt_convert_complete(forge_gpu());
    rdt_case at = {problem, &facts};
    int index[RDT_PARAM_MAX] = {0};
    rdt_point point = {.family = 0};
    for (int i = 0; i < space->param_count; i++) point.value[i] = space->param[i].value[0];
    do {
        bool allowed = !rdt_rules_check(forge_codegen(), at, &point, NULL);
        if (allowed && !add_source(at, &point)) return false;
    } while (step(space, index, &point));
    return true;
}

/* The naive kernel, which what is imported is held against. */
static bool add_judge(const redtune_problem *problem) {
    const rdt_facts facts = rdt_convert_complete(forge_gpu());
    const rdt_case at = {problem, &facts};
    int family;
    rdt_point point;
    return !rdt_codegen_find_aside(forge_codegen(), "naive", &family, NULL) &&
           !rdt_rules_default_of(forge_codegen(), at, family, &point, NULL) &&
           add_source(at, &point);
}

static bool find_reachable(void) {
    for (size_t i = 0; i < FORGE_PROBLEMS; i++) {
        redtune_problem problem = forge_problem(i), before = forge_problem(i ? i - 1 : 0);
        if (i && rdt_problem_same_class(&problem, &before)) continue;
        if (!add_sources(&problem) || !add_judge(&problem)) return false;
    }
    qsort(reachable, reachable_count, sizeof *reachable, compare_hashes);
    return true;
}

/* ---- what a database leads to ---------------------------------------------------------------- */

enum { COMPILED_MAX = 8 };

/* The sources that were compiled. */
static struct {
    int count;
    bool strange;
} compiled;

redtune_status __real_rdt_compiler_compile(rdt_compiler *compiler, const char *source,
                                           const char *name, int major, int minor, bool ptx,
                                           rdt_image *out, redtune_error *error);
redtune_status __wrap_rdt_compiler_compile(rdt_compiler *compiler, const char *source,
                                           const char *name, int major, int minor, bool ptx,
                                           rdt_image *out, redtune_error *error);
redtune_status __wrap_rdt_compiler_compile(rdt_compiler *compiler, const char *source,
                                           const char *name, int major, int minor, bool ptx,
                                           rdt_image *out, redtune_error *error) {
    compiled.count++;
    if (!is_reachable(source)) compiled.strange = true;
    /* What is compiled has been seen; the compiler's work on more of it would show nothing. */
    if (compiled.count > COMPILED_MAX) return REDTUNE_COMPILER;
    return __real_rdt_compiler_compile(compiler, source, name, major, minor, ptx, out, error);
}

/* The configs that were chosen, with the problem's number: each leads to its plan once. */
static char chosen[512][RDT_CONFIG_TEXT_BYTES + 8];
static int chosen_count;

static bool is_new(size_t i, const char *config) {
    char key[sizeof chosen[0]];
    snprintf(key, sizeof key, "%d %s", (int)i % 100, config);
    for (int k = 0; k < chosen_count; k++)
        if (!strcmp(chosen[k], key)) return false;
    if (chosen_count < 512) memcpy(chosen[chosen_count++], key, sizeof key);
    return true;
}

static bool makes_a_reachable_source(const redtune_problem *problem, const redtune_info *info) {
    const rdt_facts facts = rdt_convert_complete(forge_gpu());
    rdt_point point;
    char *source = NULL;
    bool good = !rdt_point_read(rdt_codegen_spaces(forge_codegen()), info->family, info->config,
                                &point, &err) &&
                !rdt_render_source(forge_codegen(), (rdt_case){problem, &facts}, &point, true,
                                   &source, &err) &&
                is_reachable(source);
    free(source);
    return good;
}

static bool plan_is_good(const char *path, const redtune_problem *problem) {
    const redtune_options options = {.device = "sim", .database = path};
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    redtune_status status = redtune_open(&options, &rt, &err);
    if (!status) status = redtune_plan_create(rt, problem, &plan, &err);
    redtune_plan_destroy(plan);
    redtune_close(rt);
    return (!status || status == REDTUNE_LIBRARY || status == REDTUNE_COMPILER) &&
           !compiled.strange;
}

static bool leads_to_a_good_source(const char *path, size_t i, int *exact) {
    const redtune_problem problem = forge_problem(i);
    const redtune_question question = {
        .database = path, .gpu = forge_gpu()->name, .problem = problem};
    redtune_explanation found;
    redtune_status status = redtune_explain(&question, &found, &err);
    /* Its GPU may have another name now, or it is no database any more. */
    if (status) return rdt_text_is_plain(err.message);
    *exact += found.info.match == REDTUNE_MATCH_EXACT;
    if (!is_new(i, found.info.config)) return true;
    bool good = makes_a_reachable_source(&problem, &found.info) && plan_is_good(path, &problem);
    if (!good) fprintf(stderr, "%s: %s\n", found.info.config, err.message);
    return good;
}

/* Whether what is chosen by the database, for some of the problems, can be reached. exact counts
 * what it had a say in. */
static bool leads_to_good_sources(const char *path, int problems, int *exact) {
    size_t first = below(FORGE_PROBLEMS);
    for (int i = 0; i < problems; i++)
        if (!leads_to_a_good_source(path, (first + (size_t)i) % FORGE_PROBLEMS, exact))
            return false;
    return true;
}

/* ---- mutants --------------------------------------------------------------------------------- */

static char *honest;
static size_t honest_bytes;

static const char *const columns[] = {
    "gpu SET name",           "gpu SET major",           "gpu SET minor",
    "gpu SET sm_count",       "gpu SET l2_bytes",        "gpu SET memory_khz",
    "origin SET machine",     "origin SET templates",    "origin SET driver_version",
    "measurement SET op",     "measurement SET dtype",   "measurement SET result",
    "measurement SET count",  "measurement SET family",  "measurement SET cache_state",
    "measurement SET place",  "measurement SET config",  "measurement SET outcome",
    "measurement SET gpu",    "measurement SET origin",  "measurement SET is_default",
    "measurement SET date",   "measurement SET cause",   "measurement SET median_ns",
    "measurement SET import", "measurement SET samples", "measurement SET spread_ns"};

/* Some are honest somewhere, some nowhere. */
static const char *const values[] = {"NULL",
                                     "0",
                                     "1",
                                     "2",
                                     "-1",
                                     "7",
                                     "31",
                                     "32",
                                     "100000",
                                     "1 << 40",
                                     "1 << 60",
                                     "9.5",
                                     "1e15",
                                     "1e-300",
                                     "9e999",
                                     "3000.5",
                                     "9223372036854775807",
                                     "''",
                                     "'sum'",
                                     "'prod'",
                                     "'f16'",
                                     "'f32'",
                                     "'i64'",
                                     "'block'",
                                     "'ladder'",
                                     "'good'",
                                     "'wrong'",
                                     "'warm'",
                                     "'cold'",
                                     "x'00ff'",
                                     "char(27) || '[2J'",
                                     "'" FORGE_MARK "'",
                                     "'<b>'",
                                     "config",
                                     "replace(config, 'vec=', 'vec=0')",
                                     "replace(config, '256', '257')",
                                     "replace(config, 'poll', 'single')",
                                     "config || ',x=1'",
                                     "replace(config, '=', '==')",
                                     "replace(config, 'load=', 'loads=')",
                                     "upper(config)",
                                     "replace(config, 'vec=4', 'vec=16')",
                                     "replace(config, 'per_sm=', 'per_sm=1')",
                                     "replace(config, 'unroll', 'block')",
                                     "substr(config, 1, length(config) - 3)",
                                     "replace(config, 'shuffle', 'shuffle; asm(\"trap;\")')",
                                     "median_ns / 1000",
                                     "median_ns * 0.9",
                                     "id",
                                     "count",
                                     "count + 1",
                                     "printf('%.*c', 3000, 'x')"};

static bool change_values(const char *path) {
    char sql[1024] = "";
    for (uint64_t n = 1 + below(3); n; n--) {
        size_t used = strlen(sql);
        const char *column = columns[below(sizeof columns / sizeof *columns)];
        const char *value = values[below(sizeof values / sizeof *values)];
        /* A value that is made of other columns is for the table that has them. */
        bool apart = strncmp(column, "measurement", 11) && strpbrk(value, "(abcdefghijklm") &&
                     value[0] != '\'';
        snprintf(sql + used, sizeof sql - used, "UPDATE OR IGNORE %s = %s WHERE id %% %d = 0;",
                 column, apart ? "7" : value, 1 + (int)below(4));
    }
    return write_bytes(path, honest, honest_bytes) && forge_unchecked(path, sql);
}

/* Gives one parameter of some configs another value, of the space or not, and makes them fast, so
 * that they win if they are followed. */
static bool change_configs(const char *path) {
    static const char *const others[] = {
        "shuffle", "poll", "single", "ticket",  "two_pass",         "plain", "x", "", "257", "96",
        "-4",      "0",    "3",      "1000000", "4\nasm(\"trap;\")"};
    const rdt_space *space = rdt_codegen_spaces(forge_codegen())->space;
    const rdt_param *param = &space->param[below((uint64_t)space->param_count)];
    char other[64], sql[1024];
    snprintf(other, sizeof other, "%d", 1 << below(11));
    if (below(2)) rdt_text_copy(other, sizeof other, others[below(sizeof others / sizeof *others)]);
    const char *known = param->label[below((uint64_t)param->value_count)];
    if (below(3) == 0 && *known) rdt_text_copy(other, sizeof other, known);
    /* From "name=" to the next comma; the last parameter has none behind it. */
    snprintf(sql, sizeof sql,
             "UPDATE measurement SET place = NULL, median_ns = median_ns * 0.8, config ="
             " substr(config, 1, instr(config, '%s=') - 1) || '%s=%s' ||"
             " substr(substr(config || ',', instr(config, '%s=')),"
             " instr(substr(config || ',', instr(config, '%s=')), ',')) WHERE id %% %d = 0 AND"
             " outcome = 'good'; UPDATE measurement SET config = rtrim(config, ',')",
             param->name, param->name, other, param->name, param->name, 1 + (int)below(4));
    return write_bytes(path, honest, honest_bytes) && forge_unchecked(path, sql);
}

static void flip(char *bytes, size_t length) {
    for (uint64_t n = 1 + below(8); n; n--) bytes[below(length)] ^= (char)(1 << below(8));
}
static void overwrite(char *bytes, size_t length) {
    size_t at = below(length), count = 1 + below(64);
    for (; count && at < length; count--) bytes[at++] = (char)below(256);
}
static void blank(char *bytes, size_t length) {
    size_t at = below(length), count = 1 + below(512);
    memset(bytes + at, 0, count < length - at ? count : length - at);
}
static void copy_within(char *bytes, size_t length) {
    size_t count = 1 + below(256), from = below(length - count), to = below(length - count);
    memmove(bytes + to, bytes + from, count);
}
/* One digit or letter for another: what is a config stays text. */
static void retype(char *bytes, size_t length) {
    for (int tries = 0, left = 3; tries < 10000 && left; tries++) {
        char *at = &bytes[below(length)];
        if (*at >= '0' && *at <= '9') *at = (char)('0' + below(10)), left--;
        if (*at >= 'a' && *at <= 'z') *at = (char)('a' + below(26)), left--;
    }
}

static bool change_bytes(const char *path) {
    static void (*const ways[])(char *bytes, size_t length) = {flip, overwrite, blank, copy_within,
                                                               retype};
    char *bytes = malloc(honest_bytes);
    size_t length = honest_bytes;
    if (!bytes) return false;
    memcpy(bytes, honest, honest_bytes);
    ways[below(sizeof ways / sizeof *ways)](bytes, length);
    if (below(16) == 0) length = below(length);
    bool good = write_bytes(path, bytes, length);
    free(bytes);
    return good;
}

FACT(no_mutant_leads_out_of_the_space) {
    int taken = 0, refused = 0, rows = 0, exact_there = 0, exact_here = 0;
    char path[300], local[300];
    rdt_text_copy(path, sizeof path, in_scratch("theirs.db"));
    rdt_text_copy(local, sizeof local, in_scratch("local.db"));
    CHECK(find_reachable());
    CHECK(forge_database(path, 0));
    honest = read_bytes(path, &honest_bytes);
    CHECK(honest && leads_to_good_sources(path, FORGE_PROBLEMS, &exact_there));
    CHECK_INT(exact_there, FORGE_PROBLEMS);
    exact_there = 0;
    for (int i = 0; i < mutants; i++) {
        redtune_import_counts report;
        static bool (*const ways[])(const char *path) = {change_values, change_configs,
                                                         change_bytes};
        size_t way = below(sizeof ways / sizeof *ways);
        bool made = ways[way](path);
        if (!made) fprintf(stderr, "mutant %d cannot be made in way %zu\n", i, way);
        CHECK(made);
        CHECK(leads_to_good_sources(path, 1, &exact_there));
        redtune_status status = forge_import(local, path, &report, &err);
        CHECK(status == REDTUNE_OK || status == REDTUNE_DATABASE);
        taken += !status && report.added;
        rows += !status ? (int)report.added : 0;
        refused += status != REDTUNE_OK;
        if (status || !report.added) continue;
        CHECK(leads_to_good_sources(local, 2, &exact_here));
        unlink(local);
    }
    printf("%d mutants: %d refused whole, of %d rows were taken, %d in all; %zu sources can be"
           " reached, %d configs were chosen (%d times there, %d here), %d compiled\n",
           mutants, refused, taken, rows, reachable_count, chosen_count, exact_there, exact_here,
           compiled.count);
    /* Or the mutants say nothing. */
    CHECK(taken > mutants / 20 && refused > mutants / 20 && 2 * exact_here > taken);
    CHECK(reachable_count > 1000 && chosen_count > FORGE_PROBLEMS);
}

int main(int argc, char **argv) {
    if (argc == 2) mutants = atoi(argv[1]);
    if (!scratch_begin() || !forge_begin() || !forge_use_simulated()) return 1;
    setenv("XDG_CACHE_HOME", scratch, 1);
    int failed = check_run(1, argv);
    free(honest);
    free(reachable);
    forge_end();
    scratch_end();
    return failed;
}
