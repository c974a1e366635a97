/* Bake: chooses and compiles ahead what programs will run, into the bytes of a kernel file.
 *
 * For each target, a GPU model or an architecture, the choice is the runtime's own
 * (records/select.h) and the kernel comes from the builder, so that a plan finds what it would have
 * made itself. What was chosen goes into a table for each class, which is written at the end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "api/choosing/baked.h"
#include "api/records/current.h"
#include "api/records/target.h"
#include "api/records/winners.h"
#include "base/array.h"
#include "base/reserved.h"
#include "cache/kernels.h"
#include "codegen/user_ops.h"
#include "redtune/tools.h"

enum { TARGETS_MAX = 32 };

/* What was chosen for a class. */
typedef struct class_table {
    char key[RDT_HASH_TEXT_BYTES];
    rdt_baked *entry;
    size_t count, capacity;
} class_table;

typedef struct bake_run {
    const redtune_baking *wanted;
    rdt_builder *builder;
    rdt_layers layers;
    rdt_facts target[TARGETS_MAX];
    size_t target_count;
    class_table *table;
    size_t table_count, table_capacity;
    rdt_kernels *file;
} bake_run;

/* ---- targets --------------------------------------------------------------------------------- */

static redtune_status add_target(bake_run *self, const rdt_facts *facts, redtune_error *err) {
    if (self->target_count == TARGETS_MAX)
        return rdt_fail(err, REDTUNE_INVALID, 0,
                        "cannot bake for more than %d GPUs and architectures at once", TARGETS_MAX);
    self->target[self->target_count++] = *facts;
    return REDTUNE_OK;
}

static redtune_status add_gpu_target(bake_run *self, const char *name, redtune_error *err) {
    const rdt_target_query about = {.verb = "bake", .gpu = name, .single = true};
    rdt_target target;
    redtune_status status = rdt_target_find(&about, &self->layers, &target, err);
    if (status) return status;
    status = target.found ? add_target(self, &target.facts, err)
                          : rdt_target_fail("bake", &self->layers, err);
    rdt_target_free(&target);
    return status;
}

static redtune_status add_gpu_targets(bake_run *self, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (const char *list = self->wanted->gpus; list && *list && !status;) {
        char name[96];
        const size_t length = strcspn(list, ",");
        snprintf(name, sizeof name, "%.*s", (int)(length < 95 ? length : 95), list);
        if (length) status = add_gpu_target(self, name, err);
        list += length + (list[length] == ',');
    }
    return status;
}

static redtune_status list_bake_targets(bake_run *self, redtune_error *err) {
    static const int usual[] = {80, 86, 89, 90, 100, 120};
    const redtune_baking *wanted = self->wanted;
    const bool all = !wanted->arch_count && !self->wanted->gpus;
    const int *archs = all ? usual : wanted->archs;
    const size_t count = all ? sizeof usual / sizeof *usual : wanted->arch_count;
    redtune_status status = add_gpu_targets(self, err);
    for (size_t i = 0; !status && i < count; i++) {
        const rdt_facts facts = rdt_facts_of_arch(archs[i]);
        status = archs[i] < 75 || archs[i] > 999
                     ? rdt_fail(err, REDTUNE_INVALID, 0,
                                "cannot bake for architecture %d: it is 75 or more, such as 90 for "
                                "compute capability 9.0",
                                archs[i])
                     : add_target(self, &facts, err);
    }
    return status;
}

/* ---- entries --------------------------------------------------------------------------------- */

static redtune_status find_table(bake_run *self, const rdt_need *need, class_table **out,
                                 redtune_error *err) {
    char key[RDT_HASH_TEXT_BYTES];
    size_t i = 0;
    rdt_baked_class(need, key);
    while (i < self->table_count && strcmp(self->table[i].key, key)) i++;
    if (i == self->table_count) {
        redtune_status status = RDT_ARRAY_RESERVE(self->table, self->table_capacity, i + 1, err);
        if (status) return status;
        self->table[i] = (class_table){.entry = NULL};
        memcpy(self->table[i].key, key, sizeof key);
        self->table_count++;
    }
    *out = &self->table[i];
    return REDTUNE_OK;
}

static bool is_baked(const class_table *table, const rdt_facts *gpu, const rdt_need *need,
                     bool usual) {
    for (size_t i = 0; i < table->count; i++) {
        const rdt_baked *entry = &table->entry[i];
        if (entry->arch != 10 * gpu->major + gpu->minor || (entry->usual != 0) != usual) continue;
        if (usual ||
            (rdt_facts_same(&entry->gpu, gpu) && rdt_problem_same(&entry->problem, need->problem)))
            return true;
    }
    return false;
}

