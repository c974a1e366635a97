// Keyed: reductions by key.
#pragma once

#include "call.h"
#include "redtune/keys.h"

// Checks the arrays, and has `what`, chosen for x, reduce x, and y, by `count` keys.
void keyed_fold(const array &x, const array &keys, uint64_t count, nb::handle parameters,
                reduction *what, const array *y = nullptr);

// Runs it on the host, or on the stream; d_skipped: NULL, or where a GPU counts.
void keyed_run(const reduction &what, const array &x, const array &keys, const outputs &out,
               nb::handle parameters, void *d_skipped, CUstream_st *stream,
               const others &beside = {});

void keyed_add(nb::module_ &module);
