/* Private: the place of a disposable file that its user alone may write, in a folder of its own.
 *
 * Whoever can write such a file decides what runs on the GPU, and its digests only show damage. So
 * a file that is not the effective user's, or whose folder or a folder above is another user's or
 * may be written by others, is left alone (base/owner.h has the rule). A file of the user's that
 * others could have written goes, with what lies beside it: first its folder is made the user's
 * alone and marked by the sticky bit, then the file goes, then the mark. A process that comes
 * between sees the mark and does the same. */
#pragma once

#include "base/log.h"
#include "cache/sqlite.h"

/* Makes folders of mode 0700 where they are missing, and takes the rights of others from the folder
 * and the file, unless a symbolic link led there. *out: the path without symbolic links, freed by
 * the caller. A file that goes is a warning in the log, which may be NULL. REDTUNE_FILE: the file
 * is left alone. */
redtune_status rdt_private_prepare(const rdt_sqlite_kind *kind, const char *path,
                                   const rdt_log *log, char **out, redtune_error *err);
/* Takes the rights of others from a file that was just made. */
void rdt_private_tighten(const char *path);