/* Axes beyond those of the problem are stored, too, and are anything in a resolved one. */
static void put_problem(redtune_problem *to, const redtune_problem *from) {
    memset(to, 0, sizeof *to);
    rdt_problem_copy(to, from);
    to->config = NULL;
}

/* Fills what is fixed by the choice, except the kernel. */
static redtune_status describe_choice(bake_run *self, rdt_case at, const rdt_choice *choice,
                                      rdt_yield yield, rdt_baked *out, redtune_error *err) {
    rdt_executable chosen = {.kernel = NULL};
    rdt_codegen *codegen = NULL;
    redtune_status status = rdt_builder_borrow(self->builder, &codegen, err);
    if (status) return status;
    rdt_executable_describe(&chosen, rdt_codegen_spaces(codegen), at.problem, choice);
    status = rdt_rules_launch(codegen, at, &choice->point, &out->launch, err);
    rdt_builder_give_back(self->builder);
    out->launch.yield = yield;
    out->arch = 10 * at.facts->major + at.facts->minor;
    out->gpu = *at.facts;
    put_problem(&out->problem, at.problem);
    out->info = chosen.info;
    put_problem(&out->info.problem, &chosen.info.problem);
    put_problem(&out->measured, &chosen.measured);
    memcpy(out->text, chosen.text, sizeof out->text);
    return status;
}

static redtune_status tell_baked(const bake_run *self, const rdt_baked *entry, size_t bytes,
                                 redtune_error *err) {
    const redtune_baked told = {.problem = entry->problem,
                                .arch = entry->arch,
                                .usual = entry->usual,
                                .gpu = entry->gpu.name,
                                .family = entry->info.family,
                                .config = entry->info.config,
                                .bytes = bytes};
    if (!self->wanted->baked || !self->wanted->baked(self->wanted->user, &told)) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_INTERRUPTED, 0, "cannot bake: it was stopped");
}

/* What lies between members is stored, too, and is anything after an assignment. */
static void clear_padding(rdt_baked *entry) {
#if defined(__has_builtin)
#if __has_builtin(__builtin_clear_padding)
    __builtin_clear_padding(entry);
#endif
#endif
    (void)entry;
}

static redtune_status put_baked(bake_run *self, const rdt_need *need, const rdt_facts *gpu,
                                const rdt_choice *choice, bool usual, redtune_error *err) {
    const rdt_case at = {need->problem, gpu};
    class_table *table = NULL;
    rdt_image image = {0};
    rdt_baked entry;
    memset(&entry, 0, sizeof entry);
    redtune_status status = find_table(self, need, &table, err);
    if (!status) status = describe_choice(self, at, choice, need->yield, &entry, err);
    if (!status)
        status = rdt_builder_bake(self->builder, at, &choice->point, need->yield,
                                  self->wanted->ptx != 0, entry.kernel, &image, err);
    if (status) return status;
    entry.ptx = image.ptx;
    entry.usual = usual;
    clear_padding(&entry);
    status = rdt_kernels_put(self->file, entry.kernel, image.data, image.bytes, image.ptx, err);
    free(image.data);
    if (!status) status = RDT_ARRAY_RESERVE(table->entry, table->capacity, table->count + 1, err);
    if (status) return status;
    table->entry[table->count++] = entry;
    return tell_baked(self, &entry, image.bytes, err);
}

/* ---- what is baked --------------------------------------------------------------------------- */

/* The choice is made with the templates borrowed, the kernel without. */
typedef redtune_status choose_fn(rdt_codegen *codegen, rdt_case at, rdt_point *out,
                                 redtune_error *err);

static redtune_status add_default(bake_run *self, const rdt_need *need, const rdt_facts *gpu,
                                  choose_fn *choose, bool usual, redtune_error *err) {
    rdt_choice choice = {.match = need->scattered ? REDTUNE_MATCH_PINNED : REDTUNE_MATCH_DEFAULT};
    rdt_codegen *codegen = NULL;
    class_table *table = NULL;
    redtune_status status = find_table(self, need, &table, err);
    if (status || is_baked(table, gpu, need, usual)) return status;
    status = rdt_builder_borrow(self->builder, &codegen, err);
    if (status) return status;
    status = choose(codegen, (rdt_case){need->problem, gpu}, &choice.point, err);
    rdt_builder_give_back(self->builder);
    return status ? status : put_baked(self, need, gpu, &choice, usual, err);
}

