/* Facts about databases of older versions: each step forward keeps every row. */
#define _GNU_SOURCE
#include "trials.h"
#include "shaped.h"
#include "version_2.h"
#include "version_3.h"

#include <limits.h>

static bool make_version_2(void) {
    rdt_tuning_close(tuning);
    tuning = NULL;
    unlink(in_scratch("tuning.db"));
    return sql(version_2);
}

static bool rows_are_kept(void) {
    if (take_all(&sum_f32) != 3) return false;
    const rdt_row *row = taken.row;
    return !strcmp(row[0].trial.config, "a") && row[0].trial.median_ns == 1500.5 &&
           row[0].trial.is_default && row[0].date == 1700000000 && row[0].trial.rank == 5 &&
           !row[0].trial.cause[0] && row[0].import == 1 && row[0].trial.conditions.sm_mhz == 1980 &&
           row[0].layout == RDT_LAYOUT_WHOLE && !shaped_of(&row[0].trial.problem).outer &&
           !row[0].trial.kernel[0] && row[1].trial.rank == INT_MAX &&
           !strcmp(row[1].trial.config, "b") && row[2].trial.outcome == RDT_OUTCOME_HUNG &&
           !strcmp(row[2].trial.cause, "too long") &&
           !memcmp(&row[1].gpu, &trials_gpu, sizeof trials_gpu) &&
           !memcmp(&row[1].origin, &trials_origin, sizeof trials_origin) && winner() &&
           !strcmp(winner(), "b");
}

FACT(opening_takes_version_2_forward) {
    CHECK(make_version_2());
    CHECK_OK(rdt_tuning_open(in_scratch("tuning.db"), &tuning, &err), err);
    CHECK(rows_are_kept());
    CHECK_INT(ask("PRAGMA user_version"), 4);
    CHECK_INT(ask("SELECT id FROM measurement WHERE config = 'b'"), 9);
    CHECK(put_one(4096, "d", 10, 9));
    CHECK_INT(take_all(&sum_f32), 4);
    rdt_tuning_close(tuning);
    tuning = NULL;
    /* The schema's text is that of a new file, or this is refused. */
    CHECK_OK(rdt_tuning_open(in_scratch("tuning.db"), &tuning, &err), err);
    CHECK_INT(ask("SELECT count(*) FROM pragma_integrity_check WHERE integrity_check = 'ok'"), 1);
}

FACT(reading_version_2_leaves_the_file_as_it_is) {
    size_t bytes = 0;
    CHECK(make_version_2());
    char *before = read_bytes(in_scratch("tuning.db"), &bytes);
    CHECK_OK(rdt_tuning_open_read(in_scratch("tuning.db"), &tuning, &err), err);
    CHECK(rows_are_kept());
    CHECK(holds_bytes(in_scratch("tuning.db"), before, bytes));
    free(before);
}

FACT(a_file_that_only_says_it_is_of_version_2_is_refused) {
    CHECK(begin());
    CHECK(sql("PRAGMA user_version=2"));
    rdt_tuning_close(tuning);
    tuning = NULL;
    CHECK_FAILS(rdt_tuning_open(in_scratch("tuning.db"), &tuning, &err), REDTUNE_DATABASE, err,
                "its tables are not those");
    CHECK_INT(ask("PRAGMA user_version"), 2);
}

/* What the extents of version 3 are as axes, in the order of the rows. */
FACT(extents_of_version_3_become_axes) {
    static const struct {
        shaped extents;
        const char *kept, *reduced;
    } rows[] = {
        {{.count = 1024}, "", "1024"},
        {{.count = 1000, .outer = 64}, "64", "1000"},
        {{.count = 1000, .outer = 64, .outer_step = 1024}, "64@1024", "1000@1"},
        {{.count = 64, .inner = 1000}, "1000@1", "64@1000"},
        {{.count = 64, .inner = 1000, .step = 1024}, "1000@1", "64@1024"},
        {{.count = 64, .outer = 8, .inner = 1000}, "8@64000 1000@1", "64@1000"},
        {{.count = 64, .outer = 8, .inner = 1000, .outer_step = 70000},
         "8@70000 1000@1",
         "64@1000"},
        {{.count = 64, .step = 3}, "", "64@3"},
        {{.count = 64, .outer = 8, .step = 3}, "8@64", "64@3"},
        {{.segmented = 1, .count = 100, .outer = 64, .greatest = 5000, .median = 3}, "64", "100"},
        {{.segmented = 2, .count = 100, .outer = 64}, "64", "100"},
        {{.segmented = 1, .count = 100}, "", "100"},
    };
    enum { ROWS = sizeof rows / sizeof *rows };
    CHECK(make_version_2() && sql(version_3));
    CHECK_OK(rdt_tuning_open(in_scratch("tuning.db"), &tuning, &err), err);
    CHECK_INT(ask("SELECT count(*) FROM measurement"), ROWS);
    for (int i = 0; i < ROWS; i++) {
        char text[256];
        snprintf(
            text, sizeof text,
            "SELECT count(*) FROM measurement WHERE id = %d AND kept = '%s' AND reduced = '%s'",
            i + 1, rows[i].kept, rows[i].reduced);
        check_that(ask(text) == 1, __FILE__, __LINE__, "row %d is not %s, %s", i + 1, rows[i].kept,
                   rows[i].reduced);
    }
    CHECK_INT(take_all(NULL), ROWS);
    for (int k = 0; k < taken.count; k++) {
        bool found = false;
        for (int i = 0; !found && i < ROWS; i++) {
            shaped of = rows[i].extents;
            of.dtype = of.result = REDTUNE_F32;
            redtune_problem problem = shaped_problem(of);
            found = !rdt_problem_resolve(&problem, &problem, &err) &&
                    rdt_problem_same(&problem, &taken.row[k].trial.problem);
        }
        CHECK(found);
    }
}

static bool open_and_put(int index) {
    rdt_trial trial = trials_make(8192, "more", 1000 + index, 9);
    bool good = !rdt_tuning_open(in_scratch("tuning.db"), &tuning, &err) &&
                !rdt_tuning_put(tuning, &trials_gpu, &trials_origin, &trial, 1, &err);
    if (!good) fprintf(stderr, "%s\n", err.message);
    return good;
}

FACT(many_processes_take_it_forward_once) {
    CHECK(make_version_2());
    CHECK(run_processes(8, open_and_put));
    CHECK_INT(ask("SELECT count(*) FROM measurement"), 11);
}

int main(int argc, char **argv) {
    if (!scratch_begin()) return 1;
    int failed = check_run(argc, argv);
    rdt_tuning_close(tuning);
    scratch_end();
    return failed;
}
