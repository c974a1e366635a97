/* Select: which config serves a problem, from the winners of the tuning database.
 *
 * Winners are read once for each class and kept in memory. */
#include "api/records/select.h"

#include <math.h>
#include <stdlib.h>
#include "api/records/current.h"

/* ---- winners --------------------------------------------------------------------------------- */

static redtune_status keep_winner(void *user, const rdt_standing *standing, redtune_error *err) {
    rdt_rows *winners = user;
    redtune_status status = rdt_rows_add(winners, standing->winner, err);
    if (!status && standing->baseline)
        winners->row[winners->count - 1].baseline_ns = standing->baseline->trial.median_ns;
    return status;
}

static bool is_read(const rdt_winners *winners, const redtune_problem *problem) {
    for (size_t i = 0; i < winners->class_count; i++)
        if (rdt_problem_same_class(&winners->classes[i], problem)) return true;
    return false;
}

static redtune_status add_verified(rdt_rows *rows, const rdt_rows *verified,
                                   const redtune_problem *problem, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; verified && !status && i < verified->count; i++)
        if (rdt_problem_same_class(&verified->row[i].trial.problem, problem))
            status = rdt_rows_add(rows, &verified->row[i], err);
    return status;
}

static void drop_imported(rdt_rows *rows) {
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++)
        if (!rows->row[i].trial.imported) rows->row[kept++] = rows->row[i];
    rows->count = kept;
}

redtune_status rdt_select_read_winners(rdt_winners *winners, const rdt_winners_source *source,
                                       const redtune_problem *problem, redtune_error *err) {
    if (is_read(winners, problem)) return REDTUNE_OK;
    size_t bytes = (winners->class_count + 1) * sizeof *winners->classes;
    redtune_problem *classes = realloc(winners->classes, bytes);
    if (!classes) return rdt_fail_memory(err, bytes);
    winners->classes = classes;
    const rdt_layers_wanted wanted = {.problem = problem,
                                      .cache = RDT_CACHE_COLD,
                                      .contenders = true,
                                      .log = source->log,
                                      .left_out = &winners->incomplete};
    rdt_rows rows = {0};
    const size_t before = winners->rows.count;
    redtune_status status = rdt_layers_read(source->layers, &wanted, &rows, err);
    if (!status) status = add_verified(&rows, source->verified, problem, err);
    if (source->own) drop_imported(&rows);
    if (!status) status = rdt_current_mark(source->codegen, &rows, err);
    if (!status) status = rdt_rows_rank(&rows, keep_winner, &winners->rows, err);
    rdt_rows_free(&rows);
    if (status)
        winners->rows.count = before;
    else
        classes[winners->class_count++] = *problem;
    return status;
}

void rdt_select_free_winners(rdt_winners *winners) {
    rdt_rows_free(&winners->rows);
    free(winners->classes);
    *winners = (rdt_winners){0};
}

/* ---- selecting ------------------------------------------------------------------------------- */

/* How far two positive quantities are apart, in powers of two; far if one is unknown. */
static double log_distance(double a, double b) { return a > 0 && b > 0 ? fabs(log2(a / b)) : 64; }

/* Smaller is nearer: 0 for the same model; another architecture is farther than any difference of
 * size. Negative: not comparable. */
static double gpu_distance(const rdt_facts *here, const rdt_facts *there) {
    if (rdt_facts_same_model(here, there)) return 0;
    if (rdt_facts_is_simulated(here) || rdt_facts_is_simulated(there)) return -1;
    double architecture = here->major != there->major   ? 1000
                          : here->minor != there->minor ? 500
                                                        : 1;
    return architecture + log_distance(rdt_facts_peak_gbps(here), rdt_facts_peak_gbps(there)) +
           log_distance(here->sm_count, there->sm_count);
}

/* A row says little of counts that are more powers of two away; the default is better then. */
enum { COUNT_DISTANCE_MAX = 4 };

