/* Facts about src/api/records/identity.c: when a database may be taken for the one that it was. */
#include "database.h"

#include <time.h>
#include "api/records/identity.h"

/* Writes the file and sets its time to so many seconds ago. */
static bool put_file(const char *name, const char *text, int age_s) {
    FILE *file = fopen(in_scratch(name), "w");
    if (!file || fputs(text, file) < 0 || fclose(file)) return false;
    const struct timespec at = {.tv_sec = time(NULL) - age_s}, times[2] = {at, at};
    return !utimensat(AT_FDCWD, in_scratch(name), times, 0);
}

static const char *identity(void) {
    static rdt_identity found;
    char *path = (char *)in_scratch("tuning.db");
    rdt_identity_of(&path, 1, found);
    return found;
}

static bool is_known(void) { return identity()[0] != '\0'; }

FACT(a_file_that_has_settled_is_known) {
    CHECK(put_file("tuning.db", "one", 60));
    CHECK(is_known());
}

/* It may be written again within the same tick of the clock, and look the same. */
FACT(a_file_of_a_moment_ago_is_not) {
    CHECK(put_file("tuning.db", "one", 0));
    CHECK(!is_known());
    CHECK(put_file("tuning.db", "one", 1));
    CHECK(!is_known());
}

FACT(a_file_of_the_future_is_not) {
    CHECK(put_file("tuning.db", "one", -3600));
    CHECK(!is_known());
}

FACT(a_file_with_a_journal_is_not) {
    CHECK(put_file("tuning.db", "one", 60) && put_file("tuning.db-journal", "", 60));
    CHECK(!is_known());
    CHECK(!unlink(in_scratch("tuning.db-journal")));
    CHECK(is_known());
}

FACT(a_file_that_is_not_there_is_known) {
    CHECK(!unlink(in_scratch("tuning.db")));
    CHECK(is_known());
}

FACT(another_size_or_time_is_another_identity) {
    rdt_identity first, second;
    CHECK(put_file("tuning.db", "one", 60));
    strcpy(first, identity());
    CHECK(put_file("tuning.db", "other", 60));
    strcpy(second, identity());
    CHECK(strcmp(first, second));
    CHECK(put_file("tuning.db", "other", 30));
    CHECK(strcmp(second, identity()));
}

int main(int argc, char **argv) {
    if (!scratch_begin()) return 1;
    int failed = check_run(argc, argv);
    scratch_end();
    return failed;
}
