/* The fuzz target of import: any bytes are read as a stranger's file and taken in, or refused. */
#include <stdlib.h>
#include "api/records/validate_row.h"
#include "cache/exchange.h"
#include "cache/row.h"
#include "cache/untrusted.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

/* Like the tests' rows, later ones are of the future. */
static const int64_t now = 1800000000;

/* The templates, opened once. */
static rdt_codegen *codegen;

static redtune_status take(void *user, const rdt_row *row, redtune_error *err) {
    rdt_row taken = *row;
    rdt_validate_row_value value;
    if (rdt_validate_row_check(&taken, codegen, now, value))
        return rdt_text_is_plain(value) ? REDTUNE_OK : REDTUNE_WRONG;
    if (rdt_row_check(&taken)) abort(); /* admitted, and cannot be stored */
    return rdt_rows_add(user, &taken, err);
}

static void pass_over(void *user, const rdt_refusal *refusal) {
    (void)user;
    if (!rdt_text_is_plain(refusal->value) || refusal->count < 1) abort();
}

static void admit_no_other(void *user, const rdt_refusal *refusal) {
    (void)user, (void)refusal;
    abort();
}

/* What was admitted goes in, and comes out again as lines that are admitted whole. */
static void take_in(const rdt_rows *rows) {
    rdt_tuning *tuning = NULL;
    rdt_rows again = {0};
    uint64_t added = 0;
    void *lines = NULL;
    size_t bytes = 0;
    redtune_status status = rdt_tuning_open_copy("", &tuning, NULL);
    if (!status) status = rdt_exchange_begin(tuning, NULL);
    if (!status) {
        status = rdt_exchange_add(tuning, "fuzz", rows, &added, NULL);
        status = rdt_exchange_end(tuning, status, NULL);
    }
    if (status || !added || added > rows->count) abort();
    if (rdt_exchange_write_json(rows, &lines, &bytes, NULL) ||
        rdt_untrusted_each("lines", lines, bytes, take, admit_no_other, &again, NULL) ||
        again.count != added)
        abort();
    rdt_rows_free(&again);
    rdt_tuning_close(tuning);
    free(lines);
}

/* One in sixteen: taking rows in takes longer than all the rest. */
static bool is_chosen(const uint8_t *data, size_t bytes) {
    unsigned sum = 0;
    for (size_t i = 0; i < bytes; i++) sum += data[i];
    return sum % 16 == 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes) {
    rdt_rows rows = {0};
    redtune_error err = {0};
    if (!codegen && rdt_codegen_open(&codegen, &err)) abort();
    redtune_status status = rdt_untrusted_each("fuzz", data, bytes, take, pass_over, &rows, &err);
    /* WRONG: a value that is told is not plain. */
    if (status && (status != REDTUNE_DATABASE || !rdt_text_is_plain(err.message))) abort();
    if (!status && rows.count && is_chosen(data, bytes)) take_in(&rows);
    rdt_rows_free(&rows);
    return 0;
}
