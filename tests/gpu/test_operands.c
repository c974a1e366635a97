/* Facts about what kernels take beside an input and an output: second inputs at any alignment,
 * second results, parameters, results to go on from, counts on the GPU, and accumulators of all
 * sizes. Each family renders the ops of fixtures/operands, which a plain loop of the host computes
 * here. What lies around the elements of either input would show in every result. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"
#include "draw.h"
#include "operand_ops.h"
#include "shaped.h"
#include "subject.h"

enum {
    ROOM = 70000, /* elements */
    OFFSET_MAX = 17,
    RESULTS_MAX = 300,
    GUARD_BYTES = 64,
    POISON = 0xa5,
    SHAPES_PER_KERNEL = 4
};

static redtune_error err;
static device gpu;
static workshop shop;

/* ---- inputs and outputs ---------------------------------------------------------------------- */

typedef struct shape {
    rdt_extents extents;
    uint64_t offset[2]; /* elements before the first one of each input */
    uint64_t count;     /* of a result, as the GPU is told; or that of the extents */
    bool goes_on;       /* from HELD and HELD_SECOND */
    bool on_gpu;        /* the parameters lie there */
} shape;

enum { HELD = 3, HELD_SECOND = 5 };

/* A kernel under test, and its op's number here. */
typedef struct trial {
    subject self;
    int op;
    redtune_dtype result[2];
    double values[2][ROOM];                /* the elements of each input, as they are */
    rdt_buffer input[2], output[2], given; /* given: the count, then the scalars */
} trial;

static uint64_t place_of(const rdt_extents *at, uint64_t r) {
    return r / at->inner * at->outer_step + r % at->inner;
}

static uint64_t span_of(const rdt_extents *at) {
    return at->count ? place_of(at, at->outer * at->inner - 1) + (at->count - 1) * at->step + 1 : 0;
}

static redtune_value stored(redtune_dtype dtype, double real) {
    return rdt_scalar_is_float(dtype) ? rdt_scalar_from_real(dtype, real)
                                      : rdt_scalar_from_bits(dtype, (uint64_t)(int64_t)real);
}

/* Fills one input with what would show, and its elements up to the count with small numbers. The
 * last one ends where the buffer does. */
static redtune_status fill_input(trial *all, int which, const shape *at) {
    static char bytes[ROOM * 8];
    const redtune_dtype dtype = all->self.problem.dtype;
    const size_t size = redtune_dtype_bytes(dtype);
    const bool has_sign = dtype != REDTUNE_U8, nan = ops[all->op].nan && !draw(3);
    double *values = all->values[which];
    const uint64_t count = at->offset[which] + span_of(&at->extents);
    const double bad = rdt_scalar_is_float(dtype) ? (double)NAN : has_sign ? -100 : 200;
    for (uint64_t i = 0; i < count; i++)
        values[i] = !rdt_scalar_is_float(dtype) && !ops[all->op].is_signed && i % 2 ? 100 : bad;
    for (uint64_t r = 0; r < at->extents.outer * at->extents.inner; r++)
        for (uint64_t e = 0; e < at->count; e++) {
            const uint64_t i = at->offset[which] + place_of(&at->extents, r) + e * at->extents.step;
            values[i] = (double)draw(16) - (has_sign ? 8 : 0);
            if (nan && rdt_scalar_is_float(dtype) && !draw(400)) values[i] = (double)NAN;
        }
    for (uint64_t i = 0; i < count; i++) {
        const redtune_value value = stored(dtype, values[i]);
        memcpy(bytes + i * size, value.bytes, size);
    }
    rdt_buffer_destroy(&all->input[which]);
    redtune_status status =
        rdt_buffer_create(gpu.driver, count ? count * size : 1, &all->input[which], &err);
    return status ? status
                  : rdt_buffer_write(gpu.driver, all->input[which].address, bytes, count * size,
                                     gpu.stream, &err);
}

static redtune_status fill_outputs(trial *all, const shape *at) {
    static unsigned char bytes[RESULTS_MAX * 8 + GUARD_BYTES];
    redtune_status status = REDTUNE_OK;
    for (int k = 0; !status && k < ops[all->op].outputs; k++) {
        const size_t size = redtune_dtype_bytes(all->result[k]);
        const redtune_value held = stored(all->result[k], k ? HELD_SECOND : HELD);
        memset(bytes, POISON, sizeof bytes);
        for (uint64_t r = 0; at->goes_on && r < at->extents.outer * at->extents.inner; r++)
            memcpy(bytes + r * size, held.bytes, size);
        status = rdt_buffer_write(gpu.driver, all->output[k].address, bytes, sizeof bytes,
                                  gpu.stream, &err);
    }
    return status;
}

