/* Select: which config serves a problem, from the winners of the tuning databases. */
#include "api/records/select.h"

#include <math.h>
#include "model/strides.h"

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

/* Bytes that neighbouring threads of a block load side by side at most: columns beyond them are
 * other blocks' work, whether of the same outer index or of the next. */
enum { STRIP_BYTES = 512 };

/* How wide the loads along inner columns are, in powers of two; beyond a strip it hardly matters.
 */
static double width_of(uint64_t inner, double element_bytes) {
    const double strips = (double)inner * element_bytes / STRIP_BYTES;
    return strips <= 1 ? log2(strips) : log2(strips) / 8;
}

/* Of segments it matters how many there are, and what their lengths are like, as far as that is
 * known. Where the lengths of those asked for are not, equal ones are as good a guess as any. */
static double segments_distance(const redtune_problem *here, const redtune_problem *there,
                                double scale) {
    static const double unknown = 1.0 / 64;
    const rdt_lengths of_here = rdt_problem_segments_lengths(here),
                      of_there = rdt_problem_segments_lengths(there);
    const double weight = here->median || here->greatest ? 0.5 : unknown;
    const double count =
        log_distance((double)rdt_problem_count(there) + 1, (double)rdt_problem_count(here) + 1);
    const double wanted = (double)rdt_problem_segments_count(here);
    const double outer =
        wanted > 0 ? log_distance((double)rdt_problem_segments_count(there) * scale, wanted) : 0;
    return count + outer +
           weight * (log_distance((double)of_there.median + 1, (double)of_here.median + 1) +
                     log_distance((double)of_there.greatest + 1, (double)of_here.greatest + 1));
}

/* Of keys, elements of them all, and columns of a row. */
static double keyed_distance(const redtune_problem *here, const redtune_problem *there) {
    return log_distance((double)there->keys + 1, (double)here->keys + 1) +
           log_distance((double)rdt_problem_count(there) + 1, (double)rdt_problem_count(here) + 1) +
           log_distance((double)rdt_problem_keyed_width(there) + 1,
                        (double)rdt_problem_keyed_width(here) + 1);
}

/* How far the extents of a row are from the problem's, in powers of two: the sum over the work that
 * is one after another (elements of a result) and the work that is side by side (results), and, of
 * columns, the width of loads. A whole array's work is all side by side.
 *
 * A GPU with twice the multiprocessors does twice the work side by side in the same time: that is
 * compared per multiprocessor. A config needs no translation beyond that, for what it says of the
 * grid is per multiprocessor, too. */
static double extents_distance(rdt_case at, const rdt_row *row) {
    const double scale = (double)at.facts->sm_count / row->gpu.sm_count;
    const redtune_problem *measured = &row->trial.problem;
    const rdt_extents here = rdt_problem_extents(at.problem), there = rdt_problem_extents(measured);
    if (rdt_problem_is_keyed(at.problem)) return keyed_distance(at.problem, measured);
    if (at.problem->segmented) return segments_distance(at.problem, measured, scale);
    const rdt_layout layout = rdt_problem_layout_of(&here);
    if (layout == RDT_LAYOUT_WHOLE)
        return log_distance((double)there.count * scale + 1, (double)here.count + 1);
    double distance = log_distance((double)there.count + 1, (double)here.count + 1) +
                      log_distance((double)there.outer * (double)there.inner * scale,
                                   (double)here.outer * (double)here.inner);
    const double bytes = (double)redtune_dtype_bytes(measured->dtype);
    if (layout == RDT_LAYOUT_COLUMNS)
        distance += fabs(width_of(there.inner, bytes) - width_of(here.inner, bytes));
    return distance;
}

/* Whether a tune would look at the point here: it is not plainly wrong for the extents (one block
 * for a gigabyte), or it is the default, which is measured in any case. */
