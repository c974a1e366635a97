/* Facts about cache/row.h: every field of a measurement survives, and nothing strange is stored or
 * read. */
#define _GNU_SOURCE
#include "shaped.h"
#include "trials.h"

#include <math.h>
#include <time.h>

static bool same_trial(const rdt_trial *a, const rdt_trial *b) {
    return a->problem.op == b->problem.op && a->problem.dtype == b->problem.dtype &&
           a->problem.result == b->problem.result && rdt_problem_same(&a->problem, &b->problem) &&
           a->cache == b->cache && !strcmp(a->family, b->family) && !strcmp(a->config, b->config) &&
           !strcmp(a->kernel, b->kernel) && a->is_default == b->is_default &&
           a->outcome == b->outcome && a->median_ns == b->median_ns &&
           a->spread_ns == b->spread_ns && a->samples == b->samples && a->rank == b->rank &&
           !strcmp(a->cause, b->cause) &&
           !memcmp(&a->conditions, &b->conditions, sizeof a->conditions);
}

FACT(each_gives_every_field_that_was_put) {
    CHECK(begin());
    rdt_trial trial = {
        .problem = PROBLEM(REDTUNE_SUM, REDTUNE_I32, REDTUNE_I64, .count = (UINT64_C(1) << 58)),
        .cache = RDT_CACHE_WARM,
        .family = "block",
        .config = "block=256,vec=4,unroll=2,tail=shuffle,finish=ticket,blocks_per_sm=4",
        .kernel = "0123456789abcdef",
        .is_default = true,
        .outcome = RDT_OUTCOME_GOOD,
        .median_ns = 1234.0625,
        .spread_ns = 0.1,
        .samples = 77,
        .rank = 12345,
        .cause = "said so",
        .conditions = {1980, 3201, 47, UINT64_C(1) << 62, 3},
    };
    int64_t before = (int64_t)time(NULL);
    CHECK_OK(put(&trial, 1), err);
    taken.count = 0;
    CHECK_OK(rdt_tuning_each(tuning, &trial.problem, RDT_CACHE_WARM, take, NULL, &err), err);
    CHECK_INT(taken.count, 1);
    const rdt_row *row = &taken.row[0];
    CHECK(same_trial(&row->trial, &trial));
    CHECK(!memcmp(&row->gpu, &trials_gpu, sizeof trials_gpu));
    CHECK(!memcmp(&row->origin, &trials_origin, sizeof trials_origin));
    CHECK(row->date >= before && row->date <= (int64_t)time(NULL));
}

FACT(each_gives_every_outcome) {
    CHECK(begin());
    for (int outcome = 0; outcome < RDT_OUTCOME_COUNT; outcome++) {
        rdt_trial trial = trials_make(1024, "block=32", 0, 0);
        if (outcome == RDT_OUTCOME_GOOD) trial = trials_make(1024, "block=32", 1, 1);
        trial.outcome = (rdt_outcome)outcome;
        CHECK_OK(put(&trial, 1), err);
        CHECK_INT(take_all(&sum_f32), outcome + 1);
        CHECK(same_trial(&taken.row[outcome].trial, &trial));
    }
    CHECK_INT(ask("SELECT count(*) FROM measurement WHERE median_ns IS NULL"),
              RDT_OUTCOME_COUNT - 1);
}

static redtune_problem sum_of(uint64_t count, uint64_t outer, uint64_t inner, uint64_t outer_step,
                              uint64_t step) {
    return PROBLEM(.op = REDTUNE_SUM, .dtype = REDTUNE_F32, .result = REDTUNE_F32, .count = count,
                   .outer = outer, .inner = inner, .outer_step = outer_step, .step = step);
}

/* Rows, with and without a pitch, columns, a middle axis, and a strided array. */
FACT(each_gives_shapes_as_they_were_put) {
    const redtune_problem shapes[] = {
        sum_of(1000, 7, 0, 0, 0), sum_of(1000, 7, 0, 1024, 0), sum_of(1000, 0, 77, 0, 0),
        sum_of(8, 5, 77, 0, 80),  sum_of(8, 5, 77, 9999, 0),   sum_of(64, 0, 0, 0, 3),
        sum_of(0, 7, 0, 0, 0),
    };
    static const size_t classes[] = {3, 4};
    CHECK(begin());
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        rdt_trial trial = trials_make(1, "block=32", 10 + (double)i, 9);
        trial.problem = shapes[i];
        CHECK_OK(put(&trial, 1), err);
    }
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        size_t found = 0;
        CHECK_INT(take_all(&shapes[i]),
                  classes[shaped_of(&shapes[i]).inner || shaped_of(&shapes[i]).step]);
        for (int k = 0; k < taken.count; k++) {
            const rdt_row *row = &taken.row[k];
            CHECK(row->layout == rdt_problem_layout(&row->trial.problem));
            found += rdt_problem_same(&row->trial.problem, &shapes[i]) &&
                     row->trial.median_ns == 10 + (double)i;
        }
        CHECK_INT(found, 1);
    }
    CHECK_INT(take_all(&sum_f32), 0);
    CHECK_INT(take_winners(), sizeof shapes / sizeof *shapes);
}

