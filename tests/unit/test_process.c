/* Facts about worker processes: they start with what they need, end however they behave, and leave
 * nothing behind. The worker is this program itself, which does as the first message says. */
#define _GNU_SOURCE
#include "check.h"
#include "tuner/workers/process.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TOLD_EXIT = 1, TOLD_SIGNAL, TOLD_STAY, TOLD_REPORT };
enum { EXIT_STATUS = 7, PATIENT_MS = 10000, STAY_S = 20 };

/* What a worker says of itself. */
typedef struct report {
    int sockets; /* open ones, but for the three standard files */
    bool leads;  /* a process group of its own */
    bool blocks; /* a signal that is blocked or ignored, as the test has them */
    bool hears;  /* whatever this process has as standard input */
} report;

static char self_path[4096];
static redtune_error err;

/* ---- the worker ------------------------------------------------------------------------------ */

static report look_around(void) {
    report out = {.leads = getpgrp() == getpid()};
    for (int fd = 3; fd < 256; fd++) {
        struct stat about;
        out.sockets += !fstat(fd, &about) && S_ISSOCK(about.st_mode);
    }
    sigset_t blocked;
    struct sigaction action;
    sigprocmask(SIG_SETMASK, NULL, &blocked);
    sigaction(SIGUSR2, NULL, &action);
    out.blocks = sigismember(&blocked, SIGUSR1) || action.sa_handler != SIG_DFL;
    char byte;
    out.hears = read(0, &byte, 1) != 0;
    return out;
}

/* Deaf to all that can be asked politely. Where it is not ended, it ends by itself at last. */
static void stay(rdt_wire *wire) {
    for (int i = 1; i < NSIG; i++) signal(i, SIG_IGN);
    signal(SIGALRM, SIG_DFL);
    alarm(STAY_S);
    rdt_wire_send(wire, TOLD_STAY, PATIENT_MS);
    for (;;) pause();
}

static int work(void) {
    rdt_wire wire = {.in = RDT_PROCESS_FD, .out = RDT_PROCESS_FD};
    rdt_frame message;
    if (rdt_wire_receive(&wire, PATIENT_MS, &message) != RDT_WIRE_GOT) _exit(99);
    report report;
    switch (message.kind) {
    case TOLD_EXIT: _exit(EXIT_STATUS);
    case TOLD_SIGNAL:
        signal(SIGTERM, SIG_DFL);
        raise(SIGTERM);
        break;
    case TOLD_STAY: stay(&wire); break;
    case TOLD_REPORT:
        report = look_around();
        rdt_wire_put(&wire, &report, sizeof report);
        rdt_wire_send(&wire, TOLD_REPORT, PATIENT_MS);
        rdt_wire_receive(&wire, -1, &message);
        break;
    }
    _exit(0);
}

/* ---- what holds ------------------------------------------------------------------------------ */

static int count_files(void) {
    DIR *folder = opendir("/proc/self/fd");
    int count = 0;
    while (folder && readdir(folder)) count++;
    if (folder) closedir(folder);
    return count;
}

static bool has_child(void) { return waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD; }

static bool tell(rdt_process *process, unsigned what) {
    rdt_frame none;
    if (rdt_process_start(self_path, process, &err)) return false;
    if (!rdt_wire_send(&process->wire, what, PATIENT_MS)) return false;
    /* Both of these say something, or end. */
    rdt_wire_state state = rdt_wire_receive(&process->wire, PATIENT_MS, &none);
    return state == (what == TOLD_STAY ? RDT_WIRE_GOT : RDT_WIRE_ENDED);
}

FACT(one_that_ended_is_described) {
    char how[RDT_PROCESS_END_BYTES];
    rdt_process process = {0};
    int files = count_files();
    CHECK(tell(&process, TOLD_EXIT));
    rdt_process_end(&process, how);
    CHECK_TEXT(how, "it ended with exit status 7");
    CHECK(tell(&process, TOLD_SIGNAL));
    rdt_process_end(&process, how);
    CHECK_CONTAINS(how, "it was ended by signal 15 (");
    CHECK_INT(count_files(), files);
    CHECK(!has_child());
}

FACT(one_that_ignores_all_is_ended) {
    char how[RDT_PROCESS_END_BYTES];
    for (int i = 0; i < 2; i++) {
        rdt_process process = {0};
        int files = count_files();
        CHECK(tell(&process, TOLD_STAY));
        pid_t pid = process.pid;
        rdt_process_end(&process, i ? how : NULL);
        CHECK(kill(pid, 0) && errno == ESRCH);
        CHECK(!has_child());
        CHECK_INT(process.pid, 0);
        CHECK_INT(count_files(), files);
    }
    CHECK_CONTAINS(how, "it was ended by signal 9 (");
}

FACT(one_that_is_not_started_is_told) {
    static const char *const names[] = {"no/such/program", "/", "/dev/null", ""};
    int files = count_files();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        rdt_process process = {.pid = 0};
        CHECK_FAILS(rdt_process_start(names[i], &process, &err), REDTUNE_FILE, err,
                    "cannot start the worker process ");
        CHECK_CONTAINS(err.message, names[i]);
        CHECK_INT(process.pid, 0);
    }
    CHECK_INT(count_files(), files);
    CHECK(!has_child());
}

FACT(no_process_ends_as_none) {
    char how[RDT_PROCESS_END_BYTES];
    rdt_process process = {0};
    rdt_process_end(&process, how);
    CHECK_TEXT(how, "it ended");
    rdt_process_end(&process, NULL);
}

FACT(a_worker_has_its_wire_and_nothing_else) {
    rdt_process first = {0}, second = {0};
    rdt_frame message = {0};
    sigset_t blocked, before;
    report got = {0};
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    sigprocmask(SIG_BLOCK, &blocked, &before);
    void (*handler)(int) = signal(SIGUSR2, SIG_IGN);
    bool good = tell(&first, TOLD_STAY) && !rdt_process_start(self_path, &second, &err) &&
                rdt_wire_send(&second.wire, TOLD_REPORT, PATIENT_MS) &&
                rdt_wire_receive(&second.wire, PATIENT_MS, &message) == RDT_WIRE_GOT &&
                message.bytes == sizeof got;
    if (good) memcpy(&got, message.data, sizeof got);
    rdt_process_end(&second, NULL);
    rdt_process_end(&first, NULL);
    signal(SIGUSR2, handler);
    sigprocmask(SIG_SETMASK, &before, NULL);
    CHECK(good);
    CHECK_INT(got.sockets, 1);
    CHECK(got.leads);
    CHECK(!got.blocks);
    CHECK(!got.hears);
}

FACT(many_leave_no_file_and_no_process) {
    int files = count_files();
    for (int i = 0; i < 30; i++) {
        rdt_process process = {0};
        CHECK_OK(rdt_process_start(self_path, &process, &err), err);
        rdt_process_end(&process, NULL); /* wherever it stands */
    }
    CHECK_INT(count_files(), files);
    CHECK(!has_child());
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "worker")) return work();
    if (readlink("/proc/self/exe", self_path, sizeof self_path - 1) < 0) return 1;
    return check_run(argc, argv);
}
