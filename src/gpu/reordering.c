/* Reordering: launches that bring elements into the order of their keys (model/launch.h). */
#include "gpu/kernel.h"

#include <inttypes.h>

enum { SORTED_MAX = UINT32_MAX - 1 };

redtune_status rdt_kernel_load_sorting(rdt_kernel *kernel, const rdt_launch *launch,
                                       redtune_error *err) {
    const struct {
        const char *name;
        CUfunction *out;
    } entries[] = {{"redtune_count_digits", &kernel->count_digits},
                   {"redtune_scan_digits", &kernel->scan_digits},
                   {"redtune_place_digits", &kernel->place_digits},
                   {"redtune_find_keys", &kernel->find_keys},
                   {"redtune_name_indices", &kernel->name_indices}};
    CUresult rc = CUDA_SUCCESS;
    for (size_t i = 0; !rc && i < (launch->reorders ? 5 : 3); i++)
        rc = kernel->driver->module_get_function(entries[i].out, kernel->module, entries[i].name);
    return rdt_driver_check(kernel->driver, rc, err, "find a compiled kernel that sorts by key");
}

static CUresult start(const rdt_kernel *kernel, CUfunction function, uint64_t blocks,
                      CUstream stream, void **args) {
    return kernel->driver->launch_kernel(function, (unsigned)blocks, 1, 1, RDT_DIGITS, 1, 1, 0,
                                         stream, args, NULL);
}

/* Blocks of a launch with a thread for each of so many. */
static uint64_t blocks_of(uint64_t count) {
    enum { BLOCKS_MAX = 4096 };
    const uint64_t blocks = count / RDT_DIGITS + 1;
    return blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX;
}

static CUresult place_keys(const rdt_kernel *kernel, const rdt_launch *how, rdt_keyed *keyed,
                           rdt_reordering *places, CUstream stream) {
    const uint64_t keys = keyed->keys / keyed->width,
                   blocks = rdt_launch_sort_blocks(how, keyed->count);
    const uint32_t digits =
        (64 - (uint32_t)__builtin_clzll(keys) + RDT_DIGIT_BITS - 1) / RDT_DIGIT_BITS;
    uint32_t warps = (uint32_t)blocks * (RDT_DIGITS / 32);
    CUresult rc = CUDA_SUCCESS;
    for (uint32_t i = 0; !rc && i < digits; i++) {
        uint32_t shift = i * RDT_DIGIT_BITS, to = (digits - 1 - i) % 2;
        void *args[] = {keyed, places, &shift, &to}, *scan_args[] = {places, &warps};
        rc = start(kernel, kernel->count_digits, blocks, stream, args);
        if (!rc) rc = start(kernel, kernel->scan_digits, RDT_DIGITS, stream, scan_args);
        if (!rc) rc = start(kernel, kernel->place_digits, blocks, stream, args);
    }
    return rc;
}

redtune_status rdt_kernel_sort(const rdt_kernel *kernel, const rdt_launch *how,
                               const rdt_operands *operands, rdt_reordering *out, CUstream stream,
                               redtune_error *err) {
    rdt_keyed keyed = operands->keyed;
    const uint64_t keys = keyed.keys / keyed.width;
    if (keyed.count > SORTED_MAX || keys > SORTED_MAX)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot bring %" PRIu64 " elements into the order of %" PRIu64
                        " keys: at most %u of each; reduce them in parts, with accumulate",
                        keyed.count, keys, (unsigned)SORTED_MAX);
    rdt_launch_reorder(how, &keyed, operands->scratch, out);
    return rdt_driver_check(kernel->driver, place_keys(kernel, how, &keyed, out, stream), err,
                            "launch a sorting by key");
}

redtune_status rdt_kernel_reorder(const rdt_kernel *kernel, const rdt_launch *how,
                                  const rdt_operands *operands, CUstream stream,
                                  redtune_error *err) {
    rdt_keyed keyed = operands->keyed;
    rdt_reordering places;
    redtune_status status = rdt_kernel_sort(kernel, how, operands, &places, stream, err);
    if (status) return status;
    void *args[] = {&keyed, &places}, *take_args[] = {(void *)&operands->input, &keyed, &places};
    const uint64_t keys = keyed.keys / keyed.width;
    CUresult rc = start(kernel, kernel->find_keys, blocks_of(keys + 1), stream, args);
    if (!rc)
        rc = start(kernel, kernel->reduce, blocks_of(keyed.count * keyed.width), stream, take_args);
    return rdt_driver_check(kernel->driver, rc, err, "launch a reordering by key");
}

redtune_status rdt_kernel_name_indices(const rdt_kernel *kernel, const rdt_launch *how,
                                       const rdt_operands *operands, CUdeviceptr indices,
                                       CUstream stream, redtune_error *err) {
    rdt_keyed keyed = operands->keyed;
    rdt_reordering places;
    rdt_launch_reorder(how, &keyed, operands->scratch, &places);
    void *args[] = {&keyed, &places, &indices};
    const CUresult rc = start(kernel, kernel->name_indices, blocks_of(keyed.keys), stream, args);
    return rdt_driver_check(kernel->driver, rc, err, "launch the naming of indices by key");
}
