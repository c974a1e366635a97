/* Compile pool: worker processes that compile kernels into the kernel cache in advance.
 *
 * One list holds every kernel that was ever asked for, each once. A kernel is open, taken by a
 * worker, or done. rank orders the open ones: it is the number of the last call that asked for
 * them soon, and 0 for those that are only likely. The highest rank is taken first; rank 0 only
 * while a fourth of the workers stays free. One thread starts workers, feeds them and ends them.
 * Other threads only add to the list and wait on it, under the lock. A worker that dies takes its
 * kernel with it as done: the GPU's worker compiles that one itself and finds the reason. */
#define _GNU_SOURCE
#include "tuner/workers/compile_pool.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include "base/array.h"
#include "base/clock.h"
#include "base/locale.h"
#include "tuner/workers/process.h"

enum {
    WORKERS_MAX = 64,
    DEATHS_MAX = 8, /* then something is wrong with compiling itself */
    ORDER_LIMIT_S = 30,
    SPARE_SHARE = 4, /* a fourth of the workers is kept for what is asked for soon */
    SEND_MS = 10000,
};

/* A kernel to be made. */
typedef struct entry {
    rdt_compile_job job;
    uint64_t rank;
    bool taken, done;
} entry;

typedef struct member {
    rdt_process process;
    bool ready, busy;
    size_t entry;   /* that it is busy with */
    double since_s; /* that it is busy, or starting */
} member;

struct rdt_compile_pool {
    const rdt_worker_options *options;
    const rdt_codegen *codegen;
    pthread_t thread;
    int wake;             /* eventfd: there is more to do, or closing */
    pthread_mutex_t lock; /* guards what follows, up to closing */
    entry *entries; /* everything that was ever asked for, so that nothing is asked for twice */
    size_t count, capacity, open_count;
    uint64_t rank;
    bool closing, useless; /* useless: its workers do not live */
    pthread_cond_t made;
    /* The thread's own. */
    member members[WORKERS_MAX];
    int member_max, deaths;
};

/* ---- the list of kernels --------------------------------------------------------------------- */

/* Whether both make the same source, as far as can be told without rendering. */
static bool same_kernel(const rdt_compile_pool *pool, const rdt_compile_job *a,
                        const rdt_compile_job *b) {
    return a->ptx == b->ptx && a->facts.major == b->facts.major &&
           a->facts.minor == b->facts.minor && rdt_problem_same_class(&a->problem, &b->problem) &&
           rdt_point_same_kernel(rdt_codegen_spaces(pool->codegen), &a->point, &b->point);
}

static entry *find_entry(rdt_compile_pool *pool, const rdt_compile_job *job) {
    for (size_t i = 0; i < pool->count; i++)
        if (same_kernel(pool, &pool->entries[i].job, job)) return &pool->entries[i];
    return NULL;
}

static void add_entry(rdt_compile_pool *pool, const rdt_compile_job *job, uint64_t rank) {
    entry *known = find_entry(pool, job);
    if (known) {
        if (rank) known->rank = rank;
        return;
    }
    if (RDT_ARRAY_RESERVE(pool->entries, pool->capacity, pool->count + 1, NULL)) return;
    pool->entries[pool->count++] = (entry){.job = *job, .rank = rank};
    pool->open_count++;
}

static void wake(const rdt_compile_pool *pool) {
    uint64_t one = 1;
    ssize_t written = write(pool->wake, &one, sizeof one);
    (void)written; /* it fails only if the thread is awake already */
}

static rdt_compile_job job_of(const rdt_facts *facts, bool ptx, const rdt_batch *batch, size_t i) {
    rdt_compile_job job;
    memset(&job, 0, sizeof job); /* what travels has no bytes that were never set */
    job.facts = *facts;
    job.ptx = ptx;
    job.problem = *batch->problem;
    job.point = batch->candidates[i].point;
    return job;
}

void rdt_compile_pool_add(rdt_compile_pool *pool, const rdt_facts *facts, bool ptx,
                          const rdt_batch *batch, bool soon) {
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    uint64_t rank = soon ? ++pool->rank : 0;
    for (size_t i = 0; i < batch->count; i++) {
        const rdt_compile_job job = job_of(facts, ptx, batch, i);
        add_entry(pool, &job, rank);
    }
    pthread_mutex_unlock(&pool->lock);
    wake(pool);
}

/* The lock is held. */
static bool all_done(rdt_compile_pool *pool, const rdt_facts *facts, bool ptx,
                     const rdt_batch *batch) {
    for (size_t i = 0; i < batch->count; i++) {
        const rdt_compile_job job = job_of(facts, ptx, batch, i);
        const entry *each = find_entry(pool, &job);
        if (each && !each->done) return false;
    }
    return true;
}