/* Order and accuracy are of the class. */
FACT(each_gives_orderings_as_they_were_put) {
    redtune_problem wanted[] = {sum_f32, sum_f32, sum_f32};
    wanted[1].order = REDTUNE_ORDER_FIXED;
    wanted[2].accuracy = REDTUNE_ACCURACY_COMPENSATED;
    CHECK(begin());
    for (int i = 0; i < 3; i++) {
        rdt_trial trial = trials_make(1024, "block=32", 10 + (double)i, 9);
        trial.problem.order = wanted[i].order;
        trial.problem.accuracy = wanted[i].accuracy;
        CHECK_OK(put(&trial, 1), err);
    }
    for (int i = 0; i < 3; i++) {
        CHECK_INT(take_all(&wanted[i]), 1);
        CHECK_INT(taken.row[0].trial.problem.order, wanted[i].order);
        CHECK_INT(taken.row[0].trial.problem.accuracy, wanted[i].accuracy);
        CHECK(taken.row[0].trial.median_ns == 10 + (double)i);
    }
}

FACT(put_takes_texts_that_fill_their_buffers) {
    CHECK(begin());
    rdt_trial trial = trials_make(1024, "", 1000, 9);
    rdt_facts gpu = trials_gpu;
    rdt_origin origin = trials_origin;
    memset(trial.config, 'c', sizeof trial.config - 1);
    memset(trial.family, 'f', sizeof trial.family - 1);
    memset(gpu.name, 'g', sizeof gpu.name - 1);
    memset(origin.machine, 'm', sizeof origin.machine - 1);
    memset(origin.templates, 't', sizeof origin.templates - 1);
    CHECK_OK(rdt_tuning_put(tuning, &gpu, &origin, &trial, 1, &err), err);
    CHECK_INT(take_all(&sum_f32), 1);
    CHECK(same_trial(&taken.row[0].trial, &trial));
    CHECK_TEXT(taken.row[0].gpu.name, gpu.name);
    CHECK_TEXT(taken.row[0].origin.machine, origin.machine);
    CHECK_TEXT(taken.row[0].origin.templates, origin.templates);
}

FACT(put_refuses_what_is_outside_the_model) {
    const rdt_trial good = trials_make(1024, "block=32", 10, 9);
    rdt_trial bad[48];
    int n = 0;
#define BAD(change) (bad[n] = good, bad[n].change, n++)
#define BAD_EXTENT(extent, value)                                                                  \
    do {                                                                                           \
        bad[n] = good;                                                                             \
        RESHAPE(&bad[n].problem, extent, value);                                                   \
        n++;                                                                                       \
    } while (0)
    BAD(median_ns = 0);
    BAD(median_ns = -1);
    BAD(median_ns = INFINITY);
    BAD(spread_ns = NAN);
    BAD(spread_ns = -1);
    BAD(samples = 0);
    BAD(outcome = RDT_OUTCOME_WRONG);
    BAD(outcome = RDT_OUTCOME_COUNT);
    BAD(problem.result = REDTUNE_DTYPE_NONE);
    BAD(problem.result = REDTUNE_I32);
    BAD(problem.dtype = (redtune_dtype)99);
    BAD_EXTENT(count, UINT64_MAX);
    BAD(cache = (rdt_cache_state)2);
    BAD(family[0] = '\0');
    BAD(config[2] = '\n');
    BAD(config[2] = 0x1b);
    BAD(kernel[0] = 'k');
    BAD(problem.order = (redtune_order)9);
    BAD(problem.accuracy = (redtune_accuracy)9);
    BAD_EXTENT(outer, UINT64_MAX);
    BAD_EXTENT(step, UINT64_MAX);
    BAD(problem.mask = (redtune_mask)(REDTUNE_MASK_BITS + 1));
    BAD(problem.spread = (redtune_spread)9);
    BAD(problem.keys = 8);
    BAD(problem = sum_of(1024, UINT64_C(1) << 56, 0, 0, 0));
    BAD(problem = sum_of(1024, 2, 0, UINT64_C(1) << 62, 0));
    BAD(cause[0] = 0x1b);
    BAD(rank = -1);
    BAD(conditions.sm_mhz = -1);
    BAD(conditions.temperature_c = 1001);
    BAD(conditions.throttle = UINT64_MAX);
#undef BAD
    CHECK(begin());
    for (int i = 0; i < n; i++)
        CHECK_FAILS(put(&bad[i], 1), REDTUNE_INVALID, err, "cannot store measurement 0 of 1: it");
    rdt_facts gpu = trials_gpu;
    gpu.sm_count = 0;
    CHECK_FAILS(rdt_tuning_put(tuning, &gpu, &trials_origin, &good, 1, &err), REDTUNE_INVALID, err,
                "its sm_count");
    rdt_origin origin = trials_origin;
    memset(origin.machine, 'm', sizeof origin.machine);
    CHECK_FAILS(rdt_tuning_put(tuning, &trials_gpu, &origin, &good, 1, &err), REDTUNE_INVALID, err,
                "its machine");
    CHECK_INT(ask("SELECT count(*) FROM measurement"), 0);
}

