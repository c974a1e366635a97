/* Owner: whose a file is, and whether others could have written it.
 *
 * A file's content is the word of all who can write the file, put another in its place, or do so
 * with a folder above it: by its owner and mode, and by those of each folder up to the root. What
 * is judged is an absolute path without symbolic links (realpath), so that it is what is opened.
 * Root's folders are trusted. A group counts as others, except root's (0) and the user's private
 * one: their primary group, which has their name and no other member. A file with an access control
 * list has no private group. */
#pragma once

#include <stdbool.h>
#include "base/fail.h"

/* Whose a file may be. */
typedef enum rdt_owner {
    RDT_OWNER_USER,  /* the effective user's */
    RDT_OWNER_SYSTEM /* that, root's, or that of the owner of libredtune's file */
} rdt_owner;

/* REDTUNE_FILE unless the file or folder belongs to `whose`. *exposed: others may write it, too. A
 * sticky folder is meant for others, and counts as exposed whatever its mode is now. */
redtune_status rdt_owner_check(const char *path, rdt_owner whose, bool *exposed,
                               redtune_error *err);
/* REDTUNE_FILE unless nobody else can put other files or folders into the folder in place of those
 * of root and `whose`, to whom it and each folder above it belong: others may not write them,
 * unless they are sticky. In a user namespace that has no root, nobody's folders (65534) count as
 * root's. */
redtune_status rdt_owner_check_folders(const char *folder, rdt_owner whose, redtune_error *err);
/* The same for each symbolic link that the path, which is absolute, leads over, and the folder that
 * it is in. */
redtune_status rdt_owner_check_links(const char *path, rdt_owner whose, redtune_error *err);