bool rdt_compile_pool_wait(rdt_compile_pool *pool, const rdt_facts *facts, bool ptx,
                           const rdt_batch *batch, int timeout_ms) {
    if (!pool) return true;
    const struct timespec end = rdt_clock_after_ms(timeout_ms);
    rdt_compile_pool_add(pool, facts, ptx, batch, true);
    pthread_mutex_lock(&pool->lock);
    int rc = 0;
    bool done = false;
    while (!rc && !done) {
        done = pool->useless || all_done(pool, facts, ptx, batch);
        if (!done) rc = pthread_cond_timedwait(&pool->made, &pool->lock, &end);
    }
    pthread_mutex_unlock(&pool->lock);
    return done;
}

/* The next kernel to make: its entry's index, and a copy. false: nothing to do. spare: nobody
 * would miss this worker, so it may make what is not asked for soon. */
static bool next_job(rdt_compile_pool *pool, bool spare, size_t *index, rdt_compile_job *out) {
    const entry *next = NULL;
    pthread_mutex_lock(&pool->lock);
    for (size_t i = 0; pool->open_count && i < pool->count; i++) {
        const entry *each = &pool->entries[i];
        bool is_due = !each->taken && (each->rank || spare);
        if (is_due && (!next || each->rank > next->rank)) next = each;
    }
    if (next) {
        *index = (size_t)(next - pool->entries);
        pool->entries[*index].taken = true;
        pool->open_count--;
        *out = next->job;
    }
    pthread_mutex_unlock(&pool->lock);
    return next != NULL;
}

/* Made, or given up: the GPU's worker makes it then, and finds out why. */
static void finish_job(rdt_compile_pool *pool, size_t index) {
    pthread_mutex_lock(&pool->lock);
    pool->entries[index].done = true;
    pthread_cond_broadcast(&pool->made);
    pthread_mutex_unlock(&pool->lock);
}

/* ---- the workers ----------------------------------------------------------------------------- */

static void lose(rdt_compile_pool *pool, member *member, const char *why) {
    rdt_log_write(pool->options->log, REDTUNE_LOG_DEBUG, "a compile worker was lost: %s", why);
    rdt_process_end(&member->process, NULL);
    if (member->busy) finish_job(pool, member->entry);
    member->busy = false;
    if (++pool->deaths < DEATHS_MAX) return;
    pthread_mutex_lock(&pool->lock);
    pool->useless = true;
    pthread_cond_broadcast(&pool->made);
    pthread_mutex_unlock(&pool->lock);
}

static void start_member(rdt_compile_pool *pool, member *member) {
    redtune_error why;
    rdt_process process;
    rdt_hello hello = rdt_protocol_hello(RDT_ROLE_COMPILE);
    if (rdt_process_start(pool->options->command, &process, &why)) {
        lose(pool, member, why.message);
        return;
    }
    *member = (struct member){.process = process, .since_s = rdt_clock_s()};
    hello.log_level = pool->options->log ? (int)pool->options->log->level : 0;
    rdt_text_copy(hello.kernel_cache, sizeof hello.kernel_cache, pool->options->kernel_cache);
    if (!rdt_protocol_greet(&member->process.wire, hello, SEND_MS))
        lose(pool, member, "it took no greeting");
}

/* Whether there are workers left for what is asked for soon if one more is busy. */
static bool has_spare(const rdt_compile_pool *pool) {
    int busy = 0;
    for (int i = 0; i < pool->member_max; i++) busy += pool->members[i].busy;
    return busy + 1 <= pool->member_max - pool->member_max / SPARE_SHARE;
}

static void give_job(rdt_compile_pool *pool, member *member) {
    rdt_compile_job job;
    if (!next_job(pool, has_spare(pool), &member->entry, &job)) return;
    member->busy = true;
    member->since_s = rdt_clock_s();
    rdt_wire_put(&member->process.wire, &job, sizeof job);
    if (!rdt_wire_send(&member->process.wire, RDT_FRAME_MAKE, SEND_MS))
        lose(pool, member, "it took no job");
}

/* Takes one frame in. false: the worker is of no use any more. */
static bool take_frame(rdt_compile_pool *pool, member *member, const rdt_frame *frame) {
    rdt_reader reader = rdt_wire_reader_of(frame);
    redtune_log_level level;
    redtune_error error;
    rdt_ready ready;
    switch (frame->kind) {
    case RDT_FRAME_LOG:
        rdt_wire_reader_take(&reader, &level, sizeof level);
        if (!reader.failed)
            rdt_log_write(pool->options->log, level, "%.*s", (int)reader.left, reader.at);
        return true;
    case RDT_FRAME_READY:
        rdt_wire_reader_take(&reader, &ready, sizeof ready);
        member->ready = true;
        if (ready.error.status)
            rdt_log_write(pool->options->log, REDTUNE_LOG_DEBUG, "%s", ready.error.message);
        return rdt_wire_reader_done(&reader) && !ready.error.status;
    case RDT_FRAME_MADE:
        rdt_wire_reader_take(&reader, &error, sizeof error);
        if (member->busy) finish_job(pool, member->entry);
        member->busy = false;
        if (error.status)
            rdt_log_write(pool->options->log, REDTUNE_LOG_DEBUG, "not made in advance: %s",
                          error.message);
        return rdt_wire_reader_done(&reader);
    default: return false;
    }
}