/* A problem of the class, of middling extents: its default stands for the class. */
static redtune_problem typical_of(const redtune_problem *problem) {
    enum { MANY = 4096 };
    const redtune_op op = problem->op;
    const redtune_dtype dtype = problem->dtype;
    redtune_problem typical = redtune_problem_whole(op, dtype, (uint64_t)MANY * MANY);
    switch (rdt_problem_layout(problem)) {
    case RDT_LAYOUT_WHOLE: break;
    case RDT_LAYOUT_KEYED:
    case RDT_LAYOUT_STRIDED: rdt_problem_copy(&typical, problem); break;
    case RDT_LAYOUT_ROWS: typical = redtune_problem_rows(op, dtype, MANY, MANY); break;
    case RDT_LAYOUT_COLUMNS: typical = redtune_problem_columns(op, dtype, MANY, MANY); break;
    case RDT_LAYOUT_RAGGED:
    case RDT_LAYOUT_LIST: typical = redtune_problem_segments(op, dtype, MANY, MANY); break;
    }
    typical.result = problem->result;
    typical.order = problem->order;
    typical.accuracy = problem->accuracy;
    typical.uses = problem->uses;
    typical.segmented = problem->segmented;
    return typical;
}

/* The default of the problem's class on the GPU's architecture, and that of segments which it
 * leaves. *typical_itself: the problem is the one that it is made for. */
static redtune_status add_usual(bake_run *self, const redtune_problem *problem,
                                const rdt_facts *gpu, bool *typical_itself, redtune_error *err) {
    const rdt_facts any = rdt_facts_of_arch(10 * gpu->major + gpu->minor);
    const redtune_problem wanted = typical_of(problem);
    redtune_problem typical;
    redtune_status status = rdt_problem_resolve(&wanted, &typical, err);
    if (!status) *typical_itself = rdt_problem_same(&typical, problem);
    const rdt_need whole = {&typical, RDT_YIELD_RESULT, .scattered = false};
    const rdt_need rest = {&typical, RDT_YIELD_RESULT, .scattered = true};
    if (!status) status = add_default(self, &whole, &any, rdt_rules_default, true, err);
    if (!status && problem->segmented && problem->order == REDTUNE_ORDER_FREE)
        status = add_default(self, &rest, &any, rdt_rules_scattered, true, err);
    return status;
}

/* What a program would run there for the very problem. */
static redtune_status bake_winner(bake_run *self, const redtune_problem *problem,
                                  const rdt_facts *gpu, rdt_winners *winners, redtune_error *err) {
    const rdt_need need = {problem, RDT_YIELD_RESULT, .scattered = false};
    rdt_choice choice;
    rdt_codegen *codegen = NULL;
    class_table *table = NULL;
    redtune_status status = find_table(self, &need, &table, err);
    if (status || is_baked(table, gpu, &need, false)) return status;
    status = rdt_builder_borrow(self->builder, &codegen, err);
    if (status) return status;
    const rdt_winners_source source = {.layers = &self->layers, .codegen = codegen};
    status = rdt_select_from(winners, &source, (rdt_case){problem, gpu}, &choice, err);
    rdt_builder_give_back(self->builder);
    return status ? status : put_baked(self, &need, gpu, &choice, false, err);
}

static redtune_status bake_problem(bake_run *self, const redtune_problem *problem,
                                   const rdt_facts *gpu, rdt_winners *winners, redtune_error *err) {
    const rdt_need need = {problem, RDT_YIELD_RESULT, .scattered = false};
    if (rdt_user_ops_find(problem->op))
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot bake op %s: it is in a file of yours, which may change; programs "
                        "compile such ops",
                        redtune_op_name(problem->op));
    bool usual = false;
    redtune_status status = rdt_problem_keyed_refuse(problem, "bake", err);
    if (!status) status = add_usual(self, problem, gpu, &usual, err);
    if (status || (usual && !gpu->name[0])) return status;
    return gpu->name[0] ? bake_winner(self, problem, gpu, winners, err)
                        : add_default(self, &need, gpu, rdt_rules_default, false, err);
}

/* ---- what is shipped ------------------------------------------------------------------------- */

static redtune_status keep_shipped(void *user, const rdt_standing *standing, redtune_error *err) {
    return rdt_rows_add(user, standing->winner, err);
}

/* The winners of the system's databases; user's ops, which are absent here, are none. */
static redtune_status read_shipped(bake_run *self, rdt_rows *out, redtune_error *err) {
    const rdt_layers_wanted wanted = {.cache = RDT_CACHE_COLD, .contenders = true};
    rdt_layers system = {.lenient = true};
    rdt_rows rows = {0};
    char templates[RDT_HASH_TEXT_BYTES];
    for (int i = self->layers.own; i < self->layers.count; i++)
        system.path[system.count++] = self->layers.path[i];
    redtune_status status = rdt_layers_read(&system, &wanted, &rows, err);
    if (!status) status = rdt_codegen_version(templates, err);
    if (!status) status = rdt_current_mark_by(templates, &rows, err);
    if (!status) status = rdt_rows_rank(&rows, keep_shipped, out, err);
    rdt_rows_free(&rows);
    return status;
}

