/* Sqlite copy: the bytes of a file with what a database in memory holds. */
#include <stdlib.h>
#include <string.h>
#include "cache/sqlite.h"

redtune_status rdt_sqlite_copy_bytes(rdt_sqlite *file, void **data, size_t *bytes,
                                     redtune_error *err) {
    sqlite3_int64 length = 0;
    redtune_status status = rdt_sqlite_run(file, "write", "VACUUM", err);
    unsigned char *image = status ? NULL : sqlite3_serialize(file->db, "main", &length, 0);
    char *copy = image ? malloc((size_t)length) : NULL;
    if (copy) {
        *data = memcpy(copy, image, (size_t)length);
        *bytes = (size_t)length;
    } else if (!status) {
        status = rdt_fail_memory(err, (size_t)length);
    }
    sqlite3_free(image);
    return status;
}
