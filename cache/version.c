/* Version: what the tables of a database file are in each version of its schema. */
#include "cache/version.h"

#include <stddef.h>

const rdt_schema_version *rdt_version_find_past(const rdt_schema *schema, uint32_t version) {
    for (const rdt_schema_version *past = schema->past; past && past->version; past++)
        if ((uint32_t)past->version == version) return past;
    return NULL;
}

bool rdt_version_is_known(const rdt_schema *schema, uint32_t version) {
    return version == (uint32_t)schema->version || rdt_version_find_past(schema, version);
}