static redtune_status bake_shipped(bake_run *self, const rdt_facts *gpu, const rdt_rows *rows,
                                   rdt_winners *winners, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < rows->count; i++) {
        const rdt_row *row = &rows->row[i];
        const redtune_problem *problem = &row->trial.problem;
        if (row->trial.cache != RDT_CACHE_COLD || rdt_op_find(problem->op)->absent) continue;
        if (gpu->name[0] && !rdt_facts_same_model(&row->gpu, gpu)) continue;
        bool usual;
        status = add_usual(self, problem, gpu, &usual, err);
        if (!status && gpu->name[0]) status = bake_winner(self, problem, gpu, winners, err);
    }
    return status;
}

/* ---- the file -------------------------------------------------------------------------------- */

static void fill_label(const bake_run *self, int64_t kernels, rdt_system_label *out) {
    rdt_text gpus = {0};
    int archs = 0;
    memset(out, 0, sizeof *out);
    rdt_text_copy(out->build, sizeof out->build, rdt_codegen_build());
    out->ptx = self->wanted->ptx != 0;
    out->classes = (int32_t)self->table_count;
    out->kernels = (int32_t)kernels;
    for (size_t i = 0; i < self->target_count; i++) {
        const rdt_facts *gpu = &self->target[i];
        const int arch = 10 * gpu->major + gpu->minor;
        int at = 0;
        if (gpu->name[0]) rdt_text_addf(&gpus, "%s%s", gpus.length ? ", " : "", gpu->name);
        while (at < archs && out->arch[at] != arch) at++;
        if (at == archs && archs < RDT_SYSTEM_ARCH_MAX) out->arch[archs++] = arch;
    }
    rdt_text_copy(out->gpus, sizeof out->gpus, gpus.data ? gpus.data : "");
    rdt_text_free(&gpus);
}

static redtune_status write_kernel_file(bake_run *self, void **data, size_t *bytes,
                                        redtune_error *err) {
    rdt_system_label label;
    int64_t kernels = 0, kernel_bytes = 0;
    redtune_status status = rdt_kernels_census(self->file, &kernels, &kernel_bytes, err);
    fill_label(self, kernels, &label);
    if (!status)
        status = rdt_kernels_put(self->file, RDT_SYSTEM_LABEL, &label, sizeof label, false, err);
    for (size_t i = 0; !status && i < self->table_count; i++) {
        const class_table *table = &self->table[i];
        status = rdt_kernels_put(self->file, table->key, table->entry,
                                 table->count * sizeof *table->entry, false, err);
    }
    return status ? status : rdt_kernels_write_file(self->file, data, bytes, err);
}

static redtune_status bake_target(bake_run *self, const rdt_facts *gpu, const rdt_rows *shipped,
                                  redtune_error *err) {
    rdt_winners winners = {0};
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < self->wanted->problem_count; i++) {
        redtune_problem problem;
        status = rdt_problem_resolve(&self->wanted->problems[i], &problem, err);
        if (!status) status = bake_problem(self, &problem, gpu, &winners, err);
    }
    if (!status) status = bake_shipped(self, gpu, shipped, &winners, err);
    rdt_winners_free(&winners);
    return status;
}

static redtune_status open_bake_run(bake_run *self, redtune_error *err) {
    redtune_status status = rdt_layers_list(self->wanted->database, &self->layers, err);
    if (!status) status = list_bake_targets(self, err);
    if (!status) status = rdt_builder_create(NULL, &self->builder, err);
    if (!status) status = rdt_kernels_open_blank(&self->file, err);
    return status;
}

static void close_bake_run(bake_run *self) {
    for (size_t i = 0; i < self->table_count; i++) free(self->table[i].entry);
    free(self->table);
    rdt_kernels_close(self->file);
    rdt_builder_destroy(self->builder);
    rdt_layers_free(&self->layers);
}

redtune_status redtune_bake(const redtune_baking *baking, void **data, size_t *bytes,
                            redtune_error *err) {
    bake_run self = {.wanted = baking};
    rdt_rows shipped = {0};
    if (!baking || !data || !bytes)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot bake: %s is NULL",
                        !baking ? "baking"
                        : !data ? "data"
                                : "bytes");
    redtune_status status = rdt_reserved_check(RDT_RESERVED(baking), "redtune_baking", err);
    if (status) return status;
    if (!baking->problem_count && !baking->shipped)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot bake: no problem is named");
    status = open_bake_run(&self, err);
    if (!status && baking->shipped) status = read_shipped(&self, &shipped, err);
    for (size_t i = 0; !status && i < self.target_count; i++)
        status = bake_target(&self, &self.target[i], &shipped, err);
    if (!status) status = write_kernel_file(&self, data, bytes, err);
    rdt_rows_free(&shipped);
    close_bake_run(&self);
    return status;
}