static bool is_candidate(rdt_codegen *codegen, rdt_case at, const rdt_point *point) {
    rdt_point baseline;
    redtune_error ignored;
    bool useful = false;
    return (!rdt_rules_is_point(codegen, at, RDT_SCOPE_USEFUL, point, &useful, &ignored) &&
            useful) ||
           (!rdt_rules_default_of(codegen, at, point->family, &baseline, &ignored) &&
            rdt_point_same(&baseline, point));
}

/* Whether the row's config may serve here: it is of these templates, right, and, where it was
 * measured elsewhere, worth measuring here. */
static bool usable(const rdt_row *row, rdt_codegen *codegen, rdt_case at, rdt_choice *choice) {
    return !rdt_rules_read(codegen, at, row->trial.family, row->trial.config, &choice->point,
                           NULL) &&
           (choice->match == REDTUNE_MATCH_EXACT || is_candidate(codegen, at, &choice->point));
}

/* Where a row is from, the best first. */
typedef enum origin { OWN, ALIKE, OTHER_GPU, NOWHERE } origin;

/* How near a row is; of two the one with the smaller first difference. */
typedef struct nearness {
    origin origin;
    double gpu;
    bool other_alignment;
    double extents;
    bool other_steps;
    int unlike; /* another class: how little it has in common */
    bool stale;
    int64_t age; /* the younger is the smaller */
    const redtune_problem *measured;
} nearness;

static bool is_nearer(const nearness *a, const nearness *b) {
    if (a->origin != b->origin) return a->origin < b->origin;
    if (a->gpu != b->gpu) return a->gpu < b->gpu;
    if (a->other_alignment != b->other_alignment) return b->other_alignment;
    if (a->extents != b->extents) return a->extents < b->extents;
    if (a->other_steps != b->other_steps) return b->other_steps;
    if (a->unlike != b->unlike) return a->unlike < b->unlike;
    if (a->stale != b->stale) return b->stale;
    if (a->age != b->age) return a->age < b->age;
    /* In whichever order the classes were read. */
    return a->origin == ALIKE && rdt_problem_compare_class(a->measured, b->measured) < 0;
}

/* Of classes with the same traffic: another kind of arithmetic matters most. */
static int unlikeness(const redtune_problem *a, const redtune_problem *b) {
    const bool kinds = (rdt_dtype_find(a->dtype)->kind == RDT_KIND_FLOAT) !=
                       (rdt_dtype_find(b->dtype)->kind == RDT_KIND_FLOAT);
    return 4 * kinds + 2 * (a->dtype != b->dtype) +
           (redtune_dtype_bytes(a->result) != redtune_dtype_bytes(b->result));
}

static origin origin_of(const redtune_problem *measured, const redtune_problem *problem,
                        double gpu) {
    if (rdt_problem_same_class(measured, problem)) return gpu > 0 ? OTHER_GPU : OWN;
    return gpu == 0 && rdt_winners_alike(measured, problem) ? ALIKE : NOWHERE;
}

static redtune_match match_of(const nearness *near, const redtune_problem *problem) {
    if (near->origin == OTHER_GPU) return REDTUNE_MATCH_GPU;
    if (near->origin == ALIKE) return REDTUNE_MATCH_LIKE;
    return rdt_problem_same(near->measured, problem) ? REDTUNE_MATCH_EXACT : REDTUNE_MATCH_SIZE;
}

/* false: the row says nothing of this case. A class that is read by itself may be among those
 * alike, too, which changes nothing: its nearest row is the same. */
static bool look_at(const rdt_row *row, rdt_case at, nearness *near, rdt_choice *choice) {
    const redtune_problem *measured = &row->trial.problem;
    const double gpu = gpu_distance(at.facts, &row->gpu);
    if (gpu < 0 || row->trial.cache != RDT_CACHE_COLD) return false;
    *near = (nearness){.origin = origin_of(measured, at.problem, gpu), .measured = measured};
    if (near->origin == NOWHERE) return false;
    if (rdt_problem_is_strided(at.problem) && !rdt_strides_alike(measured, at.problem))
        return false;
    near->gpu = gpu;
    near->other_alignment = rdt_problem_alignment(measured) != rdt_problem_alignment(at.problem);
    near->extents = extents_distance(at, row);
    near->other_steps = gpu == 0 && rdt_problem_compare_extents(measured, at.problem) != 0;
    near->unlike = unlikeness(measured, at.problem);
    near->stale = !row->current;
    near->age = -row->date;
    *choice = (rdt_choice){.row = row, .match = match_of(near, at.problem)};
    return near->extents <= RDT_WINNERS_DISTANCE_MAX;
}

