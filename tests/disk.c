/* Disk: a disk under SQLite that fails, so that a test can fail each of its calls once. */
#include "disk.h"

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECTOR_BYTES = 512, IMAGES_MAX = 8 };

/* No file gets longer than this, as file systems have a limit somewhere. */
static const sqlite3_int64 file_bytes_max = (sqlite3_int64)1 << 40;

/* What of a file is sure to outlive the power. */
typedef struct image {
    char path[512];
    char *data;
    size_t bytes;
    bool there;
} image;

typedef struct disk_file {
    sqlite3_file base;
    sqlite3_file *real; /* follows this struct */
    image *durable;     /* NULL: nobody asks */
} disk_file;

static struct {
    sqlite3_vfs vfs, *base;
    disk_fault fault;
    long left; /* calls until the one that is hit; 0: none is */
    bool active, hit, finished;
    long syncs;
    unsigned seed;
    image images[IMAGES_MAX];
} disk;

const char *disk_fault_text(disk_fault fault) {
#define DISK_FAULT_TEXT(name, text) text,
    static const char *const texts[] = {DISK_FAULT_LIST(DISK_FAULT_TEXT)};
    return texts[fault];
}

long disk_syncs(void) { return disk.syncs; }

/* ---- what the power leaves ------------------------------------------------------------------- */

static bool read_whole(const char *path, char **data, size_t *bytes) {
    FILE *file = fopen(path, "rb");
    if (!file) return false;
    fseek(file, 0, SEEK_END);
    *bytes = (size_t)ftell(file);
    rewind(file);
    *data = malloc(*bytes + 1);
    bool good = *data && fread(*data, 1, *bytes, file) == *bytes;
    fclose(file);
    return good;
}

static void take_image(image *of) {
    free(of->data);
    of->data = NULL;
    of->bytes = 0;
    of->there = read_whole(of->path, &of->data, &of->bytes);
}

/* The image of a file, made of what it is now if there is none. A file's name is on the disk once
 * it is made: SQLite syncs the folder with the journal's first sync. */
static image *image_of(const char *path) {
    for (int i = 0; i < IMAGES_MAX; i++) {
        image *of = &disk.images[i];
        if (of->path[0] && strcmp(of->path, path)) continue;
        if (of->path[0]) return of;
        snprintf(of->path, sizeof of->path, "%s", path);
        take_image(of);
        return of;
    }
    abort();
}

static bool toss(void) {
    disk.seed = disk.seed * 1103515245 + 12345;
    return disk.seed >> 16 & 1;
}

/* Of each sector the old state or the new one, and so of the length. */
static void lose_some(const image *old) {
    char *now = NULL;
    size_t bytes = 0;
    bool there = read_whole(old->path, &now, &bytes);
    if (!there && !(old->there && toss())) goto done;
    if (!there) bytes = 0;
    size_t most = bytes > old->bytes ? bytes : old->bytes;
    char *mix = calloc(1, most + SECTOR_BYTES);
    size_t length = !there || toss() ? old->bytes : bytes;
    for (size_t at = 0; mix && at < length; at += SECTOR_BYTES) {
        bool keep = !there || toss();
        const char *from = keep ? old->data : now;
        size_t end = keep ? old->bytes : bytes;
        if (at < end)
            memcpy(mix + at, from + at, end - at < SECTOR_BYTES ? end - at : SECTOR_BYTES);
    }
    FILE *file = fopen(old->path, "wb");
    if (!file || !mix || fwrite(mix, 1, length, file) != length || fclose(file)) abort();
    free(mix);
done:
    free(now);
}

/* ---- the fault ------------------------------------------------------------------------------- */

static bool is_fatal(void) { return disk.fault == DISK_KILLED || disk.fault == DISK_POWER; }

typedef enum call {
    READ = 1,
    WRITE = 2, /* over what is there */
    GROW = 4,  /* a write beyond the end */
    OTHER = 8
} call;

/* Whether this call is to fail. */
static bool fails(call kind) {
    static const unsigned hits[] = {
        [DISK_BROKEN] = WRITE | GROW | OTHER, [DISK_FULL] = GROW,
        [DISK_SHORT] = WRITE | GROW,          [DISK_UNREADABLE] = READ,
        [DISK_KILLED] = WRITE | GROW | OTHER, [DISK_POWER] = WRITE | GROW | OTHER,
    };
    if (!disk.active || !(hits[disk.fault] & kind)) return false;
    if (disk.hit) return is_fatal() || disk.fault == DISK_FULL;
    if (!disk.left || --disk.left) return false;
    disk.hit = true;
    return true;
}

bool disk_begin(disk_fault fault, long n, unsigned seed) {
    bool more = n == 1 || !disk.finished;
    disk.fault = fault;
    disk.left = more ? n : 0;
    disk.active = more;
    disk.hit = disk.finished = false;
    disk.seed = seed;
    return more;
}

bool disk_end(void) {
    for (int i = 0; i < IMAGES_MAX; i++) {
        image *of = &disk.images[i];
        if (of->path[0] && disk.active && disk.fault == DISK_POWER) lose_some(of);
        free(of->data);
        *of = (image){.data = NULL};
    }
    disk.finished = !disk.hit;
    disk.active = false;
    return disk.hit;
}

/* ---- one call after the other ---------------------------------------------------------------- */

