/* Orders: sums in fixed order against those in free order, and compensated and exact sums against
 * plain ones, in turns on GPU 0, by the configs that plans get. A round opens redtune anew and
 * makes both plans, in one order and then in the other: where code lies makes one or the other
 * faster. Prints a line for each, with the time that it may take, and fails where one takes longer.
 *
 * All elements are whole numbers from -3 to 3, so that exact sums add them in f64.
 *
 * usage: orders [DATABASE [WORD...]]   without DATABASE, or with -, redtune's own; only lines that
 * have one of the words in their name, as "fixed f16" or "1048576x64" */
#include <math.h>
#include <stdio.h>
#include "shaped.h"
#include "turns.h"

enum { ROUNDS = 6, SAMPLES = 15, SIMULATED_MOST = 3000 };

typedef struct contest {
    redtune_dtype dtype;
    uint64_t rows, columns; /* rows 0: a whole array */
    int axis;               /* that goes away */
    redtune_order order;
    redtune_accuracy accuracy;
} contest;

static redtune_error err;
static device gpu;
static workshop shop;
static turns race;

/* ---- what is raced --------------------------------------------------------------------------- */

/* Whole arrays of so many elements of either dtype. */
static const uint64_t odd[][2] = {{2435, REDTUNE_F32},   {155872, REDTUNE_F32},
                                  {623487, REDTUNE_F32}, {4871, REDTUNE_F16},
                                  {185364, REDTUNE_F16}, {741455, REDTUNE_F16}};

static const contest shapes[] = {
    {REDTUNE_F32, 32, 1024, 1, 0, 0},    {REDTUNE_F32, 1024, 1024, 1, 0, 0},
    {REDTUNE_F32, 4096, 4096, 1, 0, 0},  {REDTUNE_F32, 16, 1048576, 1, 0, 0},
    {REDTUNE_F32, 65536, 256, 1, 0, 0},  {REDTUNE_F32, 1048576, 64, 1, 0, 0},
    {REDTUNE_F32, 1048576, 16, 1, 0, 0}, {REDTUNE_F32, 32, 1024, 0, 0, 0},
    {REDTUNE_F32, 1024, 1024, 0, 0, 0},  {REDTUNE_F32, 4096, 4096, 0, 0, 0},
    {REDTUNE_F32, 16384, 1024, 0, 0, 0}, {REDTUNE_F32, 65536, 256, 0, 0, 0},
    {REDTUNE_F32, 262144, 64, 0, 0, 0},  {REDTUNE_F32, 8192, 8192, 0, 0, 0},
    {REDTUNE_F16, 1048576, 64, 1, 0, 0}, {REDTUNE_F16, 4096, 4096, 0, 0, 0},
    {REDTUNE_F16, 262144, 64, 0, 0, 0},
};

enum { CONTESTS_MAX = 128 };

static size_t list_contests(contest *out) {
    static const redtune_dtype dtypes[] = {REDTUNE_F32, REDTUNE_F16, REDTUNE_BF16};
    static const unsigned large_mib[] = {64, 256, 1024};
    size_t n = 0;
    for (size_t d = 0; d < 2; d++)
        for (int log = 12; log <= 30; log += 2)
            out[n++] = (contest){dtypes[d],
                                 0,
                                 (UINT64_C(1) << log) / redtune_dtype_bytes(dtypes[d]),
                                 1,
                                 REDTUNE_ORDER_FIXED,
                                 REDTUNE_ACCURACY_PLAIN};
    for (size_t i = 0; i < sizeof odd / sizeof *odd; i++)
        out[n++] = (contest){(redtune_dtype)odd[i][1], 0, odd[i][0], 1, REDTUNE_ORDER_FIXED,
                             REDTUNE_ACCURACY_PLAIN};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        out[n] = shapes[i];
        out[n++].order = REDTUNE_ORDER_FIXED;
    }
    for (int each = REDTUNE_ACCURACY_COMPENSATED; each <= REDTUNE_ACCURACY_EXACT; each++)
        for (size_t d = 0; d < 3; d++)
            for (size_t i = 0; i < 3; i++)
                out[n++] =
                    (contest){dtypes[d],
                              0,
                              ((uint64_t)large_mib[i] << 20) / redtune_dtype_bytes(dtypes[d]),
                              1,
                              REDTUNE_ORDER_FREE,
                              (redtune_accuracy)each};
    return n;
}

static uint64_t fewer(uint64_t a, uint64_t b) { return a < b ? a : b; }

/* Small ones on a simulated device: to see that all of it runs. */
static redtune_problem problem_of(const contest *at, bool plain) {
    const uint64_t most = device_is_simulated(&gpu) ? at->rows ? 40 : SIMULATED_MOST : UINT64_MAX;
    const uint64_t rows = fewer(at->rows ? at->rows : 1, most), columns = fewer(at->columns, most);
    redtune_problem out = redtune_problem_whole(REDTUNE_SUM, at->dtype, columns);
    if (at->rows && at->axis) RESHAPE(&out, outer, rows);
    if (at->rows && !at->axis) {
        RESHAPE(&out, count, rows);
        RESHAPE(&out, inner, columns);
    }
    out.order = plain ? REDTUNE_ORDER_FREE : at->order;
    out.accuracy = plain ? REDTUNE_ACCURACY_PLAIN : at->accuracy;
    return out;
}