static rdt_operands operands_of(const trial *all, const shape *at) {
    const size_t size = all->self.element_bytes;
    rdt_operands operands = {
        .input = all->input[0].address + at->offset[0] * size,
        .extents = at->extents,
        .output = all->output[0].address,
        .scratch = all->self.scratch.address,
        .given = {.input = all->input[1].address + at->offset[1] * size,
                  .output = all->output[1].address,
                  .scalar = {scalars[0], scalars[1]},
                  .resumes = at->goes_on},
    };
    if (at->on_gpu) {
        operands.given.scalars = all->given.address + sizeof at->count;
        operands.given.scalar[0] = operands.given.scalar[1] = 1000;
    }
    if (all->self.problem.uses & REDTUNE_USE_DEVICE_COUNT)
        operands.given.count = all->given.address;
    return operands;
}

/* ---- holding results against the loop -------------------------------------------------------- */

static void gather(const trial *all, const shape *at, uint64_t r, elements *out) {
    out->count = at->count;
    for (uint64_t e = 0; e < at->count; e++) {
        const uint64_t i = place_of(&at->extents, r) + e * at->extents.step;
        out->x[e] = all->values[0][at->offset[0] + i];
        out->y[e] = ops[all->op].inputs > 1 ? all->values[1][at->offset[1] + i] : 0;
    }
}

/* All but quotients are exact. */
static bool is_close(redtune_dtype dtype, double got, double wanted) {
    if (isnan(wanted) || got == wanted) return isnan(got) == isnan(wanted);
    return rdt_scalar_is_float(dtype) &&
           fabs(got - wanted) <= ldexp(fabs(wanted), dtype == REDTUNE_F64 ? -48 : -22);
}

static bool check_result(const trial *all, const shape *at, uint64_t r, const double got[2]) {
    static elements of;
    double wanted[2] = {at->goes_on ? HELD : 0, at->goes_on ? HELD_SECOND : 0};
    gather(all, at, r, &of);
    ops[all->op].compute(all->self.problem.dtype, &of, wanted);
    for (int k = 0; k < ops[all->op].outputs; k++)
        if (!check_that(is_close(all->result[k], got[k], wanted[k]), __FILE__, __LINE__,
                        "%s, uses %d: result %llu[%d] of %llu x %llu x %llu, steps %llu and %llu, "
                        "offsets %llu and %llu: it is %.17g and should be %.17g",
                        all->self.name, (int)all->self.problem.uses, (unsigned long long)r, k,
                        (unsigned long long)at->extents.outer, (unsigned long long)at->count,
                        (unsigned long long)at->extents.inner,
                        (unsigned long long)at->extents.outer_step,
                        (unsigned long long)at->extents.step, (unsigned long long)at->offset[0],
                        (unsigned long long)at->offset[1], got[k], wanted[k]))
            return false;
    return true;
}

static void check_results(const trial *all, const shape *at) {
    static unsigned char bytes[2][RESULTS_MAX * 8 + GUARD_BYTES];
    const uint64_t count = at->extents.outer * at->extents.inner;
    for (int k = 0; k < ops[all->op].outputs; k++) {
        const size_t end = count * redtune_dtype_bytes(all->result[k]);
        CHECK_OK(rdt_buffer_read(gpu.driver, bytes[k], all->output[k].address, end + GUARD_BYTES,
                                 gpu.stream, &err),
                 err);
        for (size_t i = end; i < end + GUARD_BYTES; i++) CHECK_INT(bytes[k][i], POISON);
    }
    for (uint64_t r = 0; r < count; r++) {
        double got[2] = {0, 0};
        for (int k = 0; k < ops[all->op].outputs; k++)
            got[k] = rdt_scalar_real(all->result[k], bytes[k], r);
        if (!check_result(all, at, r, got)) return;
    }
}

