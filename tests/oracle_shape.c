/* Oracle of shapes: the model of time for rows and columns.
 *
 * As the model of whole arrays: a launch; memory that is the faster the more bytes are in flight,
 * up to what the bus gives; blocks that start, combine their threads, and are combined. Beyond
 * that, lanes without an element load nothing, a sector is read whole, and a load that is not
 * aligned falls apart. All of it follows from the launch and the width of a load. */
#include "oracle_shape.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct work {
    double bytes, element, run; /* run: bytes side by side that threads side by side load */
    double blocks, splits, active, waves;
    double tiles;    /* of a block */
    double used;     /* the share of what blocks could load that there is */
    double combined; /* threads that combine for a result */
} work;

static double value_of(const oracle *self, const rdt_point *point, const char *name) {
    const rdt_space *space = rdt_point_space(rdt_codegen_spaces(self->codegen), point);
    const int at = rdt_space_find(space, name, (int)strlen(name));
    return at < 0 ? 1 : (double)point->value[at];
}

static work work_of(const oracle *self, const redtune_problem *problem,
                    const rdt_candidate *candidate) {
    const rdt_launch *launch = &candidate->launch;
    const rdt_extents extents = rdt_problem_extents(problem);
    const double vec = value_of(self, &candidate->point, "vec");
    const double results = launch->results ? launch->results : 1, threads = launch->threads;
    work out = {.element = (double)redtune_dtype_bytes(problem->dtype)};
    double resident = self->facts->threads_per_sm / threads;
    resident = (resident > 32 ? 32 : resident) * self->facts->sm_count;
    out.bytes = out.element * (double)rdt_problem_elements(problem);
    out.blocks = rdt_launch_grid(launch, &extents);
    out.splits = rdt_launch_splits(launch, &extents);
    out.active = out.blocks < resident ? out.blocks : resident;
    out.waves = ceil(out.blocks / resident);
    out.tiles = ceil(ceil((double)extents.count / launch->tile) / out.splits);
    out.used =
        (double)rdt_problem_elements(problem) / (out.blocks * out.tiles * results * launch->tile);
    const bool columns = rdt_problem_layout(problem) == RDT_LAYOUT_COLUMNS;
    out.combined = columns ? threads * vec / results : threads / results;
    out.run = out.element * (columns ? fmin((double)extents.inner, results)
                                     : fmin((double)extents.count, out.combined * vec));
    return out;
}

double oracle_shape_ns(const oracle *self, const redtune_problem *problem,
                       const rdt_candidate *candidate) {
    const work work = work_of(self, problem, candidate);
    const rdt_launch *launch = &candidate->launch;
    const double latency_ns = 700, peak = 0.94 * rdt_facts_peak_gbps(self->facts);
    const double results = launch->results ? launch->results : 1;
    const double width = fmin(value_of(self, &candidate->point, "vec") * work.element,
                              rdt_problem_alignment(problem));
    const double sectors = ceil(work.run / 32) * 32 / work.run;
    double flight = work.active * results * launch->tile * work.element * work.used;
    if (flight > work.bytes) flight = work.bytes;
    const double sms = fmin(work.blocks, self->facts->sm_count);
    const double stream_ns = work.bytes / peak * sectors,
                 wait_ns = work.bytes / flight * latency_ns;
    const double issue_ns = work.bytes / width / work.used / sms * 0.3;
    const double block_ns = 60 * work.waves + 10 * log2(fmax(work.combined, 1)) * work.waves +
                            (work.combined > 32 ? 150 : 0) +
                            2.0 * results * launch->tile / launch->threads;
    const double finish_ns = work.splits > 1 ? 500 + 2 * work.splits : 0;
    const double work_ns = fmax(stream_ns, issue_ns);
    return 1000 + latency_ns + (work_ns > wait_ns ? work_ns : 0.8 * wait_ns + 0.2 * work_ns) +
           block_ns + finish_ns;
}

double oracle_shape_best_ns(const oracle *self, const redtune_problem *problem) {
    const rdt_case at = {problem, self->facts};
    rdt_point *points = NULL;
    size_t count = 0;
    double best = HUGE_VAL;
    if (rdt_points_list(self->codegen, at, RDT_SCOPE_USEFUL, &points, &count, NULL)) return 0;
    for (size_t i = 0; i < count; i++) {
        rdt_candidate each = {.point = points[i]};
        if (rdt_rules_launch(self->codegen, at, &points[i], &each.launch, NULL)) continue;
        best = fmin(best, oracle_truth_ns(self, problem, RDT_CACHE_COLD, &each));
    }
    free(points);
    return best;
}