static void name_contest(const contest *at, char *name, size_t bytes) {
    const char *what = at->order == REDTUNE_ORDER_FIXED         ? "fixed"
                       : at->accuracy == REDTUNE_ACCURACY_EXACT ? "exact"
                                                                : "compensated";
    const char *dtype = redtune_dtype_name(at->dtype);
    if (at->rows)
        snprintf(name, bytes, "%s %s %llux%llu axis %d", what, dtype, (unsigned long long)at->rows,
                 (unsigned long long)at->columns, at->axis);
    else
        snprintf(name, bytes, "%s %s %llu", what, dtype, (unsigned long long)at->columns);
}

/* The time that it may take beside one that takes plain_ns. */
static double most_ns(const contest *at, double plain_ns) {
    const uint64_t bytes = (at->rows ? at->rows : 1) * at->columns * redtune_dtype_bytes(at->dtype);
    if (at->accuracy == REDTUNE_ACCURACY_EXACT) return 1.5 * plain_ns;
    if (at->accuracy == REDTUNE_ACCURACY_COMPENSATED) return 1.05 * plain_ns;
    return bytes < UINT64_C(64) << 20 ? plain_ns + 500 : 1.03 * plain_ns;
}

/* ---- timing ---------------------------------------------------------------------------------- */

/* Adds the logarithms of both times, by plans of their own: the plain one's is the second. */
static redtune_status time_round(redtune *rt, const redtune_problem problems[2], int round,
                                 double log_sum[2], redtune_info info[2]) {
    const int first = round % 2; /* of the two, which is made and timed first */
    turns_plan plans[2] = {{0}};
    turns_call calls[2];
    double ns[2];
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && i < 2; i++)
        status = turns_call_plan(&race, rt, &problems[i ^ first], &plans[i], &calls[i], &err);
    if (!status) status = turns_time(&race, calls, 2, SAMPLES, 0, ns, &err);
    for (int i = 0; !status && i < 2; i++) {
        redtune_plan_info(plans[i].plan, &info[i ^ first]);
        log_sum[i ^ first] += log(ns[i]);
    }
    for (int i = 0; i < 2; i++) redtune_plan_destroy(plans[i].plan);
    return status;
}

/* Whether it took too long. */
static redtune_status time_contest(const char *database, const contest *at, const char *name,
                                   bool *is_late) {
    const redtune_options options = {.database = database};
    const redtune_problem problems[2] = {problem_of(at, false), problem_of(at, true)};
    double log_sum[2] = {0};
    redtune_info info[2];
    redtune_status status = turns_fill(&race, at->dtype, &err);
    for (int round = 0; !status && round < ROUNDS; round++) { /* with modules of its own */
        redtune *rt = NULL;
        status = redtune_open(&options, &rt, &err);
        if (!status) status = time_round(rt, problems, round, log_sum, info);
        redtune_close(rt);
    }
    if (status) return status;
    const double ns = exp(log_sum[0] / ROUNDS), plain_ns = exp(log_sum[1] / ROUNDS);
    *is_late = ns > most_ns(at, plain_ns);
    printf("%-34s %8.2f us, plain %8.2f: %+6.2f us, %.3f%s  %s, %s:%s | %s, %s:%s\n", name,
           ns / 1e3, plain_ns / 1e3, (ns - plain_ns) / 1e3, ns / plain_ns, *is_late ? " LATE" : "",
           redtune_match_name(info[0].match), info[0].family, info[0].config,
           redtune_match_name(info[1].match), info[1].family, info[1].config);
    fflush(stdout);
    return REDTUNE_OK;
}

static bool is_wanted(const char *name, int argc, char **argv) {
    for (int i = 2; i < argc; i++)
        if (strstr(name, argv[i])) return true;
    return argc < 3;
}

/* What fails, as for want of memory, is left out. */
static int time_all(int argc, char **argv) {
    const char *database = argc > 1 && strcmp(argv[1], "-") != 0 ? argv[1] : NULL;
    contest contests[CONTESTS_MAX];
    const size_t count = list_contests(contests);
    int late = 0, timed = 0, failed = 0;
    for (size_t i = 0; i < count && !subject_is_late(); i++) {
        char name[96];
        bool is_late = false;
        name_contest(&contests[i], name, sizeof name);
        if (!is_wanted(name, argc, argv)) continue;
        if (time_contest(database, &contests[i], name, &is_late)) {
            fprintf(stderr, "orders: %s: %s\n", name, err.message);
            failed++;
            continue;
        }
        timed++;
        late += is_late;
    }
    printf("%d of %d take too long, %d failed\n", late, timed, failed);
    return failed || (late && !device_is_simulated(&gpu));
}

int main(int argc, char **argv) {
    const turns_sizes size = {(size_t)9 << 29, (size_t)1 << 26, (uint64_t)1 << 26};
    if (device_open(&gpu, &err)) {
        fprintf(stderr, "no GPU: %s\n", err.message);
        return 77;
    }
    redtune_status status = workshop_open(&gpu, &shop, &err);
    if (!status) status = turns_open(&shop, size, &race, &err);
    if (status) fprintf(stderr, "orders: %s\n", err.message);
    const int failed = status ? 1 : time_all(argc, argv);
    turns_close(&race);
    workshop_close(&shop);
    device_close(&gpu);
    return failed;
}
