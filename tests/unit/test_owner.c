/* Facts about base/owner.h: whose a file may be, who counts as others, and what is trusted above
 * it. Root becomes other users for them. */
#define _GNU_SOURCE
#include <grp.h>
#include <pwd.h>
#include <sched.h>
#include <sys/prctl.h>
#include "database.h"
#include "base/owner.h"

enum { USER = 4321, OTHER = 4322 };

static redtune_error err;

static bool become(uid_t user, gid_t group) {
    return !setgroups(0, NULL) && !setgid(group) && !setuid(user);
}

/* The folder of that name, made anew. */
static const char *folder(const char *name, uid_t user, gid_t group, mode_t mode) {
    const char *path = in_scratch(name);
    rmdir(path);
    return !mkdir(path, 0700) && !chown(path, user, group) && !chmod(path, mode) ? path : "";
}

/* 'o': others may write it, too; 'p': nobody else; '-': it is not the user's. */
static char judge(const char *path, rdt_owner whose) {
    bool exposed = false;
    if (rdt_owner_check(path, whose, &exposed, &err)) return '-';
    return exposed ? 'o' : 'p';
}

/* ---- groups ---------------------------------------------------------------------------------- */

static bool judge_groups(int index) {
    (void)index;
    struct passwd *user = getpwnam("daemon");
    struct group *own = getgrnam("daemon");
    if (!user || !own || user->pw_gid != own->gr_gid)
        return true; /* it has no private group here */
    const uid_t uid = user->pw_uid;
    const gid_t gid = own->gr_gid;
    folder("private", uid, gid, 0775);
    folder("roots", uid, 0, 0775);
    folder("shared", uid, 65534, 0775);
    folder("unknown", uid, USER, 0775);
    folder("read", uid, USER, 0755);
    folder("all", uid, gid, 0777);
    folder("sticky", uid, gid, 01700);
    return become(uid, 65534) && judge(in_scratch("private"), RDT_OWNER_USER) == 'p' &&
           judge(in_scratch("roots"), RDT_OWNER_USER) == 'p' &&
           judge(in_scratch("shared"), RDT_OWNER_USER) == 'o' &&
           judge(in_scratch("unknown"), RDT_OWNER_USER) == 'o' &&
           judge(in_scratch("read"), RDT_OWNER_USER) == 'p' &&
           judge(in_scratch("all"), RDT_OWNER_USER) == 'o' &&
           judge(in_scratch("sticky"), RDT_OWNER_USER) == 'o';
}

FACT(a_group_counts_as_others_unless_it_is_private) {
    if (geteuid()) SKIP("it takes root to become another user");
    CHECK(run_processes(1, judge_groups));
}

/* ---- owners ---------------------------------------------------------------------------------- */

static bool judge_owners(int index) {
    (void)index;
    folder("mine", USER, USER, 0700);
    folder("their", OTHER, OTHER, 0755);
    folder("root", 0, 0, 0755);
    return become(USER, USER) && judge(in_scratch("mine"), RDT_OWNER_USER) == 'p' &&
           judge(in_scratch("mine"), RDT_OWNER_SYSTEM) == 'p' &&
           judge(in_scratch("root"), RDT_OWNER_USER) == '-' &&
           strstr(err.message, "belongs to user 0, and this process runs as user 4321") &&
           judge(in_scratch("root"), RDT_OWNER_SYSTEM) == 'p' &&
           judge(in_scratch("their"), RDT_OWNER_USER) == '-' &&
           judge(in_scratch("their"), RDT_OWNER_SYSTEM) == '-' &&
           !rdt_owner_check_folders(in_scratch("root"), RDT_OWNER_USER, &err) &&
           rdt_owner_check_folders(in_scratch("their"), RDT_OWNER_SYSTEM, &err);
}

FACT(a_system_layer_may_be_roots_and_a_users_may_not) {
    if (geteuid()) SKIP("it takes root to become another user");
    CHECK(run_processes(1, judge_owners));
}

/* As a copy of this program, which has redtune in it, that belongs to OTHER. */
static bool judge_in_a_copy(int index) {
    (void)index;
    char *data = NULL, path[256];
    size_t bytes = 0;
    snprintf(path, sizeof path, "%s", in_scratch("copy"));
    folder("their", OTHER, OTHER, 0755);
    if (!(data = read_bytes("/proc/self/exe", &bytes)) || !write_bytes(path, data, bytes) ||
        chown(path, OTHER, OTHER) || chmod(path, 0755) || !become(USER, USER))
        return false;
    setenv("RDT_TEST_THEIR", in_scratch("their"), 1);
    return execl(path, path, (char *)NULL) == 0;
}

FACT(the_owner_of_the_library_is_trusted_with_a_system_layer) {
    if (geteuid()) SKIP("it takes root to become another user");
    CHECK(run_processes(1, judge_in_a_copy));
}

static int be_the_copy(const char *their) {
    return judge(their, RDT_OWNER_SYSTEM) == 'p' && judge(their, RDT_OWNER_USER) == '-' &&
                   !rdt_owner_check_folders(their, RDT_OWNER_SYSTEM, &err)
               ? 0
               : 1;
}

/* ---- user namespaces ------------------------------------------------------------------------- */

static bool judge_without_root(int index) {
    (void)index;
    folder("mine", USER, USER, 0700);
    folder("root", 0, 0, 0755);
    if (!become(USER, USER)) return false;
    prctl(PR_SET_DUMPABLE, 1);               /* or /proc/self is root's */
    if (unshare(CLONE_NEWUSER)) return true; /* not allowed here */
    return write_bytes("/proc/self/uid_map", "4321 4321 1", 11) && geteuid() == USER &&
           judge(in_scratch("mine"), RDT_OWNER_USER) == 'p' &&
           judge(in_scratch("root"), RDT_OWNER_USER) == '-' &&
           strstr(err.message, "belongs to user 65534") &&
           !rdt_owner_check_folders(in_scratch("root"), RDT_OWNER_USER, &err);
}

FACT(nobodys_folders_are_roots_where_there_is_no_root) {
    if (geteuid()) SKIP("it takes root to become another user");
    CHECK(run_processes(1, judge_without_root));
}

int main(int argc, char **argv) {
    const char *their = getenv("RDT_TEST_THEIR");
    if (their) return be_the_copy(their);
    if (!scratch_begin()) return 1;
    int failed = check_run(argc, argv);
    scratch_end();
    return failed;
}
