/* Facts about src/api/records/recording.c: what is merged into the file comes back by its cost, and
 * a file that redtune did not write is refused by its line. */
#define _GNU_SOURCE
#include "database.h"
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include "api/records/recording.h"
#include "model/problem.h"
#include "redtune/tools.h"
#include "shaped.h"

static redtune_error err;
static redtune_recorded *found;
static size_t found_count;

#define FIRST "{\"redtune_recording\":2}\n"

static redtune_status read_it(void) {
    redtune_free(found);
    found = NULL;
    found_count = 0;
    return redtune_recording_read(in_scratch("record"), &found, &found_count, &err);
}

static bool write_text(const char *text, size_t bytes) {
    FILE *file = fopen(in_scratch("record"), "wb");
    bool good = file && fwrite(text, 1, bytes, file) == bytes;
    return file && !fclose(file) && good;
}

static redtune_status read_text(const char *text) {
    return write_text(text, strlen(text)) ? read_it() : REDTUNE_FILE;
}

static redtune_recorded recorded_of(redtune_dtype dtype, uint64_t count, uint64_t outer,
                                    uint64_t inner, uint64_t calls, double ns) {
    redtune_recorded recorded = {
        .problem = PROBLEM(.op = REDTUNE_SUM, .dtype = dtype, .count = count, .outer = outer,
                           .inner = inner),
        .match = REDTUNE_MATCH_SIZE,
        .calls = calls,
        .ns = ns,
    };
    rdt_problem_resolve(&recorded.problem, &recorded.problem, &err);
    return recorded;
}

static redtune_status merge(const redtune_recorded *recorded, size_t count) {
    rdt_recording recording = {0};
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < count; i++)
        status = rdt_recording_add(&recording, &recorded[i], &err);
    if (!status) status = rdt_recording_merge(in_scratch("record"), &recording, &err);
    rdt_recording_free(&recording);
    return status;
}

/* ---- what was recorded ----------------------------------------------------------------------- */

FACT(problems_come_back_by_their_cost) {
    const redtune_recorded several[] = {
        recorded_of(REDTUNE_F32, 1000, 1, 1, 7, 0),
        recorded_of(REDTUNE_F32, 1000, 64, 1, 3, 500),
        recorded_of(REDTUNE_F16, 77, 8, 1000, 1, 9000),
        recorded_of(REDTUNE_F16, 78, 8, 1000, 8, 0),
    };
    static const int expected[] = {2, 1, 3, 0};
    unlink(in_scratch("record"));
    CHECK_OK(merge(several, 4), err);
    CHECK_OK(read_it(), err);
    CHECK_INT(found_count, 4);
    for (size_t i = 0; i < 4; i++) {
        const redtune_recorded *wanted = &several[expected[i]];
        CHECK(rdt_problem_same(&found[i].problem, &wanted->problem));
        CHECK(found[i].calls == wanted->calls && found[i].ns == wanted->ns);
        CHECK_INT(found[i].match, REDTUNE_MATCH_SIZE);
    }
}

FACT(a_second_program_adds_to_the_first) {
    redtune_recorded several[] = {recorded_of(REDTUNE_F32, 1000, 64, 1, 3, 500),
                                  recorded_of(REDTUNE_F32, 1000, 65, 1, 3, 400)};
    unlink(in_scratch("record"));
    CHECK_OK(merge(&several[0], 1), err);
    several[0].match = REDTUNE_MATCH_LIKE;
    CHECK_OK(merge(several, 2), err);
    several[0].match = REDTUNE_MATCH_EXACT;
    CHECK_OK(merge(several, 1), err);
    CHECK_OK(read_it(), err);
    CHECK_INT(found_count, 2);
    CHECK(found[0].calls == 9 && found[0].ns == 1500);
    CHECK_INT(found[0].match, REDTUNE_MATCH_LIKE); /* the farthest */
    CHECK_INT(shaped_of(&found[1].problem).outer, 65);
}

/* ---- problems of every kind ------------------------------------------------------------------ */

#define OF(...)                                                                                    \
    { .op = REDTUNE_SUM, .dtype = REDTUNE_F32, __VA_ARGS__ }
#define F32(members) "{\"op\":\"sum\",\"dtype\":\"f32\"," members ",\"calls\":2}\n"
#define RAGGED       "\"layout\":\"ragged\","

