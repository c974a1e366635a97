/* Faults: makes one allocation fail, so that a test can fail each of them once. */
#include "faults.h"

#include <string.h>

static struct {
    long left; /* allocations until the one that fails; 0: none does */
    bool hit, finished;
} state;

void *__real_malloc(size_t bytes);
void *__real_calloc(size_t count, size_t bytes);
void *__real_realloc(void *old, size_t bytes);
void *__wrap_malloc(size_t bytes);
void *__wrap_calloc(size_t count, size_t bytes);
void *__wrap_realloc(void *old, size_t bytes);
char *__wrap_strdup(const char *string);

bool faults_begin(long n) {
    bool more = n == 1 || !state.finished;
    state.left = more ? n : 0;
    state.hit = state.finished = false;
    return more;
}

bool faults_end(void) {
    state.finished = !state.hit;
    state.left = 0;
    return state.hit;
}

static bool fails_now(void) {
    if (!state.left || --state.left) return false;
    state.hit = true;
    return true;
}

void *__wrap_malloc(size_t bytes) { return fails_now() ? NULL : __real_malloc(bytes); }

void *__wrap_calloc(size_t count, size_t bytes) {
    return fails_now() ? NULL : __real_calloc(count, bytes);
}

void *__wrap_realloc(void *old, size_t bytes) {
    return fails_now() ? NULL : __real_realloc(old, bytes);
}

char *__wrap_strdup(const char *string) {
    size_t bytes = strlen(string) + 1;
    char *copy = __wrap_malloc(bytes);
    return copy ? memcpy(copy, string, bytes) : NULL;
}
