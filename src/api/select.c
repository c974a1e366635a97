/* Select: which config serves a problem, from the winners of the tuning database. */
#include "api/select.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "base/file.h"

static redtune_status keep_row(void *user, const rdt_row *row, redtune_error *err) {
    rdt_winners *winners = user;
    if (winners->count == winners->capacity) {
        size_t capacity = winners->capacity ? 2 * winners->capacity : 64;
        rdt_row *grown = realloc(winners->row, capacity * sizeof *grown);
        if (!grown) return rdt_fail_memory(err, capacity * sizeof *grown);
        winners->row = grown;
        winners->capacity = capacity;
    }
    winners->row[winners->count++] = *row;
    return REDTUNE_OK;
}

/* A writer that was killed leaves a write to be undone, which only opening for writing does. */
static redtune_status open_whole(const char *path, rdt_tuning **out, redtune_error *err) {
    redtune_status status = rdt_tuning_open_read(path, out, err);
    rdt_tuning *healed = NULL;
    if (status != REDTUNE_DATABASE || rdt_tuning_open(path, &healed, NULL)) return status;
    rdt_tuning_close(healed);
    return rdt_tuning_open_read(path, out, err);
}

redtune_status rdt_winners_read(const char *path, rdt_winners *out, redtune_error *err) {
    rdt_winners winners = {0};
    if (rdt_file_exists(path)) {
        rdt_tuning *tuning = NULL;
        redtune_status status = open_whole(path, &tuning, err);
        if (!status) status = rdt_tuning_each_winner(tuning, keep_row, &winners, err);
        rdt_tuning_close(tuning);
        if (status) {
            rdt_winners_free(&winners);
            return status;
        }
    }
    *out = winners;
    return REDTUNE_OK;
}

void rdt_winners_free(rdt_winners *winners) {
    free(winners->row);
    *winners = (rdt_winners){0};
}

/* A simulated GPU says nothing about a real one, nor a real one about it. */
static bool is_simulated(const rdt_facts *facts) {
    return strstr(facts->name, "simulated") != NULL;
}

/* How far two positive quantities are apart, in powers of two; far if one is unknown. */
static double log_distance(double a, double b) {
    return a > 0 && b > 0 ? fabs(log2(a / b)) : 64;
}

/* Smaller is nearer: 0 for the same model; another architecture is farther than any difference of
 * size. Negative: not comparable. */
static double gpu_distance(const rdt_facts *here, const rdt_facts *there) {
    if (rdt_facts_same_model(here, there)) return 0;
    if (is_simulated(here) || is_simulated(there)) return -1;
    double architecture = here->major != there->major   ? 1000
                          : here->minor != there->minor ? 500
                                                        : 1;
    return architecture + log_distance(rdt_facts_peak_gbps(here), rdt_facts_peak_gbps(there)) +
           log_distance(here->sm_count, there->sm_count);
}

/* A row says little of counts that are more powers of two away; the default is better then. */
enum { COUNT_DISTANCE_MAX = 4 };

static double count_distance(uint64_t a, uint64_t b) {
    return log_distance((double)a + 1, (double)b + 1);
}

/* Whether the row's config may serve here: it is of the templates at hand, right, and, where it was
 * measured elsewhere, not plainly wrong for the count (one block for a gigabyte). */
static bool usable(const rdt_row *row, rdt_codegen *codegen, rdt_case at, rdt_choice *choice) {
    redtune_error ignored;
    choice->config = (rdt_config){{0}};
    if (rdt_codegen_find(codegen, row->trial.family, &choice->family, &ignored) ||
        rdt_config_parse(rdt_codegen_space(codegen, choice->family), row->trial.config,
                         &choice->config, &ignored) ||
        rdt_codegen_check(codegen, choice->family, at, &choice->config, &ignored))
        return false;
    bool useful = choice->match == REDTUNE_MATCH_EXACT;
    return useful ||
           (!rdt_codegen_useful(codegen, choice->family, at, &choice->config, &useful, &ignored) &&
            useful);
}

redtune_status rdt_select(const rdt_winners *winners, rdt_codegen *codegen, rdt_case at,
                          rdt_choice *out, redtune_error *err) {
    double best_gpu = INFINITY, best_count = INFINITY;
    rdt_choice best = {.row = NULL};
    for (size_t i = 0; i < winners->count; i++) {
        const rdt_row *row = &winners->row[i];
        const redtune_problem *measured = &row->trial.problem;
        if (!rdt_problem_same_class(measured, at.problem) || row->trial.cache != RDT_CACHE_COLD)
            continue;
        double gpu = gpu_distance(at.facts, &row->gpu);
        double count = count_distance(measured->count, at.problem->count);
        bool nearer = gpu >= 0 && (gpu < best_gpu || (gpu == best_gpu && count < best_count));
        if (!nearer || count > COUNT_DISTANCE_MAX) continue;
        rdt_choice choice = {.row = row};
        choice.match = gpu > 0                                ? REDTUNE_MATCH_GPU
                       : measured->count == at.problem->count ? REDTUNE_MATCH_EXACT
                                                              : REDTUNE_MATCH_SIZE;
        if (!usable(row, codegen, at, &choice)) continue;
        best = choice;
        best_gpu = gpu;
        best_count = count;
    }
    if (!best.row) {
        best.match = REDTUNE_MATCH_DEFAULT;
        redtune_status status = rdt_codegen_default(codegen, 0, at, &best.config, err);
        if (status) return status;
    }
    *out = best;
    return REDTUNE_OK;
}

const char *redtune_match_name(redtune_match match) {
    static const char *const names[] = {
        [REDTUNE_MATCH_EXACT] = "exact",     [REDTUNE_MATCH_SIZE] = "nearest size",
        [REDTUNE_MATCH_GPU] = "nearest GPU", [REDTUNE_MATCH_DEFAULT] = "default",
        [REDTUNE_MATCH_PINNED] = "pinned",
    };
    size_t i = (size_t)match;
    return i < sizeof names / sizeof *names ? names[i] : "unknown";
}
