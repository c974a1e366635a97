/* CUDA API: libcuda's types and functions, every version of a function under its own name. */
#pragma once

#define __CUDA_API_VERSION_INTERNAL
#pragma GCC visibility push(default)
#include <cuda.h>
#include "driver/compat.h"
#pragma GCC visibility pop
