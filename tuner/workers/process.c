/* Process: starting and ending a worker process, and the wire to it. */
#define _GNU_SOURCE
#include "tuner/workers/process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "base/locale.h"

extern char **environ;

enum {
    HIGH_FD = 16,     /* beyond what a worker is given, so that giving it overwrites nothing */
    PATIENCE_MS = 50, /* for one that is about to end by itself */
    REAP_MS = 500,    /* for one that was ended */
};

int rdt_process_cores(void) {
    cpu_set_t set;
    int cores = sched_getaffinity(0, sizeof set, &set) ? 0 : CPU_COUNT(&set);
    if (cores < 1) cores = (int)sysconf(_SC_NPROCESSORS_ONLN);
    return cores < 1 ? 1 : cores;
}

/* ---- starting -------------------------------------------------------------------------------- */

/* Both ends are out of the way, and closed in whatever else this process starts. */
static int open_ends(int ends[2]) {
    int made[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, made)) return errno;
    int code = 0;
    for (int i = 0; i < 2; i++) {
        ends[i] = fcntl(made[i], F_DUPFD_CLOEXEC, HIGH_FD);
        if (ends[i] < 0) code = errno == EINVAL ? EMFILE : errno; /* ulimit -n is below HIGH_FD */
        close(made[i]);
    }
    for (int i = 0; code && i < 2; i++)
        if (ends[i] >= 0) close(ends[i]);
    return code;
}

/* Signals as a fresh process has them, whatever the caller has done with its own. */
static int set_attributes(posix_spawnattr_t *attributes) {
    sigset_t all, none;
    sigfillset(&all);
    sigemptyset(&none);
    int code = posix_spawnattr_setpgroup(attributes, 0);
    if (!code) code = posix_spawnattr_setsigdefault(attributes, &all);
    if (!code) code = posix_spawnattr_setsigmask(attributes, &none);
    if (!code)
        code = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF |
                                                        POSIX_SPAWN_SETSIGMASK);
    return code;
}

static int spawn(const char *command, int fd, pid_t *pid) {
    char *const words[] = {(char *)command, "worker", NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int code = posix_spawn_file_actions_init(&actions);
    if (code) return code;
    code = posix_spawnattr_init(&attributes);
    if (code) {
        posix_spawn_file_actions_destroy(&actions);
        return code;
    }
    code = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (!code) code = posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    if (!code) code = posix_spawn_file_actions_adddup2(&actions, fd, RDT_PROCESS_FD);
    if (!code) code = set_attributes(&attributes);
    if (!code) code = posix_spawn(pid, command, &actions, &attributes, words, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return code;
}

redtune_status rdt_process_start(const char *command, rdt_process *out, redtune_error *err) {
    int ends[2];
    pid_t pid = 0;
    int code = open_ends(ends);
    if (!code) {
        code = spawn(command, ends[1], &pid);
        close(ends[1]);
        if (code) close(ends[0]);
    }
    if (code)
        return rdt_fail(err, REDTUNE_FILE, code, "cannot start the worker process %.300s: %s",
                        command, rdt_locale_reason(code));
    *out = (rdt_process){.pid = pid, .wire = {.in = ends[0], .out = ends[0]}};
    return REDTUNE_OK;
}

/* ---- ending ---------------------------------------------------------------------------------- */

static void describe_end(int state, char how[RDT_PROCESS_END_BYTES]) {
    if (!how) return;
    if (WIFSIGNALED(state))
        snprintf(how, RDT_PROCESS_END_BYTES, "it was ended by signal %d (%s)", WTERMSIG(state),
                 strsignal(WTERMSIG(state)));
    else
        snprintf(how, RDT_PROCESS_END_BYTES, "it ended with exit status %d", WEXITSTATUS(state));
}

/* Whether the process has ended. Another may have waited for it: then it has, too. */
static bool reap(pid_t pid, int wait_ms, char how[RDT_PROCESS_END_BYTES]) {
    const struct timespec pause = {.tv_nsec = 2000000};
    for (int passed_ms = 0;; passed_ms += 2) {
        int state = 0;
        pid_t got = waitpid(pid, &state, WNOHANG);
        if (got == pid) describe_end(state, how);
        if (got == pid || (got < 0 && errno != EINTR)) return true;
        if (passed_ms >= wait_ms) return false;
        nanosleep(&pause, NULL);
    }
}

void rdt_process_end(rdt_process *process, char how[RDT_PROCESS_END_BYTES]) {
    if (how) snprintf(how, RDT_PROCESS_END_BYTES, "it ended");
    if (!process->pid) return;
    close(process->wire.in);
    rdt_wire_free(&process->wire);
    if (!reap(process->pid, how ? PATIENCE_MS : 0, how)) {
        kill(process->pid, SIGKILL);
        reap(process->pid, REAP_MS, how);
    }
    *process = (rdt_process){0};
}
