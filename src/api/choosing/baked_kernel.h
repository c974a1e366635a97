/* Baked kernel: the kernel of a point that was chosen here, from the system's kernel files. */
#pragma once

#include "api/runtime/runtime.h"

/* Loaded into the current context; NULL: the files do not have it. Needs Lua, and no NVRTC. */
rdt_kernel *rdt_baked_kernel_load(redtune *rt, const redtune_problem *problem,
                                  const rdt_point *point, const rdt_launch *launch);
