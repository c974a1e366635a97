/* Packer: the kernel that copies arrays with gaps side by side. */
#pragma once

#include "api/runtime/runtime.h"

/* The kernel, made at first and kept. The context is current and relaxed. */
redtune_status rdt_packer_find(redtune *rt, const rdt_kernel **out, redtune_error *err);
/* lost: the context is gone, and the kernel with it. */
void rdt_packer_destroy(redtune *rt, bool lost);
