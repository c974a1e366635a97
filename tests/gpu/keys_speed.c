/* Keys speed: how long reductions by key take on GPU 0, over reading both arrays: 32 Mi elements
 * with i32 keys, by the built-in default and by the configs that are named. Run by hand.
 *
 * The arrays exceed L2, so that each call finds them cold. Reading is the sum of an array of as
 * many bytes. A line is: spread, keys, us, times reading, greatest error of a sum of f32 over its
 * magnitudes, config. Elements of f32 are random in [0, 1), others whole numbers below 8.
 *
 * usage: keys_speed [elements=COUNT] [width=COUNT] [OP/DTYPE] [KEYS...] [CONFIG...]
 * such as keys_speed sum/f32 256 4096 "keyed:tables=shared,copies=1" */
#include <math.h>
#include <stdio.h>
#include "device.h"
#include "draw.h"
#include "gpu/timer.h"
#include "model/scalar.h"
#include "redtune/keys.h"

enum { SAMPLES = 5, CALLS = 4 };
typedef enum spread { UNIFORM, ONE, SORTED, LOG_UNIFORM, SPREADS } spread;
static const char *const names[] = {"uniform", "one", "sorted", "log-uniform"};
enum { KEYS_MAX = 1 << 20, COUNTS_MAX = 8 };
static uint64_t key_counts[COUNTS_MAX] = {8, 64, 256, 1024, 4096, 16384, 50000, KEYS_MAX};
static redtune_op op = REDTUNE_SUM;
static redtune_dtype dtype = REDTUNE_F32;

static redtune_error err;
static device gpu;
static redtune *rt;
static uint64_t count, width = 1; /* of keys, and of the elements in the row of each */
static unsigned char *host_values;
static int32_t *host_keys;
static double sums[KEYS_MAX];
static float results[KEYS_MAX];
static rdt_buffer values, keys, out;
static rdt_timer timer;

/* What is timed: a plan by key, or NULL: the reading. */
static redtune_status start(redtune_plan *plan) {
    const redtune_keyed keyed = {.d_in = (void *)(uintptr_t)values.address,
                                 .d_keys = (void *)(uintptr_t)keys.address,
                                 .count = count,
                                 .d_out = {(void *)(uintptr_t)out.address}};
    const redtune_problem whole = redtune_problem_whole(
        REDTUNE_SUM, REDTUNE_F32, count + count * width * redtune_dtype_bytes(dtype) / 4);
    if (plan) return redtune_plan_run_keyed(plan, &keyed, gpu.stream, &err);
    return redtune_reduce(rt, &whole, keyed.d_in, keyed.d_out[0], gpu.stream, &err);
}

