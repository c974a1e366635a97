/* Query: prints the rows that an SQL statement gives on a database, for scripts.
 *
 *     query DATABASE SQL: fields with '|' between. Exit 1, with a line on stderr, if it fails. */
#include <sqlite3.h>
#include <stdio.h>

int main(int argc, char **argv) {
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    if (argc != 3) return 2;
    int rc = sqlite3_open_v2(argv[1], &db, SQLITE_OPEN_READWRITE, NULL);
    sqlite3_busy_timeout(db, 5000);
    if (!rc) rc = sqlite3_prepare_v2(db, argv[2], -1, &statement, NULL);
    while (!rc && (rc = sqlite3_step(statement)) == SQLITE_ROW) {
        for (int i = 0; i < sqlite3_column_count(statement); i++) {
            const unsigned char *text = sqlite3_column_text(statement, i);
            printf("%s%s", i ? "|" : "", text ? (const char *)text : "");
        }
        printf("\n");
        rc = SQLITE_OK;
    }
    if (rc != SQLITE_DONE) fprintf(stderr, "%s: %s\n", argv[1], sqlite3_errmsg(db));
    sqlite3_finalize(statement);
    sqlite3_close(db);
    return rc == SQLITE_DONE ? 0 : 1;
}
