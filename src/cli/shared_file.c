/* Shared file: the elements of a file, of which several GPUs reduce a part each.
 *
 * Each GPU has the files open by itself, at the place where its part begins, so that they are read
 * side by side. */
#include "cli/shared_file.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "cli/device.h"
#include "cli/message.h"
#include "redtune/team.h"

enum { CHUNK_BYTES = 4096 };

/* What is left of a part in one file. */
typedef struct part_file {
    rdt_element_file *file;
    uint64_t left_bytes;
} part_file;

typedef struct gpu_part {
    redtune *rt;
    rdt_input_files files;
    part_file part[RDT_INPUT_FILES_MAX];
} gpu_part;

/* ---- parts ----------------------------------------------------------------------------------- */

static redtune_status read_part(void *user, void *buffer, size_t capacity, size_t *bytes,
                                redtune_error *err) {
    part_file *self = user;
    *bytes = 0;
    if (capacity > self->left_bytes) capacity = (size_t)self->left_bytes;
    if (!capacity) return REDTUNE_OK;
    redtune_status status = rdt_element_file_read(self->file, buffer, capacity, bytes, err);
    self->left_bytes -= status ? 0 : *bytes;
    if (status || *bytes) return status;
    return rdt_message_set(err, REDTUNE_FILE, 0,
                           "cannot reduce %s: it is truncated: %" PRIu64
                           " bytes are gone since it was opened",
                           self->file->path, self->left_bytes);
}

/* Whole chunks, in fixed order a power of two of them, as docs/teams.md has it. */
static uint64_t part_elements(const redtune_problem *problem, size_t gpus) {
    const uint64_t chunk = CHUNK_BYTES / redtune_dtype_bytes(problem->dtype);
    const uint64_t count = rdt_shape_count(problem);
    const uint64_t chunks = count / chunk + (count % chunk != 0);
    const uint64_t share = chunks / gpus + (chunks % gpus != 0);
    uint64_t node = 1;
    if (problem->order != REDTUNE_ORDER_FIXED) return share * chunk;
    while (node < share) node *= 2;
    return node * chunk;
}

static redtune_status open_part(const rdt_options *options, gpu_part *self, uint64_t first,
                                uint64_t count, redtune_error *err) {
    redtune_status status = rdt_input_files_open(options, &self->files, err);
    rdt_bit_file *bits = &self->files.bits;
    for (size_t k = 0; !status && k < self->files.count; k++) {
        rdt_element_file *file = &self->files.file[k];
        if (file == bits->file) return rdt_bit_file_take_part(bits, first, count, err);
        self->part[k] = (part_file){file, count * redtune_dtype_bytes(file->dtype)};
        status = rdt_element_file_skip(file, first, err);
    }
    return status;
}

/* Which parts there are follows from the order, and that from the environment as well. */
static redtune_status open_parts(const rdt_options *options, redtune_problem *problem,
                                 const rdt_device_list *devices, gpu_part *gpus,
                                 redtune_error *err) {
    const uint64_t count = rdt_shape_count(problem);
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < devices->count; i++)
        status =
            rdt_device_open(options, devices->name[i], rdt_message_log, NULL, &gpus[i].rt, err);
    if (status) return status;
    redtune_problem ordered = *problem;
    ordered.order = redtune_order_get(gpus[0].rt, problem);
    const uint64_t each = part_elements(&ordered, devices->count);
    uint64_t first = 0;
    for (size_t i = 0; !status && i < devices->count; i++) {
        const uint64_t left = count - first, part = left < each ? left : each;
        status = open_part(options, &gpus[i], first, part, err);
        first += part;
    }
    rdt_shape_set(problem, 0, each);
    return status;
}

static redtune_input part_source(gpu_part *self) {
    rdt_input_files *files = &self->files;
    rdt_input_files_source(files);
    for (size_t k = 0; k < files->count; k++) {
        if (&files->file[k] == files->bits.file) continue; /* these count their part themselves */
        files->beside[k].read = read_part;
        files->beside[k].user = &self->part[k];
    }
    return files->beside[0];
}

/* ---- all of it ------------------------------------------------------------------------------- */

static redtune_status reduce_parts(const rdt_options *options, const redtune_problem *problem,
                                   const rdt_device_list *devices, gpu_part *gpus,
                                   redtune_reading *reading, redtune_error *err) {
    redtune_input sources[RDT_DEVICES_MAX];
    redtune *rts[RDT_DEVICES_MAX];
    const size_t count = devices->count;
    redtune_problem part = *problem;
    redtune_status status = open_parts(options, &part, devices, gpus, err);
    for (size_t i = 0; !status && i < count; i++) {
        rts[i] = gpus[i].rt;
        sources[i] = part_source(&gpus[i]);
    }
    if (!status) status = redtune_reduce_inputs(rts, &part, sources, count, reading, err);
    /* The last file's end is the whole's. */
    return status ? status : rdt_input_files_finish(&gpus[count - 1].files, err);
}

/* Before any is opened again, which would wait for a pipe's writer. */
static redtune_status check_files(rdt_input_files *files, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (size_t k = 0; !status && k < files->count; k++)
        status = strcmp(files->file[k].path, "-")
                     ? rdt_element_file_skip(&files->file[k], 0, err)
                     : rdt_message_set(err, REDTUNE_INVALID, 0,
                                       "cannot share standard input between GPUs: name a file, or "
                                       "one GPU");
    return status;
}

redtune_status rdt_shared_file_reduce(const rdt_options *options, const redtune_problem *problem,
                                      rdt_input_files *files, redtune_reading *reading,
                                      redtune_error *err) {
    rdt_device_list devices;
    redtune_status status = check_files(files, err);
    if (!status) status = rdt_device_list_all(options->device, &devices, err);
    if (status) return status;
    gpu_part *gpus = calloc(devices.count, sizeof *gpus);
    if (!gpus)
        return rdt_message_set(err, REDTUNE_MEMORY, 0, "cannot allocate %zu bytes of host memory",
                               devices.count * sizeof *gpus);
    status = reduce_parts(options, problem, &devices, gpus, reading, err);
    for (size_t i = 0; i < devices.count; i++) {
        redtune_close(gpus[i].rt);
        rdt_input_files_close(&gpus[i].files);
    }
    free(gpus);
    return status;
}
