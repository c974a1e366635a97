/* Private: the place of a disposable file that its user alone may write, in a folder of its own. */
#define _GNU_SOURCE
#include "cache/private.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "base/file.h"
#include "base/locale.h"
#include "base/owner.h"
#include "base/text.h"

/* Where the file is, without symbolic links. */
typedef struct place {
    char *path, *folder;
    bool linked;  /* its path or its folder's is a link: the folder may be another thing's, too */
    bool exposed; /* others could have written the file */
} place;

/* The file, and what SQLite leaves beside it and takes for its content. */
static const char *const endings[] = {"", "-journal", "-wal", "-shm"};
enum { ENDINGS = sizeof endings / sizeof *endings };

static redtune_status fail_with_path(const char *verb, const char *path, redtune_error *err) {
    const int code = errno;
    return rdt_fail(err, REDTUNE_FILE, code, "%s %.400s: %s", verb, path, rdt_locale_reason(code));
}

/* Freed by the caller, as all paths here. */
static char *folder_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!slash) return strdup(".");
    return strndup(path, slash == path ? 1 : (size_t)(slash - path));
}

static redtune_status join_ending(const char *path, const char *ending, char **out,
                                  redtune_error *err) {
    rdt_text text = {0};
    rdt_text_addf(&text, "%s%s", path, ending);
    return rdt_text_take(&text, out, err);
}

/* ---- finding it ------------------------------------------------------------------------------ */

/* Nothing is made in a folder that others own or may write: root's home may be another user's, who
 * could not use a folder of root's there. */
static redtune_status make_private_folder(const char *path, redtune_error *err) {
    char *folder = folder_of(path), *real = NULL, *slash = NULL;
    if (!folder) return rdt_fail_memory(err, strlen(path));
    while (!(real = realpath(folder, NULL)) && errno == ENOENT && folder[1] &&
           (slash = strrchr(folder, '/')))
        slash[slash == folder] = '\0';
    redtune_status status = real ? REDTUNE_OK : fail_with_path("cannot find folder", folder, err);
    if (!status && slash) status = rdt_owner_check_folders(real, RDT_OWNER_USER, err);
    if (!status && slash) status = rdt_file_make_folder_of(path, 0700, err);
    free(folder);
    free(real);
    return status;
}

/* Of a file that is not there yet the folder alone has links. */
static redtune_status resolve_links(const char *path, char **out, redtune_error *err) {
    struct stat info;
    char *real = realpath(path, NULL), *folder = NULL;
    redtune_status status = REDTUNE_OK;
    if (!real && errno != ENOENT) return fail_with_path("cannot find", path, err);
    if (!real && !lstat(path, &info))
        return rdt_fail(err, REDTUNE_FILE, 0, "it is a symbolic link to nothing");
    if (!real && (folder = folder_of(path)) && (real = realpath(folder, NULL))) {
        const char *slash = strrchr(path, '/');
        rdt_text text = {0};
        rdt_text_addf(&text, "%s/%s", real, slash ? slash + 1 : path);
        free(real);
        real = NULL;
        status = rdt_text_take(&text, &real, err);
    } else if (!real) {
        status = fail_with_path("cannot find the folder of", path, err);
    }
    free(folder);
    if (!status) *out = real;
    return status;
}

static bool is_link(const char *path) {
    struct stat info;
    return path && !lstat(path, &info) && S_ISLNK(info.st_mode);
}

static redtune_status locate_file(const char *path, place *out, redtune_error *err) {
    redtune_status status = make_private_folder(path, err);
    if (!status) status = resolve_links(path, &out->path, err);
    if (status) return status;
    char *folder = folder_of(path);
    out->folder = folder_of(out->path);
    out->linked = is_link(path) || is_link(folder);
    free(folder);
    return out->folder ? REDTUNE_OK : rdt_fail_memory(err, strlen(path));
}

/* ---- judging it ------------------------------------------------------------------------------ */

