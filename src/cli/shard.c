/* Shard: which part of a tune this process does, as it is told or as its launcher numbers it.
 *
 * Several launchers' variables may be set, and the launcher nearest to this process counts. One
 * that another has started inherits its variables: torchrun's agents are tasks of srun or mpirun;
 * mpirun is started by the batch script, whose own number Slurm and Flux give to every process. So
 * torchrun is asked first, then MPI, then Flux, and Slurm only in a step. A job array is around all
 * of these: each of its jobs has as many parts as a job has tasks.
 */
#include "cli/shard.h"

#include <stdlib.h>
#include <string.h>
#include "cli/message.h"

typedef struct launcher {
    const char *name, *rank, *size, *local_rank;
    const char *other_local_rank; /* NULL: it has none */
    const char *mark;             /* set where the others are this launcher's; NULL: always */
} launcher;

/* pytorch.org/docs (torchrun), flux-environment(7), srun(1), Open MPI's and MVAPICH's manuals;
 * MPI_LOCALRANKID is Hydra's, PMI_LOCAL_RANK PALS's. */
static const launcher launchers[] = {
    {"torchrun", "RANK", "WORLD_SIZE", "LOCAL_RANK", NULL, "TORCHELASTIC_RUN_ID"},
    {"Open MPI", "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK", NULL,
     NULL},
    {"MVAPICH", "MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE", "MV2_COMM_WORLD_LOCAL_RANK", NULL,
     NULL},
    {"PMIx", "PMIX_RANK", "PMIX_SIZE", "PMIX_LOCAL_RANK", NULL, NULL},
    {"PMI", "PMI_RANK", "PMI_SIZE", "MPI_LOCALRANKID", "PMI_LOCAL_RANK", NULL},
    {"Flux", "FLUX_TASK_RANK", "FLUX_JOB_SIZE", "FLUX_TASK_LOCAL_ID", NULL, NULL},
    {"Slurm step", "SLURM_PROCID", "SLURM_STEP_NUM_TASKS", "SLURM_LOCALID", NULL, NULL},
};

enum {
    LAUNCHERS = sizeof launchers / sizeof *launchers,
    SLURM = LAUNCHERS - 1,
    FLUX = SLURM - 1,
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

static const char *value_of(const char *name) {
    const char *value = getenv(name);
    return value ? value : "(unset)";
}

static redtune_status contradict(const char *name, const char *other, redtune_error *err) {
    return rdt_message_set(err, REDTUNE_INVALID, 0,
                           "cannot use --shard auto: %s=%.40s and %s=%.40s make no sense together; "
                           "write --shard I/N",
                           name, value_of(name), other, value_of(other));
}

/* Batch scripts, and shells that salloc starts, have a step number of 0xfffffff0 or more, or none.
 */
static bool is_in_slurm_step(void) {
    unsigned step;
    return read_variable("SLURM_STEP_ID", &step);
}

/* Where srun or flux run speaks PMI itself, its own variables have the local rank that PMI's lack.
 */
static void find_local_rank(const launcher *from, rdt_shard *shard) {
    shard->has_local_rank = read_variable(from->local_rank, &shard->local_rank) ||
                            read_variable(from->other_local_rank, &shard->local_rank);
    for (int i = FLUX; i <= SLURM && !shard->has_local_rank; i++) {
        unsigned task;
        if ((i != SLURM || is_in_slurm_step()) && read_variable(launchers[i].rank, &task) &&
            task == shard->index)
            shard->has_local_rank = read_variable(launchers[i].local_rank, &shard->local_rank);
    }
}

static redtune_status read_launcher(const launcher *from, rdt_shard *out, redtune_error *err) {
    rdt_shard shard = {.launcher = from->name};
    if (!read_variable(from->rank, &shard.index) || !read_variable(from->size, &shard.count) ||
        shard.index >= shard.count)
        return contradict(from->rank, from->size, err);
    redtune_status status = check_part("auto", shard.index, shard.count, err);
    if (status) return status;
    find_local_rank(from, &shard);
    *out = shard;
    return REDTUNE_OK;
}

static redtune_status read_slurm_step(rdt_shard *out, redtune_error *err) {
    const char *task = getenv(launchers[SLURM].rank);
    /* A rank that no size stands beside is Slurm's own PMIx, or of a launcher that srun started. */
    for (int i = 0; i < SLURM; i++) {
        const char *rank = launchers[i].mark ? NULL : getenv(launchers[i].rank);
        if (rank && strcmp(rank, task))
            return contradict(launchers[i].rank, launchers[SLURM].rank, err);
    }
    if (!getenv(launchers[SLURM].size))
        return wrong_shard("auto", "SLURM_STEP_NUM_TASKS is not set; write --shard I/N", err);
    return read_launcher(&launchers[SLURM], out, err);
}

/* *out stays as it is where no launcher numbers this process. */
static redtune_status find_launcher(rdt_shard *out, redtune_error *err) {
    for (int i = 0; i < SLURM; i++) {
        const launcher *each = &launchers[i];
        if (getenv(each->rank) && getenv(each->size) && (!each->mark || getenv(each->mark)))
            return read_launcher(each, out, err);
    }
    if (getenv(launchers[SLURM].rank) && is_in_slurm_step()) return read_slurm_step(out, err);
    return REDTUNE_OK;
}

/* ---- jobs of an array, pods of a job ------------------------------------------------------- */

/* The job's place in a Slurm job array (https://slurm.schedmd.com/job_array.html). The numbers of
 * an array's jobs are a step apart; where they are not, as in --array=1,2,7, no job knows its
 * place. */
static redtune_status read_array(unsigned *index, unsigned *count, redtune_error *err) {
    unsigned id = 0, first = 0, last = 0, step = 1;
    if (!read_variable("SLURM_ARRAY_TASK_ID", &id) ||
        !read_variable("SLURM_ARRAY_TASK_COUNT", count) || !*count ||
        !read_variable("SLURM_ARRAY_TASK_MIN", &first) || id < first)
        return contradict("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", err);
    if (*count > 1) {
        if (!read_variable("SLURM_ARRAY_TASK_MAX", &last) || last <= first)
            return contradict("SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX", err);
        step = (last - first) / (*count - 1);
        if (!step || (last - first) % (*count - 1) || (id - first) % step)
            return wrong_shard("auto",
                               "the numbers of the Slurm array's jobs are not evenly apart; give "
                               "--array=0-N, or write --shard I/N",
                               err);
    }
    *index = (id - first) / step;
    if (*index >= *count) return contradict("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", err);
    return REDTUNE_OK;
}

static redtune_status add_array(rdt_shard *shard, redtune_error *err) {
    unsigned index = 0, count = 0;
    redtune_status status = read_array(&index, &count, err);
    if (status) return status;
    const bool alone = !shard->launcher;
    if (alone) shard->count = 1;
    if (shard->count > COUNT_MAX / count)
        return wrong_shard("auto", "array and tasks make more than 1000000 parts", err);
    shard->index += index * shard->count;
    shard->count *= count;
    shard->launcher = alone ? "Slurm array" : shard->launcher;
    return REDTUNE_OK;
}

/* An indexed job's pod knows its number, not how many there are
 * (https://kubernetes.io/docs/concepts/workloads/controllers/job). */
static redtune_status read_pod(unsigned count, rdt_shard *out, redtune_error *err) {
    if (!count)
        return wrong_shard("auto",
                           "a pod of a Kubernetes job does not know how many there are; write "
                           "--shard auto/N, where N is the job's completions",
                           err);
    if (!read_variable("JOB_COMPLETION_INDEX", &out->index) || out->index >= count)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --shard auto/%u: JOB_COMPLETION_INDEX=%.40s is no part "
                               "of %u; give the job's completions",
                               count, getenv("JOB_COMPLETION_INDEX"), count);
    out->count = count;
    out->launcher = "Kubernetes job";
    return REDTUNE_OK;
}

