// Torch worker: the thread that makes plans, so that no call of PyTorch's waits for one.
#include "torch_calls.h"

#include <algorithm>
#include <condition_variable>
#include <csignal>
#include <cstring>
#include <deque>
#include <mutex>
#include <thread>
#include <unordered_set>
#include <vector>

namespace {

enum { QUEUE_MAX = 1000, BATCH_MAX = 16 }; // a call that finds the queue full comes again

struct job {
    redtune *rt; // NULL: the device is to be opened
    redtune_problem problem;
    int device;
};

// Never destroyed: where the program ends in a fork, or beside a call that does not end, the thread
// lives on.
std::mutex &lock = *new std::mutex; // guards what follows
std::condition_variable &woken = *new std::condition_variable;
std::deque<job> &jobs = *new std::deque<job>;
std::unordered_set<uint64_t> pending, refused; // hashes of problems
std::string failure;
std::thread &thread = *new std::thread;
bool ends = false;
size_t working = 0; // jobs that the thread is at
std::atomic<size_t> refused_count{0};

// FNV-1a over words. A problem of a call has no text, and unused axes are 0.
uint64_t hash_of(const redtune_problem &problem) {
    uint64_t words[sizeof problem / 8], hash = 14695981039346656037u;
    static_assert(sizeof problem % 8 == 0, "a problem is words");
    memcpy(words, &problem, sizeof problem);
    for (uint64_t word : words) hash = (hash ^ word) * 1099511628211u;
    return hash;
}

// Devices have no problem.
uint64_t hash_of(const job &its) {
    return its.rt ? hash_of(its.problem) : static_cast<uint64_t>(its.device);
}

void note_failure(uint64_t hash, const std::string &message) {
    refused.insert(hash);
    refused_count = refused.size();
    failure = message;
}

// What failed; "": nothing.
std::string do_job(const job &next) {
    redtune_error err;
    std::string why;
    if (!next.rt)
        torch_calls_try_open(next.device, &why);
    else if (redtune_prepare(next.rt, &next.problem, 1, &err))
        why = err.message;
    return why;
}

// The library makes several plans at a time. Those that fail are made once more, which says why.
void prepare_together(const std::vector<job> &batch) {
    std::vector<redtune_problem> problems;
    for (const job &each : batch)
        if (each.rt && each.rt == batch[0].rt) problems.push_back(each.problem);
    if (problems.size() > 1)
        redtune_prepare(batch[0].rt, problems.data(), problems.size(), nullptr);
}

void note_done(const job &done, const std::string &why) {
    const uint64_t hash = hash_of(done);
    if (!why.empty()) note_failure(hash, why);
    if (done.rt || why.empty()) pending.erase(hash); // a device is tried once
}

void work() {
    std::unique_lock<std::mutex> held(lock);
    for (;;) {
        working = 0;
        woken.wait(held, [] { return ends || !jobs.empty(); });
        if (ends) return;
        const size_t count = std::min<size_t>(jobs.size(), BATCH_MAX);
        const std::vector<job> batch(jobs.begin(), jobs.begin() + static_cast<ptrdiff_t>(count));
        jobs.erase(jobs.begin(), jobs.begin() + static_cast<ptrdiff_t>(count));
        working = count;
        held.unlock();
        prepare_together(batch);
        for (const job &each : batch) {
            const std::string why = do_job(each);
            const std::lock_guard<std::mutex> again(lock);
            note_done(each, why);
        }
        held.lock();
    }
}

// The program's signals are for its own threads.
void start() {
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    try {
        thread = std::thread(work);
    } catch (const std::exception &) {
        ends = true; // nothing is prepared, and all calls are PyTorch's
    }
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

} // namespace

static void add(const job &next) {
    const std::lock_guard<std::mutex> held(lock);
    if (ends || jobs.size() >= QUEUE_MAX || !pending.insert(hash_of(next)).second) return;
    jobs.push_back(next);
    if (!thread.joinable()) start();
    woken.notify_one();
}

void torch_worker_prepare(redtune *rt, const redtune_problem &problem) { add({rt, problem, 0}); }

void torch_worker_open(int device) { add({nullptr, {}, device}); }

void torch_worker_end() {
    {
        const std::lock_guard<std::mutex> held(lock);
        ends = true;
        jobs.clear();
    }
    woken.notify_one();
    if (thread.joinable()) thread.join();
}

std::string torch_worker_failure() {
    const std::lock_guard<std::mutex> held(lock);
    return failure;
}

void torch_worker_refuse(const redtune_problem &problem, const char *message) {
    const std::lock_guard<std::mutex> held(lock);
    note_failure(hash_of(problem), message);
}

bool torch_worker_refuses(const redtune_problem &problem) {
    if (!refused_count.load(std::memory_order_relaxed)) return false;
    const std::lock_guard<std::mutex> held(lock);
    return refused.count(hash_of(problem)) != 0;
}

size_t torch_worker_left() {
    const std::lock_guard<std::mutex> held(lock);
    return jobs.size() + working;
}
