/* Trace: the ladder's trees over a few numbers, round by round, as text.
 *
 * The rules below are those of templates/ladder/kernel.cu: who adds which two sums, and where to.
 */
#include "cli/trace.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "cli/message.h"

/* An addition: sums[to] = sums[left] + sums[right]. */
typedef struct addition {
    unsigned to, left, right;
} addition;

/* What a thread adds in the round of distance s; false: nothing. Nor does it where there is no
 * element to add to. */
typedef bool rule(unsigned thread, unsigned s, addition *out);

static bool add_modulo(unsigned thread, unsigned s, addition *out) {
    *out = (addition){thread, thread, thread + s};
    return thread % (2 * s) == 0;
}

static bool add_strided(unsigned thread, unsigned s, addition *out) {
    const unsigned at = 2 * s * thread;
    *out = (addition){at, at, at + s};
    return true;
}

static bool add_sequential(unsigned thread, unsigned s, addition *out) {
    *out = (addition){thread, thread, thread + s};
    return thread < s;
}

static bool add_neighbours(unsigned thread, unsigned s, addition *out) {
    *out = (addition){thread, 2 * thread, 2 * thread + 1};
    return thread < s;
}

static const struct tree {
    const char *name, *text;
    rule *add;
    bool falls; /* s goes from count / 2 down to 1, else from 1 up */
} trees[] = {
    {"modulo", "thread t adds sums[t + s] to sums[t], where t is a multiple of 2s", add_modulo,
     false},
    {"strided", "thread t adds sums[2st + s] to sums[2st]", add_strided, false},
    {"sequential", "thread t < s adds sums[t + s] to sums[t]", add_sequential, true},
    {"neighbours", "thread t < s puts sums[2t] + sums[2t + 1] into sums[t]", add_neighbours, true},
};

enum { TREES = sizeof trees / sizeof *trees };

/* The digits of pi. */
static const int numbers[RDT_TRACE_MAX] = {3, 1, 4, 1, 5, 9, 2, 6, 5, 3, 5, 8, 9, 7, 9, 3};

static void print_threads(const bool adds[RDT_TRACE_MAX], unsigned count) {
    unsigned list[RDT_TRACE_MAX], n = 0;
    for (unsigned t = 0; t < count; t++)
        if (adds[t]) list[n++] = t;
    printf("   thread%s", n > 1 ? "s" : "");
    for (unsigned i = 0; i < n; i++) {
        if (n > 4 && i == 2) {
            printf(" ..");
            i = n - 1;
        }
        printf(" %u", list[i]);
    }
    putchar('\n');
}

static void print_round(const struct tree *tree, int sums[RDT_TRACE_MAX], unsigned s,
                        unsigned count) {
    int next[RDT_TRACE_MAX];
    bool adds[RDT_TRACE_MAX] = {false}, written[RDT_TRACE_MAX] = {false};
    memcpy(next, sums, sizeof next);
    for (unsigned t = 0; t < count; t++) {
        addition what;
        adds[t] = tree->add(t, s, &what) && what.to < count;
        if (!adds[t]) continue;
        next[what.to] = sums[what.left] + sums[what.right];
        written[what.to] = true;
    }
    memcpy(sums, next, sizeof next);
    printf("  s = %u  %s", s, s < 10 ? " " : "");
    for (unsigned i = 0; i < count; i++)
        if (written[i])
            printf("%4d", sums[i]);
        else
            printf("   .");
    print_threads(adds, count);
}

static void print_tree(const struct tree *tree, unsigned count) {
    int sums[RDT_TRACE_MAX];
    memcpy(sums, numbers, sizeof sums);
    printf("%s: %s\n\n  sums    ", tree->name, tree->text);
    for (unsigned i = 0; i < count; i++) printf("%4d", sums[i]);
    putchar('\n');
    for (unsigned s = tree->falls ? count / 2 : 1; s && s < count; s = tree->falls ? s / 2 : 2 * s)
        print_round(tree, sums, s, count);
}

redtune_status rdt_trace_print(uint64_t count, const char *step, redtune_error *err) {
    if (count < 2 || count > RDT_TRACE_MAX || (count & (count - 1)))
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --trace %llu: give 2, 4, 8 or 16 numbers",
                               (unsigned long long)count);
    bool some = false;
    for (size_t i = 0; i < TREES; i++) {
        if (step && strcmp(step, trees[i].name)) continue;
        if (some) putchar('\n');
        some = true;
        print_tree(&trees[i], (unsigned)count);
    }
    if (some) return REDTUNE_OK;
    return rdt_message_set(err, REDTUNE_INVALID, 0,
                           "cannot trace step '%.40s': use modulo, strided, sequential or "
                           "neighbours, or leave --show out for all of them",
                           step);
}
