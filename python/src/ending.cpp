// Ending: threads that are within redtune while Python ends.
#include "ending.h"

#include <atomic>
#include <unistd.h>

#include "errors.h"

namespace {

enum { LIMIT_MS = 1000 };

std::atomic<long> calls;         // of all threads
std::atomic<long> inside;        // those of them that have given the GIL back
std::atomic<bool> ends, is_left; // no call begins any more; those that are inside stay there
unsigned long ender;             // the thread that ends the program
bool inherited;                  // this is a child of fork(), and its parent used CUDA

bool is_ender() { return PyThread_get_thread_ident() == ender; }

template <class Condition> void wait_while(Condition condition) {
    for (int i = 0; i < LIMIT_MS && condition(); i++) usleep(1000);
}

} // namespace

calling::calling() {
    if (inherited)
        fail(PyExc_RuntimeError,
             "cannot use redtune after a fork: CUDA was in use before it; start processes with "
             "multiprocessing.get_context(\"spawn\"), or fork before the first reduction");
    if (ends && !is_ender()) {
        PyErr_SetNone(PyExc_SystemExit);
        throw nb::python_error();
    }
    calls++;
}

calling::~calling() { calls--; }

bool calling_begin() {
    calls++;
    if (ends) calls--;
    return !ends;
}

void calling_end() { calls--; }

without_gil::without_gil() {
    inside++;
    state = PyEval_SaveThread();
}

without_gil::~without_gil() {
    inside--;
    if (is_left && !is_ender()) {
        inside++;
        for (;;) pause();
    }
    PyEval_RestoreThread(state);
}

bool ending_wait() {
    ender = PyThread_get_thread_ident();
    ends = true;
    PyThreadState *state = PyEval_SaveThread();
    wait_while([] { return calls > 0; });
    is_left = calls > 0;
    if (is_left) wait_while([] { return calls > inside; });
    PyEval_RestoreThread(state);
    return !is_left;
}

void ending_note_fork(bool used) {
    inherited = used;
    calls = inside = 0; // its parent's other threads are not here
}

bool ending_is_inherited() { return inherited; }