/* A GPU with twice the multiprocessors does at twice the count what this one does: counts are
 * compared per multiprocessor. A config needs no translation beyond that, for what it says of the
 * grid is per multiprocessor, too. */
static double count_distance(const rdt_facts *here, uint64_t count, const rdt_row *row) {
    double scale = (double)here->sm_count / row->gpu.sm_count;
    return log_distance((double)row->trial.problem.count * scale + 1, (double)count + 1);
}

/* Whether the row's config may serve here: it is of these templates, right, and, where it was
 * measured elsewhere, not plainly wrong for the count (one block for a gigabyte). */
static bool usable(const rdt_row *row, rdt_codegen *codegen, rdt_case at, rdt_choice *choice) {
    redtune_error ignored;
    if (rdt_point_read(rdt_codegen_spaces(codegen), row->trial.family, row->trial.config,
                       &choice->point, &ignored) ||
        rdt_codegen_check(codegen, at, &choice->point, &ignored))
        return false;
    bool useful = choice->match == REDTUNE_MATCH_EXACT;
    return useful || (!rdt_codegen_is_point(codegen, at, RDT_SCOPE_USEFUL, &choice->point, &useful,
                                            &ignored) &&
                      useful);
}

/* How near a row is; of two the one with the smaller first difference. */
typedef struct nearness {
    double gpu, count;
    bool stale;
    int64_t age; /* the younger is the smaller */
} nearness;

static bool is_nearer(const nearness *a, const nearness *b) {
    if (a->gpu != b->gpu) return a->gpu < b->gpu;
    if (a->count != b->count) return a->count < b->count;
    if (a->stale != b->stale) return b->stale;
    return a->age < b->age;
}

/* false: the row says nothing of this case. */
static bool look_at(const rdt_row *row, rdt_case at, nearness *near, rdt_choice *choice) {
    const redtune_problem *measured = &row->trial.problem;
    if (!rdt_problem_same_class(measured, at.problem) || row->trial.cache != RDT_CACHE_COLD)
        return false;
    near->gpu = gpu_distance(at.facts, &row->gpu);
    near->count = count_distance(at.facts, at.problem->count, row);
    near->stale = !row->current;
    near->age = -row->date;
    *choice = (rdt_choice){
        .row = row,
        .match = near->gpu > 0                          ? REDTUNE_MATCH_GPU
                 : measured->count == at.problem->count ? REDTUNE_MATCH_EXACT
                                                        : REDTUNE_MATCH_SIZE,
    };
    return near->gpu >= 0 && near->count <= COUNT_DISTANCE_MAX;
}

redtune_status rdt_select(const rdt_winners *winners, rdt_codegen *codegen, rdt_case at,
                          rdt_choice *out, redtune_error *err) {
    nearness nearest = {.gpu = INFINITY};
    rdt_choice best = {.row = NULL};
    for (size_t i = 0; i < winners->rows.count; i++) {
        nearness near;
        rdt_choice choice;
        if (!look_at(&winners->rows.row[i], at, &near, &choice)) continue;
        if (!is_nearer(&near, &nearest) || !usable(&winners->rows.row[i], codegen, at, &choice))
            continue;
        best = choice;
        nearest = near;
    }
    if (!best.row) {
        best.match = REDTUNE_MATCH_DEFAULT;
        redtune_status status = rdt_codegen_default(codegen, at, &best.point, err);
        if (status) return status;
    }
    *out = best;
    return REDTUNE_OK;
}

const char *redtune_match_name(redtune_match match) {
    static const char *const names[] = {
        [REDTUNE_MATCH_EXACT] = "exact",     [REDTUNE_MATCH_SIZE] = "nearest size",
        [REDTUNE_MATCH_GPU] = "nearest GPU", [REDTUNE_MATCH_DEFAULT] = "default",
        [REDTUNE_MATCH_PINNED] = "pinned",   [REDTUNE_MATCH_LIKE] = "like",
    };
    size_t i = (size_t)match;
    return i < sizeof names / sizeof *names ? names[i] : "unknown";
}