static void check_shape(trial *all, const shape *at) {
    const struct {
        uint64_t count;
        double scalar[RDT_GIVEN_SCALARS];
    } given = {at->count, {scalars[0], scalars[1]}};
    for (int k = 0; k < ops[all->op].inputs; k++) CHECK_OK(fill_input(all, k, at), err);
    CHECK_OK(fill_outputs(all, at), err);
    CHECK_OK(
        rdt_buffer_write(gpu.driver, all->given.address, &given, sizeof given, gpu.stream, &err),
        err);
    const rdt_operands operands = operands_of(all, at);
    CHECK_OK(rdt_kernel_start(all->self.kernel, &all->self.launch, &operands, gpu.stream, &err),
             err);
    check_results(all, at);
}

/* ---- the families ---------------------------------------------------------------------------- */

/* A kernel has the text of all elements that a thread has in flight. */
static bool is_long(const rdt_space *space, const rdt_point *point) {
    int64_t elements = 1;
    for (int i = 0; i < space->param_count; i++)
        if (strstr("vec unroll strips", space->param[i].name)) elements *= point->value[i];
    return elements > 16;
}

/* Any config that the family allows, but for those that take long to compile. */
static rdt_point draw_point(const redtune_problem *problem, const char *name) {
    rdt_point point = {.family = 0};
    const rdt_spaces *spaces = rdt_codegen_spaces(shop.codegen);
    const rdt_case at = {problem, &gpu.context->facts};
    redtune_status status = rdt_space_find_family(spaces, name, &point.family, &err);
    const rdt_space *space = rdt_point_space(spaces, &point);
    bool found = status != REDTUNE_OK;
    while (!found) {
        for (int i = 0; i < space->param_count; i++) {
            const rdt_param *param = &space->param[i];
            point.value[i] = param->value[draw((uint64_t)param->value_count)];
        }
        status = rdt_rules_check(shop.codegen, at, &point, &err);
        found = status != REDTUNE_UNSUPPORTED && !is_long(space, &point);
    }
    check_that(!status, __FILE__, __LINE__, "%s", status ? err.message : "");
    return point;
}

/* A problem that the family serves. Its kernels take any of the same layout. */
typedef struct family_shape {
    const char *name;
    uint64_t count, outer, inner;
} family_shape;

static const family_shape *shape_of(const char *family) {
    static const family_shape shapes[] = {
        {"block", 1 << 16, 0, 0}, {"rows", 1 << 16, 2, 0},     {"staged", 3, 2, 0},
        {"short", 2, 2, 0},       {"columns", 1 << 16, 2, 40}, {"skewed", 1 << 16, 2, 257},
        {"thin", 3, 2, 1 << 17},
    };
    const family_shape *of = shapes;
    while (strcmp(of->name, family)) of++;
    return of;
}

static shape draw_shape(const char *family, const trial *all) {
    static const uint64_t counts[] = {0, 1, 2, 33, 64, 255, 1025, COUNTS_MAX};
    shape out = {.extents = {counts[draw(8)], 1, 1, 0, 1},
                 .offset = {draw(OFFSET_MAX), draw(OFFSET_MAX)},
                 .on_gpu = draw(2)};
    const bool packed = !strcmp(family, "staged") || !strcmp(family, "short");
    const family_shape *of = shape_of(family);
    if (of->count < 4) out.extents.count = draw(4);
    if (of->outer) out.extents.outer = 1 + draw(packed ? RESULTS_MAX : of->inner ? 3 : 40);
    if (of->inner) out.extents.inner = 1 + draw(of->count < 4 ? RESULTS_MAX / 3 : 40);
    out.extents.step = out.extents.inner + (out.extents.inner > 1 ? draw(2) * draw(9) : 0);
    out.extents.outer_step =
        out.extents.count * out.extents.step + (packed ? 0 : draw(2) * draw(9));
    while (span_of(&out.extents) + OFFSET_MAX > ROOM) out.extents.count /= 2;
    if (!draw(3)) out.offset[1] = out.offset[0];
    out.count = out.extents.count;
    if (all->self.problem.uses & REDTUNE_USE_DEVICE_COUNT) out.count -= draw(out.count + 1) / 2;
    if (all->self.problem.uses & REDTUNE_USE_ACCUMULATE) out.goes_on = draw(4) > 0;
    return out;
}