/* What a file from elsewhere may hold. */
static const struct {
    const char *change;
    bool checked; /* by the schema too; names and control characters are not */
} strange_values[] = {
    {"op = 'no such op'", false},
    {"op = printf('%.*c', 32, 'o')", true},
    {"dtype = 'f99'", false},
    {"result = 'i32'", false},
    {"result = ''", true},
    {"count = -1", true},
    {"count = 9223372036854775807", true},
    {"layout = 'no such layout'", false},
    {"layout = ''", true},
    {"ordering = 'strange'", false},
    {"kept = '0'", false},
    {"kept = '2'", false},
    {"kept = '2', layout = 'columns'", false},
    {"kept = '2@1024', reduced = '1024@1', layout = 'rows'", false},
    {"kept = '2', reduced = '1024@1', layout = 'rows'", false},
    {"layout = 'rows'", false},
    {"layout = 'columns', kept = '4', reduced = '1024@4'", false},
    {"layout = 'columns', kept = (1 << 40) || '@' || (1 << 40) || ' 4@1', reduced = '1024@8'",
     false},
    {"kept = '2@1'", false},
    {"kept = '-1'", false},
    {"kept = '2@-1'", false},
    {"reduced = '1024@4'", false},
    {"reduced = '1024,'", false},
    {"reduced = ''", false},
    {"kept = printf('%.*c', 512, '1')", true},
    {"count = 1000", false},
    {"greatest = -1", true},
    {"greatest = 2048", false},
    {"mask = 'bytes of others'", false},
    {"mask = 'lace'", false},
    {"key_dtype = 'i32'", false},
    {"keys = 8", false},
    {"spread = 'uniform'", false},
    {"cache_state = 'tepid'", true},
    {"family = ''", true},
    {"family = printf('%.*c', 32, 'f')", true},
    {"family = printf('%.*c', 1000000, 'f')", true},
    {"config = printf('%.*c', 256, 'c')", true},
    {"config = 'a' || char(0) || 'b'", false},
    {"config = char(27) || '[2J'", false},
    {"kernel = ''", true},
    {"kernel = printf('%.*c', 17, 'k')", true},
    {"kernel = char(27) || '0123456789abcde'", false},
    {"is_default = 2", true},
    {"outcome = 'perfect'", true},
    {"outcome = 'wrong'", true},
    {"median_ns = NULL", true},
    {"median_ns = 0", true},
    {"median_ns = -5", true},
    {"median_ns = 9e999", true},
    {"spread_ns = NULL", true},
    {"spread_ns = -9e999", true},
    {"samples = NULL", true},
    {"samples = 0", true},
    {"samples = -3", true},
    {"samples = 1 << 40", true},
    {"date = -1", true},
    {"place = -1", true},
    {"place = 1 << 31", true},
    {"cause = printf('%.*c', 160, 'c')", true},
    {"cause = char(27) || '[2J'", false},
    {"sm_mhz = 0", true},
    {"memory_mhz = -1", true},
    {"temperature_c = 5000", true},
    {"throttle = -1", true},
    {"others = -1", true},
    {"gpu = 99", true},
    {"origin = 99", true},
};

static const char *const strange_figures[] = {
    "gpu SET name = ''",
    "gpu SET name = printf('%.*c', 96, 'g')",
    "gpu SET name = char(10)",
    "gpu SET major = -1",
    "gpu SET sm_count = 0",
    "gpu SET sm_count = 1 << 33",
    "gpu SET l2_bytes = -1",
    "gpu SET memory_khz = 1 << 32",
    "origin SET machine = printf('%.*c', 64, 'm')",
    "origin SET templates = printf('%.*c', 40, 't')",
    "origin SET driver_version = -1",
};

