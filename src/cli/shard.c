/* Shard: which part of a tune this process does, as it is told or as its launcher numbers it. */
#include "cli/shard.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include "cli/message.h"

/* Where launchers write the number of a process and how many there are. PMIx gives the number only;
 * the others' names for the size stand beside it where one of them has started the process. */
static const struct {
    const char *index, *count;
} launchers[] = {
    {"SLURM_PROCID", "SLURM_NTASKS"},
    {"PMI_RANK", "PMI_SIZE"},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMIX_RANK", "PMIX_SIZE"},
    {"PMIX_RANK", "PMI_SIZE"},
    {"PMIX_RANK", "OMPI_COMM_WORLD_SIZE"},
    {"PMIX_RANK", "SLURM_NTASKS"},
};

enum { COUNT_MAX = 1000000 };

static bool read_number(const char *text, size_t length, unsigned *out) {
    unsigned value = 0;
    if (!length || length > 7 || strspn(text, "0123456789") < length) return false;
    for (size_t i = 0; i < length; i++) value = 10 * value + (unsigned)(text[i] - '0');
    *out = value;
    return true;
}

static redtune_status wrong(const char *text, const char *reason, redtune_error *err) {
    return rdt_message_set(err, REDTUNE_INVALID, 0, "cannot use --shard '%.100s': %s", text,
                           reason);
}

static redtune_status check(const char *text, unsigned index, unsigned count, redtune_error *err) {
    if (!count || count > COUNT_MAX) return wrong(text, "give 1 to 1000000 parts", err);
    if (index >= count) return wrong(text, "parts count from 0: the last of 4 is 3/4", err);
    return REDTUNE_OK;
}

static redtune_status read_launcher(unsigned *index, unsigned *count, redtune_error *err) {
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        const char *rank = getenv(launchers[i].index), *size = getenv(launchers[i].count);
        if (!rank || !size) continue;
        unsigned found_index, found_count;
        if (!read_number(rank, strlen(rank), &found_index) ||
            !read_number(size, strlen(size), &found_count) || found_index >= found_count)
            return rdt_message_set(err, REDTUNE_INVALID, 0,
                                   "cannot use --shard auto: %s=%.40s and %s=%.40s make no sense",
                                   launchers[i].index, rank, launchers[i].count, size);
        redtune_status status = check("auto", found_index, found_count, err);
        if (status) return status;
        *index = found_index;
        *count = found_count;
        return REDTUNE_OK;
    }
    return rdt_message_set(
        err, REDTUNE_INVALID, 0,
        "cannot use --shard auto: neither Slurm (SLURM_PROCID, SLURM_NTASKS) nor "
        "PMI, PMIx or Open MPI numbers this process; start it with srun or "
        "mpirun, or write --shard I/N");
}

redtune_status rdt_shard_read(const char *text, unsigned *index, unsigned *count,
                              redtune_error *err) {
    if (!strcmp(text, "auto")) return read_launcher(index, count, err);
    const char *slash = strchr(text, '/');
    unsigned found_index, found_count;
    if (!slash || !read_number(text, (size_t)(slash - text), &found_index) ||
        !read_number(slash + 1, strlen(slash + 1), &found_count))
        return wrong(text, "write a part and their number, such as 0/4, or auto", err);
    redtune_status status = check(text, found_index, found_count, err);
    if (status) return status;
    *index = found_index;
    *count = found_count;
    return REDTUNE_OK;
}
