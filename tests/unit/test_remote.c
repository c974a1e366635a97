/* Facts about the evaluator of a worker process. The worker is this program itself, which does as
 * the candidate's family says. */
#define _GNU_SOURCE
#include "check.h"
#include "tuner/workers/process.h"
#include "tuner/workers/remote.h"
#include "shaped.h"

#include <pthread.h>
#include <time.h>
#include <unistd.h>

/* What a worker does with a request. */
enum { ANSWERS, SAYS_WHERE_IT_IS, WRITES_LOG };
enum { PATIENT_MS = 10000, SAMPLES = 3 };

static const double talk_s = 4, stop_after_s = 0.1, soon_s = 1;

static char self_path[4096];
static redtune_error err;
static double stop_at_s; /* 0: never */

static double now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* ---- the worker ------------------------------------------------------------------------------ */

static void say_index(rdt_wire *wire, uint64_t index) {
    rdt_wire_put(wire, &index, sizeof index);
    rdt_wire_send(wire, RDT_FRAME_AT, PATIENT_MS);
}

static void write_log(rdt_wire *wire) {
    const redtune_log_level level = REDTUNE_LOG_DEBUG;
    rdt_wire_put(wire, &level, sizeof level);
    rdt_wire_put(wire, "busy", 4);
    rdt_wire_send(wire, RDT_FRAME_LOG, PATIENT_MS);
}

/* Never silent for longer than a slow sample takes. */
static void talk(rdt_wire *wire, int how) {
    const double end_s = now_s() + talk_s;
    while (now_s() < end_s) {
        if (how == WRITES_LOG)
            write_log(wire);
        else
            say_index(wire, 0);
        usleep(5000);
    }
}

static void answer(rdt_wire *wire, unsigned kind) {
    const rdt_verdict verdict = {.outcome = RDT_OUTCOME_GOOD};
    const rdt_conditions conditions = {.others = 0};
    const double sample_ns[SAMPLES] = {7, 8, 9};
    say_index(wire, 0);
    if (kind == RDT_FRAME_TIME) {
        rdt_wire_put(wire, &verdict, sizeof verdict);
        rdt_wire_put(wire, &conditions, sizeof conditions);
        rdt_wire_put(wire, sample_ns, sizeof sample_ns);
    } else {
        rdt_wire_put(wire, &(uint64_t){0}, sizeof(uint64_t));
        rdt_wire_put(wire, &verdict, sizeof verdict);
        rdt_wire_send(wire, RDT_FRAME_VERDICT, PATIENT_MS);
    }
    rdt_wire_send(wire, RDT_FRAME_DONE, PATIENT_MS);
}

static int work(void) {
    rdt_wire wire = {.in = RDT_PROCESS_FD, .out = RDT_PROCESS_FD};
    rdt_frame message;
    rdt_ready ready;
    memset(&ready, 0, sizeof ready);
    if (rdt_wire_receive(&wire, PATIENT_MS, &message) != RDT_WIRE_GOT) return 1;
    rdt_wire_put(&wire, &ready, sizeof ready);
    rdt_wire_send(&wire, RDT_FRAME_READY, PATIENT_MS);
    while (rdt_wire_receive(&wire, PATIENT_MS, &message) == RDT_WIRE_GOT) {
        rdt_request request;
        rdt_reader reader = rdt_wire_reader_of(&message);
        rdt_candidate candidate;
        rdt_wire_reader_take(&reader, &request, sizeof request);
        rdt_wire_reader_take(&reader, &candidate, sizeof candidate);
        if (candidate.point.family != ANSWERS) talk(&wire, candidate.point.family);
        answer(&wire, message.kind);
    }
    return 0;
}

/* ---- what holds ------------------------------------------------------------------------------ */

static bool stop(void *user) {
    (void)user;
    return stop_at_s > 0 && now_s() >= stop_at_s;
}

/* A remote with one candidate. */
typedef struct bench {
    rdt_worker_options options;
    rdt_worker_pool workers;
    rdt_remote *remote;
    rdt_evaluator evaluator;
    redtune_problem problem;
    rdt_candidate candidate;
    rdt_batch batch;
    rdt_verdict verdict;
    rdt_conditions conditions;
    double sample_ns[SAMPLES];
} bench;

