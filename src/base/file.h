/* File: whole files in memory, folders, and the places where redtune keeps things. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>
#include "base/text.h"

/* NULL for the mode of a regular file; else the reason not to open what has it, with errno its
 * code, or 0. */
const char *rdt_file_unfit(mode_t mode);
/* Opens a regular file, or with O_CREAT in flags makes one where there is nothing; what else has
 * the path is left alone, and nothing is waited for. Symbolic links are followed. NULL, with the
 * descriptor in *out; else the reason, with errno its code, or 0. */
const char *rdt_file_open(const char *path, int flags, int *out);
/* Puts a new file with these bytes in the place of a regular one, whose mode it has, where symbolic
 * links lead. NULL, or the reason, with errno its code; then all is as it was. */
const char *rdt_file_replace(const char *path, const void *data, size_t bytes);
/* Whether the path leads to the device that takes all and gives nothing, /dev/null. */
bool rdt_file_is_null(const char *path);

/* Reads a whole file, or a pipe without a name, which <(...) makes; *data is NUL-terminated beyond
 * its length and freed by the caller. */
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
/* NULL, or why a path of a database, or of several with ':' between, is invalid: SQLite's tools
 * take ":memory:" and URIs for something else than files, and of a list they would name files by
 * parts. */
const char *rdt_file_misread_database(const char *list);
/* $XDG_CACHE_HOME/redtune/kernels.db, else ~/.cache/redtune/kernels.db. */
redtune_status rdt_file_kernels_path(char **out, redtune_error *err);
/* The file that this code was loaded from: the library, or the program that it is linked into;
 * freed by the caller. NULL where that cannot be told. */
char *rdt_file_find_code(void);
/* Where the file of that name is that redtune comes with: in the build folder; installed, wherever
 * its prefix was moved to; otherwise in the folder that it is installed into, whether it is there
 * or not. Freed by the caller. */
redtune_status rdt_file_find_own(const char *name, char **out, redtune_error *err);
