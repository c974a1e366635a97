/* Query: the measurements of the databases that a query asks for, row by row. */
#pragma once

#include "api/records/target.h"
#include "cache/rows.h"
#include "redtune/records.h"

/* A row, and how its problem stands on its GPU. */
typedef struct rdt_listed {
    const rdt_row *row;
    const rdt_row *winner, *baseline; /* NULL: none */
} rdt_listed;

/* The rows of a target, in the order of redtune_rows_each. Valid when zeroed: empty. */
typedef struct rdt_listing {
    rdt_layers layers;
    rdt_target target;
    rdt_rows rows;
    rdt_listed *entry;
    size_t count;
} rdt_listing;

/* Lists what the query asks for of the target, of which the query itself says nothing. *out starts
 * zeroed, and is freed by the caller in any case. */
redtune_status rdt_query_list(const redtune_rows_query *query, const rdt_target_query *about,
                              rdt_listing *out, redtune_error *err);
void rdt_query_free(rdt_listing *listing);
