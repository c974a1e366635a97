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

static int compare_configs(const rdt_trial *a, const rdt_trial *b) {
    int family = strcmp(a->family, b->family);
    return family ? family : strcmp(a->config, b->config);
}

typedef struct entry {
    const rdt_trial *trial;
    size_t age; /* its index among those given */
    bool counts;
} entry;

static int compare_numbers(double a, double b) {
    return (a > b) - (a < b);
}

/* By config, those that count first, from fast to slow; never by age. */
static int compare_rivals(const void *a, const void *b) {
    const entry *x = a, *y = b;
    int config = compare_configs(x->trial, y->trial);
    if (config) return config;
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

/* The trial that stands for the config whose trials these are; NULL: it cannot win. */
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

/* Leaves in kept the trials that stand for their configs. */
static size_t keep_one_per_config(entry *entries, size_t count, const rdt_trial **kept) {
    size_t kept_count = 0;
    int careful = find_careful(entries, count);
    qsort(entries, count, sizeof *entries, compare_rivals);
    for (size_t first = 0, end; first < count; first = end) {
        end = first + 1;
        while (end < count && !compare_configs(entries[first].trial, entries[end].trial)) end++;
        const rdt_trial *trial = represent(&entries[first], end - first, careful);
        if (trial) kept[kept_count++] = trial;
    }
    return kept_count;
}

/* The latest trial says which config the default is. */
static const rdt_trial *find_baseline(const rdt_trial *const *all, size_t all_count,
                                      const rdt_trial *const *kept, size_t kept_count) {
    const rdt_trial *latest = NULL;
    for (size_t i = 0; i < all_count; i++)
        if (all[i]->is_default) latest = all[i];
    for (size_t i = 0; latest && i < kept_count; i++)
        if (!compare_configs(kept[i], latest)) return kept[i];
    return NULL;
}

static bool is_simpler(const rdt_trial *a, const rdt_trial *b) {
    return a->rank != b->rank ? a->rank < b->rank : a->median_ns < b->median_ns;
}

static bool are_apart(const rdt_trial *fast, const rdt_trial *slow) {
    return slow->median_ns - fast->median_ns > rdt_winner_noise_ns(fast, slow);
}

static rdt_winner judge_standing(const rdt_trial *const *kept, size_t count,
                                 const rdt_trial *baseline) {
    rdt_winner found = {.baseline = baseline};
    for (size_t i = 0; i < count; i++)
        if (!found.fastest || kept[i]->median_ns < found.fastest->median_ns)
            found.fastest = kept[i];
    found.trial = found.fastest;
    if (baseline && !are_apart(found.fastest, baseline)) {
        found.trial = baseline;
        return found;
    }
    for (size_t i = 0; i < count; i++)
        if (!are_apart(found.fastest, kept[i]) && is_simpler(kept[i], found.trial))
            found.trial = kept[i];
    return found;
}

redtune_status rdt_winner_choose(const rdt_trial *const *trials, size_t count, rdt_winner *out,
                                 redtune_error *err) {
    size_t bytes = (count ? count : 1) * (sizeof(entry) + sizeof(rdt_trial *));
    entry *entries = malloc(bytes);
    if (!entries) return rdt_fail_memory(err, bytes);
    const rdt_trial **kept = (const rdt_trial **)(entries + count);
    for (size_t i = 0; i < count; i++) entries[i] = (entry){trials[i], i, false};
    size_t kept_count = keep_one_per_config(entries, count, kept);
    *out = judge_standing(kept, kept_count, find_baseline(trials, count, kept, kept_count));
    free(entries);
    return REDTUNE_OK;
}
