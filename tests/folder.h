/* Folder: removes a test's own folder with all that is in it. Whoever includes this defines
 * _XOPEN_SOURCE as 700, or _GNU_SOURCE, first. */
#pragma once

#include <ftw.h>
#include <stdio.h>

static inline int folder_remove_entry(const char *path, const struct stat *info, int type,
                                      struct FTW *walk) {
    (void)info, (void)type, (void)walk;
    return remove(path);
}

static inline void folder_remove(const char *path) {
    nftw(path, folder_remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}
