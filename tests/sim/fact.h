/* The harness of the simulator's tests: facts that hold or do not, and a summary. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct fact {
    const char *name;
    void (*run)(void);
    int line;
    struct fact *next;
};

#define FACT(function)                                                                             \
    static void function(void);                                                                    \
    __attribute__((constructor)) static void function##_is_known(void) {                           \
        static struct fact fact = {#function, function, __LINE__, NULL};                           \
        fact_add(&fact);                                                                           \
    }                                                                                              \
    static void function(void)

/* Facts that fail and checks that failed in them; one test program, one thread. */
extern int fact_failures;

#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fact_failures++;                                                                       \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition);                        \
        }                                                                                          \
    } while (0)

#define CHECK_EQUAL(got, want)                                                                     \
    do {                                                                                           \
        long long got_ = (long long)(got), want_ = (long long)(want);                              \
        if (got_ != want_) {                                                                       \
            fact_failures++;                                                                       \
            fprintf(stderr, "%s:%d: %s is %lld and not %lld\n", __FILE__, __LINE__, #got, got_,    \
                    want_);                                                                        \
        }                                                                                          \
    } while (0)

#define CHECK_CONTAINS(text, part)                                                                 \
    do {                                                                                           \
        const char *text_ = (text);                                                                \
        if (!strstr(text_, part)) {                                                                \
            fact_failures++;                                                                       \
            fprintf(stderr, "%s:%d: '%s' does not contain '%s'\n", __FILE__, __LINE__, text_,      \
                    part);                                                                         \
        }                                                                                          \
    } while (0)

void fact_add(struct fact *fact);
/* Runs the facts whose name contains the first argument, or all, in the order in which they stand
 * in their file. Returns main's exit code. */
int fact_run(int argc, char **argv);
