/* Shard: which part of a tune this process does, as it is told or as its launcher numbers it.
 *
 * The launcher nearest to this process counts, and mpirun is nearer than the Slurm job that it runs
 * in: inside a job Slurm's variables are set for every process, with the numbers of the batch
 * script or of the step that started mpirun's daemons. So MPI's are asked first, and Slurm's only
 * in a step.
 */
#include "cli/shard.h"

#include <stdlib.h>
#include <string.h>
#include "cli/message.h"

typedef struct launcher {
    const char *name, *rank, *size, *local_rank;
    const char *other_local_rank; /* NULL: it has none */
} launcher;

/* srun(1), Open MPI's and MVAPICH's manuals; MPI_LOCALRANKID is Hydra's, PMI_LOCAL_RANK PALS's. */
static const launcher launchers[] = {
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
     NULL},
    {"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", NULL},
    {"PMIx", "PMIX_RANK", "PMIX_SIZE", "PMIX_LOCAL_RANK", NULL},
    {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "PMI_LOCAL_RANK"},
    {"Slurm step", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL},
};

enum {
    LAUNCHERS = sizeof launchers / sizeof *launchers,
    SLURM = LAUNCHERS - 1,
    COUNT_MAX = 1000000,
};

static bool read_number(const char *text, size_t length, unsigned *out) {
    unsigned value = 0;
    if (!length || length > 7 || strspn(text, "0123456789") < length) return false;
    for (size_t i = 0; i < length; i++) value = 10 * value + (unsigned)(text[i] - '0');
    *out = value;
    return true;
}

static bool read_variable(const char *name, unsigned *out) {
    const char *value = name ? getenv(name) : NULL;
    return value && read_number(value, strlen(value), out);
}

static redtune_status wrong_shard(const char *text, const char *reason, redtune_error *err) {
    return rdt_message_set(err, REDTUNE_INVALID, 0, "cannot use --shard '%.100s': %s", text,
                           reason);
}

static redtune_status check_part(const char *text, unsigned index, unsigned count,
                                 redtune_error *err) {
    if (!count || count > COUNT_MAX) return wrong_shard(text, "give 1 to 1000000 parts", err);
    if (index >= count) return wrong_shard(text, "parts count from 0: the last of 4 is 3/4", err);
    return REDTUNE_OK;
}

/* ---- launchers ----------------------------------------------------------------------------- */

static redtune_status contradict(const char *name, const char *other, redtune_error *err) {
    return rdt_message_set(err, REDTUNE_INVALID, 0,
                           "cannot use --shard auto: %s=%.40s and %s=%.40s make no sense together; "
                           "write --shard I/N",
                           name, getenv(name), other, getenv(other));
}

/* Batch scripts, and shells that salloc starts, have a step number of 0xfffffff0 or more, or none.
 */
static bool is_in_slurm_step(void) {
    unsigned step;
    return read_variable("SLURM_STEP_ID", &step);
}

static redtune_status read_launcher(const launcher *from, rdt_shard *out, redtune_error *err) {
    rdt_shard shard = {.launcher = from->name};
    if (!read_variable(from->rank, &shard.index) || !read_variable(from->size, &shard.count) ||
        shard.index >= shard.count)
        return contradict(from->rank, from->size, err);
    redtune_status status = check_part("auto", shard.index, shard.count, err);
    if (status) return status;
    shard.has_local_rank = read_variable(from->local_rank, &shard.local_rank) ||
                           read_variable(from->other_local_rank, &shard.local_rank);
    /* Where srun itself speaks PMI, its own variables have what PMI's lack. */
    unsigned task;
    if (!shard.has_local_rank && is_in_slurm_step() && read_variable("SLURM_PROCID", &task) &&
        task == shard.index)
        shard.has_local_rank = read_variable("SLURM_LOCALID", &shard.local_rank);
    *out = shard;
    return REDTUNE_OK;
}

static redtune_status read_slurm_step(rdt_shard *out, redtune_error *err) {
    const char *task = getenv("SLURM_PROCID");
    if (!task)
        return rdt_message_set(
            err, REDTUNE_INVALID, 0,
            "cannot use --shard auto: neither Open MPI, PMIx and PMI nor a Slurm step number this "
            "process; start it with srun or mpirun, or write --shard I/N");
    if (!is_in_slurm_step())
        return rdt_message_set(
            err, REDTUNE_INVALID, 0,
            "cannot use --shard auto: SLURM_PROCID=%.40s is the batch script's own, or a shell's, "
            "and no step's task; start redtune with srun or mpirun, or write --shard I/N",
            task);
    /* A rank that no size stands beside is Slurm's own PMIx, or of a launcher that srun started. */
    for (int i = 0; i < SLURM; i++) {
        const char *rank = getenv(launchers[i].rank);
        if (rank && strcmp(rank, task)) return contradict(launchers[i].rank, "SLURM_PROCID", err);
    }
    if (!getenv(launchers[SLURM].size))
        return wrong_shard("auto", "SLURM_STEP_NUM_TASKS is not set; write --shard I/N", err);
    return read_launcher(&launchers[SLURM], out, err);
}

static redtune_status find_launcher(rdt_shard *out, redtune_error *err) {
    for (int i = 0; i < SLURM; i++)
        if (getenv(launchers[i].rank) && getenv(launchers[i].size))
            return read_launcher(&launchers[i], out, err);
    return read_slurm_step(out, err);
}

redtune_status rdt_shard_read(const char *text, rdt_shard *out, redtune_error *err) {
    if (!strcmp(text, "auto")) return find_launcher(out, err);
    const char *slash = strchr(text, '/');
    rdt_shard shard = {0};
    if (!slash || !read_number(text, (size_t)(slash - text), &shard.index) ||
        !read_number(slash + 1, strlen(slash + 1), &shard.count))
        return wrong_shard(text, "write a part and their number, such as 0/4, or auto", err);
    redtune_status status = check_part(text, shard.index, shard.count, err);
    if (!status) *out = shard;
    return status;
}