/* Makes the row of config 'bad' strange in this way, unseen by CHECKs. */
static bool make_strange(const char *update, const char *where) {
    char text[300];
    snprintf(text, sizeof text,
             "PRAGMA ignore_check_constraints=ON; PRAGMA foreign_keys=OFF; UPDATE %s %s", update,
             where);
    return sql(text);
}

FACT(reading_skips_strange_rows) {
    for (size_t i = 0; i < sizeof strange_values / sizeof *strange_values; i++) {
        char update[200];
        CHECK(begin());
        CHECK(put_one(1024, "bad", 10, 9) && put_one(1024, "good", 20, 9));
        snprintf(update, sizeof update, "measurement SET %s", strange_values[i].change);
        CHECK(make_strange(update, "WHERE config = 'bad'"));
        int rows = take_all(&sum_f32), wins = take_winners();
        if (rows != 1 || wins != 1) fprintf(stderr, "%s gives %d\n", update, rows);
        CHECK_INT(rows, 1);
        CHECK_INT(wins, 1);
        CHECK_TEXT(taken.row[0].trial.config, "good");
    }
}

FACT(reading_skips_rows_of_strange_gpus_and_origins) {
    for (size_t i = 0; i < sizeof strange_figures / sizeof *strange_figures; i++) {
        CHECK(begin());
        CHECK(put_one(1024, "bad", 10, 9));
        CHECK(make_strange(strange_figures[i], ""));
        if (take_all(&sum_f32)) fprintf(stderr, "%s is read\n", strange_figures[i]);
        CHECK_INT(take_all(&sum_f32), 0);
        CHECK_INT(take_winners(), 0);
    }
}

/* Whether it is among zeros only, as most of a page that has few cells. */
static bool is_free_space(const char *whole, size_t bytes, size_t i) {
    enum { AROUND = 16 };
    const size_t begin = i > AROUND ? i - AROUND : 0, end = i + AROUND < bytes ? i + AROUND : bytes;
    for (size_t k = begin; k < end; k++)
        if (whole[k]) return false;
    return true;
}

/* Whatever a byte of the file becomes: rows are read or the file is refused, and nothing breaks. */
FACT(reading_survives_any_flipped_byte) {
    size_t bytes = 0, flipped = 0;
    CHECK(begin());
    for (int i = 0; i < 60; i++) CHECK(put_one(1024u << i % 9, "block=256,vec=4", 10 + i, 9));
    rdt_tuning_close(tuning);
    tuning = NULL;
    char *whole = read_bytes(in_scratch("tuning.db"), &bytes);
    CHECK(whole);
    for (size_t i = 0; i < bytes; i += i % 4096 < 200 ? 1 : 11) {
        if (is_free_space(whole, bytes, i)) continue;
        flipped++;
        const char *path = in_scratch("flipped.db");
        whole[i] ^= (char)(1 << i % 8);
        CHECK(write_bytes(path, whole, bytes));
        whole[i] ^= (char)(1 << i % 8);
        redtune_status status = rdt_tuning_open_read(path, &tuning, &err);
        if (!status) status = rdt_tuning_each(tuning, &sum_f32, RDT_CACHE_COLD, take, NULL, &err);
        if (!status) status = rank_all(tuning, take_standing, NULL);
        CHECK(status == REDTUNE_OK || status == REDTUNE_DATABASE);
        rdt_tuning_close(tuning);
        tuning = NULL;
    }
    free(whole);
    CHECK(flipped > bytes / 100);
}

FACT(schema_refuses_strange_values) {
    sqlite3 *db = NULL;
    CHECK(begin());
    CHECK(put_one(1024, "bad", 10, 9));
    CHECK(!sqlite3_open(in_scratch("tuning.db"), &db));
    CHECK(!sqlite3_exec(db, "PRAGMA foreign_keys=ON", NULL, NULL, NULL));
    for (size_t i = 0; i < sizeof strange_values / sizeof *strange_values; i++) {
        char text[200];
        snprintf(text, sizeof text, "BEGIN; UPDATE measurement SET %s", strange_values[i].change);
        int rc = sqlite3_exec(db, text, NULL, NULL, NULL);
        if (!rc == strange_values[i].checked) fprintf(stderr, "%s gives %d\n", text, rc);
        CHECK_INT(rc, strange_values[i].checked ? SQLITE_CONSTRAINT : SQLITE_OK);
        CHECK(!sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL));
    }
    CHECK(sqlite3_exec(db, "UPDATE measurement SET count = 'many'", NULL, NULL, NULL));
    sqlite3_close(db);
}

int main(int argc, char **argv) {
    if (!scratch_begin()) return 1;
    int failed = check_run(argc, argv);
    rdt_tuning_close(tuning);
    scratch_end();
    return failed;
}
