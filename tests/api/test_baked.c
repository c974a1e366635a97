/* Facts about kernels that were baked ahead, as a program sees them: with them a reduction needs no
 * NVRTC, no HOME and nothing to write, and a kernel file that is not as it must be is left out,
 * which is said once. On the simulated GPU, which takes PTX only. */
#define _GNU_SOURCE
#include "../unit/database.h"
#include "adder.h"
#include "api/build/system_kernels.h"
#include "cache/kernels.h"
#include "redtune/records.h"
#include "redtune/tools.h"
#include "shaped.h"

enum { COUNT = 20000, LINES_MAX = 16 };

static redtune_error err;
static adder ones;
static char baked[300], nvrtc[512];

/* ---- the log --------------------------------------------------------------------------------- */

static char lines[LINES_MAX][512];
static int line_count;

static void keep_line(void *user, redtune_log_level level, const char *line) {
    (void)user;
    if (level == REDTUNE_LOG_WARNING && line_count < LINES_MAX)
        snprintf(lines[line_count++], sizeof lines[0], "%s", line);
}

static int said(const char *text) {
    int times = 0;
    for (int i = 0; i < line_count; i++) times += strstr(lines[i], text) != NULL;
    return times;
}

/* ---- a kernel file --------------------------------------------------------------------------- */

static redtune_problem sums;

static void set_compiler(bool there) {
    setenv("REDTUNE_NVRTC", there ? nvrtc : "/nowhere/libnvrtc.so", 1);
    if (there && !*nvrtc) unsetenv("REDTUNE_NVRTC");
}

/* As PTX for compute capability 9.0 and for the GPU models; ptx 0: as cubins. */
static bool bake(const char *path, const redtune_problem *problem, const char *gpus, int ptx) {
    static const int arch = 90;
    const redtune_baking baking = {.problems = problem,
                                   .problem_count = 1,
                                   .gpus = gpus,
                                   .archs = &arch,
                                   .arch_count = !gpus,
                                   .ptx = ptx};
    void *data = NULL;
    size_t bytes = 0;
    set_compiler(true);
    redtune_status status = redtune_bake(&baking, &data, &bytes, &err);
    if (status) fprintf(stderr, "%s\n", err.message);
    bool good = !status && write_bytes(path, data, bytes) && !chmod(path, 0644);
    redtune_free(data);
    return good;
}

/* Plans for the problem twice and sums ones; -1 where that fails, with err. */
static float sum_by(const char *files, bool compiler, const redtune_problem *problem,
                    redtune_info *info) {
    const redtune_options options = {
        .database = "/nowhere/at/all.db", .log = keep_line, .log_level = REDTUNE_LOG_WARNING};
    redtune *rt = NULL;
    float sum = -1;
    setenv("REDTUNE_SYSTEM_KERNELS", files, 1);
    set_compiler(compiler);
    line_count = 0;
    redtune_status status = redtune_open(&options, &rt, &err);
    for (int i = 0; !status && i < 2; i++) {
        redtune_plan *plan = NULL;
        status = redtune_plan_create(rt, problem, &plan, &err);
        if (!status) sum = adder_sum(&ones, plan, shaped_of(problem).count, &err);
        if (!status && adder_sum(&ones, plan, COUNT - 77, &err) != COUNT - 77) sum = -1;
        if (!status && adder_sum(&ones, plan, 3, &err) != 3) sum = -1;
        if (!status && info) redtune_plan_info(plan, info);
        redtune_plan_destroy(plan);
    }
    redtune_close(rt);
    return sum;
}

/* Without a compiler. */
static bool plan_by(const char *files, const redtune_problem *problem, redtune_info *info) {
    const redtune_options options = {.database = "/nowhere/at/all.db"};
    redtune *rt = NULL;
    redtune_plan *plan = NULL;
    setenv("REDTUNE_SYSTEM_KERNELS", files, 1);
    set_compiler(false);
    bool good =
        !redtune_open(&options, &rt, &err) && !redtune_plan_create(rt, problem, &plan, &err);
    if (good) redtune_plan_info(plan, info);
    redtune_plan_destroy(plan);
    redtune_close(rt);
    return good;
}

