/* Process: starting and ending a worker process, and the wire to it. */
#pragma once

#include <sys/types.h>
#include "tuner/workers/wire.h"

/* The worker's end of the wire, for both directions. */
enum { RDT_PROCESS_FD = 3 };

/* Valid when zeroed: none. */
typedef struct rdt_process {
    pid_t pid; /* 0: none */
    rdt_wire wire;
} rdt_process;

/* How many cores this process may use, at least 1. */
int rdt_process_cores(void);

/* Starts "<command> worker". It has nothing of this process but its stderr and its end of the wire,
 * and is in a process group of its own, so that a terminal's Ctrl-C is for this process to answer.
 * The system may end it when the thread that started it ends. */
redtune_status rdt_process_start(const char *command, rdt_process *out, redtune_error *err);

/* How a process ended, such as "it was ended by signal 11 (Segmentation fault)". */
enum { RDT_PROCESS_END_BYTES = 96 };

/* Ends it at once, wherever it stands, and closes the wire; how (may be NULL) says how it ended if
 * it had done so by itself, or was ended. Waits for it briefly: one that hangs in the GPU's driver
 * ends later. process may be none. */
void rdt_process_end(rdt_process *process, char how[RDT_PROCESS_END_BYTES]);
