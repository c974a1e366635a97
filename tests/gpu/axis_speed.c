/* Axis speed: how long sums along an axis take on GPU 0, cold, by the built-in default and by a few
 * other configs, for 21 shapes from many short rows to few long ones. Run by hand, and by run.sh.
 *
 * turns.h says what a time is. The floor is a prediction for an H200: 2.2 us and the bytes at 4.62
 * TB/s. `whole` is the default's time for all elements into one result.
 *
 * usage: axis_speed [CONFIG...]   these, as "columns:width=8,unroll=8", in place of the usual ones;
 * parameters that a config does not name are the default's */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "device.h"
#include "shaped.h"
#include "turns.h"

enum { SAMPLES = 9, POINTS_MAX = 128 };
static const double call_ns = 2200, bytes_per_ns = 4620;

static const struct {
    uint64_t rows, columns;
} shapes[] = {
    {1, 16777216}, {7, 1000003},  {8, 2097152},  {32, 1024},    {33, 33793},   {64, 262144},
    {128, 4096},   {256, 65536},  {1024, 1024},  {1024, 16384}, {2048, 50257}, {4096, 4096},
    {4096, 5120},  {8192, 8192},  {16384, 1024}, {65536, 256},  {100000, 300}, {262144, 64},
    {1000003, 3},  {1048576, 16}, {4194304, 4},
};

static const char *const usual[] = {
    "staged:rows=1",
    "staged:rows=2",
    "staged:rows=4",
    "staged:rows=8",
    "staged:block=128",
    "staged:block=512",
    "rows:finish=single,per_sm=1",
    "rows:rows=1",
    "rows:rows=2",
    "rows:rows=4",
    "rows:lanes=1,unroll=1,rows=4",
    "rows:lanes=2,unroll=1,rows=4",
    "rows:lanes=4,unroll=1,rows=4",
    "rows:lanes=4,unroll=2,rows=4",
    "rows:lanes=4,unroll=4,rows=1",
    "rows:lanes=8,unroll=2,rows=2",
    "rows:lanes=8,unroll=4,rows=1",
    "rows:lanes=8,unroll=4,rows=2",
    "rows:lanes=16,unroll=4,rows=1",
    "rows:lanes=32,unroll=4,rows=1",
    "rows:lanes=32,unroll=8,rows=1",
    "rows:lanes=32,unroll=4,rows=2",
    "rows:lanes=32,unroll=8,block=256",
    "rows:lanes=1,rows=4,vec=1,unroll=4",
    "rows:lanes=1,rows=4,vec=1,unroll=4,load=plain",
    "rows:lanes=2,rows=4,vec=1,unroll=2",
    "rows:lanes=4,rows=4,vec=1,unroll=1",
    "rows:lanes=64,unroll=4,block=128,rows=1",
    "rows:lanes=128,unroll=2,block=128",
    "rows:lanes=128,unroll=4,block=128",
    "rows:lanes=256,unroll=2,block=256",
    "rows:lanes=256,unroll=4,block=256",
    "rows:lanes=512,unroll=4,block=512",
    "rows:lanes=1024,unroll=2,block=1024",
    "rows:lanes=512,unroll=4,block=512,finish=poll,per_sm=2",
    "rows:lanes=512,unroll=4,block=512,finish=poll,per_sm=4",
    "rows:lanes=512,unroll=2,block=512,finish=poll,per_sm=4",
    "rows:lanes=256,unroll=4,block=256,finish=poll,per_sm=4",
    "rows:lanes=512,unroll=8,block=512,finish=poll,per_sm=2",
    "rows:lanes=1024,unroll=4,block=1024,finish=poll,per_sm=1",
    "rows:lanes=1024,unroll=2,block=1024,finish=poll,per_sm=4",
    "rows:lanes=256,unroll=2,block=256,finish=poll,per_sm=8",
    "rows:lanes=1024,unroll=2,block=1024,finish=poll,per_sm=2",
    "skewed:finish=single,per_sm=1",
    "skewed:width=16,finish=single,per_sm=1",
    "skewed:width=32,unroll=4,finish=single,per_sm=1",
    "skewed:width=32,unroll=16,finish=single,per_sm=1",
    "skewed:width=32,unroll=4,block=512,finish=single,per_sm=1",
    "skewed:width=64,unroll=8,block=512,finish=single,per_sm=1",
    "thin:strips=1",
    "thin:strips=2",
    "thin:strips=4",
    "thin:strips=8",
    "thin:strips=4,block=128",
    "columns:finish=single,per_sm=1",
    "columns:finish=poll,per_sm=2",
    "columns:finish=poll,per_sm=4",
    "columns:unroll=4,finish=poll,per_sm=4",
    "columns:unroll=2,finish=poll,per_sm=8",
    "columns:unroll=16,finish=poll,per_sm=2",
    "columns:block=512,finish=poll,per_sm=1",
    "columns:block=512,finish=poll,per_sm=2",
    "columns:block=512,unroll=4,finish=poll,per_sm=2",
    "columns:block=1024,unroll=4,finish=poll,per_sm=1",
    "columns:block=1024,unroll=8,finish=poll,per_sm=1",
    "columns:block=1024,unroll=2,finish=poll,per_sm=1",
    "columns:block=1024,width=16,unroll=4,finish=poll,per_sm=1",
    "columns:block=512,width=16,unroll=8,finish=poll,per_sm=2",
    "columns:width=4,finish=poll,per_sm=4",
    "columns:width=16,unroll=8,finish=single,per_sm=1",
    "columns:width=32,unroll=8,finish=single,per_sm=1",
    "columns:width=32,unroll=16,finish=single,per_sm=1",
    "columns:width=64,unroll=8,finish=single,per_sm=1",
    "columns:width=64,unroll=16,block=64,finish=single,per_sm=1",
    "columns:width=256,unroll=4,block=256,finish=single,per_sm=1",
};

