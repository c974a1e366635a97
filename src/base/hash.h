/* Hash: 128-bit FNV-1a (Fowler, Noll, Vo), for keys of local caches. Not against adversaries. */
#pragma once

#include <stddef.h>

/* Text form: 32 hexadecimal digits and a NUL. */
enum { RDT_HASH_TEXT_BYTES = 33 };

typedef struct rdt_hash {
    unsigned __int128 state;
} rdt_hash;

rdt_hash rdt_hash_begin(void);
void rdt_hash_add(rdt_hash *hash, const void *data, size_t bytes);
/* Adds a string and its NUL, so that "ab","c" and "a","bc" differ. */
void rdt_hash_add_string(rdt_hash *hash, const char *string);
void rdt_hash_text(const rdt_hash *hash, char out[RDT_HASH_TEXT_BYTES]);
