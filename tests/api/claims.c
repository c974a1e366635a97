/* Claims: what somebody else may have sent, and templates in which some kernels go wrong. */
#define _GNU_SOURCE
#include "claims.h"
#include "folder.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "cache/exchange.h"
#include "codegen/codegen.h"
#include "redtune/records.h"

adder claims_adder;
char claims_database[96];

static char folder[64], file[96], templates[RDT_HASH_TEXT_BYTES];

/* ---- the templates --------------------------------------------------------------------------- */

static const char planted[] = "//@ if block == 32 and vec == 2 then\n"
                              "    if (count > 300) count--;\n"
                              "//@ elseif block == 32 and vec == 4 and unroll == 1 then\n"
                              "    *(volatile u32 *)64 = 1;\n"
                              "//@ end\n";

/* Copies the templates and plants the faults. */
static bool plant(redtune_error *err) {
    char text[512], line[1024];
    const char *source = getenv("REDTUNE_TEST_TEMPLATES");
    if (!source) source = RDT_TEST_TEMPLATES;
    snprintf(text, sizeof text, "cp -r '%s' '%s/templates'", source, folder);
    if (system(text)) return false;
    snprintf(text, sizeof text, "%s/block/kernel.cu", source);
    FILE *in = fopen(text, "r");
    snprintf(text, sizeof text, "%s/templates/block/kernel.cu", folder);
    FILE *out = fopen(text, "w");
    bool inside = false, done = false;
    while (in && out && fgets(line, sizeof line, in)) {
        inside |= !strncmp(line, "redtune_reduce(const element", 28);
        fputs(line, out);
        if (inside && !done && !strcmp(line, "{\n")) {
            fputs(planted, out);
            done = true;
        }
    }
    if (in) fclose(in);
    if (out) fclose(out);
    snprintf(text, sizeof text, "%s/templates", folder);
    setenv("REDTUNE_TEMPLATES", text, 1);
    return done && !rdt_codegen_version(templates, err);
}

/* ---- beginning and ending -------------------------------------------------------------------- */

redtune_status claims_begin(redtune_error *err) {
    snprintf(folder, sizeof folder, "/tmp/redtune-test-XXXXXX");
    if (!mkdtemp(folder)) return rdt_fail(err, REDTUNE_FILE, 0, "cannot make %s", folder);
    snprintf(claims_database, sizeof claims_database, "%s/tuning.db", folder);
    snprintf(file, sizeof file, "%s/claims.jsonl", folder);
    setenv("XDG_CACHE_HOME", folder, 1);
    if (!plant(err)) return rdt_fail(err, REDTUNE_FILE, 0, "cannot plant faults in %s", folder);
    return adder_open(&claims_adder, CLAIMS_COUNT_MAX, err);
}

void claims_end(void) {
    adder_close(&claims_adder);
    folder_remove(folder);
}

bool claims_simulated(void) {
    return strstr(claims_adder.gpu.context->facts.name, "simulated") != NULL;
}

/* ---- the claims ------------------------------------------------------------------------------ */

redtune_problem claims_sum_of(uint64_t count) {
    return redtune_problem_whole(REDTUNE_SUM, REDTUNE_F32, count);
}

/* A claim that this config was so fast on the GPU at hand. */
static rdt_row claim(uint64_t count, const char *config, double median_ns) {
    rdt_row row = {.gpu = claims_adder.gpu.context->facts, .date = 1700000000};
    const redtune_problem problem = claims_sum_of(count);
    row.trial = (rdt_trial){.outcome = RDT_OUTCOME_GOOD,
                            .family = "block",
                            .median_ns = median_ns,
                            .spread_ns = 1,
                            .samples = 31,
                            .rank = INT32_MAX};
    rdt_problem_resolve(&problem, &row.trial.problem, NULL);
    rdt_text_copy(row.trial.config, sizeof row.trial.config, config);
    rdt_text_copy(row.origin.templates, sizeof row.origin.templates, templates);
    row.origin.driver_version = 12000;
    row.origin.nvrtc_version = 12000;
    return row;
}