/* ---- facts ----------------------------------------------------------------------------------- */

FACT(a_default_serves_any_extents_without_a_compiler) {
    redtune_info info = {.match = REDTUNE_MATCH_EXACT};
    const redtune_problem other = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, 11);
    CHECK(sum_by(baked, false, &sums, &info) == COUNT);
    CHECK(info.match == REDTUNE_MATCH_DEFAULT && shaped_of(&info.problem).count == COUNT);
    CHECK(sum_by(baked, false, &other, &info) == 11);
    CHECK(shaped_of(&info.problem).count == 11);
}

FACT(what_is_not_baked_is_refused_by_name) {
    redtune_problem other = sums;
    other.op = REDTUNE_MAX;
    CHECK(sum_by(baked, false, &other, NULL) == -1);
    CHECK(err.status == REDTUNE_LIBRARY);
    CHECK(strstr(err.message, "max of 20000 f32"));
    CHECK(strstr(err.message, "redtune bake --op max --dtype f32 --arch 90"));
    /* A config that is asked for is not replaced by another. */
    other = sums;
    other.config = "block=64";
    CHECK(sum_by(baked, false, &other, NULL) == -1);
    CHECK(err.status == REDTUNE_LIBRARY);
}

/* What a program on an H200 would run, and for other extents the default. */
FACT(the_nearest_winner_is_chosen) {
    const redtune_problem rows = redtune_problem_rows(REDTUNE_SUM, REDTUNE_F32, 100, 16);
    const redtune_question question = {.gpu = "H200", .problem = rows};
    const char *winners = in_scratch("winners.db");
    redtune_explanation there;
    redtune_info info;
    const redtune_problem near = redtune_problem_rows(REDTUNE_SUM, REDTUNE_F32, 130, 16),
                          far = redtune_problem_rows(REDTUNE_SUM, REDTUNE_F32, 130, 20000);
    CHECK_OK(redtune_explain(&question, &there, &err), err);
    CHECK(bake(winners, &rows, "H200", 1));
    CHECK(plan_by(winners, &near, &info));
    CHECK(info.match == REDTUNE_MATCH_GPU && !strcmp(info.gpu, there.info.gpu));
    CHECK(!strcmp(info.family, there.info.family) && !strcmp(info.config, there.info.config));
    CHECK(plan_by(winners, &far, &info));
    CHECK(info.match == REDTUNE_MATCH_DEFAULT && shaped_of(&info.problem).count == 20000);
}

FACT(baking_twice_gives_the_same_bytes) {
    const char *again = in_scratch("again.db");
    size_t bytes = 0;
    CHECK(bake(again, &sums, NULL, 1));
    char *data = read_bytes(again, &bytes);
    CHECK(data && holds_bytes(baked, data, bytes));
    char folder[4096]; /* where it was compiled */
    CHECK(data && getcwd(folder, sizeof folder) && !memmem(data, bytes, folder, strlen(folder)));
    free(data);
}

/* ---- planted --------------------------------------------------------------------------------- */

static bool edit_row(const char *path, const char *key, const void *data, size_t bytes, bool ptx) {
    rdt_kernels *kernels = NULL;
    bool good = !rdt_kernels_open(path, NULL, &kernels, &err) &&
                !rdt_kernels_put(kernels, key, data, bytes, ptx, &err);
    rdt_kernels_close(kernels);
    return good && !chmod(path, 0644);
}

static bool plant_flipped_bit(const char *path) {
    return run_sql(path, "UPDATE kernel SET content = CAST(replace(CAST(content AS TEXT), "
                         "'ld.global', 'ld.glocal') AS BLOB) WHERE ptx = 1");
}