static redtune_error err;
static device gpu;
static workshop shop;
static turns race;
static uint64_t elements_max = UINT64_MAX; /* of a shape */

/* ---- one config ------------------------------------------------------------------------------ */

static redtune_status queue(void *user, CUdeviceptr input, CUdeviceptr output, bool chained,
                            redtune_error *failure) {
    const subject *self = user;
    const rdt_operands operands = {
        .input = input,
        .extents = rdt_problem_extents(&self->problem),
        .output = output,
        .scratch = self->scratch.address,
        .chained = chained,
    };
    return rdt_kernel_start(self->kernel, &self->launch, &operands, gpu.stream, failure);
}

static redtune_status time_point(const redtune_problem *problem, const rdt_point *point,
                                 double floor_ns, double *median_ns) {
    subject self;
    redtune_status status = subject_open(&shop, problem, point, &self, &err);
    const turns_call call = {.problem = *problem, .queue = queue, .user = &self};
    if (!status) status = turns_time(&race, &call, 1, SAMPLES, floor_ns, median_ns, &err);
    subject_close(&self);
    return status;
}

/* ---- one problem ----------------------------------------------------------------------------- */

static bool is_new(const rdt_point *points, size_t count, const rdt_point *point) {
    size_t i = 0;
    while (i < count && !rdt_point_same(&points[i], point)) i++;
    return i == count;
}

/* The default, and those of the configs whose families serve the problem, that are allowed and
 * useful. */
static redtune_status list_points(const redtune_problem *problem, const char *const *configs,
                                  size_t config_count, rdt_point *points, size_t *count) {
    const rdt_case at = {problem, &gpu.context->facts};
    redtune_status status = rdt_rules_default(shop.codegen, at, &points[0], &err);
    *count = 1;
    for (size_t i = 0; !status && i < config_count && *count < POINTS_MAX; i++) {
        rdt_point point;
        redtune_error refusal;
        bool useful = false;
        if (rdt_rules_find(shop.codegen, at, NULL, configs[i], &point, &refusal) ||
            rdt_rules_check(shop.codegen, at, &point, &refusal))
            continue;
        status = rdt_rules_is_point(shop.codegen, at, RDT_SCOPE_USEFUL, &point, &useful, &err);
        if (useful && is_new(points, *count, &point)) points[(*count)++] = point;
    }
    return status;
}

static redtune_status time_whole(redtune_problem problem, double floor_ns, double *whole_ns) {
    problem =
        PROBLEM(problem.op, problem.dtype, problem.result, .count = rdt_problem_elements(&problem));
    redtune_status status = rdt_problem_resolve(&problem, &problem, &err);
    return status ? status : time_point(&problem, NULL, floor_ns, whole_ns);
}

