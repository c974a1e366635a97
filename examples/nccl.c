/* Stands in for -lnccl, as driver.c does for -lcuda, so that the examples start on a machine
 * without it. A program of your own links NCCL and has no such file.
 *
 * Each function looks its namesake up in $REDTUNE_NCCL, else libnccl.so.2. */
#include <dlfcn.h>
#include <nccl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void find(const char *name, void *function, size_t bytes) {
    const char *chosen = getenv("REDTUNE_NCCL");
    void *nccl = dlopen(chosen && *chosen ? chosen : "libnccl.so.2", RTLD_NOW);
    void *address = nccl ? dlsym(nccl, name) : NULL;
    if (!address) {
        fprintf(stderr,
                "cannot run this example: %s. It needs NCCL; REDTUNE_NCCL names its file where "
                "the loader does not find it\n",
                dlerror());
        exit(EXIT_FAILURE);
    }
    memcpy(function, &address, bytes);
}

#define FORWARD(result, name, parameters, arguments)                                               \
    result name parameters {                                                                       \
        result(*function) parameters;                                                              \
        find(#name, &function, sizeof function);                                                   \
        return function arguments;                                                                 \
    }

FORWARD(ncclResult_t, ncclGetUniqueId, (ncclUniqueId * id), (id))
FORWARD(ncclResult_t, ncclCommInitAll, (ncclComm_t * comms, int count, const int *devices),
        (comms, count, devices))
FORWARD(ncclResult_t, ncclCommInitRank, (ncclComm_t * comm, int ranks, ncclUniqueId id, int rank),
        (comm, ranks, id, rank))
FORWARD(ncclResult_t, ncclCommDestroy, (ncclComm_t comm), (comm))
FORWARD(const char *, ncclGetErrorString, (ncclResult_t rc), (rc))
