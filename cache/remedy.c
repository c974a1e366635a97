/* Remedy: what the message about a database file says to do. */
#include "cache/remedy.h"

#include <stdio.h>
#include <string.h>
#include "base/text.h"

/* A longer path is not written a second time. */
enum { PATH_BYTES_MAX = 200 };

/* As a shell takes it. */
static void quote_path(const char *path, char out[PATH_BYTES_MAX + 3]) {
    static const char plain[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+./@%,";
    const size_t length = strlen(path);
    if (length > PATH_BYTES_MAX || strchr(path, '\'') || !rdt_text_is_plain(path))
        strcpy(out, "FILE");
    else if (strspn(path, plain) == length)
        strcpy(out, path);
    else
        snprintf(out, PATH_BYTES_MAX + 3, "'%s'", path);
}

const char *rdt_remedy_damaged(const rdt_sqlite *file, char out[RDT_REMEDY_BYTES]) {
    char path[PATH_BYTES_MAX + 3];
    quote_path(file->path, path);
    if (file->kind->repair)
        snprintf(out, RDT_REMEDY_BYTES, "it is damaged: %s --db %s saves what can be read of it",
                 file->kind->repair, path);
    else
        snprintf(out, RDT_REMEDY_BYTES, "it is damaged: %s", file->kind->remedy);
    return out;
}

const char *rdt_remedy_foreign(const rdt_sqlite *file, char out[RDT_REMEDY_BYTES]) {
    char path[PATH_BYTES_MAX + 3];
    if (!file->kind->repair) return file->kind->remedy;
    quote_path(file->path, path);
    snprintf(out, RDT_REMEDY_BYTES, "%s, or %s --db %s puts a new one in its place and keeps it",
             file->kind->remedy, file->kind->repair, path);
    return out;
}

const char *rdt_remedy_find(const rdt_sqlite *file, int rc, char out[RDT_REMEDY_BYTES]) {
    /* By SQLite's code, extended ones first; NULL: it is damaged. */
    static const struct {
        int rc;
        const char *remedy;
    } remedies[] = {
        {SQLITE_READONLY_ROLLBACK, "a write to it was cut short: open it once for writing, which "
                                   "repairs it"},
        {SQLITE_IOERR_NOMEM, "free some memory"},
        {SQLITE_NOMEM, "free some memory"},
        {SQLITE_BUSY, "another process is writing it: wait for that one to finish"},
        {SQLITE_FULL, "free some space on the disk"},
        {SQLITE_IOERR, "look after the disk"},
        {SQLITE_CORRUPT, NULL},
        {SQLITE_INTERRUPT, NULL}, /* it had no end */
        {SQLITE_NOTADB, NULL},
        {SQLITE_READONLY, "make it and its folder writable"},
        {SQLITE_CANTOPEN, "make it and its folder writable"},
    };
    for (size_t i = 0; i < sizeof remedies / sizeof *remedies; i++) {
        if (remedies[i].rc != rc && remedies[i].rc != (rc & 0xff)) continue;
        return remedies[i].remedy ? remedies[i].remedy : rdt_remedy_damaged(file, out);
    }
    return file->kind->remedy;
}
