/* Identity: whether databases are still the ones that they were, without reading them. */
#define _POSIX_C_SOURCE 200809L
#include "api/records/identity.h"

#include <errno.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>
#include "base/file.h"
#include "base/text.h"

/* Ticks of file systems' clocks are 2 seconds at most (FAT's). */
enum { SETTLED_SECONDS = 3 };

static bool has_beside(const char *path, const char *suffix) {
    rdt_text beside = {0};
    rdt_text_addf(&beside, "%s%s", path, suffix);
    bool found = beside.failed || rdt_file_exists(beside.data);
    rdt_text_free(&beside);
    return found;
}

/* false where nothing can be told. */
static bool add_file(rdt_hash *hash, const char *path) {
    struct stat info;
    rdt_hash_add_string(hash, path);
    if (stat(path, &info)) {
        rdt_hash_add_string(hash, "none");
        return errno == ENOENT;
    }
    const int64_t values[] = {
        (int64_t)info.st_dev, (int64_t)info.st_ino, info.st_size,         info.st_mtim.tv_sec,
        info.st_mtim.tv_nsec, info.st_ctim.tv_sec,  info.st_ctim.tv_nsec,
    };
    rdt_hash_add(hash, values, sizeof values);
    int64_t age = (int64_t)time(NULL) - info.st_mtim.tv_sec;
    return age >= SETTLED_SECONDS && !has_beside(path, "-journal") && !has_beside(path, "-wal");
}

void rdt_identity_of(char *const paths[], int count, rdt_identity out) {
    rdt_hash hash = rdt_hash_begin();
    bool known = true;
    for (int i = 0; known && i < count; i++) known = add_file(&hash, paths[i]);
    out[0] = '\0';
    if (known) rdt_hash_text(&hash, out);
}
