/* Source: where template files come from: a folder of the user's, else those compiled in. */
#pragma once

#include "base/hash.h"
#include "base/text.h"

/* Generated from templates/ by the build; the last entry's name is NULL. */
struct rdt_template_file {
    const char *name; /* "block/kernel.cu" */
    const char *data; /* not NUL-terminated */
    size_t bytes;
    const char *hash; /* SHA-256 of the data */
};
extern const struct rdt_template_file rdt_template_files[];
/* Likewise: hash of the C sources below src/ and cache/. */
extern const char rdt_template_build[];

/* folder may be NULL: then only the files compiled in. hash is that of every file there is. */
typedef struct rdt_source {
    char *folder; /* owned */
    rdt_hash hash;
} rdt_source;

/* $REDTUNE_TEMPLATES, if it is set and not empty. REDTUNE_FILE if that cannot be read. */
redtune_status rdt_source_open(rdt_source *source, redtune_error *err);
void rdt_source_close(rdt_source *source);
/* Reads a file by its relative name, freed by the caller. A file in the folder hides the one
 * compiled in. REDTUNE_TEMPLATE for an unknown name. */
redtune_status rdt_source_read(const rdt_source *source, const char *name, char **data,
                               size_t *length, redtune_error *err);
