/* Select: which config serves a problem, from the winners of the tuning database. */
#ifndef RDT_API_SELECT_H
#define RDT_API_SELECT_H

#include "cache/tuning.h"
#include "codegen/codegen.h"

/* Winners in memory. Valid when zeroed: none. */
typedef struct rdt_winners {
    rdt_row *row;
    size_t count, capacity;
} rdt_winners;

/* Reads the winners of a database; a file that does not exist has none. */
redtune_status rdt_winners_read(const char *path, rdt_winners *out, redtune_error *err);
void rdt_winners_free(rdt_winners *winners);

typedef struct rdt_choice {
    int family;
    rdt_config config;
    redtune_match match;
    const rdt_row *row; /* NULL for the default; the winners' */
} rdt_choice;

/* The row of this GPU model whose count is nearest on a log scale; else that of the nearest GPU
 * model (architecture, then bandwidth and SMs); else the first family's default. A row does not
 * count whose family or config the templates do not have or do not allow there, whose count is more
 * than 16 times away, or whose config would not be worth measuring at this count. */
redtune_status rdt_select(const rdt_winners *winners, rdt_codegen *codegen, rdt_case at,
                          rdt_choice *out, redtune_error *err);

#endif
