/* redtune bake: compiles ahead what programs will run, into a kernel file. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "cli/command.h"
#include "cli/json.h"
#include "cli/message.h"
#include "cli/output.h"
#include "cli/wanted.h"
#include "redtune/tools.h"

static const redtune_op usual_ops[] = {REDTUNE_SUM};
static const redtune_dtype usual_dtypes[] = {REDTUNE_F32, REDTUNE_F16, REDTUNE_BF16};

/* ---- what is baked --------------------------------------------------------------------------- */

typedef struct listing {
    const rdt_options *options;
    redtune_problem *problems;
    size_t count;
} listing;

static void add_class(listing *self, redtune_problem problem) {
    problem.order = self->options->order;
    problem.accuracy = self->options->accuracy;
    self->problems[self->count++] = problem;
}

/* One of each of these layouts, 0: of all; the library takes the default of each class. */
enum { LAYOUTS = 4, MANY = 4096 };

static void add_layouts(listing *self, unsigned layouts, redtune_op op, redtune_dtype dtype) {
    if (!layouts || layouts & REDTUNE_LAYOUT_WHOLE)
        add_class(self, redtune_problem_whole(op, dtype, (uint64_t)MANY * MANY));
    if (!layouts || layouts & REDTUNE_LAYOUT_ROWS)
        add_class(self, redtune_problem_rows(op, dtype, MANY, MANY));
    if (!layouts || layouts & REDTUNE_LAYOUT_COLUMNS)
        add_class(self, redtune_problem_columns(op, dtype, MANY, MANY));
    if (!layouts) add_class(self, redtune_problem_segments(op, dtype, MANY, MANY));
}

/* Every op and dtype that it takes with every size, or, where none is named, with every layout. */
static redtune_status list_classes(const rdt_options *options, unsigned layouts, listing *out,
                                   redtune_error *err) {
    const size_t sizes = options->sizes.count_count;
    const size_t op_count = options->op_count ? options->op_count : 1;
    const size_t dtype_count =
        options->dtype_count ? options->dtype_count : sizeof usual_dtypes / sizeof *usual_dtypes;
    listing self = {options, NULL, 0};
    self.problems = calloc(op_count * dtype_count * (sizes + LAYOUTS), sizeof *self.problems);
    if (!self.problems)
        return rdt_message_set(err, REDTUNE_MEMORY, 0, "cannot bake: out of host memory");
    for (size_t i = 0; i < op_count * dtype_count; i++) {
        const redtune_op op = options->op_count ? options->ops[i / dtype_count] : usual_ops[0];
        const redtune_dtype *dtypes = options->dtype_count ? options->dtypes : usual_dtypes;
        const redtune_dtype dtype = dtypes[i % dtype_count];
        if (rdt_wanted_leaves_out(options, op, dtypes, dtype_count, i % dtype_count)) continue;
        for (size_t k = 0; k < sizes; k++)
            add_class(&self, redtune_problem_whole(op, dtype, options->sizes.counts[k]));
        if (!sizes) add_layouts(&self, layouts, op, dtype);
    }
    *out = self;
    return REDTUNE_OK;
}

/* ---- telling --------------------------------------------------------------------------------- */

typedef struct account {
    rdt_json *json; /* NULL: a line for each is printed */
    bool quiet;
    size_t count;
    uint64_t bytes;
} account;

static int on_baked(void *user, const redtune_baked *baked) {
    account *self = user;
    char what[RDT_SHAPE_BYTES];
    self->count++;
    self->bytes += baked->bytes;
    if (self->json) {
        rdt_json_begin(self->json, NULL, '{');
        rdt_json_count(self->json, "arch", (uint64_t)baked->arch);
        rdt_json_text(self->json, "gpu", baked->gpu);
        rdt_json_problem(self->json, &baked->problem);
        rdt_json_truth(self->json, "any_extents", baked->usual);
        rdt_json_text(self->json, "family", baked->family);
        rdt_json_text(self->json, "config", baked->config);
        rdt_json_count(self->json, "bytes", baked->bytes);
        rdt_json_end(self->json, '}');
    } else if (!self->quiet) {
        rdt_shape_describe(what, &baked->problem, true);
        printf("sm_%d%s%s  %s%s  %s:%s\n", baked->arch, *baked->gpu ? " " : "", baked->gpu, what,
               baked->usual ? " and any other" : "", baked->family, baked->config);
        fflush(stdout);
    }
    return 0;
}

static redtune_status bake(const rdt_options *options, const rdt_wanted *wanted, account *told,
                           const char *output, redtune_error *err) {
    const bool named = wanted->problem_count > 0;
    /* --shipped alone is what is shipped alone. */
    const bool classes = !named && (!options->shipped || options->op_count ||
                                    options->dtype_count || options->sizes.count_count);
    listing list = {options, NULL, 0};
    void *data = NULL;
    size_t bytes = 0;
    redtune_status status =
        classes ? list_classes(options, options->axes.count ? wanted->layouts : 0, &list, err)
                : REDTUNE_OK;
    const redtune_baking baking = {
        .problems = named ? wanted->problems : list.problems,
        .problem_count = named ? wanted->problem_count : list.count,
        .shipped = options->shipped,
        .gpus = options->gpu,
        .archs = options->archs,
        .arch_count = options->arch_count,
        .ptx = options->ptx,
        .database = options->database,
        .baked = on_baked,
        .user = told,
    };
    if (!status) status = redtune_bake(&baking, &data, &bytes, err);
    if (!status) status = rdt_output_put(output, data, bytes, err);
    redtune_free(data);
    free(list.problems);
    return status;
}

static int run_bake(const rdt_options *options) {
    const char *output = options->output ? options->output : "kernels.db";
    rdt_json json;
    account told = {.quiet = options->quiet != 0};
    rdt_wanted wanted;
    redtune_error err;
    if (output[0] == '-' && !output[1]) {
        rdt_message_print("cannot bake to standard output, where the list goes: name a file");
        return RDT_EXIT_MISUSED;
    }
    if (rdt_wanted_list(options, &wanted, &err)) return rdt_message_fail(&err);
    if (options->json) {
        json = rdt_json_open(stdout);
        told.json = &json;
        rdt_json_begin(&json, "kernels", '[');
    }
    redtune_status status = bake(options, &wanted, &told, output, &err);
    rdt_wanted_free(&wanted);
    if (options->json) {
        rdt_json_end(&json, ']');
        rdt_json_text(&json, "output", status ? "" : output);
        rdt_json_end(&json, '}');
    }
    if (status) return rdt_message_fail(&err);
    if (!options->json && !options->quiet)
        printf("%zu kernels, %.1f MiB: %s\n", told.count, (double)told.bytes / (1 << 20), output);
    return RDT_EXIT_DONE;
}

const rdt_command rdt_cmd_bake = {
    .name = "bake",
    .bit = RDT_BAKE,
    .summary = "compiles kernels ahead, for machines without a compiler; needs no GPU",
    .details =
        "The kernel file serves where /usr/share/redtune/kernels.db or REDTUNE_SYSTEM_KERNELS\n"
        "names it: there redtune needs neither NVRTC nor a place to write. It has a default for\n"
        "each op, dtype and layout on each architecture, which serves any extents; with --gpu\n"
        "also what such a GPU would run for the problems named, by the databases.\n"
        "\n"
        "For example: redtune bake --recorded runs.jsonl --gpu H200,H100 -o kernels.db\n"
        "             redtune bake --op sum,mean --dtype f32 --arch 80,90\n",
    .run = run_bake,
};
