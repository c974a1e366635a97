/* Owner: whose a file is, and whether others could have written it. */
#define _GNU_SOURCE
#include "base/owner.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/xattr.h>
#include <unistd.h>
#include "base/file.h"
#include "base/locale.h"
#include "base/text.h"

enum { NAMES_BYTES = 4096, NOBODY = 65534, LINKS_MAX = 40 /* as the kernel's */ };

/* ---- users ----------------------------------------------------------------------------------- */

static bool owns_the_library(uid_t user) {
    struct stat info;
    char *code = rdt_file_find_code();
    const bool owns = code && !stat(code, &info) && info.st_uid == user;
    free(code);
    return owns;
}

/* Whether root's files, as those of all other users, seem to be nobody's: this user namespace does
 * not have root. */
static bool lacks_root(void) {
    unsigned first = 0, count = 0;
    bool rootless = true;
    FILE *map = fopen("/proc/self/uid_map", "re");
    if (!map) return false;
    while (rootless && fscanf(map, "%u %*u %u", &first, &count) == 2) rootless = first != 0;
    fclose(map);
    return rootless;
}

static bool belongs(uid_t user, rdt_owner whose) {
    if (user == geteuid()) return user != NOBODY || !lacks_root();
    return whose == RDT_OWNER_SYSTEM && (user == 0 || owns_the_library(user));
}

/* ---- groups ---------------------------------------------------------------------------------- */

/* A group whose members do not fit into the buffer is not private. */
static bool is_private_group(gid_t group) {
    struct passwd user, *found_user = NULL;
    struct group named, *found_group = NULL;
    char users[NAMES_BYTES], groups[NAMES_BYTES];
    if (group == 0) return true;
    if (getpwuid_r(geteuid(), &user, users, sizeof users, &found_user) || !found_user ||
        getgrgid_r(group, &named, groups, sizeof groups, &found_group) || !found_group ||
        user.pw_gid != group || strcmp(user.pw_name, named.gr_name))
        return false;
    for (char **member = named.gr_mem; *member; member++)
        if (strcmp(*member, user.pw_name)) return false;
    return true;
}

/* With an access control list the group's bits are those that any entry may have. */
static bool others_may_write(const char *path, const struct stat *info) {
    if (info->st_mode & S_IWOTH) return true;
    if (!(info->st_mode & S_IWGRP)) return false;
    return !is_private_group(info->st_gid) ||
           lgetxattr(path, "system.posix_acl_access", NULL, 0) > 0;
}

/* ---- files and folders ----------------------------------------------------------------------- */

static redtune_status stat_path(const char *path, struct stat *info, redtune_error *err) {
    if (!lstat(path, info)) return REDTUNE_OK;
    const int code = errno;
    return rdt_fail(err, REDTUNE_FILE, code, "%.400s: %s", path, rdt_locale_reason(code));
}

static redtune_status refuse_owner(const char *path, uid_t owner, redtune_error *err) {
    return rdt_fail(err, REDTUNE_FILE, 0,
                    "%.400s belongs to user %u, and this process runs as user %u", path,
                    (unsigned)owner, (unsigned)geteuid());
}

redtune_status rdt_owner_check(const char *path, rdt_owner whose, bool *exposed,
                               redtune_error *err) {
    struct stat info;
    redtune_status status = stat_path(path, &info, err);
    if (status) return status;
    if (!belongs(info.st_uid, whose)) return refuse_owner(path, info.st_uid, err);
    *exposed = others_may_write(path, &info) || (S_ISDIR(info.st_mode) && info.st_mode & S_ISVTX);
    return REDTUNE_OK;
}

static redtune_status check_owned_folder(const char *path, rdt_owner whose, redtune_error *err) {
    struct stat info;
    redtune_status status = stat_path(path, &info, err);
    if (status) return status;
    if (info.st_uid != 0 && !belongs(info.st_uid, whose) &&
        !(info.st_uid == NOBODY && lacks_root()))
        return refuse_owner(path, info.st_uid, err);
    if (S_ISLNK(info.st_mode) || info.st_mode & S_ISVTX || !others_may_write(path, &info))
        return REDTUNE_OK;
    return rdt_fail(err, REDTUNE_FILE, 0, "others may write folder %.400s (mode %04o)", path,
                    (unsigned)info.st_mode & 07777);
}

redtune_status rdt_owner_check_folders(const char *folder, rdt_owner whose, redtune_error *err) {
    char *at = strdup(folder), *slash;
    if (!at) return rdt_fail_memory(err, strlen(folder) + 1);
    redtune_status status = check_owned_folder(at, whose, err);
    while (!status && at[1] && (slash = strrchr(at, '/'))) {
        slash[slash == at] = '\0';
        status = check_owned_folder(at, whose, err);
    }
    free(at);
    return status;
}

/* ---- symbolic links -------------------------------------------------------------------------- */

/* Whose the link is, and who may put another in its place. */
static redtune_status check_link(char *link, rdt_owner whose, redtune_error *err) {
    redtune_status status = check_owned_folder(link, whose, err);
    char *slash = strrchr(link, '/');
    if (status || slash == link) return status;
    *slash = '\0';
    char *folder = realpath(link, NULL);
    if (folder) status = rdt_owner_check_folders(folder, whose, err);
    free(folder);
    *slash = '/';
    return status;
}

/* Where the path leads by its first link, into *next, which stays NULL where it has none. */
static redtune_status follow_link(const char *path, rdt_owner whose, char **next,
                                  redtune_error *err) {
    char target[PATH_MAX], *at = strdup(path);
    redtune_status status = at ? REDTUNE_OK : rdt_fail_memory(err, strlen(path) + 1);
    for (size_t end = 1; at && path[end - 1] && !*next && !status; end++) {
        if (path[end] && path[end] != '/') continue;
        at[end] = '\0';
        const ssize_t length = readlink(at, target, sizeof target - 1);
        if (length > 0) {
            rdt_text text = {0};
            status = check_link(at, whose, err);
            const int folder = target[0] == '/' ? 0 : (int)(strrchr(at, '/') + 1 - at);
            rdt_text_addf(&text, "%.*s%.*s%s", folder, at, (int)length, target, path + end);
            if (!status) status = rdt_text_take(&text, next, err);
            rdt_text_free(&text);
        }
        at[end] = path[end];
    }
    free(at);
    return status;
}

redtune_status rdt_owner_check_links(const char *path, rdt_owner whose, redtune_error *err) {
    char *at = NULL, *next = NULL;
    redtune_status status = follow_link(path, whose, &next, err);
    for (int links = 1; next && !status && links < LINKS_MAX; links++) {
        free(at);
        at = next;
        next = NULL;
        status = follow_link(at, whose, &next, err);
    }
    free(at);
    free(next);
    return status;
}
