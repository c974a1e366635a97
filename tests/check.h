/* Check: the harness of the unit tests. A file per module, a fact per function:
 *
 *     FACT(text_add_appends) {
 *         ... CHECK(...); ...
 *     }
 *     int main(int argc, char **argv) { return check_run(argc, argv); }
 *
 * Facts run in the order in which they stand in their file.
 * A CHECK that fails ends its fact and prints it; the other facts still run, unless
 * $RDT_TEST_STOP is set. Given names as arguments, only facts that have one of them in their name
 * run. A fact that goes over numbered kernels says which one failed, and how to try that alone.
 * Exit 0 all held, 1 some did not, 2 there is no such fact, 77 all were skipped. */
#pragma once

#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "redtune/redtune.h"

/* Parts enough for one kernel in each. */
enum { CHECK_PARTS = 1000000 };

typedef struct check_fact {
    const char *name;
    void (*run)(void);
    int line;
    struct check_fact *next;
} check_fact;

static check_fact *check_facts;

/* Why no fact of the program can run, such as "there is no GPU": all are skipped. NULL: they can.
 */
__attribute__((unused)) static const char *check_missing;

__attribute__((unused)) static void check_add(check_fact *fact) {
    check_fact **at = &check_facts;
    while (*at && (*at)->line < fact->line) at = &(*at)->next;
    fact->next = *at;
    *at = fact;
}

#define FACT(function)                                                                             \
    static void function(void);                                                                    \
    __attribute__((constructor)) static void function##_is_known(void) {                           \
        static check_fact fact = {#function, function, __LINE__, NULL};                            \
        check_add(&fact);                                                                          \
    }                                                                                              \
    static void function(void)

/* Ends the calling void function where condition does not hold. */
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!check_that((condition), __FILE__, __LINE__, "%s", #condition)) return;                \
    } while (0)
#define CHECK_INT(got, want)                                                                       \
    do {                                                                                           \
        long long got_ = (got), want_ = (want);                                                    \
        if (!check_that(got_ == want_, __FILE__, __LINE__, "%s is %lld, not %lld", #got, got_,     \
                        want_))                                                                    \
            return;                                                                                \
    } while (0)
#define CHECK_TEXT(got, want)                                                                      \
    do {                                                                                           \
        const char *got_ = (got), *want_ = (want);                                                 \
        if (!check_that(got_ && !strcmp(got_, want_), __FILE__, __LINE__,                          \
                        "%s is \"%s\", not \"%s\"", #got, got_ ? got_ : "(null)", want_))          \
            return;                                                                                \
    } while (0)
#define CHECK_CONTAINS(got, part)                                                                  \
    do {                                                                                           \
        const char *got_ = (got), *part_ = (part);                                                 \
        if (!check_that(got_ && strstr(got_, part_), __FILE__, __LINE__,                           \
                        "%s is \"%s\", without \"%s\"", #got, got_ ? got_ : "(null)", part_))      \
            return;                                                                                \
    } while (0)
/* The call succeeds; err is the redtune_error it fills. */
#define CHECK_OK(call, err)                                                                        \
    do {                                                                                           \
        redtune_status status_ = (call);                                                           \
        if (!check_that(status_ == REDTUNE_OK, __FILE__, __LINE__, "%s failed: %s: %s", #call,     \
                        redtune_status_name(status_), (err).message))                              \
            return;                                                                                \
    } while (0)
/* The call fails with this status, and err says the same in one line that has part in it. */
#define CHECK_FAILS(call, want_status, err, part)                                                  \
    do {                                                                                           \
        (err) = (redtune_error){0};                                                                \
        CHECK_INT(call, want_status);                                                              \
        CHECK_INT((err).status, want_status);                                                      \
        CHECK_CONTAINS((err).message, part);                                                       \
        CHECK(!strchr((err).message, '\n'));                                                       \
    } while (0)
#define SKIP(...)                                                                                  \
    do {                                                                                           \
        check_skip(__VA_ARGS__);                                                                   \
        return;                                                                                    \
    } while (0)

/* The fact that runs. */
static struct {
    const char *fact;
    size_t kernel; /* its number in the fact, from 1 on; 0: none */
    bool failed, skipped;
} check_state;

__attribute__((unused, format(printf, 4, 5))) static bool
check_that(bool holds, const char *file, int line, const char *format, ...) {
    if (holds) return true;
    va_list args;
    va_start(args, format);
    fprintf(stderr, "FAILED %s (%s:%d): ", check_state.fact, file, line);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    if (check_state.kernel)
        fprintf(stderr, "alone: RDT_TEST_PART=%zu/%d\n", check_state.kernel, CHECK_PARTS);
    va_end(args);
    check_state.failed = true;
    return false;
}

__attribute__((unused, format(printf, 1, 2))) static void check_skip(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fprintf(stderr, "skipped %s: ", check_state.fact);
    vfprintf(stderr, format, args);
    fprintf(stderr, "\n");
    va_end(args);
    check_state.skipped = true;
}

__attribute__((unused)) static bool check_wanted(const char *fact, int argc, char **argv) {
    for (int i = 1; i < argc; i++)
        if (strstr(fact, argv[i])) return true;
    return argc < 2;
}

__attribute__((unused)) static int check_run(int argc, char **argv) {
    size_t held = 0, failed = 0, skipped = 0;
    for (const check_fact *each = check_facts; each; each = each->next) {
        if (!check_wanted(each->name, argc, argv)) continue;
        check_state.fact = each->name;
        check_state.kernel = 0;
        check_state.failed = check_state.skipped = false;
        if (check_missing)
            check_skip("%s", check_missing);
        else
            each->run();
        failed += check_state.failed;
        skipped += !check_state.failed && check_state.skipped;
        held += !check_state.failed && !check_state.skipped;
        if (failed && getenv("RDT_TEST_STOP")) break;
    }
    printf("%zu held, %zu failed, %zu skipped\n", held, failed, skipped);
    if (failed) return 1;
    if (held + skipped == 0) return 2;
    return held ? 0 : 77;
}
