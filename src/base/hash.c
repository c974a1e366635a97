/* Hash: 128-bit FNV-1a (Fowler, Noll, Vo), for keys of local caches. Not against adversaries. */
#include "base/hash.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

static unsigned __int128 wide(uint64_t high, uint64_t low) {
    return (unsigned __int128)high << 64 | low;
}

rdt_hash rdt_hash_begin(void) { return (rdt_hash){wide(0x6c62272e07bb0142u, 0x62b821756295c58du)}; }

void rdt_hash_add(rdt_hash *hash, const void *data, size_t bytes) {
    const unsigned char *byte = data;
    const unsigned __int128 prime = wide(0x0000000001000000u, 0x000000000000013bu);
    for (size_t i = 0; i < bytes; i++) hash->state = (hash->state ^ byte[i]) * prime;
}

void rdt_hash_add_string(rdt_hash *hash, const char *string) {
    rdt_hash_add(hash, string, strlen(string) + 1);
}

void rdt_hash_text(const rdt_hash *hash, char out[RDT_HASH_TEXT_BYTES]) {
    snprintf(out, RDT_HASH_TEXT_BYTES, "%016llx%016llx", (unsigned long long)(hash->state >> 64),
             (unsigned long long)hash->state);
}
