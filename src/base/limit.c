/* Limit: writing beyond the limit on the size of files is an error, and not the end. */
#define _POSIX_C_SOURCE 200809L
#include "base/limit.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

static sigset_t the_signal(void) {
    sigset_t set;
    sigemptyset(&set);
    sigaddset(&set, SIGXFSZ);
    return set;
}

void rdt_limit_enter(rdt_limit *limit) {
    const sigset_t signal = the_signal();
    sigset_t before, waiting;
    pthread_sigmask(SIG_BLOCK, &signal, &before);
    limit->blocked = sigismember(&before, SIGXFSZ);
    /* What was not blocked cannot have been waiting. */
    limit->pending = limit->blocked && !sigpending(&waiting) && sigismember(&waiting, SIGXFSZ);
}

bool rdt_limit_leave(rdt_limit *limit) {
    const sigset_t signal = the_signal();
    const struct timespec at_once = {0};
    const int code = errno;
    bool met = false;
    if (!limit->pending) met = sigtimedwait(&signal, NULL, &at_once) == SIGXFSZ;
    if (!limit->blocked) pthread_sigmask(SIG_UNBLOCK, &signal, NULL);
    errno = code;
    return met;
}