static redtune_status open_trial(trial *all, int op, const redtune_problem *problem,
                                 const rdt_point *point) {
    all->op = op;
    redtune_status status = subject_open(&shop, problem, point, &all->self, &err);
    all->result[0] = problem->result;
    all->result[1] = rdt_problem_second(problem);
    for (int k = 0; !status && k < 2; k++)
        status =
            rdt_buffer_create(gpu.driver, RESULTS_MAX * 8 + GUARD_BYTES, &all->output[k], &err);
    return status ? status : rdt_buffer_create(gpu.driver, 64, &all->given, &err);
}

static void close_trial(trial *all) {
    for (int k = 0; k < 2; k++) {
        rdt_buffer_destroy(&all->input[k]);
        rdt_buffer_destroy(&all->output[k]);
    }
    rdt_buffer_destroy(&all->given);
    subject_close(&all->self);
}

static void check_kernel(const char *family, int op, redtune_dtype dtype, uint64_t uses) {
    static trial all;
    const family_shape *of = shape_of(family);
    redtune_problem problem = PROBLEM(.dtype = dtype, .count = of->count, .outer = of->outer,
                                      .inner = of->inner, .uses = uses);
    CHECK_OK(redtune_op_find(ops[op].name, &problem.op, &err), err);
    CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
    const rdt_point point = draw_point(&problem, family);
    if (check_state.failed) return;
    memset(all.input, 0, sizeof all.input);
    CHECK_OK(open_trial(&all, op, &problem, &point), err);
    for (int i = 0; i < SHAPES_PER_KERNEL && !check_state.failed; i++) {
        const shape at = draw_shape(family, &all);
        check_shape(&all, &at);
    }
    CHECK_OK(subject_check_scratch(&all.self, &err), err);
    close_trial(&all);
}

/* On a simulated device half of the dtypes of each op. */
static void check_family(const char *family, int kernels) {
    size_t tried = 0;
    const bool simulated = device_is_simulated(&gpu);
    for (int op = 0; op < OPS; op++)
        for (int i = 0; i < DTYPES && !check_state.failed; i++) {
            if (ops[op].is_signed && dtypes[i] == REDTUNE_U8) continue;
            if (simulated && (op + i) % 2) continue;
            for (int k = 0; k < kernels && !check_state.failed; k++) {
                uint64_t uses = REDTUNE_USE_DEVICE_COUNT * !draw(3);
                if (ops[op].resumes) uses |= REDTUNE_USE_ACCUMULATE * draw(2);
                check_kernel(family, op, dtypes[i], uses);
                tried++;
            }
        }
    printf("%s: %zu kernels\n", check_state.fact, tried);
}

FACT(blocks_take_all_operands) { check_family("block", 2); }
FACT(rows_take_all_operands) { check_family("rows", 1); }
FACT(columns_take_all_operands) { check_family("columns", 1); }
FACT(staged_rows_take_all_operands) { check_family("staged", 1); }
FACT(short_rows_take_all_operands) { check_family("short", 1); }
FACT(skewed_columns_take_all_operands) { check_family("skewed", 1); }
FACT(thin_columns_take_all_operands) { check_family("thin", 1); }

/* The folder of the fixture's ops; where REDTUNE_TEMPLATES names templates with a fault, a folder
 * of those with these ops. */
static bool take_ops(void) {
    static char folder[] = "/tmp/redtune-operands-XXXXXX";
    char command[1024];
    const char *faulty = getenv("REDTUNE_TEMPLATES");
    if (!faulty) return !setenv("REDTUNE_TEMPLATES", RDT_TEST_OPERANDS, 1);
    if (!mkdtemp(folder)) return false;
    snprintf(command, sizeof command, "cp -R '%s/.' %s && cp '%s'/*.lua %s", faulty, folder,
             RDT_TEST_OPERANDS, folder);
    return !system(command) && !setenv("REDTUNE_TEMPLATES", folder, 1);
}

/* Nothing reads the folder from now on. */
static void leave_ops(void) {
    char command[128];
    const char *folder = getenv("REDTUNE_TEMPLATES");
    if (strncmp(folder, "/tmp/redtune-operands-", 22) != 0) return;
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command)) perror(command);
}

int main(int argc, char **argv) {
    if (!take_ops()) return 1;
    const int rc = subject_run(&gpu, &shop, argc, argv);
    leave_ops();
    return rc;
}
