/* Plane: the results of a tune over rows and columns of matrices, as one small table.
 *
 * A class of rows or columns may have hundreds of results. Those of packed matrices lie on a plane:
 * the table has a line for each number of rows, a column for each number of columns, and how much
 * of the memory bus each winner uses. */
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include "redtune/tune.h"

/* Whether a result is of a packed matrix, reduced along its rows or its columns. */
bool rdt_plane_takes(const redtune_tuned *result);

/* How many results from the first on are of its class. */
size_t rdt_plane_class(const redtune_tuned *results, size_t count);

/* Whether the results of a class that lie on a plane are enough of a grid for a table. */
bool rdt_plane_is_worth(const redtune_tuned *results, size_t count);

/* Prints them; what lies on no plane is left out. */
void rdt_plane_print(const redtune_tuned *results, size_t count, FILE *out);