static int compare_doubles(const void *a, const void *b) {
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static redtune_status median_of(redtune_plan *plan, double *ns) {
    double samples[SAMPLES];
    redtune_status status = start(plan);
    for (int i = 0; !status && i < SAMPLES; i++) {
        status = rdt_timer_start(&timer, gpu.stream, &err);
        for (int k = 0; !status && k < CALLS; k++) status = start(plan);
        if (!status) status = rdt_timer_stop(&timer, gpu.stream, &err);
        if (!status) status = rdt_timer_read(&timer, &samples[i], &err);
        samples[i] /= CALLS;
    }
    qsort(samples, SAMPLES, sizeof *samples, compare_doubles);
    *ns = samples[SAMPLES / 2];
    return status;
}

static bool has_errors(void) { return op == REDTUNE_SUM && dtype == REDTUNE_F32 && width == 1; }

static redtune_status fill_keys(spread how, uint64_t k) {
    draw_from(1);
    for (uint64_t i = 0; i < count; i++)
        host_keys[i] =
            (int32_t)(how == UNIFORM ? draw(k)
                      : how == ONE   ? k / 2
                      : how == SORTED
                          ? i * k / count
                          : (uint64_t)exp((double)draw(1 << 24) / (1 << 24) * log((double)k)) - 1);
    memset(sums, 0, sizeof sums);
    for (uint64_t i = 0; has_errors() && i < count; i++)
        sums[host_keys[i]] += (double)((float *)host_values)[i];
    return rdt_buffer_write(gpu.driver, keys.address, host_keys, count * sizeof *host_keys,
                            gpu.stream, &err);
}

/* The elements are positive, so that a sum is its magnitudes', too. */
static redtune_status find_error(uint64_t k, double *error) {
    *error = 0;
    if (!has_errors()) return REDTUNE_OK;
    const redtune_status status =
        rdt_buffer_read(gpu.driver, results, out.address, k * sizeof *results, gpu.stream, &err);
    for (uint64_t i = 0; !status && i < k; i++)
        if (sums[i] > 0) *error = fmax(*error, fabs(results[i] - sums[i]) / sums[i]);
    return status;
}

static redtune_status time_config(spread how, uint64_t k, const char *config, double reading_ns) {
    redtune_problem problem = redtune_problem_rows_by_key(op, dtype, REDTUNE_I32, k, count, width);
    redtune_plan *plan = NULL;
    double ns = 0, error = 0;
    problem.config = config;
    redtune_status status = redtune_plan_create(rt, &problem, &plan, &err);
    if (status == REDTUNE_UNSUPPORTED && config) return REDTUNE_OK; /* not by so many keys */
    if (!status) status = median_of(plan, &ns);
    if (!status) status = find_error(k, &error);
    if (!status)
        printf("%s\t%llu\t%.1f\t%.2f\t%.0e\t%s\n", names[how], (unsigned long long)k, ns / 1e3,
               ns / reading_ns, error, redtune_plan_config(plan));
    fflush(stdout);
    redtune_plan_destroy(plan);
    return status;
}

static redtune_status time_all(int configs, char **config) {
    double reading_ns = 0;
    redtune_status status = median_of(NULL, &reading_ns);
    if (!status) printf("# reading %.1f us on %s\n", reading_ns / 1e3, gpu.context->facts.name);
    for (int how = 0; how < SPREADS; how++)
        for (size_t i = 0; !status && i < COUNTS_MAX && key_counts[i]; i++) {
            status = fill_keys((spread)how, key_counts[i]);
            if (!status) status = time_config((spread)how, key_counts[i], NULL, reading_ns);
            for (int c = 0; !status && c < configs; c++)
                status = time_config((spread)how, key_counts[i], config[c], reading_ns);
        }
    return status;
}

static redtune_status make_arrays(void) {
    const size_t bytes = redtune_dtype_bytes(dtype) * count * width;
    host_values = malloc(bytes + 8);
    host_keys = malloc(count * sizeof *host_keys);
    if (!host_values || !host_keys) return rdt_fail_memory(&err, bytes);
    for (uint64_t i = 0; i < count * width; i++) {
        if (dtype == REDTUNE_F32)
            ((float *)host_values)[i] = (float)draw(1 << 24) / (1 << 24);
        else
            rdt_scalar_store(dtype, host_values, i, (int64_t)draw(8));
    }
    /* What is read for comparison is of both arrays' bytes. */
    redtune_status status = device_ones(&gpu, bytes / 4 + count, &values, &err);
    if (!status)
        status = rdt_buffer_write(gpu.driver, values.address, host_values, bytes, gpu.stream, &err);
    if (!status) status = rdt_buffer_create(gpu.driver, count * 4, &keys, &err);
    if (!status) status = rdt_buffer_create(gpu.driver, KEYS_MAX * 8 * width, &out, &err);
    return status;
}

/* Gives how many arguments come before the configs. */
static int take_arguments(int argc, char **argv) {
    char name[16];
    int i = 1, counts = 0;
    if (i < argc && !strncmp(argv[i], "elements=", 9)) count = strtoull(argv[i++] + 9, NULL, 10);
    if (i < argc && !strncmp(argv[i], "width=", 6)) width = strtoull(argv[i++] + 6, NULL, 10);
    if (i < argc && strchr(argv[i], '/') && !strchr(argv[i], ':')) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(argv[i], "/"), argv[i]);
        if (redtune_op_find(name, &op, &err) ||
            redtune_dtype_find(strchr(argv[i], '/') + 1, &dtype, &err))
            fprintf(stderr, "%s\n", err.message);
        i++;
    }
    for (; i < argc && counts < COUNTS_MAX && strtoull(argv[i], NULL, 10); i++) {
        if (!counts) memset(key_counts, 0, sizeof key_counts);
        key_counts[counts++] = strtoull(argv[i], NULL, 10);
    }
    return i;
}

int main(int argc, char **argv) {
    const redtune_options options = {.database = "/nowhere/at/all.db"};
    const int first = take_arguments(argc, argv);
    redtune_status status = device_open(&gpu, &err);
    if (!status && !count) count = device_is_simulated(&gpu) ? 1 << 14 : 1 << 25;
    if (!status) status = redtune_open(&options, &rt, &err);
    if (!status) status = rdt_timer_create(gpu.driver, &timer, &err);
    if (!status) status = make_arrays();
    if (!status) status = time_all(argc - first, argv + first);
    if (status) fprintf(stderr, "%s\n", err.message);
    redtune_close(rt);
    free(host_values);
    free(host_keys);
    rdt_buffer_destroy(&values);
    rdt_buffer_destroy(&keys);
    rdt_buffer_destroy(&out);
    rdt_timer_destroy(&timer);
    device_close(&gpu);
    return status != REDTUNE_OK;
}