static bool plant_other_version(const char *path) {
    const rdt_system_label label = {.build = "another", .arch = {90}, .ptx = 1};
    return edit_row(path, RDT_SYSTEM_LABEL, &label, sizeof label, false);
}

static bool plant_writable(const char *path) { return !chmod(path, 0666); }

static bool plant_cubins(const char *path) { return !unlink(path) && bake(path, &sums, NULL, 0); }

/* Of the right hash, and nothing that a driver takes. */
static bool plant_nonsense(const char *path) {
    static const char text[] = ".version 8.0\n.target sm_90\nnonsense\n";
    char keys[8][RDT_HASH_TEXT_BYTES];
    int count = 0;
    sqlite3 *db = NULL;
    sqlite3_stmt *row = NULL;
    int rc = sqlite3_open(path, &db);
    if (!rc) rc = sqlite3_prepare_v2(db, "SELECT key FROM kernel WHERE ptx = 1", -1, &row, NULL);
    while (!rc && count < 8 && sqlite3_step(row) == SQLITE_ROW)
        snprintf(keys[count++], sizeof keys[0], "%s", (const char *)sqlite3_column_text(row, 0));
    sqlite3_finalize(row);
    sqlite3_close(db);
    bool good = count > 0;
    for (int i = 0; good && i < count; i++) good = edit_row(path, keys[i], text, sizeof text, true);
    return good;
}

static bool plant_text(const char *path) { return write_bytes(path, "not SQLite\n", 11); }

FACT(a_file_that_is_not_as_it_must_be_is_left_out) {
    static const struct {
        const char *what;
        bool (*plant)(const char *path);
        const char *line;
    } faults[] = {
        {"a flipped bit", plant_flipped_bit, "is damaged"},
        {"another version", plant_other_version, "another version of redtune made it"},
        {"others may write it", plant_writable, "others may write it"},
        {"another architecture", plant_cubins, "has none for redtune simulated GPU"},
        {"refused by the driver", plant_nonsense, "the driver does not take a kernel"},
        {"another file", plant_text, "redtune bake did not make it"},
    };
    char config[320];
    redtune_info info;
    redtune_problem same = sums; /* by the kernel that is in the file */
    CHECK(sum_by(baked, false, &sums, &info) == COUNT);
    snprintf(config, sizeof config, "%s:%s", info.family, info.config);
    same.config = config;
    CHECK(sum_by(baked, false, &same, &info) == COUNT);
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) {
        const char *folder = in_scratch("planted"), *path = in_scratch("planted/kernels.db");
        mkdir(folder, 0755);
        CHECK(copy_file(baked, path) && faults[i].plant(path));
        for (int compiler = 0; compiler < 2; compiler++) {
            const float sum = sum_by(path, compiler, compiler ? &same : &sums, NULL);
            const bool good = sum == (compiler ? COUNT : -1) && said(faults[i].line) == 1;
            if (!good) fprintf(stderr, "%s: %g, %s\n", faults[i].what, (double)sum, err.message);
            for (int k = 0; !good && k < line_count; k++) fprintf(stderr, "  %s\n", lines[k]);
            CHECK(good);
        }
        unlink(path);
    }
}

int main(int argc, char **argv) {
    const char *named = getenv("REDTUNE_NVRTC");
    sums = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, COUNT);
    if (!scratch_begin()) return 1;
    snprintf(nvrtc, sizeof nvrtc, "%s", named ? named : "");
    snprintf(baked, sizeof baked, "%s/kernels.db", scratch);
    redtune_status status = adder_open(&ones, COUNT, &err);
    int failed = status || !bake(baked, &sums, NULL, 1);
    if (failed) fprintf(stderr, "%s\n", err.message);
    /* From here on there is no place of the user's: what is found is in the file. */
    unsetenv("HOME");
    unsetenv("XDG_CACHE_HOME");
    if (!failed) failed = check_run(argc, argv);
    adder_close(&ones);
    scratch_end();
    return failed;
}
