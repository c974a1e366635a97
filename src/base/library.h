/* Library: finding and loading a shared library at run time, and binding its functions. */
#pragma once

#include <stdbool.h>
#include "base/text.h"

/* Where a library is looked for, first hit wins: the file that the environment variable names (then
 * nowhere else); already loaded in the process; the loader's path; lib64, lib and
 * targets/x86_64-linux/lib under $CUDA_PATH, $CUDA_HOME and /usr/local/cuda (toolkit only); the
 * nvidia/<package>/lib folders of Python installations (toolkit only). */
typedef struct rdt_library_search {
    const char *subject;      /* "the CUDA driver" */
    const char *variable;     /* "REDTUNE_CUDA_DRIVER" */
    const char *const *names; /* file names in order of preference, NULL at the end */
    bool toolkit;             /* part of the CUDA Toolkit: look there and in Python's wheels */
    const char *remedy;       /* "install NVIDIA's driver, or ..." */
    bool loaded;              /* only what the process has loaded already */
} rdt_library_search;

/* Entry points to bind: each pointer goes to offset in the caller's table. */
typedef struct rdt_library_symbol {
    const char *name;
    size_t offset;
    bool optional; /* NULL in the table if the library lacks it */
} rdt_library_symbol;

typedef struct rdt_library rdt_library;

/* REDTUNE_LIBRARY if it is nowhere: one line with the file, each place looked in, the remedy. */
redtune_status rdt_library_open(const rdt_library_search *search, rdt_library **out,
                                redtune_error *err);
void rdt_library_close(rdt_library *library);
/* Loads the file of that name beside it, or else where the system finds it, if it loads: a library
 * that looks for it by name alone then finds it, and opens no file. */
void rdt_library_load_beside(const rdt_library *library, const char *name);
/* The path it was loaded from; lives as long as the library. */
const char *rdt_library_path(const rdt_library *library);
/* Tells builds of one version apart: the ELF build ID in hexadecimal digits, cut to fit; "" where
 * it has none. */
void rdt_library_build(const rdt_library *library, char *out, size_t bytes);
/* Fills table. REDTUNE_LIBRARY that names the first entry point the library lacks. */
redtune_status rdt_library_bind(const rdt_library *library, const rdt_library_symbol *symbols,
                                size_t symbol_count, void *table, redtune_error *err);