static redtune_status judge_file(place *self, const char *ending, redtune_error *err) {
    struct stat info;
    char *file = NULL;
    bool exposed = false;
    redtune_status status = join_ending(self->path, ending, &file, err);
    if (!status && !lstat(file, &info)) {
        status = rdt_owner_check(file, RDT_OWNER_USER, &exposed, err);
        /* SQLite would wait for the other end of a pipe. */
        if (!status && *ending && !S_ISREG(info.st_mode))
            status = rdt_fail(err, REDTUNE_FILE, 0, "%.400s is not a regular file", file);
    }
    self->exposed |= exposed;
    free(file);
    return status;
}

/* In a folder where others could write, the files are anybody's. */
static redtune_status judge_place(place *self, const char *path, redtune_error *err) {
    char *above = folder_of(self->folder);
    if (!above) return rdt_fail_memory(err, strlen(self->folder));
    redtune_status status = rdt_owner_check_folders(above, RDT_OWNER_USER, err);
    free(above);
    if (!status) status = rdt_owner_check_links(path, RDT_OWNER_USER, err);
    if (!status) status = rdt_owner_check(self->folder, RDT_OWNER_USER, &self->exposed, err);
    for (int i = 0; i < ENDINGS && !status && !self->exposed; i++)
        status = judge_file(self, endings[i], err);
    if (status || !self->exposed || !self->linked) return status;
    return rdt_fail(err, REDTUNE_FILE, 0, "others may write it, or its folder %.400s",
                    self->folder);
}

/* ---- making it private ----------------------------------------------------------------------- */

/* Only ever takes rights away. */
void rdt_private_tighten(const char *path) {
    struct stat info;
    if (!lstat(path, &info) && !S_ISLNK(info.st_mode) && info.st_mode & 0077)
        (void)!chmod(path, info.st_mode & 0700);
}

static redtune_status remove_files(const place *self, bool *removed, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (int i = 0; i < ENDINGS && !status; i++) {
        char *file = NULL;
        status = join_ending(self->path, endings[i], &file, err);
        if (!status && !unlink(file))
            *removed = true;
        else if (!status && errno != ENOENT)
            status = fail_with_path("others could have written it, and cannot remove", file, err);
        free(file);
    }
    return status;
}

/* Some file systems take any mode and keep their own. */
static redtune_status set_mode(const char *folder, mode_t mode, redtune_error *err) {
    struct stat info;
    if (chmod(folder, mode) || lstat(folder, &info))
        return fail_with_path("cannot protect", folder, err);
    if ((info.st_mode & 01777) == mode) return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_FILE, 0, "others may write folder %.400s, whose mode stays %04o",
                    folder, (unsigned)info.st_mode & 07777);
}

static redtune_status begin_anew(const place *self, const rdt_sqlite_kind *kind, const rdt_log *log,
                                 redtune_error *err) {
    bool removed = false;
    redtune_status status = set_mode(self->folder, 01700, err);
    if (!status) status = remove_files(self, &removed, err);
    if (!status) status = set_mode(self->folder, 0700, err);
    if (!status && removed)
        rdt_log_write(log, REDTUNE_LOG_WARNING,
                      "%s %.400s begins anew: others could have written it; now it and its folder "
                      "are yours alone",
                      kind->what, self->path);
    return status;
}

redtune_status rdt_private_prepare(const rdt_sqlite_kind *kind, const char *path,
                                   const rdt_log *log, char **out, redtune_error *err) {
    place self = {.path = NULL};
    redtune_error why = {0};
    redtune_status status = locate_file(path, &self, &why);
    if (!status) status = judge_place(&self, path, &why);
    if (!status && self.exposed) status = begin_anew(&self, kind, log, &why);
    if (!status && !self.linked) rdt_private_tighten(self.folder);
    if (!status && !self.linked) rdt_private_tighten(self.path);
    free(self.folder);
    if (!status) {
        *out = self.path;
        return REDTUNE_OK;
    }
    free(self.path);
    if (status == REDTUNE_MEMORY) return rdt_fail_memory(err, strlen(path));
    const rdt_sqlite shown = {.kind = kind, .path = (char *)path};
    return rdt_sqlite_fail_open(&shown, status, why.code, why.message,
                                "set XDG_CACHE_HOME to a folder of your own", err);
}
