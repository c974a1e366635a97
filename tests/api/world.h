/* World: what surrounds a program whose database is elsewhere or in use: a clock that goes on only
 * while redtune waits, a file system that fails, and the program. */
#pragma once

#include <stdbool.h>
#include "redtune/redtune.h"

/* What happens while redtune waits: once, after so long. */
void world_plan(double after_s, void (*run)(void));
/* Whether it is still to happen. */
bool world_has_plans(void);
/* How long redtune has waited since this was asked for the last time. */
double world_waited_s(void);

/* What is asked of a path that has "unwell" in it fails with this; 0: does not. */
extern int world_unwell_errno;
/* Whether what has "shared" in its path lies on NFS. */
extern bool world_shared_is_nfs;

/* The warnings of the last program. */
extern char world_heard[4096];
void world_hear(void *user, redtune_log_level level, const char *line);
/* Opens and plans; with the database that was named, or with that of the environment. */
redtune_status world_run(const char *named, const char *environment, redtune_info *info,
                         redtune_error *err);
/* The rows that redtune show would list; -1 where it fails. */
int world_count_rows(const char *path, redtune_error *err);