/* Each with its line of version 1, and the axes of its line now. */
static const struct {
    shaped problem;
    const char *old, *axes;
} kinds[] = {
    {OF(.count = 1000), F32("\"count\":1000"), "\"kept\":\"\",\"reduced\":\"1000\""},
    {OF(.count = 0), F32("\"count\":0"), "\"kept\":\"\",\"reduced\":\"0\""},
    {OF(.count = 9, .step = 3), F32("\"count\":9,\"outer\":1,\"inner\":1,\"step\":3"),
     "\"kept\":\"\",\"reduced\":\"9@3\""},
    {OF(.count = 1, .step = 3), F32("\"count\":1,\"step\":3"), "\"kept\":\"\",\"reduced\":\"1@3\""},
    {OF(.count = 5, .outer = 3),
     F32("\"count\":5,\"outer\":3,\"inner\":1,\"outer_step\":5,\"step\":1"),
     "\"kept\":\"3\",\"reduced\":\"5\""},
    {OF(.count = 1000, .outer = 64, .outer_step = 1024),
     F32("\"outer_step\":1024,\"count\":1000,\"outer\":64"),
     "\"kept\":\"64@1024\",\"reduced\":\"1000@1\""},
    {OF(.count = 77, .inner = 10), F32("\"count\":77,\"inner\":10"),
     "\"kept\":\"10@1\",\"reduced\":\"77@10\""},
    {OF(.count = 77, .outer = 8, .inner = 10, .outer_step = 900, .step = 11),
     F32("\"count\":77,\"outer\":8,\"inner\":10,\"outer_step\":900,\"step\":11"),
     "\"kept\":\"8@900 10@1\",\"reduced\":\"77@11\""},
    {OF(.count = 30, .outer = 7, .segmented = REDTUNE_SEGMENTED_EACH),
     F32(RAGGED "\"count\":30,\"outer\":7"), "\"kept\":\"7\",\"reduced\":\"30\""},
    {OF(.count = 30, .segmented = REDTUNE_SEGMENTED_EACH), F32(RAGGED "\"count\":30"),
     "\"kept\":\"\",\"reduced\":\"30\""},
    {OF(.count = 30, .outer = 7, .greatest = 90, .median = 8, .segmented = REDTUNE_SEGMENTED_ALL),
     F32("\"layout\":\"list\",\"count\":30,\"outer\":7,\"outer_step\":90,\"step\":8"),
     "\"greatest\":90,\"median\":8,\"kept\":\"7\",\"reduced\":\"30\""},
    {OF(.count = 1000, .order = REDTUNE_ORDER_FIXED), F32("\"order\":\"fixed\",\"count\":1000"),
     "\"order\":\"fixed\","},
    {OF(.count = 1000, .accuracy = REDTUNE_ACCURACY_COMPENSATED),
     F32("\"accuracy\":\"compensated\",\"count\":1000"), "\"accuracy\":\"compensated\","},
    {OF(.count = 1000, .result = REDTUNE_F64), F32("\"result\":\"f64\",\"count\":1000"),
     "\"result\":\"f64\","},
};

/* Of equal problems all that is not room is equal. */
static bool is_the_same(const redtune_problem *a, const redtune_problem *b) {
    const size_t axis = sizeof *a->kept;
#define SAME(field) &&a->field == b->field
#define SAME_AXES(field)                                                                           \
    a->field##_axes == b->field##_axes && !memcmp(a->field, b->field, a->field##_axes * axis)
    return SAME_AXES(kept) && SAME_AXES(reduced) RDT_PROBLEM_KIND_LIST(SAME)
                                  RDT_PROBLEM_KEYS_LIST(SAME) SAME(steps) SAME(greatest)
                                      SAME(median) SAME(config);
#undef SAME_AXES
#undef SAME
}

FACT(problems_of_every_kind_come_back) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        redtune_recorded recorded = {.problem = shaped_problem(kinds[i].problem), .calls = 2};
        char *text = NULL;
        size_t length = 0;
        CHECK_OK(rdt_problem_resolve(&recorded.problem, &recorded.problem, &err), err);
        unlink(in_scratch("record"));
        CHECK_OK(merge(&recorded, 1), err);
        CHECK_OK(rdt_file_read(in_scratch("record"), 1000, &text, &length, &err), err);
        CHECK_CONTAINS(text, kinds[i].axes);
        free(text);
        CHECK_OK(read_it(), err);
        CHECK(found_count == 1 && is_the_same(&found[0].problem, &recorded.problem));
    }
}

