// Packing: arrays of a GPU that do not lie side by side, copied where kernels take only those.
#pragma once

#include "call.h"
#include "redtune/list.h"

// The array as C takes it; valid as long as x.
redtune_view view_of(const array &x);
// Has x be a packed copy in an array of its library's, `room`, which the caller holds until its
// kernels are queued on the stream `on`. That has to be the library's current one, and captures
// are PyTorch's alone. Arrays of the host, and packed ones, stay.
void pack_on_gpu(array &x, nb::handle like, CUstream_st *on, nb::object &room);
// The same of a mask beside x; bits are packed.
void pack_mask_on_gpu(const array &x, nb::handle like, CUstream_st *on, mask_view &mask,
                      nb::object &room);
