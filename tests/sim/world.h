/* A device with a module of small kernels, for the tests of the driver. */
#pragma once

#include "bench.h"

struct world {
    CUmodule module;
    CUfunction fill, add_one, fault, limited;
    CUdeviceptr at;
};

/* Starts the simulator anew, as bench_start does. at holds 32 words of 0. */
struct world world_start(const char *const *settings);

/* Adds 1 to the first word at world->at, by a launch. */
CUresult world_add_one(struct world *world, CUstream stream);
unsigned int world_first_word(const struct world *world);
