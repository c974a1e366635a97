/* Source: where template files come from: a folder of the user's, else those compiled in. */
#define _POSIX_C_SOURCE 200809L
#include "codegen/source.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "base/file.h"
#include "base/locale.h"

enum { FILE_BYTES_MAX = 1 << 20, FOLDER_DEPTH_MAX = 16 };

/* Folders whose files no tuned kernel is made from: a change there is no new version of it. */
static bool is_aside(const char *path) {
    static const char *const folders[] = {"algebra", "ladder", "naive", "report"};
    const size_t length = strcspn(path, "/");
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (strlen(folders[i]) == length && !memcmp(path, folders[i], length)) return true;
    return false;
}

/* By the hashes that the build made of them: half a megabyte would take most of a millisecond. */
static void hash_embedded(rdt_hash *hash) {
    for (const struct rdt_template_file *file = rdt_template_files; file->name; file++) {
        if (is_aside(file->name)) continue;
        rdt_hash_add_string(hash, file->name);
        rdt_hash_add_string(hash, file->hash);
    }
}

static int visible(const struct dirent *entry) { return entry->d_name[0] != '.'; }

/* Templates are Lua and CUDA text; whatever else lies there is not looked at. */
static bool is_template(const char *name) {
    const char *dot = strrchr(name, '.');
    return dot && (!strcmp(dot, ".lua") || !strcmp(dot, ".cu"));
}

/* Adds every template below the folder, in the order of their names. */
static redtune_status hash_folder(rdt_hash *hash, const char *folder, int depth,
                                  redtune_error *err) {
    if (depth > FOLDER_DEPTH_MAX)
        return rdt_fail(err, REDTUNE_FILE, 0,
                        "cannot read templates from %.300s: its folders are too deep", folder);
    struct dirent **entries = NULL;
    int count = scandir(folder, &entries, visible, alphasort);
    if (count < 0)
        return rdt_fail(
            err, REDTUNE_FILE, errno,
            "cannot read templates from %.300s: %s; correct REDTUNE_TEMPLATES or unset it", folder,
            rdt_locale_reason(errno));
    redtune_status status = REDTUNE_OK;
    for (int i = 0; i < count; i++) {
        rdt_text path = {0};
        rdt_text_addf(&path, "%s/%s", folder, entries[i]->d_name);
        struct stat info;
        char *data = NULL;
        size_t length = 0;
        if (status) {
        } else if (path.failed) {
            status = rdt_fail_memory(err, path.length);
        } else if (!lstat(path.data, &info) && S_ISDIR(info.st_mode)) {
            if (depth || !is_aside(entries[i]->d_name))
                status = hash_folder(hash, path.data, depth + 1, err);
        } else if (is_template(entries[i]->d_name) && !stat(path.data, &info) &&
                   S_ISREG(info.st_mode)) {
            status = rdt_file_read(path.data, FILE_BYTES_MAX, &data, &length, err);
            if (!status) rdt_hash_add_string(hash, entries[i]->d_name);
            if (!status) rdt_hash_add(hash, data, length);
        }
        free(data);
        rdt_text_free(&path);
        free(entries[i]);
    }
    free(entries);
    return status;
}

/* Fills path with that of name in the folder, if there is such a file; else leaves it empty. */
static redtune_status find_in_folder(const char *folder, const char *name, rdt_text *path,
                                     redtune_error *err) {
    rdt_text_addf(path, "%s/%s", folder, name);
    if (path->failed) return rdt_fail_memory(err, strlen(folder) + strlen(name));
    if (!rdt_file_exists(path->data)) rdt_text_free(path);
    return REDTUNE_OK;
}

/* A folder of templates has a registry: another one is a mistake, and would be ignored in silence.
 */
static redtune_status check_template_folder(const char *folder, redtune_error *err) {
    rdt_text path = {0};
    redtune_status status = find_in_folder(folder, "registry.lua", &path, err);
    bool found = path.data != NULL;
    rdt_text_free(&path);
    if (status || found) return status;
    return rdt_fail(
        err, REDTUNE_FILE, 0,
        "cannot read templates from %.300s: it has no registry.lua; set REDTUNE_TEMPLATES "
        "to a copy of redtune's templates folder, or unset it",
        folder);
}

redtune_status rdt_source_open(rdt_source *source, redtune_error *err) {
    const char *folder = getenv("REDTUNE_TEMPLATES");
    if (folder && !*folder) folder = NULL;
    rdt_hash hash = rdt_hash_begin();
    hash_embedded(&hash);
    /* A copy: the environment may change while templates are read. */
    char *copy = folder ? strdup(folder) : NULL;
    if (folder && !copy) return rdt_fail_memory(err, strlen(folder) + 1);
    redtune_status status = copy ? check_template_folder(copy, err) : REDTUNE_OK;
    if (copy && !status) status = hash_folder(&hash, copy, 0, err);
    if (status)
        free(copy);
    else
        *source = (rdt_source){.folder = copy, .hash = hash};
    return status;
}

void rdt_source_close(rdt_source *source) {
    free(source->folder);
    *source = (rdt_source){.folder = NULL};
}

static redtune_status read_embedded(const char *name, char **data, size_t *length,
                                    redtune_error *err) {
    for (const struct rdt_template_file *file = rdt_template_files; file->name; file++) {
        if (strcmp(file->name, name)) continue;
        rdt_text text = {0};
        rdt_text_add_bytes(&text, file->data, file->bytes);
        redtune_status status = rdt_text_take(&text, data, err);
        if (!status) *length = file->bytes;
        return status;
    }
    return rdt_fail(err, REDTUNE_TEMPLATE, 0, "cannot read template %.100s: there is no such file",
                    name);
}

redtune_status rdt_source_read(const rdt_source *source, const char *name, char **data,
                               size_t *length, redtune_error *err) {
    rdt_text path = {0};
    redtune_status status = REDTUNE_OK;
    if (source->folder && !strstr(name, "..") && name[0] != '/')
        status = find_in_folder(source->folder, name, &path, err);
    if (!status)
        status = path.data ? rdt_file_read(path.data, FILE_BYTES_MAX, data, length, err)
                           : read_embedded(name, data, length, err);
    rdt_text_free(&path);
    return status;
}
