/* Winner: which of the measurements of one problem wins, and on what evidence. */
#include "model/winner.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double noise_least = 0.005; /* of the median: what two runs differ by */
static const double noise_errors = 2;    /* standard errors */
/* Standard error of a median of n normal samples, times sqrt(n), over half the distance between
 * their quartiles: sqrt(pi / 2) / 0.6745. */
static const double error_of_spread = 1.858;

static double variance(const rdt_trial *trial) {
    double error = error_of_spread * trial->spread_ns;
    return error * error / trial->samples;
}

double rdt_winner_noise_ns(const rdt_trial *a, const rdt_trial *b) {
    double least = noise_least * (a->median_ns < b->median_ns ? a->median_ns : b->median_ns);
    double noise = noise_errors * sqrt(variance(a) + variance(b));
    return noise > least ? noise : least;
}

static int compare_points(const rdt_trial *a, const rdt_trial *b) {
    int family = strcmp(a->family, b->family);
    return family ? family : strcmp(a->config, b->config);
}

typedef struct entry {
    const rdt_trial *trial;
    size_t age; /* its index among those given */
    bool counts;
    bool is_default; /* the default of its family, by the latest trial of one */
} entry;

static int compare_numbers(double a, double b) { return (a > b) - (a < b); }

/* By point, those that count first, from fast to slow; never by age. */
static int compare_rivals(const void *a, const void *b) {
    const entry *x = a, *y = b;
    int point = compare_points(x->trial, y->trial);
    if (point) return point;
    if (x->counts != y->counts) return x->counts ? -1 : 1;
    int median = compare_numbers(x->trial->median_ns, y->trial->median_ns);
    if (median) return median;
    int spread = compare_numbers(x->trial->spread_ns, y->trial->spread_ns);
    return spread ? spread : x->trial->samples - y->trial->samples;
}

/* How many samples make a trial a careful one. */
static int find_careful(const entry *entries, size_t count) {
    int most = 0;
    for (size_t i = 0; i < count; i++) {
        const rdt_trial *trial = entries[i].trial;
        if (trial->outcome == RDT_OUTCOME_GOOD && trial->samples > most) most = trial->samples;
    }
    return most < RDT_WINNER_SAMPLES ? most - most / 2 : RDT_WINNER_SAMPLES / 2;
}

/* The trial that stands for the point whose trials these are; NULL: it cannot win. */
static const rdt_trial *represent(entry *entries, size_t count, int careful) {
    const entry *latest = NULL;
    size_t counting = 0;
    bool own = false;
    for (size_t i = 0; i < count; i++) own = own || !entries[i].trial->imported;
    for (size_t i = 0; i < count; i++) {
        const rdt_trial *trial = entries[i].trial;
        bool heard = !own || !trial->imported;
        entries[i].counts =
            heard && trial->outcome == RDT_OUTCOME_GOOD && trial->samples >= careful;
        if (heard && (!latest || entries[i].age > latest->age)) latest = &entries[i];
        counting += entries[i].counts;
    }
    if (!counting || latest->trial->outcome != RDT_OUTCOME_GOOD) return NULL;
    qsort(entries, count, sizeof *entries, compare_rivals);
    return entries[counting / 2].trial;
}

/* Marks the entries of the default of the family that they are of. */
static void mark_family_default(entry *entries, size_t count) {
    const entry *latest = NULL;
    for (size_t i = 0; i < count; i++)
        if (entries[i].trial->is_default && (!latest || entries[i].age > latest->age))
            latest = &entries[i];
    for (size_t i = 0; latest && i < count; i++)
        entries[i].is_default = !compare_points(entries[i].trial, latest->trial);
}

static void mark_defaults(entry *entries, size_t count) {
    for (size_t first = 0, end; first < count; first = end) {
        end = first + 1;
        while (end < count && !strcmp(entries[first].trial->family, entries[end].trial->family))
            end++;
        mark_family_default(&entries[first], end - first);
    }
}

/* Leaves at the front an entry for each point that can win; returns how many there are. */
static size_t keep_one_per_point(entry *entries, size_t count) {
    size_t kept = 0;
    const int careful = find_careful(entries, count);
    qsort(entries, count, sizeof *entries, compare_rivals);
    mark_defaults(entries, count);
    for (size_t first = 0, end; first < count; first = end) {
        end = first + 1;
        while (end < count && !compare_points(entries[first].trial, entries[end].trial)) end++;
        entry stands = entries[first];
        stands.trial = represent(&entries[first], end - first, careful);
        if (stands.trial) entries[kept++] = stands;
    }
    return kept;
}

static bool is_simpler(const rdt_trial *a, const rdt_trial *b) {
    return a->rank != b->rank ? a->rank < b->rank : a->median_ns < b->median_ns;
}

static bool are_apart(const rdt_trial *fast, const rdt_trial *slow) {
    return slow->median_ns - fast->median_ns > rdt_winner_noise_ns(fast, slow);
}

/* NULL where there is none; the same below. */
static const rdt_trial *find_fastest_point(const entry *entries, size_t count, bool defaults_only) {
    const rdt_trial *fastest = NULL;
    for (size_t i = 0; i < count; i++)
        if ((entries[i].is_default || !defaults_only) &&
            (!fastest || entries[i].trial->median_ns < fastest->median_ns))
            fastest = entries[i].trial;
    return fastest;
}

static const rdt_trial *find_best_point(const entry *entries, size_t count, bool defaults_only) {
    const rdt_trial *fastest = find_fastest_point(entries, count, defaults_only), *best = fastest;
    for (size_t i = 0; i < count; i++)
        if ((entries[i].is_default || !defaults_only) && !are_apart(fastest, entries[i].trial) &&
            is_simpler(entries[i].trial, best))
            best = entries[i].trial;
    return best;
}

redtune_status rdt_winner_choose(const rdt_trial *const *trials, size_t count, rdt_winner *out,
                                 redtune_error *err) {
    const size_t bytes = (count + 1) * sizeof(entry);
    entry *entries = malloc(bytes);
    if (!entries) return rdt_fail_memory(err, bytes);
    for (size_t i = 0; i < count; i++) entries[i] = (entry){.trial = trials[i], .age = i};
    const size_t kept = keep_one_per_point(entries, count);
    rdt_winner found = {.fastest = find_fastest_point(entries, kept, false),
                        .baseline = find_best_point(entries, kept, true)};
    bool is_beaten = !found.baseline || are_apart(found.fastest, found.baseline);
    found.trial = is_beaten ? find_best_point(entries, kept, false) : found.baseline;
    free(entries);
    *out = found;
    return REDTUNE_OK;
}
