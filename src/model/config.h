/* Config: one point of a space, and its text "block=256,vec=4,tail=shuffle". */
#ifndef RDT_MODEL_CONFIG_H
#define RDT_MODEL_CONFIG_H

#include "base/text.h"
#include "model/space.h"

enum { RDT_CONFIG_TEXT_BYTES = 256 };

/* value[i] belongs to space->param[i]. */
typedef struct rdt_config {
    int64_t value[RDT_PARAM_MAX];
} rdt_config;

/* Writes every parameter, in the space's order. */
void rdt_config_format(const rdt_space *space, const rdt_config *config,
                       char out[RDT_CONFIG_TEXT_BYTES]);
/* Reads name=value pairs over what *config holds: parameters not named keep their value.
 * REDTUNE_INVALID for a name or value that the space does not have, or a name given twice. */
redtune_status rdt_config_parse(const rdt_space *space, const char *text, rdt_config *config,
                                redtune_error *err);
/* Reads a config that names every parameter; *config is only written. Others', of a database say,
 * may name fewer. */
redtune_status rdt_config_parse_whole(const rdt_space *space, const char *text, rdt_config *config,
                                      redtune_error *err);
/* Whether both make the same kernel: equal except launch parameters. */
bool rdt_config_same_kernel(const rdt_space *space, const rdt_config *a, const rdt_config *b);
/* The config's place in the order of the space: of two configs the one that comes earlier is the
 * simpler. The parameters whose values have names count most, then the numbers, of each the first.
 * Every value is one of the space's. */
int rdt_config_order(const rdt_space *space, const rdt_config *config);

#endif
