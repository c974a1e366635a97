/* Shard: which part of a tune this process does, as it is told or as its launcher numbers it. */
#ifndef RDT_CLI_SHARD_H
#define RDT_CLI_SHARD_H

#include "redtune/redtune.h"

/* "2/8", from 0; or "auto": from the environment of Slurm, PMIx or MPI. REDTUNE_INVALID for what is
 * neither, and where no launcher numbers this process. */
redtune_status rdt_shard_read(const char *text, unsigned *index, unsigned *count,
                              redtune_error *err);

#endif
