/* Simulator: what the tests ask the simulated GPU, where they run on it. */
#pragma once

#include <dlfcn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef struct simulator {
    uint64_t (*calls)(const char *entry_point);
    int (*set)(const char *name, const char *value);
    size_t (*findings)(void);
    void (*clear_findings)(void);
    size_t (*check_leaks)(void);
} simulator;

/* false on a real GPU. */
__attribute__((unused)) static bool simulator_find(simulator *out) {
    static const struct {
        const char *name;
        size_t offset;
    } functions[] = {
        {"redtune_sim_calls", offsetof(simulator, calls)},
        {"redtune_sim_set", offsetof(simulator, set)},
        {"redtune_sim_findings", offsetof(simulator, findings)},
        {"redtune_sim_clear_findings", offsetof(simulator, clear_findings)},
        {"redtune_sim_check_leaks", offsetof(simulator, check_leaks)},
    };
    const char *path = getenv("REDTUNE_CUDA_DRIVER");
    void *library = path ? dlopen(path, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    if (!library || !dlsym(library, functions[0].name)) return false;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        void *address = dlsym(library, functions[i].name);
        memcpy((char *)out + functions[i].offset, &address, sizeof address);
    }
    return true;
}