FACT(lines_of_version_1_are_read) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        redtune_problem problem = shaped_problem(kinds[i].problem);
        char text[400];
        CHECK_OK(rdt_problem_resolve(&problem, &problem, &err), err);
        for (int version = 1; version <= 2; version++) {
            snprintf(text, sizeof text, "{\"redtune_recording\":%d}\n%s", version, kinds[i].old);
            CHECK_OK(read_text(text), err);
            CHECK(found_count == 1 && is_the_same(&found[0].problem, &problem));
        }
    }
    /* A program that adds to such a file writes all of it anew. */
    const redtune_recorded one = recorded_of(REDTUNE_F32, 1000, 1, 1, 7, 0);
    char *text = NULL;
    size_t length = 0;
    CHECK_OK(read_text("{\"redtune_recording\":1}\n" F32("\"count\":1000")), err);
    CHECK_OK(merge(&one, 1), err);
    CHECK_OK(rdt_file_read(in_scratch("record"), 1000, &text, &length, &err), err);
    CHECK_TEXT(text, FIRST "{\"op\":\"sum\",\"dtype\":\"f32\",\"result\":\"f32\",\"kept\":\"\","
                           "\"reduced\":\"1000\",\"calls\":9,\"ns\":0,"
                           "\"match\":\"default\"}\n");
    free(text);
}

/* They are resolved, however they are written out. */
FACT(axes_that_go_on_are_joined) {
    CHECK_OK(read_text(FIRST F32("\"reduced\":\"5@1\",\"kept\":\"3@5 1@7\"") F32(
                 "\"kept\":\"3\",\"reduced\":\"5\"") F32("\"kept\":\"1 3\",\"reduced\":\"1 5\"")),
             err);
    CHECK_INT(found_count, 1);
    CHECK_INT(found[0].calls, 6);
    CHECK_INT(found[0].problem.result, REDTUNE_F32);
    CHECK(!found[0].problem.steps);
}

FACT(counts_do_not_overflow) {
    redtune_recorded much = recorded_of(REDTUNE_F32, 1000, 64, 1, UINT64_MAX - 1, 8.9e18);
    unlink(in_scratch("record"));
    for (int i = 0; i < 3; i++) CHECK_OK(merge(&much, 1), err);
    CHECK_OK(read_it(), err);
    CHECK(found[0].calls == UINT64_MAX && found[0].ns == 9e18);
}

/* ---- the file -------------------------------------------------------------------------------- */

FACT(an_empty_file_is_an_empty_recording) {
    CHECK_OK(read_text(""), err);
    CHECK_INT(found_count, 0);
    CHECK_OK(read_text(FIRST), err);
    CHECK_INT(found_count, 0);
    CHECK(write_text("", 0));
    const redtune_recorded one = recorded_of(REDTUNE_F32, 1000, 1, 1, 7, 0);
    CHECK_OK(merge(&one, 1), err);
    CHECK_OK(read_it(), err);
    CHECK_INT(found_count, 1);
}

FACT(nothing_else_is_left_beside_it) {
    const redtune_recorded one = recorded_of(REDTUNE_F32, 1000, 1, 1, 7, 0);
    struct stat info;
    unlink(in_scratch("record"));
    CHECK(write_text("", 0) && !chmod(in_scratch("record"), 0640));
    CHECK_OK(merge(&one, 1), err);
    CHECK(!stat(in_scratch("record"), &info) && (info.st_mode & 0777) == 0640);
    CHECK(!rmdir(scratch) || errno == ENOTEMPTY);
    unlink(in_scratch("record"));
    CHECK(!rmdir(scratch) && !mkdir(scratch, 0777));
}

FACT(a_file_that_is_none_is_left_as_it_is) {
    const redtune_recorded one = recorded_of(REDTUNE_F32, 1000, 1, 1, 7, 0);
    char *text = NULL;
    size_t length = 0;
    CHECK(write_text("my letters\n", 11));
    CHECK_FAILS(merge(&one, 1), REDTUNE_INVALID, err,
                "line 1: it is not {\"redtune_recording\":2}");
    CHECK_OK(rdt_file_read(in_scratch("record"), 100, &text, &length, &err), err);
    CHECK_TEXT(text, "my letters\n");
    free(text);
    unlink(in_scratch("record"));
    CHECK_FAILS(read_it(), REDTUNE_FILE, err, "cannot read");
    CHECK_FAILS(redtune_recording_read(NULL, &found, &found_count, &err), REDTUNE_INVALID, err,
                "path is NULL");
}

/* Between opening the file and locking it another program has replaced it: that lock is of no use.
 */
static int lock_calls;
static bool locked_the_right_one;

