/* File: whole files in memory, folders, and the places where redtune keeps things. */
#pragma once

#include <stdbool.h>
#include "base/text.h"

/* Reads a whole file, and waits for nobody: pipes and devices are refused. *data is NUL-terminated
 * beyond its length and freed by the caller. */
redtune_status rdt_file_read(const char *path, size_t max_bytes, char **data, size_t *length,
                             redtune_error *err);
bool rdt_file_exists(const char *path);
/* Whether nothing has that path. false also where that cannot be told: a folder that may not be
 * searched, a network that fails. */
bool rdt_file_is_absent(const char *path);
/* Creates the folder that holds path, and those above it, of that mode less the umask. */
redtune_status rdt_file_make_folder_of(const char *path, unsigned mode, redtune_error *err);

/* chosen, where it is not NULL; else $REDTUNE_DB, else $XDG_DATA_HOME/redtune/tuning.db, else
 * ~/.local/share/redtune/tuning.db. */
redtune_status rdt_file_tuning_path(const char *chosen, char **out, redtune_error *err);
/* $XDG_CACHE_HOME/redtune/kernels.db, else ~/.cache/redtune/kernels.db. */
redtune_status rdt_file_kernels_path(char **out, redtune_error *err);
/* The file that this code was loaded from: the library, or the program that it is linked into;
 * freed by the caller. NULL where that cannot be told. */
char *rdt_file_find_code(void);
/* The first of the relative paths, which end with NULL, that exists as seen from the folder of
 * that file. NULL in *out: none. */
redtune_status rdt_file_near_code(const char *const *relative, char **out, redtune_error *err);
