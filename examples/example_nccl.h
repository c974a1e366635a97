/* What programs that use NCCL have beside: an answer to its errors. */
#ifndef REDTUNE_EXAMPLES_EXAMPLE_NCCL_H
#define REDTUNE_EXAMPLES_EXAMPLE_NCCL_H

#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>

#define TRY_NCCL(call)                                                                             \
    do {                                                                                           \
        ncclResult_t rc_ = (call);                                                                 \
        if (rc_ == ncclSuccess) break;                                                             \
        fprintf(stderr, "%s: %s\n", #call, ncclGetErrorString(rc_));                               \
        exit(EXIT_FAILURE);                                                                        \
    } while (0)

#endif
