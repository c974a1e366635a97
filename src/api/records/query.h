/* Query: the measurements of the databases that a query asks for, row by row. */
#pragma once

#include "api/records/target.h"
#include "redtune/records.h"

/* redtune_rows_each, about a target that was found before; the query's GPU plays no part. */
redtune_status rdt_query_each(const redtune_rows_query *query, const rdt_target *target,
                              redtune_row_fn *each, void *user, redtune_error *err);