static redtune_status time_problem(const redtune_problem *problem, const char *name,
                                   const char *const *configs, size_t config_count) {
    const double bytes =
        (double)rdt_problem_elements(problem) * (double)redtune_dtype_bytes(problem->dtype) +
        (double)rdt_problem_results(problem) * (double)redtune_dtype_bytes(problem->result);
    const double floor_ns = call_ns + bytes / bytes_per_ns;
    rdt_point points[POINTS_MAX];
    double ns[POINTS_MAX] = {0}, whole_ns = 0;
    size_t count = 0, best = 0;
    char text[RDT_POINT_TEXT_BYTES];
    redtune_status status = list_points(problem, configs, config_count, points, &count);
    if (!status) status = time_whole(*problem, floor_ns, &whole_ns);
    for (size_t i = 0; !status && i < count; i++) {
        status = time_point(problem, &points[i], floor_ns, &ns[i]);
        if (!status && ns[i] < ns[best]) best = i;
    }
    if (status) return status;
    rdt_point_format(rdt_codegen_spaces(shop.codegen), &points[best], text);
    printf("%s\t%.2f\t%.3f\t%.2f\t%.3f\t%.2f\t%.2f\t%s\n", name, ns[0] / 1e3, ns[0] / floor_ns,
           ns[best] / 1e3, ns[best] / floor_ns, floor_ns / 1e3, whole_ns / 1e3, text);
    for (size_t i = 0; i < count; i++) {
        rdt_point_format(rdt_codegen_spaces(shop.codegen), &points[i], text);
        printf("#\t%s\t%.2f\t%s\n", name, ns[i] / 1e3, text);
    }
    fflush(stdout);
    return REDTUNE_OK;
}

/* ---- all ------------------------------------------------------------------------------------- */

static redtune_status time_all(const char *const *configs, size_t config_count) {
    static const redtune_dtype dtypes[] = {REDTUNE_F32, REDTUNE_F16};
    redtune_status status = REDTUNE_OK;
    puts("dtype\taxis\trows\tcolumns\tdefault_us\tof_floor\tbest_us\tof_floor\tfloor_us\twhole_us"
         "\tbest");
    for (int d = 0; d < 2; d++)
        for (int outer = 0; outer < 2; outer++)
            for (size_t i = 0; !status && i < sizeof shapes / sizeof *shapes; i++) {
                const uint64_t rows = shapes[i].rows, columns = shapes[i].columns;
                redtune_problem problem =
                    PROBLEM(.op = REDTUNE_SUM, .dtype = dtypes[d], .count = outer ? rows : columns,
                            .outer = outer ? 1 : rows, .inner = outer ? columns : 1);
                char name[64];
                if (rows * columns > elements_max) continue;
                snprintf(name, sizeof name, "%s\t%s\t%llu\t%llu", redtune_dtype_name(dtypes[d]),
                         outer ? "outer" : "inner", (unsigned long long)rows,
                         (unsigned long long)columns);
                status = rdt_problem_resolve(&problem, &problem, &err);
                if (!status) status = time_problem(&problem, name, configs, config_count);
            }
    return status;
}

int main(int argc, char **argv) {
    const char *const *configs = argc > 1 ? (const char *const *)(argv + 1) : usual;
    const size_t count = argc > 1 ? (size_t)argc - 1 : sizeof usual / sizeof *usual;
    const turns_sizes size = {(size_t)1 << 30, (size_t)1 << 28, (uint64_t)1 << 26};
    redtune_status status = device_open(&gpu, &err);
    if (status) {
        fprintf(stderr, "no GPU: %s\n", err.message);
        return 77;
    }
    if (device_is_simulated(&gpu)) elements_max = 1 << 15; /* to see that all of it runs */
    status = workshop_open(&gpu, &shop, &err);
    if (!status) status = turns_open(&shop, size, &race, &err);
    if (!status) status = time_all(configs, count);
    if (status) fprintf(stderr, "axis_speed: %s\n", err.message);
    turns_close(&race);
    workshop_close(&shop);
    device_close(&gpu);
    return status ? 1 : 0;
}