/* A row and how near it is. */
typedef struct candidate {
    nearness near;
    rdt_choice choice;
} candidate;

/* The order in which rows are asked for: of those equally near the first. */
static bool is_before(const candidate *a, const candidate *b) {
    if (is_nearer(&a->near, &b->near)) return true;
    return !is_nearer(&b->near, &a->near) && a->choice.row < b->choice.row;
}

/* Which rows are asked for. */
typedef struct wanted {
    const rdt_rows *rows;
    bool alike;           /* those of classes alike, else of the class itself */
    const nearness *peer; /* those as near as that one by all but their extents; or NULL */
} wanted;

static bool is_wanted(const wanted *wanted, rdt_case at, const candidate *each) {
    const nearness *near = &each->near, *peer = wanted->peer;
    if (!peer) return rdt_problem_same_class(near->measured, at.problem) != wanted->alike;
    return near->origin == peer->origin && near->gpu == peer->gpu &&
           near->other_alignment == peer->other_alignment && near->stale <= peer->stale;
}

/* The first of them behind `last` in that order, where that has a row; false: there is none. */
static bool find_next(const wanted *wanted, rdt_case at, const candidate *last, candidate *out) {
    bool found = false;
    for (size_t i = 0; i < wanted->rows->count; i++) {
        candidate each;
        if (!look_at(&wanted->rows->row[i], at, &each.near, &each.choice) ||
            !is_wanted(wanted, at, &each) || (last->choice.row && !is_before(last, &each)) ||
            (found && !is_before(&each, out)))
            continue;
        *out = each;
        found = true;
    }
    return found;
}

/* The nearest usable one of these and of the best so far. Rules are asked of few rows: from the
 * nearest on, until one may serve. */
static void look_through(const rdt_rows *rows, bool alike, rdt_codegen *codegen, rdt_case at,
                         nearness *nearest, rdt_choice *best) {
    const wanted wanted = {.rows = rows, .alike = alike};
    candidate each, last = {.choice = {.row = NULL}};
    while (find_next(&wanted, at, &last, &each) && is_nearer(&each.near, nearest)) {
        if (usable(each.choice.row, codegen, at, &each.choice)) {
            *best = each.choice;
            *nearest = each.near;
            return;
        }
        last = each;
    }
}

/* How many rows beside the nearest one are looked at. */
enum { PEERS_MAX = 8 };

/* What is this much faster by the estimate takes the place of what is measured nearer. */
static const double WORTH = 0.95;

static void look_at_default(rdt_codegen *codegen, rdt_case at, double least_ns, rdt_choice *best) {
    redtune_error ignored;
    rdt_point point;
    if (rdt_rules_default(codegen, at, &point, &ignored)) return;
    const double time_ns = rdt_estimate_time_or_none(codegen, at, &point);
    if (time_ns > 0 && time_ns < least_ns)
        *best = (rdt_choice){.point = point, .match = REDTUNE_MATCH_DEFAULT};
}

/* A winner that gained less over the default of its own shape says that the default is as good: the
 * one here is made for this shape. Where there is an estimate, that says more. */
static const double GAIN = 1.05;

/* Nor says it much of a shape that is farther off, in powers of two. */
static const double FAR = 2;

static bool is_as_good_by_default(const rdt_choice *choice) {
    const rdt_row *row = choice->row;
    return row && row->baseline_ns > 0 && row->baseline_ns < GAIN * row->trial.median_ns;
}