int flock(int file, int operation) {
    struct stat mine, named;
    const char *path = in_scratch("record");
    if (!lock_calls++) rename(in_scratch("other"), path);
    int code = (int)syscall(SYS_flock, file, operation);
    locked_the_right_one =
        !code && !fstat(file, &mine) && !stat(path, &named) && mine.st_ino == named.st_ino;
    return code;
}

FACT(the_lock_is_on_the_file_that_has_the_path) {
    const redtune_recorded one = recorded_of(REDTUNE_F32, 1000, 1, 1, 1, 2);
    CHECK(write_text(FIRST, sizeof FIRST - 1) &&
          !rename(in_scratch("record"), in_scratch("other")));
    CHECK(write_text(FIRST, sizeof FIRST - 1));
    lock_calls = 0;
    CHECK_OK(merge(&one, 1), err);
    CHECK(locked_the_right_one);
    CHECK_INT(lock_calls, 2);
}

FACT(a_link_to_it_stays_one) {
    const redtune_recorded one = recorded_of(REDTUNE_F32, 1000, 1, 1, 1, 2);
    struct stat info;
    CHECK(write_text("", 0) && !rename(in_scratch("record"), in_scratch("real")));
    CHECK(!symlink("real", in_scratch("record")));
    CHECK_OK(merge(&one, 1), err);
    CHECK(!lstat(in_scratch("record"), &info) && S_ISLNK(info.st_mode));
    CHECK(!stat(in_scratch("real"), &info) && info.st_size > 0);
    CHECK(!unlink(in_scratch("record")));
}

/* A pipe would wait for its other end forever. */
FACT(what_is_no_file_is_refused_and_stays) {
    const redtune_recorded one = recorded_of(REDTUNE_F32, 1000, 1, 1, 1, 2);
    struct stat info;
    CHECK(!mkfifo(in_scratch("record"), 0666));
    CHECK_FAILS(merge(&one, 1), REDTUNE_FILE, err, "it is a named pipe, not a regular file; name");
    CHECK_FAILS(read_it(), REDTUNE_FILE, err, "record: it is a named pipe, not a regular file");
    CHECK(!unlink(in_scratch("record")));
    if (!mknod(in_scratch("record"), S_IFCHR | 0666, makedev(1, 3))) {
        CHECK_FAILS(merge(&one, 1), REDTUNE_FILE, err, "it is a device, not a regular file; name");
        CHECK(!stat(in_scratch("record"), &info) && S_ISCHR(info.st_mode));
        CHECK(!unlink(in_scratch("record")));
    }
}

/* Several at once: every one is counted. */
FACT(programs_that_end_together_lose_nothing) {
    enum { PROGRAMS = 8, TIMES = 5 };
    const redtune_recorded one = recorded_of(REDTUNE_F32, 1000, 1, 1, 1, 2);
    unlink(in_scratch("record"));
    for (int i = 0; i < PROGRAMS; i++)
        if (!fork()) {
            for (int k = 0; k < TIMES; k++)
                if (merge(&one, 1)) _exit(1);
            _exit(0);
        }
    for (int i = 0; i < PROGRAMS; i++) {
        int status = 0;
        CHECK(wait(&status) > 0 && !status);
    }
    CHECK_OK(read_it(), err);
    CHECK_INT(found[0].calls, PROGRAMS * TIMES);
}

/* ---- what anybody may have made -------------------------------------------------------------- */

#define GOOD "{\"op\":\"sum\",\"dtype\":\"f32\",\"count\":5,\"calls\":2}\n"

