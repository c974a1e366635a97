/* Symbol: the table of names in scope: a hash table whose inner scopes are taken off again. */
#include "ptx/symbol.h"

#include <string.h>

static uint32_t hash_of(sim_text name) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (uint32_t i = 0; i < name.length; i++) {
        hash = (hash ^ (unsigned char)name.at[i]) * 16777619u;
    }
    return hash;
}

sim_symbol *sim_symbol_put(sim_symbols *symbols, sim_arena *arena, sim_text name,
                           sim_symbol_kind kind) {
    sim_symbol *symbol = sim_arena_get(arena, sizeof *symbol);
    if (!symbol) return NULL;
    symbol->name = name;
    symbol->hash = hash_of(name);
    symbol->kind = kind;
    symbol->depth = symbols->depth;
    sim_symbol **bucket = &symbols->buckets[symbol->hash % SIM_SYMBOL_BUCKETS];
    symbol->next = *bucket;
    *bucket = symbol;
    symbol->older = symbols->newest;
    symbols->newest = symbol;
    return symbol;
}

sim_symbol *sim_symbol_find(const sim_symbols *symbols, sim_text name) {
    uint32_t hash = hash_of(name);
    sim_symbol *symbol = symbols->buckets[hash % SIM_SYMBOL_BUCKETS];
    for (; symbol; symbol = symbol->next) {
        if (symbol->hash == hash && symbol->name.length == name.length &&
            memcmp(symbol->name.at, name.at, name.length) == 0) {
            return symbol;
        }
    }
    return NULL;
}

void sim_symbol_enter(sim_symbols *symbols) { symbols->depth++; }

void sim_symbol_leave(sim_symbols *symbols) {
    while (symbols->newest && symbols->newest->depth == symbols->depth) {
        sim_symbol *symbol = symbols->newest;
        symbols->buckets[symbol->hash % SIM_SYMBOL_BUCKETS] = symbol->next;
        symbols->newest = symbol->older;
    }
    symbols->depth--;
}
