/* System kernels: the kernel files of the system and of redtune's package. */
#define _POSIX_C_SOURCE 200809L
#include "api/build/system_kernels.h"

#include <stdlib.h>
#include <string.h>
#include "base/file.h"
#include "cache/kernels.h"
#include "codegen/codegen.h"

enum { FILES_MAX = 8 };

typedef struct kernel_file {
    char *path;
    rdt_kernels *kernels;
    rdt_system_label label;
    bool told; /* that something of it is damaged */
    bool gpu_told;
} kernel_file;

struct rdt_system_kernels {
    const rdt_log *log;
    kernel_file file[FILES_MAX];
    int count;
};

static const char system_path[] = "/usr/share/redtune/kernels.db";

/* ---- opening --------------------------------------------------------------------------------- */

static redtune_status read_label(kernel_file *file, redtune_error *err) {
    rdt_image found = {0};
    redtune_status status = rdt_kernels_find(file->kernels, RDT_SYSTEM_LABEL, &found.data,
                                             &found.bytes, &found.ptx, err);
    const bool whole = !status && found.data && found.bytes == sizeof file->label;
    if (whole) memcpy(&file->label, found.data, sizeof file->label);
    free(found.data);
    if (status) return status;
    if (!whole)
        return rdt_fail(err, REDTUNE_DATABASE, 0,
                        "cannot use the kernel file %.300s: it is damaged, or redtune bake did not "
                        "make it; bake it anew",
                        file->path);
    file->label.gpus[sizeof file->label.gpus - 1] = '\0';
    file->label.build[sizeof file->label.build - 1] = '\0';
    if (!strcmp(file->label.build, rdt_codegen_build())) return REDTUNE_OK;
    return rdt_fail(
        err, REDTUNE_DATABASE, 0,
        "cannot use the kernel file %.300s: another version of redtune made it; bake it "
        "anew with this one",
        file->path);
}

/* What cannot be used is left out. */
static redtune_status add_kernel_file(rdt_system_kernels *self, const char *path, size_t length,
                                      redtune_error *err) {
    redtune_error why;
    if (!length || self->count == FILES_MAX) return REDTUNE_OK;
    kernel_file *file = &self->file[self->count];
    *file = (kernel_file){.path = strndup(path, length)};
    if (!file->path) return rdt_fail_memory(err, length + 1);
    bool absent = rdt_file_is_absent(file->path);
    redtune_status status =
        absent ? REDTUNE_OK : rdt_kernels_open_system(file->path, &file->kernels, &why);
    if (!status && !absent) status = read_label(file, &why);
    if (!status && !absent) {
        self->count++;
        return REDTUNE_OK;
    }
    if (status) rdt_log_write(self->log, REDTUNE_LOG_WARNING, "%s", why.message);
    rdt_kernels_close(file->kernels);
    free(file->path);
    return REDTUNE_OK;
}

static redtune_status add_listed_files(rdt_system_kernels *self, redtune_error *err) {
    const char *list = getenv("REDTUNE_SYSTEM_KERNELS");
    redtune_status status = REDTUNE_OK;
    char *own = NULL;
    if (!list) {
        status = add_kernel_file(self, system_path, strlen(system_path), err);
        if (!status) status = rdt_file_find_own("kernels.db", &own, err);
        if (!status) status = add_kernel_file(self, own, strlen(own), err);
        free(own);
        return status;
    }
    while (!status && *list) {
        const size_t length = strcspn(list, ":");
        status = add_kernel_file(self, list, length, err);
        list += length + (list[length] == ':');
    }
    return status;
}

redtune_status rdt_system_kernels_open(const rdt_log *log, rdt_system_kernels **out,
                                       redtune_error *err) {
    rdt_system_kernels *self = calloc(1, sizeof *self);
    if (!self) return rdt_fail_memory(err, sizeof *self);
    self->log = log;
    redtune_status status = add_listed_files(self, err);
    if (status)
        rdt_system_kernels_close(self);
    else
        *out = self;
    return status;
}

void rdt_system_kernels_close(rdt_system_kernels *self) {
    if (!self) return;
    for (int i = 0; i < self->count; i++) {
        rdt_kernels_close(self->file[i].kernels);
        free(self->file[i].path);
    }
    free(self);
}

int rdt_system_kernels_count(const rdt_system_kernels *self) { return self->count; }

const char *rdt_system_kernels_path(const rdt_system_kernels *self, int file) {
    return self->file[file].path;
}

const rdt_system_label *rdt_system_kernels_label(const rdt_system_kernels *self, int file) {
    return &self->file[file].label;
}

/* ---- finding --------------------------------------------------------------------------------- */

bool rdt_system_kernels_serves(int arch, bool ptx, const rdt_facts *gpu) {
    const int here = 10 * gpu->major + gpu->minor;
    if (ptx) return arch <= here;
    return !rdt_facts_is_simulated(gpu) && arch / 10 == gpu->major && arch <= here;
}

void rdt_system_kernels_note_gpu(rdt_system_kernels *self, const rdt_facts *gpu) {
    for (int i = 0; i < self->count; i++) {
        kernel_file *file = &self->file[i];
        bool serves = file->gpu_told;
        for (int k = 0; !serves && k < RDT_SYSTEM_ARCH_MAX && file->label.arch[k]; k++)
            serves = rdt_system_kernels_serves(file->label.arch[k], file->label.ptx != 0, gpu);
        if (!serves)
            rdt_log_write(self->log, REDTUNE_LOG_WARNING,
                          "the kernel file %s has none for %s (sm_%d%d); its kernels are left out",
                          file->path, gpu->name, gpu->major, gpu->minor);
        file->gpu_told = true;
    }
}

static redtune_status find_in_file(rdt_system_kernels *self, kernel_file *file, const char *key,
                                   rdt_image *out, redtune_error *err) {
    redtune_status status =
        rdt_kernels_find(file->kernels, key, &out->data, &out->bytes, &out->ptx, err);
    if (status || file->told || !rdt_kernels_is_damaged(file->kernels)) return status;
    file->told = true;
    rdt_log_write(self->log, REDTUNE_LOG_WARNING,
                  "the kernel file %s is damaged; what is damaged of it is left out: bake it anew",
                  file->path);
    return status;
}

redtune_status rdt_system_kernels_find(rdt_system_kernels *self, int file, const char *key,
                                       rdt_image *out, redtune_error *err) {
    rdt_image found = {0};
    redtune_status status = REDTUNE_OK;
    for (int i = 0; !status && !found.data && i < self->count; i++)
        if (file < 0 || i == file) status = find_in_file(self, &self->file[i], key, &found, err);
    if (!status && found.data) *out = found;
    return status;
}

void rdt_system_kernels_key(const char *source, int arch, bool ptx, char out[RDT_HASH_TEXT_BYTES]) {
    const int64_t target[] = {arch, ptx};
    rdt_hash hash = rdt_hash_begin();
    rdt_hash_add_string(&hash, "baked");
    rdt_hash_add_string(&hash, source);
    rdt_hash_add(&hash, target, sizeof target);
    rdt_hash_text(&hash, out);
}

void rdt_system_kernels_strip(char *source) {
    char *to = source;
    for (const char *line = source, *end; *line; line = end) {
        end = strchr(line, '\n');
        end = end ? end + 1 : line + strlen(line);
        if (!strncmp(line, "#line", 5)) continue;
        memmove(to, line, (size_t)(end - line));
        to += end - line;
    }
    *to = '\0';
}