static void hear(rdt_compile_pool *pool, member *member) {
    for (;;) {
        rdt_frame frame;
        rdt_wire_state state = rdt_wire_receive(&member->process.wire, 0, &frame);
        if (state == RDT_WIRE_EMPTY) return;
        if (state != RDT_WIRE_GOT || !take_frame(pool, member, &frame)) {
            lose(pool, member, "it ended, or said what makes no sense");
            return;
        }
    }
}

/* Starts the workers that the open kernels lack. */
static void recruit(rdt_compile_pool *pool, size_t open_count) {
    size_t idle = 0;
    for (int i = 0; i < pool->member_max; i++)
        idle += pool->members[i].process.pid && !pool->members[i].busy;
    for (int i = 0; i < pool->member_max && idle < open_count && pool->deaths < DEATHS_MAX; i++) {
        if (pool->members[i].process.pid) continue;
        start_member(pool, &pool->members[i]);
        idle++;
    }
}

/* Waits until a worker says something or there is more to do. */
static void wait_for_news(rdt_compile_pool *pool) {
    struct pollfd polled[WORKERS_MAX + 1] = {{.fd = pool->wake, .events = POLLIN}};
    for (int i = 0; i < pool->member_max; i++)
        polled[i + 1] = (struct pollfd){
            .fd = pool->members[i].process.pid ? pool->members[i].process.wire.in : -1,
            .events = POLLIN,
        };
    if (poll(polled, (nfds_t)pool->member_max + 1, 1000) < 0) return;
    uint64_t calls;
    if (polled[0].revents && read(pool->wake, &calls, sizeof calls) < 0) return;
    double now = rdt_clock_s();
    for (int i = 0; i < pool->member_max; i++) {
        member *member = &pool->members[i];
        if (polled[i + 1].revents) hear(pool, member);
        bool waited_for = member->busy || !member->ready;
        if (member->process.pid && waited_for && now - member->since_s > ORDER_LIMIT_S)
            lose(pool, member, "it took too long");
    }
}

static void *look_after(void *user) {
    rdt_compile_pool *pool = user;
    for (;;) {
        pthread_mutex_lock(&pool->lock);
        bool closing = pool->closing;
        size_t open_count = pool->open_count;
        pthread_mutex_unlock(&pool->lock);
        if (closing) break;
        recruit(pool, open_count);
        for (int i = 0; i < pool->member_max; i++) {
            member *member = &pool->members[i];
            if (member->process.pid && member->ready && !member->busy) give_job(pool, member);
        }
        wait_for_news(pool);
    }
    /* The thread that started them ends them: the system may take it as the workers' parent. */
    for (int i = 0; i < pool->member_max; i++) rdt_process_end(&pool->members[i].process, NULL);
    return NULL;
}

/* A thread that runs no signal handler of the program's. */
static int start_thread(rdt_compile_pool *pool) {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int code = pthread_create(&pool->thread, NULL, look_after, pool);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

static void destroy(rdt_compile_pool *pool) {
    if (pool->wake >= 0) close(pool->wake);
    pthread_mutex_destroy(&pool->lock);
    pthread_cond_destroy(&pool->made);
    free(pool->entries);
    free(pool);
}

redtune_status rdt_compile_pool_open(const rdt_worker_options *options, const rdt_codegen *codegen,
                                     rdt_compile_pool **out, redtune_error *err) {
    rdt_compile_pool *pool = calloc(1, sizeof *pool);
    if (!pool) return rdt_fail_memory(err, sizeof *pool);
    pool->options = options;
    pool->codegen = codegen;
    const int cores = rdt_process_cores();
    pool->member_max = cores < WORKERS_MAX ? cores : WORKERS_MAX;
    pool->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int code = pool->wake < 0 ? errno : 0;
    rdt_clock_init_condition(&pool->made);
    pthread_mutex_init(&pool->lock, NULL);
    if (!code) code = start_thread(pool);
    if (code) {
        destroy(pool);
        return rdt_fail(err, REDTUNE_FILE, code, "cannot start compile workers: %s",
                        rdt_locale_reason(code));
    }
    *out = pool;
    return REDTUNE_OK;
}

void rdt_compile_pool_close(rdt_compile_pool *pool) {
    if (!pool) return;
    pthread_mutex_lock(&pool->lock);
    pool->closing = true;
    pthread_mutex_unlock(&pool->lock);
    wake(pool);
    pthread_join(pool->thread, NULL);
    destroy(pool);
}
