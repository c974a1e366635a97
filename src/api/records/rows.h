/* Rows: the measurements of the databases, given to whoever wants to see them. */
#pragma once

#include "api/records/target.h"
#include "redtune/records.h"

/* redtune_rows_each, about a target that was found before; the query's GPU plays no part. */
redtune_status rdt_rows_each(const redtune_rows_query *query, const rdt_target *target,
                             redtune_row_fn *each, void *user, redtune_error *err);
