/* Network: which files lie on a network file system, and what this host is called. */
#define _GNU_SOURCE /* for gethostname and strdup */
#include "base/network.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

/* f_type of statfs: from statfs(2) and Linux's linux/magic.h; of those that are not in Linux, from
 * the sources of Lustre (LUSTRE_SUPER_MAGIC), GPFS (GPFS_SUPER_MAGIC in coreutils' stat.c), BeeGFS
 * (BEEGFS_MAGIC in its client) and PanFS (coreutils). FUSE does not tell sshfs from what is local.
 */
static const struct {
    uint32_t type;
    const char *name;
} networks[] = {
    {0x00006969, "NFS"},    {0x0000517b, "SMB"},    {0xfe534d42, "SMB"},  {0xff534d42, "CIFS"},
    {0x0000564c, "NCP"},    {0x5346414f, "AFS"},    {0x6b414653, "AFS"},  {0x73757245, "Coda"},
    {0x00c36400, "CephFS"}, {0x0bd00bd0, "Lustre"}, {0x47504653, "GPFS"}, {0x19830326, "BeeGFS"},
    {0xaad7aaea, "PanFS"},  {0x65735546, "FUSE"},
};

/* Takes the last name off a path; false: nothing is left. */
static bool go_up(char *path) {
    char *slash = strrchr(path, '/');
    if (!strcmp(path, "/") || !strcmp(path, ".")) return false;
    if (!slash)
        strcpy(path, ".");
    else
        slash[slash == path] = '\0';
    return true;
}

const char *rdt_network_find(const char *path) {
    struct statfs info;
    char *at = *path ? strdup(path) : NULL;
    bool found = false;
    while (at && !(found = !statfs(at, &info)) && go_up(at)) continue;
    free(at);
    for (size_t i = 0; found && i < sizeof networks / sizeof *networks; i++)
        if (networks[i].type == (uint32_t)info.f_type) return networks[i].name;
    return NULL;
}

void rdt_network_host(char *out, size_t bytes) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-";
    char name[256] = "";
    if (gethostname(name, sizeof name - 1) || !*name) strcpy(name, "host");
    snprintf(out, bytes, "%s", name);
    for (; *out; out++)
        if (!strchr(plain, *out)) *out = '_';
}