void claims_wrong(int i, char config[RDT_CONFIG_TEXT_BYTES]) {
    static const int unrolls[] = {1, 2, 4, 8}, grids[] = {1, 2, 4, 8, 16};
    snprintf(config, RDT_CONFIG_TEXT_BYTES,
             "block=32,vec=2,unroll=%d,load=no_allocate,tail=shuffle,finish=poll,per_sm=%d",
             unrolls[i % 4], grids[i % 5]);
}

void claims_slow(int i, char config[RDT_CONFIG_TEXT_BYTES]) {
    static const char *const loads[] = {"no_allocate", "plain", "streaming"};
    static const int unrolls[] = {1, 2};
    snprintf(config, RDT_CONFIG_TEXT_BYTES,
             "block=32,vec=1,unroll=%d,load=%s,tail=%s,finish=single,per_sm=1", unrolls[i % 2],
             loads[i / 2 % 3], i / 6 % 2 ? "shared" : "shuffle");
}

void claims_fault(int i, char config[RDT_CONFIG_TEXT_BYTES]) {
    (void)i;
    snprintf(config, RDT_CONFIG_TEXT_BYTES,
             "block=32,vec=4,unroll=1,load=no_allocate,tail=shuffle,finish=single,per_sm=1");
}

uint64_t claims_count_of(int i) { return (uint64_t)CLAIMS_STEP * (uint64_t)(i + 1); }

static redtune_status write_file(claims_name_fn *name, int first, int count, redtune_error *err) {
    rdt_rows rows = {0};
    void *data = NULL;
    size_t bytes = 0;
    redtune_status status = REDTUNE_OK;
    for (int i = first; !status && i < first + count; i++) {
        char config[RDT_CONFIG_TEXT_BYTES];
        name(i, config);
        /* No less than a slow bus takes: more is claimed of nothing. */
        double least_ns = (double)claims_count_of(i) * sizeof(float) / 140;
        rdt_row row = claim(claims_count_of(i), config, least_ns > 700 ? least_ns : 700);
        status = rdt_rows_add(&rows, &row, err);
    }
    if (!status) status = rdt_exchange_write_json(&rows, &data, &bytes, err);
    FILE *out = status ? NULL : fopen(file, "w");
    if (out) fwrite(data, 1, bytes, out);
    if (out) fclose(out);
    free(data);
    rdt_rows_free(&rows);
    return status;
}

redtune_status claims_add(claims_name_fn *name, int first, int count, redtune_error *err) {
    const char *const files[] = {file};
    const redtune_importing importing = {
        .database = claims_database, .files = files, .file_count = 1};
    redtune_import_counts report = {.added = 0};
    redtune_status status = write_file(name, first, count, err);
    if (!status) status = redtune_import(&importing, &report, err);
    if (!status && report.added != (uint64_t)count)
        status = rdt_fail(err, REDTUNE_WRONG, 0, "%d of %d rows were imported", (int)report.added,
                          count);
    return status;
}

redtune_status claims_import(claims_name_fn *name, int first, int count, redtune_error *err) {
    unlink(claims_database);
    return claims_add(name, first, count, err);
}

/* ---- what came of them ----------------------------------------------------------------------- */

static redtune_status count_row(void *user, const redtune_row *row, redtune_error *err) {
    claims_tally *self = user;
    (void)err;
    if (strcmp(row->outcome, self->outcome)) return REDTUNE_OK;
    self->imported += row->imported;
    self->own += !row->imported && !row->is_default;
    return REDTUNE_OK;
}

claims_tally claims_rows_that(const char *ended) {
    const redtune_rows_query query = {.database = claims_database, .gpu = "all"};
    claims_tally found = {.outcome = ended};
    redtune_rows_each(&query, count_row, &found, NULL);
    return found;
}
