/* Facts about verifying each dtype: a kernel whose elements are taken out of a word wrongly, as a
 * mistake in a new row of templates/dtypes.lua would have it, is found wrong. The judge is rendered
 * from the templates as they are. */
#define _POSIX_C_SOURCE 200809L
#include "subject.h"
#include "tuner/measure/local.h"

static redtune_error err;
static device gpu;
static workshop right;

/* What is done to the unpack of every row; k is the place within the word. */
static const struct fault {
    const char *name, *text;
    redtune_op op; /* one that shows it */
    bool packed;   /* only where several elements share a word */
} faults[] = {
    {"none", "unpack(w, k)", REDTUNE_PROD, false},
    {"swapped", "unpack(w, row.bytes < 4 and k ~ 1 or k)", REDTUNE_ARGMAX, true},
    {"dropped", "unpack(w, row.bytes < 4 and k & ~1 or k)", REDTUNE_PROD, true},
    {"bent",
     "(row.kind == \"unsigned\" and \"(X & ~(X & 1))\" or \"(X < 0 ? -X : X)\"):gsub(\"X\", "
     "\"(\" .. unpack(w, k):gsub(\"%%\", \"%%%%\") .. \")\")",
     REDTUNE_PROD, false},
};

/* A folder of templates with that fault; redtune has what it lacks. */
static bool make_folder(const struct fault *fault, char folder[64]) {
    char command[2048], path[96];
    snprintf(folder, 64, "/tmp/redtune-unpacking-XXXXXX");
    if (!mkdtemp(folder)) return false;
    snprintf(command, sizeof command,
             "cp '%s/registry.lua' %s && sed 's/^return {/local rows = {/' '%s/dtypes.lua' "
             ">%s/dtypes.lua",
             RDT_TEST_TEMPLATES, folder, RDT_TEST_TEMPLATES, folder);
    snprintf(path, sizeof path, "%s/dtypes.lua", folder);
    FILE *file = system(command) ? NULL : fopen(path, "a");
    if (!file) return false;
    fprintf(file,
            "for _, name in ipairs(sorted_keys(rows)) do\n"
            "    local row, unpack = rows[name], rows[name].unpack\n"
            "    row.unpack = function(w, k) return (%s) end\n"
            "end\n"
            "return rows\n",
            fault->text);
    return !fclose(file);
}

static void remove_folder(const char *folder) {
    char command[128];
    snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command)) perror(command);
}

/* The judge of the one, and candidates of the other. */
static redtune_status make(void *user, const redtune_problem *problem, const rdt_point *point,
                           const rdt_launch *launch, rdt_kernel **out, redtune_error *failure) {
    const workshop *shop = point->family > 0 ? &right : (const workshop *)user;
    return rdt_builder_make(shop->builder, gpu.context, problem, point, launch, out, failure);
}

static redtune_status verify(workshop *shop, redtune_op op, redtune_dtype dtype,
                             rdt_verdict *verdict) {
    redtune_problem problem = redtune_problem_whole(op, dtype, 3000);
    rdt_candidate candidate = {0};
    rdt_local *local = NULL;
    rdt_evaluator evaluator;
    redtune_status status = rdt_problem_resolve(&problem, &problem, &err);
    const rdt_case at = {&problem, &gpu.context->facts};
    const rdt_domain domain = rdt_problem_domain(&problem, 1);
    const rdt_local_parts parts = {.context = gpu.context, .maker = {right.codegen, make, shop}};
    const rdt_batch batch = {&problem, &candidate, 1};
    if (!status) status = rdt_rules_default(shop->codegen, at, &candidate.point, &err);
    if (!status)
        status = rdt_rules_launch(shop->codegen, at, &candidate.point, &candidate.launch, &err);
    if (!status) status = rdt_local_replace(&local, &parts, &domain, &evaluator, &err);
    if (!status) status = evaluator.verify(evaluator.self, &batch, verdict, &err);
    rdt_local_destroy(local);
    return status;
}

static void check_fault(const struct fault *fault) {
    const rdt_outcome wanted = fault == faults ? RDT_OUTCOME_GOOD : RDT_OUTCOME_WRONG;
    char folder[64];
    workshop shop;
    CHECK(make_folder(fault, folder));
    setenv("REDTUNE_TEMPLATES", folder, 1);
    const redtune_status status = workshop_open(&gpu, &shop, &err);
    unsetenv("REDTUNE_TEMPLATES");
    CHECK_OK(status, err);
    for (const rdt_dtype_traits *dtype = rdt_dtype_table; dtype->name; dtype++) {
        rdt_verdict verdict = {.outcome = RDT_OUTCOME_COUNT};
        if (fault->packed && dtype->bytes >= sizeof(uint32_t)) continue;
        CHECK_OK(verify(&shop, fault->op, dtype->dtype, &verdict), err);
        if (verdict.outcome != wanted)
            fprintf(stderr, "(%s, %s: %s)\n", fault->name, dtype->name, verdict.cause);
        CHECK_INT(verdict.outcome, wanted);
    }
    workshop_close(&shop);
    remove_folder(folder);
}

FACT(a_wrong_unpacking_is_found_for_each_dtype) {
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++) check_fault(&faults[i]);
}

int main(int argc, char **argv) {
    if (device_open(&gpu, &err)) {
        fprintf(stderr, "no GPU: %s\n", err.message);
        gpu.context = NULL;
    } else if (workshop_open(&gpu, &right, &err)) {
        fprintf(stderr, "%s\n", err.message);
        return 1;
    }
    if (!gpu.context) check_missing = "there is no GPU";
    int rc = check_run(argc, argv);
    workshop_close(&right);
    device_close(&gpu);
    return rc;
}