static redtune_status nobody_numbers(redtune_error *err) {
    const char *task = getenv("SLURM_PROCID");
    if (task)
        return rdt_message_set(
            err, REDTUNE_INVALID, 0,
            "cannot use --shard auto: SLURM_PROCID=%.40s is the batch script's own, or a shell's, "
            "and no step's task; start redtune with srun or mpirun, or write --shard I/N",
            task);
    return wrong_shard("auto",
                       "no launcher numbers this process (torchrun, Open MPI, PMIx, PMI, Flux, a "
                       "Slurm step or array, a Kubernetes job); start it with srun or mpirun, or "
                       "write --shard I/N",
                       err);
}

/* count: how many parts there are, as the user says; 0: the launcher knows. */
static redtune_status read_auto(unsigned count, rdt_shard *out, redtune_error *err) {
    rdt_shard shard = {0};
    redtune_status status = find_launcher(&shard, err);
    if (!status && getenv("SLURM_ARRAY_TASK_ID")) status = add_array(&shard, err);
    if (!status && !shard.launcher && getenv("JOB_COMPLETION_INDEX"))
        status = read_pod(count, &shard, err);
    if (!status && !shard.launcher) status = nobody_numbers(err);
    if (status) return status;
    if (count && count != shard.count)
        return rdt_message_set(err, REDTUNE_INVALID, 0,
                               "cannot use --shard auto/%u: there are %u parts (%s); write --shard "
                               "auto",
                               count, shard.count, shard.launcher);
    *out = shard;
    return REDTUNE_OK;
}

redtune_status rdt_shard_read(const char *text, rdt_shard *out, redtune_error *err) {
    if (!strcmp(text, "auto")) return read_auto(0, out, err);
    const char *slash = strchr(text, '/');
    const bool is_auto = !strncmp(text, "auto/", 5);
    rdt_shard shard = {0};
    if (!slash || (!is_auto && !read_number(text, (size_t)(slash - text), &shard.index)) ||
        !read_number(slash + 1, strlen(slash + 1), &shard.count))
        return wrong_shard(text, "write a part and their number, such as 0/4, or auto", err);
    redtune_status status = check_part(text, shard.index, shard.count, err);
    if (!status && is_auto) return read_auto(shard.count, out, err);
    if (!status) *out = shard;
    return status;
}
