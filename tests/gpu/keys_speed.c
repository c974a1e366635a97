/* Keys speed: how long sums by key take on GPU 0, over reading both arrays: 32 Mi f32 with i32
 * keys, by the built-in default and by the configs that are named. Run by hand.
 *
 * The arrays exceed L2, so that each call finds them cold. Reading is the sum of an array of as
 * many bytes. A line is: spread, keys, us, times reading, config.
 *
 * usage: keys_speed [CONFIG...]   such as "keyed:tables=shared,copies=1" */
#include <math.h>
#include <stdio.h>
#include "device.h"
#include "draw.h"
#include "gpu/timer.h"
#include "redtune/keys.h"

enum { SAMPLES = 9, CALLS = 4 };
typedef enum spread { UNIFORM, ONE, SORTED, LOG_UNIFORM, SPREADS } spread;
static const char *const names[] = {"uniform", "one", "sorted", "log-uniform"};
static const uint64_t key_counts[] = {8, 64, 256, 1024, 4096, 16384, 50000, 1 << 20};

static redtune_error err;
static device gpu;
static redtune *rt;
static uint64_t count;
static rdt_buffer values, keys, out;
static rdt_timer timer;

/* What is timed: a plan by key, or NULL: the reading. */
static redtune_status start(redtune_plan *plan) {
    const redtune_keyed keyed = {.d_in = (void *)(uintptr_t)values.address,
                                 .d_keys = (void *)(uintptr_t)keys.address,
                                 .count = count,
                                 .d_out = {(void *)(uintptr_t)out.address}};
    const redtune_problem whole = redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, 2 * count);
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

static redtune_status fill_keys(spread how, uint64_t k) {
    int32_t *host = malloc(count * sizeof *host);
    if (!host) return rdt_fail_memory(&err, count * sizeof *host);
    draw_from(1);
    for (uint64_t i = 0; i < count; i++)
        host[i] =
            (int32_t)(how == UNIFORM ? draw(k)
                      : how == ONE   ? k / 2
                      : how == SORTED
                          ? i * k / count
                          : (uint64_t)exp((double)draw(1 << 24) / (1 << 24) * log((double)k)) - 1);
    redtune_status status =
        rdt_buffer_write(gpu.driver, keys.address, host, count * sizeof *host, gpu.stream, &err);
    free(host);
    return status;
}

static redtune_status time_config(spread how, uint64_t k, const char *config, double reading_ns) {
    redtune_problem problem =
        redtune_problem_by_key(REDTUNE_SUM, REDTUNE_F32, REDTUNE_I32, k, count);
    redtune_plan *plan = NULL;
    double ns = 0;
    problem.config = config;
    redtune_status status = redtune_plan_create(rt, &problem, &plan, &err);
    if (status == REDTUNE_UNSUPPORTED && config) return REDTUNE_OK; /* not by so many keys */
    if (!status) status = median_of(plan, &ns);
    if (!status)
        printf("%s\t%llu\t%.1f\t%.2f\t%s\n", names[how], (unsigned long long)k, ns / 1e3,
               ns / reading_ns, redtune_plan_config(plan));
    fflush(stdout);
    redtune_plan_destroy(plan);
    return status;
}

static redtune_status time_all(int configs, char **config) {
    double reading_ns = 0;
    redtune_status status = median_of(NULL, &reading_ns);
    if (!status) printf("# reading %.1f us on %s\n", reading_ns / 1e3, gpu.context->facts.name);
    for (int how = 0; how < SPREADS; how++)
        for (size_t i = 0; !status && i < sizeof key_counts / sizeof *key_counts; i++) {
            status = fill_keys((spread)how, key_counts[i]);
            if (!status) status = time_config((spread)how, key_counts[i], NULL, reading_ns);
            for (int c = 0; !status && c < configs; c++)
                status = time_config((spread)how, key_counts[i], config[c], reading_ns);
        }
    return status;
}

int main(int argc, char **argv) {
    const redtune_options options = {.database = "/nowhere/at/all.db"};
    redtune_status status = device_open(&gpu, &err);
    if (!status) count = device_is_simulated(&gpu) ? 1 << 14 : 1 << 25;
    if (!status) status = redtune_open(&options, &rt, &err);
    if (!status) status = rdt_timer_create(gpu.driver, &timer, &err);
    if (!status) status = device_ones(&gpu, 2 * count, &values, &err);
    if (!status) status = rdt_buffer_create(gpu.driver, count * 4, &keys, &err);
    if (!status) status = rdt_buffer_create(gpu.driver, 4 << 20, &out, &err);
    if (!status) status = time_all(argc - 1, argv + 1);
    if (status) fprintf(stderr, "%s\n", err.message);
    redtune_close(rt);
    rdt_buffer_destroy(&values);
    rdt_buffer_destroy(&keys);
    rdt_buffer_destroy(&out);
    rdt_timer_destroy(&timer);
    device_close(&gpu);
    return status != REDTUNE_OK;
}
