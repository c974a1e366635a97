/* What the tests of the simulated driver do over and over: a device, a module, a launch. */
#pragma once

/* Every version of an entry point under its own name, whatever the age of the header. */
#define __CUDA_API_VERSION_INTERNAL
#include "driver/compat.h"

#include "fact.h"
#include "sim.h"

/* Starts the simulator anew, with a current context. settings: "NAME=value" up to a NULL, each
   without its REDTUNE_SIM_; NULL: none. */
void bench_start(const char *const *settings);

/* A device buffer of so many bytes; from NULL leaves it unwritten. */
CUdeviceptr bench_buffer(size_t bytes, const void *from);

/* The PTX module's function of that name; NULL, and a failed check, when it cannot be had. */
CUfunction bench_function(const char *ptx, const char *name);

/* Launches, waits, and gives what waiting gave. */
CUresult bench_launch(CUfunction function, unsigned int grid, unsigned int block, void **params);

/* The entry "k" with parameters p0 (64 bits) and p1 (64 bits) and this body: registers %r0-9 of
   32 bits, %d0-9 of 64, %f0-9 f32, %h0-9 of 16 and %p0-9 are declared, %d0 and %d1 hold the
   parameters, %r0 the thread, and the block may use the shared array "s" of 256 bytes. */
CUresult bench_body(const char *body, unsigned int grid, unsigned int block, CUdeviceptr p0,
                    CUdeviceptr p1);

/* Likewise with directives between the parameters and the body. */
CUresult bench_limited_body(const char *limits, const char *body, unsigned int grid,
                            unsigned int block, CUdeviceptr p0, CUdeviceptr p1);

/* The kind of the only finding so far; -1 when there are none or several. */
int bench_finding(struct redtune_sim_finding *out);
