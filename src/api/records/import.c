/* Import: taking measurements in from files that anybody may have made. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include "api/records/current.h"
#include "api/records/validate_row.h"
#include "api/records/layers.h"
#include "base/file.h"
#include "base/reserved.h"
#include "cache/contenders.h"
#include "cache/exchange.h"
#include "cache/untrusted.h"
#include "redtune/records.h"

enum { REASONS_MAX = 16, DAY_SECONDS = 86400 };

typedef struct reason {
    const char *text;
    char first[256]; /* the text, with the first value that it is about, and where that stands */
    uint64_t count;
} reason;

typedef struct intake {
    const redtune_importing *wanted;
    rdt_codegen *codegen;
    int64_t latest; /* the latest date that a row may have */
    rdt_rows *rows; /* of the current file */
    reason reasons[REASONS_MAX];
    int reason_count;
    redtune_import_counts counts;
} intake;

/* ---- the rows of a file ---------------------------------------------------------------------- */

static void count_refused(void *user, const rdt_refusal *refusal) {
    intake *self = user;
    int i = 0;
    while (i < self->reason_count && self->reasons[i].text != refusal->reason) i++;
    if (i == REASONS_MAX) i--;
    reason *of = &self->reasons[i];
    if (i == self->reason_count) {
        char line[40] = "";
        self->reason_count++;
        *of = (reason){.text = refusal->reason};
        if (refusal->line) snprintf(line, sizeof line, " in line %lld", (long long)refusal->line);
        snprintf(of->first, sizeof of->first, "%s%s%s%s", refusal->reason,
                 *refusal->value ? ": " : "", refusal->value, line);
    }
    of->count += (uint64_t)refusal->count;
    self->counts.rows += (uint64_t)refusal->count;
    self->counts.refused += (uint64_t)refusal->count;
}

static redtune_status import_row(void *user, const rdt_row *row, redtune_error *err) {
    intake *self = user;
    rdt_row taken = *row;
    rdt_validate_row_value value = "";
    const char *wrong = rdt_validate_row_check(&taken, self->codegen, self->latest, value);
    /* One's own rows of an op whose file is elsewhere are kept. */
    if (!wrong && !self->wanted->merge && rdt_op_find(taken.trial.problem.op)->absent) {
        wrong = "its op is not here; name the file that has it, and import again";
        rdt_text_copy(value, sizeof value, redtune_op_name(taken.trial.problem.op));
    }
    if (wrong) {
        count_refused(self, &(rdt_refusal){wrong, value, row->line, 1});
        return REDTUNE_OK;
    }
    self->counts.rows++;
    redtune_status status = rdt_current_complete_row(self->codegen, &taken, err);
    return status ? status : rdt_rows_add(self->rows, &taken, err);
}

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    if (!strcmp(path, "-")) return "standard input";
    return slash && slash[1] ? slash + 1 : path;
}

static redtune_status read_file(intake *self, const char *path, rdt_rows *rows,
                                redtune_error *err) {
    void *data = NULL;
    size_t bytes = 0;
    const char *misread = rdt_file_is_absent(path) ? rdt_file_misread_database(path) : NULL;
    if (misread) return rdt_fail(err, REDTUNE_FILE, 0, "cannot import %.400s: %s", path, misread);
    self->rows = rows;
    self->reason_count = 0;
    redtune_status status = rdt_untrusted_read(path, &data, &bytes, err);
    if (!status)
        status = rdt_untrusted_each(path, data, bytes, import_row, count_refused, self, err);
    free(data);
    if (status) return status;
    rdt_rows_sort(rows);
    for (int i = 0; self->wanted->refused && i < self->reason_count; i++)
        self->wanted->refused(self->wanted->user, path, self->reasons[i].first,
                              self->reasons[i].count);
    return REDTUNE_OK;
}

/* ---- who wins, before and after -------------------------------------------------------------- */

static redtune_status note_winner(void *user, const rdt_standing *standing, redtune_error *err) {
    return rdt_rows_add(user, standing->winner, err);
}

static redtune_status read_winners(rdt_tuning *tuning, rdt_codegen *codegen, rdt_rows *out,
                                   redtune_error *err) {
    rdt_rows rows = {0};
    redtune_status status = rdt_contenders_read(tuning, NULL, RDT_CACHE_COLD, &rows, err);
    if (!status) status = rdt_current_mark(codegen, &rows, err);
    if (!status) status = rdt_rows_rank(&rows, note_winner, out, err);
    rdt_rows_free(&rows);
    return status;
}

static void tell_change(intake *self, const rdt_row *before, const rdt_row *after) {
    redtune_change change = {
        .problem = after->trial.problem,
        .warm = after->trial.cache == RDT_CACHE_WARM,
        .before_ns = before ? before->trial.median_ns : 0,
        .after_ns = after->trial.median_ns,
    };
    rdt_text_copy(change.gpu, sizeof change.gpu, after->gpu.name);
    rdt_text_copy(change.before, sizeof change.before, before ? before->trial.config : "");
    rdt_text_copy(change.after, sizeof change.after, after->trial.config);
    self->counts.winners++;
    if (self->wanted->changed) self->wanted->changed(self->wanted->user, &change);
}