static bool survives(disk_job *job, disk_fault fault, unsigned seed) {
    for (long n = 1;; n += job->step) {
        if (!job->start(job->self)) return false;
        if (!disk_begin(fault, n, seed + (unsigned)n)) return true;
        job->run(job->self);
        bool hit = disk_end();
        job->hits += hit;
        if (job->holds(job->self, fault, hit)) continue;
        fprintf(stderr, "%s, call %ld: %s\n", job->name, n, disk_fault_text(fault));
        return false;
    }
}

bool disk_survives_faults(disk_job *job) {
    for (int fault = 0; fault < DISK_FAULTS; fault++)
        if (fault != DISK_POWER && !survives(job, (disk_fault)fault, 0)) return false;
    return true;
}

bool disk_survives_power(disk_job *job) {
    for (int i = 1; i <= job->powers; i++)
        if (!survives(job, DISK_POWER, (unsigned)i * 1000)) return false;
    return true;
}

/* ---- files ----------------------------------------------------------------------------------- */

static sqlite3_file *real_of(sqlite3_file *file) { return ((disk_file *)file)->real; }

static int close_file(sqlite3_file *file) { return real_of(file)->pMethods->xClose(real_of(file)); }

static int read_file(sqlite3_file *file, void *data, int bytes, sqlite3_int64 at) {
    if (fails(READ)) return SQLITE_IOERR_READ;
    return real_of(file)->pMethods->xRead(real_of(file), data, bytes, at);
}

static int write_file(sqlite3_file *file, const void *data, int bytes, sqlite3_int64 at) {
    sqlite3_file *real = real_of(file);
    sqlite3_int64 end = 0;
    real->pMethods->xFileSize(real, &end);
    bool before = disk.hit;
    if (at + bytes > file_bytes_max) return SQLITE_IOERR_WRITE;
    if (!fails(at + bytes > end ? GROW : WRITE))
        return real->pMethods->xWrite(real, data, bytes, at);
    /* The page on which a process is killed or the disk ends is written in part. */
    if (!before && disk.fault != DISK_BROKEN) real->pMethods->xWrite(real, data, bytes / 2, at);
    return disk.fault == DISK_FULL ? SQLITE_FULL : SQLITE_IOERR_WRITE;
}

static int truncate_file(sqlite3_file *file, sqlite3_int64 bytes) {
    if (fails(OTHER)) return SQLITE_IOERR_TRUNCATE;
    return real_of(file)->pMethods->xTruncate(real_of(file), bytes);
}

static int sync_file(sqlite3_file *file, int flags) {
    (void)flags;
    disk.syncs++;
    if (fails(OTHER)) return SQLITE_IOERR_FSYNC;
    if (((disk_file *)file)->durable) take_image(((disk_file *)file)->durable);
    return SQLITE_OK;
}

static int size_of_file(sqlite3_file *file, sqlite3_int64 *bytes) {
    return real_of(file)->pMethods->xFileSize(real_of(file), bytes);
}

static int lock_file(sqlite3_file *file, int level) {
    return real_of(file)->pMethods->xLock(real_of(file), level);
}

static int unlock_file(sqlite3_file *file, int level) {
    return real_of(file)->pMethods->xUnlock(real_of(file), level);
}

static int check_lock_of_file(sqlite3_file *file, int *held) {
    return real_of(file)->pMethods->xCheckReservedLock(real_of(file), held);
}

static int control_file(sqlite3_file *file, int op, void *argument) {
    return real_of(file)->pMethods->xFileControl(real_of(file), op, argument);
}

static int sector_of_file(sqlite3_file *file) {
    return real_of(file)->pMethods->xSectorSize(real_of(file));
}

static int traits_of_file(sqlite3_file *file) {
    return real_of(file)->pMethods->xDeviceCharacteristics(real_of(file));
}

static const sqlite3_io_methods methods = {
    1,
    close_file,
    read_file,
    write_file,
    truncate_file,
    sync_file,
    size_of_file,
    lock_file,
    unlock_file,
    check_lock_of_file,
    control_file,
    sector_of_file,
    traits_of_file,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
    NULL,
};

static int open_file(sqlite3_vfs *vfs, const char *name, sqlite3_file *file, int flags, int *out) {
    (void)vfs;
    disk_file *own = (disk_file *)file;
    image *durable = NULL;
    *own = (disk_file){.real = (sqlite3_file *)(own + 1)};
    bool makes = name && flags & SQLITE_OPEN_CREATE && access(name, F_OK);
    if (makes && fails(OTHER)) return SQLITE_CANTOPEN;
    if (name && disk.active && disk.fault == DISK_POWER) durable = image_of(name);
    int rc = disk.base->xOpen(disk.base, name, own->real, flags, out);
    if (rc) return rc;
    if (makes && durable) take_image(durable);
    own->durable = durable;
    own->base.pMethods = &methods;
    return SQLITE_OK;
}

static int delete_file(sqlite3_vfs *vfs, const char *name, int synced) {
    (void)vfs;
    if (fails(OTHER)) return SQLITE_IOERR_DELETE;
    int rc = disk.base->xDelete(disk.base, name, 0);
    if (!rc && synced && disk.active && disk.fault == DISK_POWER) take_image(image_of(name));
    return rc;
}

bool disk_install(void) {
    disk.base = sqlite3_vfs_find(NULL);
    if (!disk.base) return false;
    disk.vfs = *disk.base;
    disk.vfs.zName = "disk";
    disk.vfs.pNext = NULL;
    disk.vfs.szOsFile = disk.base->szOsFile + (int)sizeof(disk_file);
    disk.vfs.xOpen = open_file;
    disk.vfs.xDelete = delete_file;
    return !sqlite3_vfs_register(&disk.vfs, 1);
}
