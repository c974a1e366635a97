/* Apart: compiling in a process of its own, for a text that is not redtune's. */
#define _GNU_SOURCE
#include "compiler/apart.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "base/locale.h"

enum {
    PROCESSOR_S = 30,
    SILENCE_MS = 600 * 1000, /* by the clock: it waits for a lock that nobody gives back */
    IMAGE_BYTES_MAX = 256 << 20,
};

/* What goes through the pipe, before the image. */
typedef struct answer {
    redtune_status status;
    redtune_error error;
    size_t bytes;
    bool ptx;
} answer;

/* ---- in the copy ----------------------------------------------------------------------------- */

static void limit(int resource, rlim_t most) {
    struct rlimit now;
    if (getrlimit(resource, &now) || now.rlim_cur <= most) return;
    now = (struct rlimit){most, now.rlim_max < most + 1 ? now.rlim_max : most + 1};
    setrlimit(resource, &now);
}

static void confine_copy(pid_t parent) {
    sigset_t none;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1); /* it died before the line above */
    for (int i = 1; i < NSIG; i++) signal(i, SIG_DFL);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    limit(RLIMIT_CPU, PROCESSOR_S);
    limit(RLIMIT_CORE, 0);
    setrlimit(RLIMIT_NOFILE, &(struct rlimit){0, 0});
}

static bool send_bytes(int to, const void *data, size_t bytes) {
    for (const char *at = data; bytes;) {
        const ssize_t written = write(to, at, bytes);
        if (written < 0 && errno != EINTR) return false;
        if (written < 0) continue;
        at += written;
        bytes -= (size_t)written;
    }
    return true;
}

static void answer_and_exit(rdt_apart_fn *function, const void *user, int to) {
    answer said;
    rdt_image image = {0};
    memset(&said, 0, sizeof said);
    said.status = function(user, &image, &said.error);
    said.bytes = image.bytes;
    said.ptx = image.ptx;
    const bool told = send_bytes(to, &said, sizeof said) && send_bytes(to, image.data, image.bytes);
    _exit(told ? 0 : 1);
}

redtune_status rdt_apart_start(rdt_apart_fn *function, const void *user, rdt_apart *out,
                               redtune_error *err) {
    int ends[2] = {-1, -1};
    const pid_t self = getpid();
    const pid_t pid = pipe2(ends, O_CLOEXEC) ? -1 : fork();
    if (!pid) {
        confine_copy(self);
        answer_and_exit(function, user, ends[1]);
    }
    const int code = errno;
    if (ends[1] >= 0) close(ends[1]);
    if (pid > 0) {
        *out = (rdt_apart){pid, ends[0]};
        return REDTUNE_OK;
    }
    if (ends[0] >= 0) close(ends[0]);
    return rdt_fail(err, REDTUNE_COMPILER, code, "cannot start a process that compiles: %s",
                    rdt_locale_reason(code));
}

/* ---- in the process -------------------------------------------------------------------------- */

static bool receive_bytes(int from, void *data, size_t bytes) {
    for (char *at = data; bytes;) {
        struct pollfd ready = {.fd = from, .events = POLLIN};
        const int rc = poll(&ready, 1, SILENCE_MS);
        if (rc < 0 && errno == EINTR) continue;
        const ssize_t got = rc > 0 ? read(from, at, bytes) : 0;
        if (got < 0 && errno == EINTR) continue;
        if (got <= 0) return false;
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

/* How it ended; 0 where somebody else has waited for it. */
static int end(const rdt_apart *apart) {
    int state = 0;
    kill(apart->pid, SIGKILL); /* it has said all, or never will */
    while (waitpid(apart->pid, &state, 0) < 0)
        if (errno != EINTR) return 0;
    return state;
}

static redtune_status tell_end(int state, const char *name, redtune_error *err) {
    const int number = WIFSIGNALED(state) ? WTERMSIG(state) : 0;
    if (number == SIGINT || number == SIGTERM || number == SIGHUP || number == SIGQUIT)
        return rdt_fail(err, REDTUNE_INTERRUPTED, number, "cannot compile %.100s: interrupted",
                        name);
    if (number == SIGXCPU)
        return rdt_fail(err, REDTUNE_COMPILER, number,
                        "cannot compile %.100s: NVRTC takes more than %d s of the processor for "
                        "it; let the op's CUDA text make less",
                        name, PROCESSOR_S);
    return rdt_fail(err, REDTUNE_COMPILER, number,
                    "cannot compile %.100s: NVRTC does not come to an end with it (signal %d: %s); "
                    "let the op's CUDA text be simpler",
                    name, number, number ? strsignal(number) : "none");
}

redtune_status rdt_apart_finish(rdt_apart *apart, const char *name, rdt_image *out,
                                redtune_error *err) {
    answer said;
    char *data = NULL;
    bool whole = receive_bytes(apart->from, &said, sizeof said) && said.bytes <= IMAGE_BYTES_MAX;
    if (whole && !said.status) data = calloc(said.bytes + 1, 1);
    const bool starved = whole && !said.status && !data;
    if (data) whole = receive_bytes(apart->from, data, said.bytes);
    close(apart->from);
    const int state = end(apart);
    if (starved) return rdt_fail_memory(err, said.bytes + 1);
    if (!whole) {
        free(data);
        return tell_end(state, name, err);
    }
    if (said.status) {
        if (err) *err = said.error;
        return said.status;
    }
    *out = (rdt_image){data, said.bytes, said.ptx};
    return REDTUNE_OK;
}
