// Ending: threads that are within redtune while Python ends.
//
// Python ends while daemon threads run. A thread that then asks for the GIL is ended by unwinding
// its stack (before Python 3.14), which aborts the process where that goes through C++. So `close`,
// which atexit calls before Python's end begins, lets the calls of other threads return, and no
// call begins after it. A call that takes longer keeps its thread, which never asks for the GIL
// again, and what it uses is not closed.
#pragma once

#include <cstdio> // nanobind takes it for granted, and Python.h of the limited API has it not

#include <nanobind/nanobind.h>

namespace nb = nanobind;

// A call of a thread that has the GIL. Raises in a child of fork() whose parent used CUDA, and once
// the program ends: RuntimeError in the main thread, SystemExit, which ends it silently, in others.
class calling {
  public:
    calling();
    ~calling();
    calling(const calling &) = delete;
};

// The same of a thread that is not Python's, before it asks for the GIL; false: the program ends.
bool calling_begin();
void calling_end();

// Within a call: gives the GIL back, and takes it again.
class without_gil {
  public:
    without_gil();
    ~without_gil();
    without_gil(const without_gil &) = delete;

  private:
    PyThreadState *state;
};

// Lets the calls of other threads return. False: one has not within a second, so that nothing may
// be closed.
bool ending_wait();

// In a child of fork(); used: CUDA was, before the fork, so that nothing that is open can be used
// or closed.
void ending_note_fork(bool used);
bool ending_is_inherited();