/* Whether the chosen row is of a plane of this GPU model, and of other extents. */
static bool is_beside(rdt_case at, const nearness *nearest, const rdt_choice *best) {
    return best->row && best->match != REDTUNE_MATCH_EXACT && nearest->origin <= ALIKE &&
           rdt_problem_layout(at.problem) != RDT_LAYOUT_WHOLE &&
           rdt_problem_compare_extents(nearest->measured, at.problem) != 0;
}

/* The nearest row was measured at other extents. Where its config leaves strips or multiprocessors
 * empty here, the winner of another near one takes its place, or else the default. No row is left
 * where the default is to serve because there is no estimate. */
static void look_around(const rdt_rows *rows, rdt_codegen *codegen, rdt_case at,
                        const nearness *nearest, rdt_choice *best) {
    const double nearest_ns = rdt_estimate_time_or_none(codegen, at, &best->point);
    if (nearest_ns <= 0) {
        const bool says_little = !at.problem->segmented && is_as_good_by_default(best);
        if (is_beside(at, nearest, best) && (nearest->extents > FAR || says_little))
            best->row = NULL;
        return;
    }
    double least_ns = nearest_ns;
    const wanted wanted = {.rows = rows, .peer = nearest};
    candidate each, last = {.choice = {.row = NULL}};
    for (int i = 0; i < PEERS_MAX && find_next(&wanted, at, &last, &each); i++) {
        last = each;
        if (!usable(each.choice.row, codegen, at, &each.choice)) continue;
        const double time_ns = rdt_estimate_time_or_none(codegen, at, &each.choice.point);
        if (time_ns <= 0 || time_ns >= least_ns || time_ns >= WORTH * nearest_ns) continue;
        least_ns = time_ns;
        *best = each.choice;
    }
    look_at_default(codegen, at, WORTH * least_ns, best);
}

/* *from: where the nearest row is from, even if the default goes before it. */
static redtune_status select_among(const rdt_winners *winners, rdt_codegen *codegen, rdt_case at,
                                   origin *from, rdt_choice *out, redtune_error *err) {
    nearness nearest = {.origin = NOWHERE};
    rdt_choice best = {.row = NULL};
    look_through(&winners->rows, false, codegen, at, &nearest, &best);
    if (nearest.origin != OWN) look_through(&winners->alike, true, codegen, at, &nearest, &best);
    if (best.row && best.match != REDTUNE_MATCH_EXACT)
        look_around(nearest.origin == ALIKE ? &winners->alike : &winners->rows, codegen, at,
                    &nearest, &best);
    if (!best.row) {
        best.match = REDTUNE_MATCH_DEFAULT;
        redtune_status status = rdt_rules_default(codegen, at, &best.point, err);
        if (status) return status;
    }
    *from = nearest.origin;
    *out = best;
    return REDTUNE_OK;
}

redtune_status rdt_select(const rdt_winners *winners, rdt_codegen *codegen, rdt_case at,
                          rdt_choice *out, redtune_error *err) {
    origin from;
    return select_among(winners, codegen, at, &from, out, err);
}

redtune_status rdt_select_from(rdt_winners *winners, const rdt_winners_source *source, rdt_case at,
                               rdt_choice *out, redtune_error *err) {
    /* Each is asked for only if nothing of those before it serves. */
    static const rdt_winners_part parts[] = {
        [OWN] = RDT_WINNERS_OWN, [ALIKE] = RDT_WINNERS_ALIKE, [OTHER_GPU] = RDT_WINNERS_ELSEWHERE};
    rdt_choice choice;
    origin from = NOWHERE;
    redtune_status status = REDTUNE_OK;
    for (origin i = OWN; !status && i < from; i++) {
        /* A database that was left out is not waited for again. */
        if (i > OWN && winners->incomplete) break;
        if (i == ALIKE && rdt_problem_is_keyed(at.problem)) continue;
        status = rdt_winners_need(winners, source, parts[i], at, err);
        if (!status) status = select_among(winners, source->codegen, at, &from, &choice, err);
    }
    if (!status) *out = choice;
    return status;
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