/* Both are in the same order. */
static void tell_changes(intake *self, const rdt_rows *before, const rdt_rows *after) {
    size_t at = 0;
    for (size_t i = 0; i < after->count; i++) {
        const rdt_row *now = &after->row[i], *then = NULL;
        while (at < before->count && rdt_rows_compare_group(&before->row[at], now) < 0) at++;
        if (at < before->count && !rdt_rows_compare_group(&before->row[at], now))
            then = &before->row[at];
        if (!then || strcmp(then->trial.config, now->trial.config) ||
            strcmp(then->trial.family, now->trial.family))
            tell_change(self, then, now);
    }
}

/* ---- importing ------------------------------------------------------------------------------- */

/* All files' rows, or, if one fails, none: they are added to a copy first, whatever comes of it. */
static redtune_status add_files(intake *self, rdt_tuning *tuning, const rdt_rows *files,
                                uint64_t *added, redtune_error *err) {
    redtune_status status = REDTUNE_OK;
    for (size_t i = 0; !status && i < self->wanted->file_count; i++) {
        uint64_t count = 0;
        char name[200];
        rdt_text_copy_plain(name, sizeof name, name_of(self->wanted->files[i]));
        status =
            rdt_exchange_add(tuning, self->wanted->merge ? NULL : name, &files[i], &count, err);
        *added += count;
    }
    return status;
}

static redtune_status import_into(intake *self, const char *path, const rdt_rows *files,
                                  redtune_error *err) {
    rdt_tuning *tuning = NULL;
    rdt_rows before = {0}, after = {0};
    uint64_t added = 0;
    redtune_status status = self->wanted->dry_run ? rdt_tuning_open_copy(path, &tuning, err)
                                                  : rdt_tuning_open(path, &tuning, err);
    if (!status) status = rdt_current_complete(tuning, self->codegen, err);
    if (!status) status = rdt_exchange_begin(tuning, err);
    if (!status) {
        /* All in one transaction: what cannot be told is not done, and others change nothing
         * between. */
        status = read_winners(tuning, self->codegen, &before, err);
        if (!status) status = add_files(self, tuning, files, &added, err);
        if (!status) status = read_winners(tuning, self->codegen, &after, err);
        status = rdt_exchange_end(tuning, status, err);
    }
    if (!status) {
        self->counts.added = added;
        self->counts.same = self->counts.rows - self->counts.refused - added;
        tell_changes(self, &before, &after);
    }
    rdt_rows_free(&before);
    rdt_rows_free(&after);
    rdt_tuning_close(tuning);
    return status;
}

redtune_status redtune_import(const redtune_importing *importing, redtune_import_counts *counts,
                              redtune_error *err) {
    if (!importing || !importing->files || !importing->file_count)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot import: no file is named");
    for (size_t i = 0; i < importing->file_count; i++)
        if (!importing->files[i])
            return rdt_fail(err, REDTUNE_INVALID, 0, "cannot import: file %zu of %zu is NULL", i,
                            importing->file_count);
    intake self = {.wanted = importing, .latest = INT64_MAX};
    /* One's own rows are dated by one's own clock, right or wrong. */
    if (!importing->merge) self.latest = (int64_t)time(NULL) + DAY_SECONDS;
    rdt_layers layers = {.count = 0};
    rdt_rows *files = calloc(importing->file_count, sizeof *files);
    if (!files) return rdt_fail_memory(err, importing->file_count * sizeof *files);
    redtune_status status = rdt_reserved_check(RDT_RESERVED(importing), "redtune_importing", err);
    if (!status) status = rdt_layers_list(importing->database, &layers, err);
    if (!status) status = rdt_codegen_open(&self.codegen, err);
    /* Every file is read before anything is written. */
    bool any = false;
    for (size_t i = 0; !status && i < importing->file_count; i++) {
        status = read_file(&self, importing->files[i], &files[i], err);
        any |= files[i].count > 0;
    }
    /* The target of a merge is meant by its very name. */
    const char *into = layers.path[importing->merge && layers.network];
    /* Files without a row leave the database as it is, bit for bit. */
    if (!status && any) status = import_into(&self, into, files, err);
    if (!status && counts) *counts = self.counts;
    for (size_t i = 0; i < importing->file_count; i++) rdt_rows_free(&files[i]);
    rdt_codegen_close(self.codegen);
    rdt_layers_free(&layers);
    free(files);
    return status;
}

redtune_status redtune_undo(const char *database, char source[256], uint64_t *removed,
                            redtune_error *err) {
    if (!source || !removed)
        return rdt_fail(err, REDTUNE_INVALID, 0, "cannot undo: %s is NULL",
                        source ? "removed" : "source");
    rdt_layers layers = {.count = 0};
    rdt_tuning *tuning = NULL;
    redtune_status status = rdt_layers_list(database, &layers, err);
    bool there = !status && !rdt_file_is_absent(layers.path[0]);
    if (!status && !there) source[0] = '\0', *removed = 0;
    if (there) status = rdt_tuning_open(layers.path[0], &tuning, err);
    if (there && !status) status = rdt_exchange_undo(tuning, source, removed, err);
    rdt_tuning_close(tuning);
    rdt_layers_free(&layers);
    return status;
}
