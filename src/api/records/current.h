/* Current: which measurements count. One does as long as its kernel is what the templates give:
 * those of other versions of the templates too, where what changed is not its kernel.
 *
 * A row of today's templates is current without a look. For one of others its kernel is rendered
 * and compared with the stored one; each distinct kernel is rendered once. */
#pragma once

#include "cache/rows.h"
#include "cache/tuning.h"
#include "codegen/codegen.h"

/* Says of every row whether it is current. Of a current row the place and whether it is the default
 * become those of today's templates. */
redtune_status rdt_current_mark(rdt_codegen *codegen, rdt_rows *rows, redtune_error *err);
/* The same, for who has no codegen: it is opened if a row needs it. templates is its hash. */
redtune_status rdt_current_mark_by(const char *templates, rdt_rows *rows, redtune_error *err);

/* As rdt_tuning_put, with the kernels of the trials, which were made with the templates of codegen.
 */
redtune_status rdt_current_put(rdt_tuning *tuning, rdt_codegen *codegen, const rdt_facts *gpu,
                               const rdt_origin *origin, const rdt_trial *trials, size_t count,
                               redtune_error *err);
/* Fills in the kernels of the database's rows of today's templates that have none: those that were
 * stored before kernels were. */
redtune_status rdt_current_complete(rdt_tuning *tuning, rdt_codegen *codegen, redtune_error *err);
/* The same of a row in memory. */
redtune_status rdt_current_complete_row(rdt_codegen *codegen, rdt_row *row, redtune_error *err);
