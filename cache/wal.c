/* Wal: databases that somebody put into SQLite's WAL mode. */
#include "cache/wal.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include "base/network.h"
#include "cache/header.h"

/* Whether commits lie in the file beside it. */
static bool has_log(const rdt_sqlite *file) {
    struct stat info;
    return !stat(sqlite3_filename_wal(sqlite3_db_filename(file->db, "main")), &info) &&
           info.st_size > 0;
}

static redtune_status refuse_wal(const rdt_sqlite *file, const char *why, redtune_error *err) {
    return rdt_sqlite_fail_open(
        file, REDTUNE_DATABASE, SQLITE_BUSY, why,
        "run PRAGMA journal_mode=DELETE on it in the sqlite3 shell, where no other process has it "
        "open",
        err);
}

static redtune_status check_network(const rdt_sqlite *file, redtune_error *err) {
    char why[128];
    const char *network = rdt_network_find(file->path);
    if (!network) return REDTUNE_OK;
    snprintf(why, sizeof why, "it is in WAL mode, which does not work on this file system (%.60s)",
             network);
    return refuse_wal(file, why, err);
}

/* Through SQLite's own descriptor, as the header is read. */
static redtune_status read_image(const rdt_sqlite *file, unsigned char **out, size_t *out_bytes,
                                 redtune_error *err) {
    sqlite3_file *io = NULL;
    sqlite3_int64 bytes = 0;
    int rc = sqlite3_file_control(file->db, "main", SQLITE_FCNTL_FILE_POINTER, &io);
    if (!rc) rc = io->pMethods->xFileSize(io, &bytes);
    if (rc) return rdt_sqlite_fail(file, "open", rc, err);
    unsigned char *image = malloc((size_t)bytes + 1);
    if (!image) return rdt_fail_memory(err, (size_t)bytes + 1);
    for (sqlite3_int64 at = 0, more; !rc && at < bytes; at += more) {
        more = bytes - at < 1 << 20 ? bytes - at : 1 << 20;
        rc = io->pMethods->xRead(io, image + at, (int)more, at);
    }
    if (rc) {
        free(image);
        return rdt_sqlite_fail(file, "open", rc, err);
    }
    *out = image;
    *out_bytes = (size_t)bytes;
    return REDTUNE_OK;
}

redtune_status rdt_wal_load(rdt_sqlite *file, redtune_error *err) {
    rdt_sqlite copy = {.kind = file->kind};
    unsigned char *image = NULL;
    size_t bytes = 0;
    if (has_log(file)) return check_network(file, err);
    redtune_status status = read_image(file, &image, &bytes, err);
    if (status) return status;
    if (bytes >= RDT_HEADER_BYTES) rdt_header_leave_wal(image);
    status = rdt_sqlite_open_bytes(&copy, file->kind, file->path, image, bytes, err);
    if (status) {
        free(image);
        return status;
    }
    copy.image = image;
    rdt_sqlite_close(file);
    *file = copy;
    return REDTUNE_OK;
}

redtune_status rdt_wal_leave(rdt_sqlite *file, redtune_error *err) {
    redtune_error why;
    redtune_status status = check_network(file, err);
    if (status) return status;
    status = rdt_sqlite_run(file, "open", "PRAGMA journal_mode=DELETE", &why);
    if (status && (why.code & 0xff) == SQLITE_BUSY)
        return refuse_wal(file, "it is in WAL mode, and another process has it open", err);
    if (status && err) *err = why;
    file->wal = status != REDTUNE_OK;
    return status;
}
