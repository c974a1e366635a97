/* Claims: measurements as somebody else may have sent them, imported into a database: that configs
 * are the fastest which go wrong, are slow or fault. The templates are a copy in which some kernels
 * do. */
#pragma once

#include "model/point.h"
#include "adder.h"

/* The problems are sums of CLAIMS_STEP elements of f32, of twice CLAIMS_STEP, and so on. */
enum { CLAIMS_PROBLEMS = 20, CLAIMS_STEP = 512, CLAIMS_COUNT_MAX = CLAIMS_STEP * CLAIMS_PROBLEMS };

/* From begin to end. */
extern adder claims_adder;
extern char claims_database[96];

/* Plants the faults, opens the GPU. The thread that begins ends, whether or not it could begin. */
redtune_status claims_begin(redtune_error *err);
void claims_end(void);

bool claims_simulated(void);
redtune_problem claims_sum_of(uint64_t count);
/* Of problem i. */
uint64_t claims_count_of(int i);

/* Names a config for problem i. */
typedef void claims_name_fn(int i, char config[RDT_CONFIG_TEXT_BYTES]);
claims_name_fn claims_wrong, claims_slow, claims_fault;

/* A new database with claims of one config for each of count problems from the first on. */
redtune_status claims_import(claims_name_fn *name, int first, int count, redtune_error *err);
/* The same into the database that is there. */
redtune_status claims_add(claims_name_fn *name, int first, int count, redtune_error *err);

typedef struct claims_tally {
    const char *outcome;
    int imported, own;
} claims_tally;

/* Rows of the database that ended so. */
claims_tally claims_rows_that(const char *ended);