static bool bench_open(bench *self, int family) {
    *self = (bench){.options = {self_path, "", NULL},
                    .problem = PROBLEM(REDTUNE_SUM, REDTUNE_F32, REDTUNE_F32, .count = 1024)};
    self->workers = (rdt_worker_pool){.options = &self->options, .limit_s = 10, .stop = stop};
    self->candidate.point.family = family;
    self->batch = (rdt_batch){&self->problem, &self->candidate, 1};
    const rdt_domain domain = rdt_problem_domain(&self->problem, 1);
    stop_at_s = 0;
    if (rdt_remote_open(&self->workers, "sim", &self->remote, &err)) return false;
    self->evaluator = rdt_remote_evaluator(self->remote, 0, &domain);
    return true;
}

static redtune_status bench_verify(bench *self) {
    return self->evaluator.verify(self->evaluator.self, &self->batch, &self->verdict, &err);
}

static redtune_status bench_time(bench *self) {
    return self->evaluator.time(self->evaluator.self, &self->batch, RDT_CACHE_COLD, SAMPLES,
                                self->sample_ns, &self->verdict, &self->conditions, &err);
}

FACT(what_a_worker_answers_is_taken) {
    bench self;
    CHECK(bench_open(&self, ANSWERS));
    self.verdict.outcome = RDT_OUTCOME_WRONG;
    CHECK_OK(bench_verify(&self), err);
    CHECK_INT(self.verdict.outcome, RDT_OUTCOME_GOOD);
    CHECK_OK(bench_time(&self), err);
    CHECK(self.sample_ns[0] == 7 && self.sample_ns[1] == 8 && self.sample_ns[2] == 9);
    rdt_remote_close(self.remote);
}

/* Between two samples there are some milliseconds, and a batch may take many seconds. */
FACT(a_stop_is_heeded_while_the_worker_speaks) {
    for (int family = SAYS_WHERE_IT_IS; family <= WRITES_LOG; family++)
        for (int times = 0; times < 2; times++) {
            bench self;
            rdt_ready ready;
            CHECK(bench_open(&self, family));
            CHECK_OK(rdt_remote_ready(self.remote, &ready, &err), err);
            stop_at_s = now_s() + stop_after_s;
            redtune_status status = times ? bench_time(&self) : bench_verify(&self);
            double late_s = now_s() - stop_at_s;
            rdt_remote_close(self.remote);
            CHECK_INT(status, REDTUNE_INTERRUPTED);
            CHECK_CONTAINS(err.message, "interrupted");
            CHECK(late_s >= 0 && late_s < soon_s);
        }
}

static void *verify(void *user) {
    bench *self = user;
    if (bench_verify(self)) self->verdict.outcome = RDT_OUTCOME_FAULTED;
    return NULL;
}

/* The worker speaks for seconds over the first one, and answers the second one at once. */
FACT(jobs_wait_for_each_other) {
    bench slow, quick;
    pthread_t thread;
    CHECK(bench_open(&slow, SAYS_WHERE_IT_IS));
    slow.verdict.outcome = RDT_OUTCOME_WRONG;
    quick = slow;
    quick.candidate.point.family = ANSWERS;
    quick.batch.candidates = &quick.candidate;
    slow.batch.candidates = &slow.candidate;
    const rdt_domain domain = rdt_problem_domain(&quick.problem, 1);
    quick.evaluator = rdt_remote_evaluator(quick.remote, 1, &domain);
    CHECK_INT(pthread_create(&thread, NULL, verify, &slow), 0);
    usleep(500000);
    CHECK_OK(bench_verify(&quick), err);
    CHECK_INT(slow.verdict.outcome, RDT_OUTCOME_GOOD);
    CHECK_INT(quick.verdict.outcome, RDT_OUTCOME_GOOD);
    pthread_join(thread, NULL);
    rdt_remote_close(slow.remote);
}

int main(int argc, char **argv) {
    if (argc == 2 && !strcmp(argv[1], "worker")) return work();
    if (readlink("/proc/self/exe", self_path, sizeof self_path - 1) < 0) return 1;
    return check_run(argc, argv);
}