FACT(lines_that_make_no_sense_are_refused_by_their_number) {
    static const struct {
        const char *line, *why;
    } bad[] = {
        {"", "no object"},
        {"null", "no object"},
        {"{", "no object"},
        {"{}", "lacks"},
        {"{\"op\":\"sum\",\"dtype\":\"f32\",\"calls\":2}", "lacks"},
        {"{\"op\":\"sum\",\"dtype\":\"f32\",\"count\":5,\"calls\":2} {}", "follows"},
        {"{\"op\":\"sum\",\"dtype\":\"f32\",\"count\":5,\"calls\":2", "no object"},
        {"{\"op\":\"sum\",\"dtype\":\"f32\",\"count\":5,\"calls\":2,}", "no object"},
        {"{\"op\":\"sum\",\"op\":\"sum\"}", "twice"},
        {"{\"oh\":\"sum\"}", "unknown member"},
        {"{\"op\":7}", "no name"},
        {"{\"op\":\"s\\u0075m\"}", "no name"},
        {"{\"op\":\"abcdefghijklmnopqrstuvwxyzabcdefghijkl\"}", "no name"},
        {"{\"count\":\"5\"}", "no whole number"},
        {"{\"count\":-5}", "no whole number"},
        {"{\"count\":}", "no whole number"},
        {"{\"count\":1.5}", "no object"},
        {"{\"count\":18446744073709551616}", "no whole number"},
        {"{\"op\":\"sun\",\"dtype\":\"f32\",\"count\":5,\"calls\":2}", "sun"},
        {"{\"op\":\"sum\",\"dtype\":\"f33\",\"count\":5,\"calls\":2}", "f33"},
        {"{\"op\":\"sum\",\"dtype\":\"f32\",\"result\":\"i8\",\"count\":5,\"calls\":2}", "as i8"},
        {"{\"op\":\"sum\",\"dtype\":\"f32\",\"count\":2305843009213693952,\"calls\":2}", "at most"},
        {"{\"op\":\"sum\",\"dtype\":\"f32\",\"count\":5,\"outer\":1152921504606846976,\"calls\":2}",
         "span at most"},
        {"{\"op\":\"sum\",\"dtype\":\"f32\",\"count\":5,\"calls\":2,\"match\":\"near\"}", "match"},
        {"{\"op\":\"sum\",\"dtype\":\"f32\",\"count\":5,\"calls\":2,\"accuracy\":\"best\"}",
         "its accuracy is unknown"},
        {"{\"op\":\"sum\",\"dtype\":\"f32\",\"kept\":\"5\",\"calls\":2}", "lacks"},
        {"{\"op\":\"sum\",\"dtype\":\"f32\",\"outer\":5,\"calls\":2}", "lacks"},
        {"{\"op\":\"sum\",\"dtype\":\"f32\",\"reduced\":\"5\",\"count\":5,\"calls\":2}",
         "beside them"},
        {"{\"reduced\":5}", "no axes"},
        {"{\"op\":\"sum\",\"dtype\":\"f32\",\"reduced\":\"5@\",\"calls\":2}",
         "reduced '5@' are no axes"},
        {"{\"op\":\"sum\",\"dtype\":\"f32\",\"reduced\":\"5@1;2\",\"calls\":2}", "are no axes"},
        {"{\"op\":\"sum\",\"dtype\":\"f32\",\"reduced\":\"1 1 1 1 1 1 1 1 1\",\"calls\":2}",
         "are no axes"},
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        char text[400];
        snprintf(text, sizeof text, FIRST GOOD "%s\n" GOOD, bad[i].line);
        const redtune_status status = read_text(text);
        CHECK(status == REDTUNE_INVALID || status == REDTUNE_UNSUPPORTED);
        CHECK_CONTAINS(err.message, ": line 3: ");
        CHECK_CONTAINS(err.message, bad[i].why);
    }
    CHECK_FAILS(read_text("{\"redtune_recording\":3}\n" GOOD), REDTUNE_INVALID, err, "line 1");
    CHECK_FAILS(read_text("{\"redtune_recording\":0}\n" GOOD), REDTUNE_INVALID, err, "line 1");
    CHECK_FAILS(read_text("{\"redtune_recording\":2} 1\n"), REDTUNE_INVALID, err, "line 1");
    CHECK_FAILS(read_text(GOOD), REDTUNE_INVALID, err, "line 1");
    CHECK_OK(
        read_text(FIRST "  { \"calls\" : 2 , \"op\":\"sum\",\t\"dtype\":\"f32\",\"count\":5}\r"),
        err);
    CHECK_INT(found_count, 1);
}

FACT(a_nul_ends_no_line) {
    static const char text[] =
        FIRST "{\"op\":\"sum\",\"dtype\":\"f32\",\"count\":5,\"calls\":2}\0\n";
    CHECK(write_text(text, sizeof text - 1));
    CHECK_FAILS(read_it(), REDTUNE_INVALID, err, "line 2: something follows");
}

FACT(a_file_cut_anywhere_is_read_or_refused) {
    static const char text[] = FIRST GOOD GOOD;
    for (size_t bytes = 0; bytes < sizeof text; bytes++) {
        CHECK(write_text(text, bytes));
        redtune_status status = read_it();
        CHECK(!status || status == REDTUNE_INVALID);
        CHECK(status || found_count <= 1);
    }
}

int main(int argc, char **argv) {
    if (!scratch_begin()) return 1;
    int failed = check_run(argc, argv);
    redtune_free(found);
    scratch_end();
    return failed;
}
