/* renew_rows FROM TO: the tuning database TO, whose rows are those of FROM. Run by the build.
 *
 * A row that was measured with other templates counts where its kernel is the same, which takes
 * rendering it. Such rows get the version of today's templates here, so that a program that reads
 * them need not look: a class has two hundred. */
#define _POSIX_C_SOURCE 200809L
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "api/records/current.h"
#include "cache/exchange.h"

static redtune_status read_rows(const char *path, rdt_rows *rows, redtune_error *err) {
    rdt_tuning *tuning = NULL;
    redtune_status status = rdt_tuning_open_read(path, &tuning, err);
    if (!status) status = rdt_tuning_each(tuning, NULL, RDT_CACHE_COLD, rdt_rows_keep, rows, err);
    rdt_tuning_close(tuning);
    return status;
}

static redtune_status renew(rdt_rows *rows, redtune_error *err) {
    rdt_codegen *codegen = NULL;
    redtune_status status = rdt_codegen_open(&codegen, err);
    if (!status) status = rdt_current_mark(codegen, rows, err);
    for (size_t i = 0; !status && i < rows->count; i++)
        if (rows->row[i].current)
            rdt_text_copy(rows->row[i].origin.templates, sizeof rows->row[i].origin.templates,
                          rdt_codegen_hash(codegen));
    rdt_codegen_close(codegen);
    return status;
}

static redtune_status write_rows(const rdt_rows *rows, const char *path, redtune_error *err) {
    void *data = NULL;
    size_t bytes = 0;
    redtune_status status = rdt_exchange_write_file(rows, &data, &bytes, err);
    FILE *file = status ? NULL : fopen(path, "wb");
    const bool whole = file && fwrite(data, 1, bytes, file) == bytes;
    if (!status && (!file || fclose(file) || !whole))
        status = rdt_fail(err, REDTUNE_FILE, 0, "cannot write %.300s", path);
    free(data);
    return status;
}

int main(int argc, char **argv) {
    rdt_rows rows = {0};
    redtune_error err;
    if (argc != 3 || unsetenv("REDTUNE_TEMPLATES")) return 2;
    redtune_status status = read_rows(argv[1], &rows, &err);
    if (!status) status = renew(&rows, &err);
    if (!status) status = write_rows(&rows, argv[2], &err);
    if (status) fprintf(stderr, "%s\n", err.message);
    rdt_rows_free(&rows);
    return status != REDTUNE_OK;
}
