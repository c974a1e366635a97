/* Wal: databases that somebody put into SQLite's WAL mode, whose newest commits lie in a file
 * beside. redtune avoids that mode, since it does not work over network file systems. */
#pragma once

#include "cache/sqlite.h"

/* For a reader. Without such a file beside it, exchanges the connection for one on a copy in
 * memory: SQLite would make two files to read it. With one, SQLite reads both; on a network file
 * system it is REDTUNE_DATABASE. */
redtune_status rdt_wal_load(rdt_sqlite *file, redtune_error *err);
/* For a writer: takes it out of that mode, for good. REDTUNE_DATABASE where another process has it
 * open, and on a network file system. */
redtune_status rdt_wal_leave(rdt_sqlite *file, redtune_error *err);
