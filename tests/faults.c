/* Faults: makes one allocation fail, so that a test can fail each of them once. */
#define _POSIX_C_SOURCE 200809L
#include "faults.h"

#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What was asked for. Lua collects its garbage after a failure, and asks for the same again. */
typedef struct request {
    const void *old;
    size_t bytes;
} request;

static struct {
    long left; /* allocations until the one that fails; 0: none does */
    bool hit, finished;
    bool forks; /* at each allocation */
    bool is_copy, broken;
    long copies, blocks; /* made, and allocated but not freed, since faults_in_copies began */
    long each, seen;     /* of the allocations seen since then each such one is failed */
    request failed;      /* once, and may be repeated */
    bool repeated;
} state;

/* How a copy ends. */
enum { GOOD, BROKEN, GOOD_AND_REPEATED };

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
char *__wrap_strdup(const char *string);
void __real_free(void *block);
void __wrap_free(void *block);

bool faults_begin(long n) {
    bool more = n == 1 || !state.finished;
    state.left = more ? n : 0;
    state.hit = state.finished = false;
    return more;
}

bool faults_end(void) {
    state.finished = !state.hit;
    state.left = 0;
    state.forks = false;
    return state.hit;
}

/* ---- copies ---------------------------------------------------------------------------------- */

void faults_fork(void) { state.forks = true; }

long faults_in_copies(void (*run)(void), long each, const bool *failed) {
    state.hit = state.broken = false;
    state.copies = state.blocks = state.seen = 0;
    state.each = each;
    run();
    const bool broken = state.broken || *failed || state.blocks;
    /* Not exit, which would print what the original has not printed yet. */
    if (state.is_copy) _exit(broken ? BROKEN : state.repeated ? GOOD_AND_REPEATED : GOOD);
    return broken ? 0 : state.copies;
}

static bool is_repeated(request now) {
    const bool same = now.old == state.failed.old && now.bytes == state.failed.bytes;
    state.failed = (request){NULL, 0};
    return same && now.bytes;
}

/* In the copy the allocation fails, and its repetition. In the original it fails once if there is a
 * repetition, which then succeeds. */
static bool fails_in_copy(request now) {
    int status = 0;
    if (is_repeated(now) || state.seen++ % state.each) return false;
    const pid_t copy = fork();
    if (!copy) {
        state.forks = false;
        state.is_copy = state.hit = true;
        state.failed = now;
        return true;
    }
    state.copies++;
    if (copy < 0 || waitpid(copy, &status, 0) != copy || !WIFEXITED(status) ||
        WEXITSTATUS(status) == BROKEN) {
        state.forks = false;
        state.broken = true;
    } else if (WEXITSTATUS(status) == GOOD_AND_REPEATED) {
        state.failed = now;
        return true;
    }
    return false;
}

/* ---- allocations ----------------------------------------------------------------------------- */

static bool fails_now(const void *old, size_t bytes) {
    const request now = {old, bytes};
    if (state.forks) return fails_in_copy(now);
    if (state.is_copy && !state.repeated) return state.repeated = is_repeated(now);
    if (!state.left || --state.left) return false;
    state.hit = true;
    return true;
}

static void *count_block(void *block) {
    state.blocks += block != NULL;
    return block;
}

void *__wrap_malloc(size_t bytes) {
    return fails_now(NULL, bytes) ? NULL : count_block(__real_malloc(bytes));
}

void *__wrap_calloc(size_t count, size_t bytes) {
    return fails_now(NULL, count * bytes) ? NULL : count_block(__real_calloc(count, bytes));
}

void *__wrap_realloc(void *old, size_t bytes) {
    if (fails_now(old, bytes)) return NULL;
    return old ? __real_realloc(old, bytes) : count_block(__real_realloc(old, bytes));
}

void __wrap_free(void *block) {
    state.blocks -= block != NULL;
    __real_free(block);
}

char *__wrap_strdup(const char *string) {
    size_t bytes = strlen(string) + 1;
    char *copy = __wrap_malloc(bytes);
    return copy ? memcpy(copy, string, bytes) : NULL;
}
