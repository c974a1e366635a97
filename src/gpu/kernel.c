/* Kernel: a compiled reduction loaded into the current context, and its launch. */
#include "gpu/kernel.h"

#include <inttypes.h>
#include <stdlib.h>

static redtune_status find_function(const rdt_kernel *kernel, const char *name, CUfunction *out,
                                    redtune_error *err) {
    const rdt_driver *driver = kernel->driver;
    return rdt_driver_check(driver, driver->module_get_function(out, kernel->module, name), err,
                            "find %s in a compiled kernel", name);
}

static redtune_status load_sorting(rdt_kernel *kernel, const rdt_launch *launch,
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

redtune_status rdt_kernel_allow(const rdt_kernel *kernel, const rdt_launch *launch,
                                redtune_error *err) {
    const rdt_driver *driver = kernel->driver;
    if (!launch->dynamic_bytes) return REDTUNE_OK;
    return rdt_driver_check(
        driver,
        driver->func_set_attribute(kernel->reduce, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
                                   (int)launch->dynamic_bytes),
        err, "have %u bytes of shared memory", launch->dynamic_bytes);
}

static redtune_status set_up_keyed(rdt_kernel *kernel, const rdt_launch *launch,
                                   redtune_error *err) {
    redtune_status status =
        launch->sorts || launch->reorders ? load_sorting(kernel, launch, err) : REDTUNE_OK;
    if (status || launch->reorders) return status;
    status = find_function(kernel, "redtune_finish_keys", &kernel->finish, err);
    if (!status && !launch->sliced)
        status = find_function(kernel, "redtune_preset_keys", &kernel->preset, err);
    return status ? status : rdt_kernel_allow(kernel, launch, err);
}

static redtune_status load_reducing(rdt_kernel *kernel, const rdt_launch *launch,
                                    redtune_error *err) {
    redtune_status status = find_function(kernel, "redtune_reduce", &kernel->reduce, err);
    if (!status && launch->yield == RDT_YIELD_ACCUMULATOR)
        status = find_function(kernel, "redtune_combine", &kernel->combine, err);
    if (!status && launch->yield == RDT_YIELD_MESSAGE)
        status = find_function(kernel, "redtune_join", &kernel->join, err);
    if (!status && launch->yield == RDT_YIELD_MESSAGE)
        status = find_function(kernel, "redtune_join_each", &kernel->join_each, err);
    if (!status && launch->yield == RDT_YIELD_MESSAGE)
        status = find_function(kernel, "redtune_join_peers", &kernel->join_peers, err);
    if (!status && rdt_launch_has_prefix(launch))
        status = find_function(kernel, "redtune_prefix", &kernel->prefix, err);
    if (!status && launch->keyed) status = set_up_keyed(kernel, launch, err);
    return status;
}

static redtune_status load_packing(rdt_kernel *kernel, redtune_error *err) {
    redtune_status status = find_function(kernel, "redtune_pack", &kernel->pack, err);
    return status ? status : find_function(kernel, "redtune_pack_one", &kernel->pack_one, err);
}

redtune_status rdt_kernel_load(const rdt_driver *driver, const void *image,
                               const rdt_launch *launch, rdt_kernel **out, redtune_error *err) {
    rdt_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel) return rdt_fail_memory(err, sizeof *kernel);
    kernel->driver = driver;
    redtune_status status = rdt_driver_check(
        driver, driver->module_load_data(&kernel->module, image), err, "load a compiled kernel");
    if (!status && !launch) status = load_packing(kernel, err);
    if (!status && launch) status = load_reducing(kernel, launch, err);
    if (status) {
        rdt_kernel_unload(kernel);
        return status;
    }
    *out = kernel;
    return REDTUNE_OK;
}

void rdt_kernel_unload(rdt_kernel *kernel) {
    if (!kernel) return;
    if (kernel->module) kernel->driver->module_unload(kernel->module);
    rdt_kernel_forget(kernel);
}

void rdt_kernel_forget(rdt_kernel *kernel) { free(kernel); }

static CUresult launch_overlapping(const rdt_driver *driver, CUfunction function, uint32_t blocks,
                                   uint32_t threads, uint32_t dynamic_bytes, CUstream stream,
                                   void **args) {
    CUlaunchAttribute attribute = {.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION};
    attribute.value.programmaticStreamSerializationAllowed = 1;
    const CUlaunchConfig config = {
        .gridDimX = blocks,
        .gridDimY = 1,
        .gridDimZ = 1,
        .blockDimX = threads,
        .blockDimY = 1,
        .blockDimZ = 1,
        .sharedMemBytes = dynamic_bytes,
        .hStream = stream,
        .attrs = &attribute,
        .numAttrs = 1,
    };
    return driver->launch_kernel_ex(&config, function, args, NULL);
}

/* Whether launches may overlap: in graphs, drivers know how since CUDA 12.3. */
static bool can_overlap(const rdt_kernel *kernel, const rdt_launch *how) {
    enum { DRIVER_VERSION_LEAST = 12030 };
    return how->overlap && !kernel->no_overlap && kernel->driver->version >= DRIVER_VERSION_LEAST;
}

static inline CUresult launch(const rdt_driver *driver, CUfunction function, uint32_t blocks,
                              uint32_t threads, uint32_t dynamic_bytes, bool overlap,
                              CUstream stream, void **args) {
    if (overlap)
        return launch_overlapping(driver, function, blocks, threads, dynamic_bytes, stream, args);
    return driver->launch_kernel(function, blocks, 1, 1, threads, 1, 1, dynamic_bytes, stream, args,
                                 NULL);
}

/* Blocks of the first launch: a warp for every 32 segments, and enough to read their tables. */
static uint32_t prefix_blocks(uint64_t segments) {
    enum { PER_BLOCK = RDT_PREFIX_THREADS, BLOCKS_MAX = 256 };
    const uint64_t blocks = segments / PER_BLOCK + 1;
    return blocks < BLOCKS_MAX ? (uint32_t)blocks : BLOCKS_MAX;
}

static uint32_t segment_blocks(const rdt_launch *how, bool scattered, uint64_t segments) {
    if (how->results) {
        const uint32_t blocks = rdt_launch_grid(how, &(rdt_extents){.outer = segments});
        const uint32_t helpers = scattered ? 0 : how->blocks_max - 1;
        return blocks < RDT_GRID_MAX - helpers ? blocks + helpers : blocks;
    }
    return how->blocks_max;
}

static redtune_status start_segments(const rdt_kernel *kernel, const rdt_launch *how,
                                     const rdt_operands *operands, CUstream stream,
                                     redtune_error *err) {
    const rdt_driver *driver = kernel->driver;
    const bool can = can_overlap(kernel, how);
    const bool two = rdt_launch_has_prefix(how) && operands->segments.end;
    const bool scattered = !rdt_launch_are_neighbours(&operands->segments);
    const uint32_t blocks = segment_blocks(how, scattered, operands->segments.count);
    uint32_t overlaps = can && (two || operands->chained);
    void *const segments = (void *)&operands->segments, *const scratch = (void *)&operands->scratch;
    CUresult rc = CUDA_SUCCESS;
    if (two) {
        void *prefix_args[] = {segments, scratch};
        rc = launch(driver, kernel->prefix, prefix_blocks(operands->segments.count),
                    RDT_PREFIX_THREADS, 0, can && operands->chained, stream, prefix_args);
    }
    void *reduce_args[] = {
        (void *)&operands->input, segments, (void *)&operands->output, scratch, &overlaps,
        (void *)&operands->given};
    if (!rc)
        rc = launch(driver, kernel->reduce, blocks, how->threads, 0, overlaps, stream, reduce_args);
    return rdt_driver_check(driver, rc, err, "launch a reduction of segments on %u blocks of %u",
                            blocks, how->threads);
}

/* Launches that sort by key. */
enum { SORTED_MAX = UINT32_MAX - 1 };

static CUresult start_sorting(const rdt_kernel *kernel, CUfunction function, uint64_t blocks,
                              CUstream stream, void **args) {
    return launch(kernel->driver, function, (uint32_t)blocks, RDT_DIGITS, 0, false, stream, args);
}

/* Blocks of RDT_DIGITS threads for `count` places, which threads take in strides. */
static uint64_t blocks_of(uint64_t count) {
    enum { BLOCKS_MAX = 4096 };
    const uint64_t blocks = count / RDT_DIGITS + 1;
    return blocks < BLOCKS_MAX ? blocks : BLOCKS_MAX;
}

/* The greatest key stands for those out of range, or with a mask for absent elements, behind these.
 */
static CUresult place_keys(const rdt_kernel *kernel, const rdt_launch *how, rdt_keyed *keyed,
                           const rdt_given *given, rdt_reordering *places, CUstream stream) {
    const rdt_keyed sorted = rdt_launch_sorted(how, keyed);
    const uint64_t keys = sorted.keys / sorted.width + how->masked,
                   blocks = rdt_launch_sort_blocks(how, sorted.count);
    const uint32_t digits =
        (64 - (uint32_t)__builtin_clzll(keys) + RDT_DIGIT_BITS - 1) / RDT_DIGIT_BITS;
    uint32_t warps = (uint32_t)blocks * (RDT_DIGITS / 32);
    uint64_t mask = how->pairs ? given->mask : given->input;
    CUresult rc = CUDA_SUCCESS;
    for (uint32_t i = 0; !rc && i < digits; i++) {
        uint32_t shift = i * RDT_DIGIT_BITS, to = (digits - 1 - i) % 2;
        void *args[] = {keyed, places, &shift, &to, &mask}, *scan_args[] = {places, &warps};
        rc = start_sorting(kernel, kernel->count_digits, blocks, stream, args);
        if (!rc) rc = start_sorting(kernel, kernel->scan_digits, RDT_DIGITS, stream, scan_args);
        if (!rc) rc = start_sorting(kernel, kernel->place_digits, blocks, stream, args);
    }
    return rc;
}

static redtune_status sort_keys(const rdt_kernel *kernel, const rdt_launch *how,
                                const rdt_operands *operands, rdt_reordering *out, CUstream stream,
                                redtune_error *err) {
    rdt_keyed keyed = operands->keyed;
    const rdt_keyed sorted = rdt_launch_sorted(how, &keyed);
    const uint64_t keys = sorted.keys / sorted.width;
    if (sorted.count > SORTED_MAX || keys > SORTED_MAX)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot bring %" PRIu64 " elements into the order of %" PRIu64
                        " keys: at most %u of each; reduce them in parts, with accumulate",
                        sorted.count, keys, (unsigned)SORTED_MAX);
    rdt_launch_reorder(how, &keyed, operands->scratch, out);
    return rdt_driver_check(kernel->driver,
                            place_keys(kernel, how, &keyed, &operands->given, out, stream), err,
                            "launch a sorting by key");
}

static redtune_status start_reordering(const rdt_kernel *kernel, const rdt_launch *how,
                                       const rdt_operands *operands, CUstream stream,
                                       redtune_error *err) {
    rdt_keyed keyed = operands->keyed;
    rdt_reordering places;
    redtune_status status = sort_keys(kernel, how, operands, &places, stream, err);
    if (status) return status;
    void *args[] = {&keyed, &places}, *take_args[] = {(void *)&operands->input, &keyed, &places};
    const rdt_keyed sorted = rdt_launch_sorted(how, &keyed);
    const uint64_t keys = sorted.keys / sorted.width;
    const uint64_t blocks = blocks_of(keyed.count * keyed.width);
    CUresult rc = start_sorting(kernel, kernel->find_keys, blocks_of(keys + 1), stream, args);
    if (!rc) rc = start_sorting(kernel, kernel->reduce, blocks, stream, take_args);
    if (!rc && how->pairs) {
        places.values = rdt_launch_reordered_second(how, &keyed, &places);
        take_args[0] = (void *)&operands->given.input;
        rc = start_sorting(kernel, kernel->reduce, blocks, stream, take_args);
    }
    return rdt_driver_check(kernel->driver, rc, err, "launch a reordering by key");
}

/* Blocks of the launches over all keys, a thread or, of slices, a warp for each. */
static uint32_t key_blocks(const rdt_launch *how, uint64_t keys) {
    enum { BLOCKS_MAX = 4096 };
    const uint64_t per_block = how->sliced ? RDT_KEYED_THREADS / 32 : RDT_KEYED_THREADS;
    const uint64_t blocks = (keys + per_block - 1) / per_block;
    return blocks < BLOCKS_MAX ? (uint32_t)blocks : BLOCKS_MAX;
}

static redtune_status start_keyed(const rdt_kernel *kernel, const rdt_launch *how,
                                  const rdt_operands *operands, CUstream stream,
                                  redtune_error *err) {
    const rdt_driver *driver = kernel->driver;
    if (how->reorders) return start_reordering(kernel, how, operands, stream, err);
    const uint32_t blocks = rdt_launch_blocks(how, operands->keyed.count * operands->keyed.width);
    const uint32_t over_keys = key_blocks(how, operands->keyed.keys);
    rdt_keyed keyed = operands->keyed;
    uint32_t overlaps = 0;
    keyed.slices = how->sliced ? blocks : 1;
    void *const scratch = (void *)&operands->scratch;
    void *preset_args[] = {&keyed, scratch};
    void *args[] = {(void *)&operands->input, &keyed, (void *)&operands->output, scratch, &overlaps,
                    (void *)&operands->given};
    rdt_reordering places;
    void *sorted_args[] = {args[0], &keyed, &places, args[2], scratch, &overlaps, args[5]};
    CUresult rc = CUDA_SUCCESS;
    redtune_status status =
        how->sorts ? sort_keys(kernel, how, operands, &places, stream, err) : REDTUNE_OK;
    if (status) return status;
    const bool overlap = can_overlap(kernel, how);
    void **const own = how->sorts ? sorted_args : args;
    if (!how->sliced)
        rc = launch(driver, kernel->preset, over_keys, RDT_KEYED_THREADS, 0, false, stream,
                    preset_args);
    if (!rc)
        rc = launch(driver, kernel->reduce, blocks, how->threads, how->dynamic_bytes,
                    overlap && !how->sliced, stream, own);
    if (!rc)
        rc = launch(driver, kernel->finish, over_keys, RDT_KEYED_THREADS, 0, overlap, stream, args);
    return rdt_driver_check(driver, rc, err, "launch a reduction by key on %u blocks of %u threads",
                            blocks, how->threads);
}

redtune_status rdt_kernel_name_indices(const rdt_kernel *kernel, const rdt_launch *how,
                                       const rdt_operands *operands, CUdeviceptr indices,
                                       CUstream stream, redtune_error *err) {
    rdt_keyed keyed = operands->keyed;
    rdt_reordering places;
    rdt_launch_reorder(how, &keyed, operands->scratch, &places);
    void *args[] = {&keyed, &places, &indices};
    const CUresult rc =
        start_sorting(kernel, kernel->name_indices, blocks_of(keyed.keys), stream, args);
    return rdt_driver_check(kernel->driver, rc, err, "launch the naming of indices by key");
}

redtune_status rdt_kernel_start(const rdt_kernel *kernel, const rdt_launch *how,
                                const rdt_operands *operands, CUstream stream, redtune_error *err) {
    if (__builtin_expect(how->segments, 0))
        return start_segments(kernel, how, operands, stream, err);
    if (__builtin_expect(how->keyed, 0)) return start_keyed(kernel, how, operands, stream, err);
    const rdt_driver *driver = kernel->driver;
    rdt_extents extents = rdt_launch_complete(operands->extents);
    uint32_t blocks = rdt_launch_grid(how, &extents);
    uint32_t overlaps = can_overlap(kernel, how) && operands->chained;
    void *const input = (void *)&operands->input, *const output = (void *)&operands->output;
    void *const scratch = (void *)&operands->scratch, *const given = (void *)&operands->given;
    void *const places = operands->strides ? (void *)operands->strides : &extents;
    void *reduce_args[] = {input, places, output, scratch, &overlaps, given};
    CUresult rc =
        launch(driver, kernel->reduce, blocks, how->threads, 0, overlaps, stream, reduce_args);
    if (rc)
        return rdt_driver_check(driver, rc, err, "launch a reduction on %u blocks of %u threads",
                                blocks, how->threads);
    return REDTUNE_OK;
}

redtune_status rdt_kernel_combine(const rdt_kernel *kernel, rdt_combination what, CUstream stream,
                                  redtune_error *err) {
    void *args[] = {&what.slots, &what.slot_count, &what.first,
                    &what.count, &what.output,     &what.given};
    return rdt_driver_check(
        kernel->driver,
        launch(kernel->driver, kernel->combine, 1, RDT_COMBINE_THREADS, 0, false, stream, args),
        err, "launch the combination of %u accumulators", what.slot_count);
}

redtune_status rdt_kernel_join(const rdt_kernel *kernel, rdt_joining what, CUstream stream,
                               redtune_error *err) {
    const rdt_driver *driver = kernel->driver;
    const uint64_t blocks = (what.results + RDT_JOIN_THREADS - 1) / RDT_JOIN_THREADS;
    void *one[] = {&what.messages, &what.part_count, &what.output, &what.given};
    void *each[] = {&what.messages, &what.part_count, &what.results, &what.output, &what.given};
    CUresult rc = what.results == 1
                      ? launch(driver, kernel->join, 1, RDT_COMBINE_THREADS, 0, false, stream, one)
                      : launch(driver, kernel->join_each, (uint32_t)blocks, RDT_JOIN_THREADS, 0,
                               false, stream, each);
    return rdt_driver_check(driver, rc, err, "launch the joining of %u parts", what.part_count);
}

redtune_status rdt_kernel_join_peers(const rdt_kernel *kernel, rdt_joining what, rdt_links links,
                                     uint32_t steps, CUstream stream, redtune_error *err) {
    void *args[] = {&what.messages, &links, &steps, &what.output, &what.given};
    return rdt_driver_check(
        kernel->driver,
        launch(kernel->driver, kernel->join_peers, 1, RDT_JOIN_THREADS, 0, false, stream, args),
        err, "launch the joining of %u parts", what.part_count);
}

redtune_status rdt_kernel_pack(const rdt_kernel *kernel, const rdt_packing_table *table,
                               CUstream stream, redtune_error *err) {
    enum { WARPS = RDT_PACKED_WARPS };
    const uint64_t blocks = (table->pieces + WARPS - 1) / WARPS;
    if (blocks > RDT_GRID_MAX)
        return rdt_fail(err, REDTUNE_UNSUPPORTED, 0,
                        "cannot copy %" PRIu64 " pieces by one launch; copy arrays in parts",
                        table->pieces);
    uint64_t arrays = table->address + (table->count + 1) * sizeof(uint64_t);
    void *of_table[] = {(void *)&table->address, &arrays, (void *)&table->count};
    void *of_one[] = {(void *)&table->one, (void *)&table->pieces};
    const CUresult rc =
        launch(kernel->driver, table->address ? kernel->pack : kernel->pack_one, (uint32_t)blocks,
               32 * WARPS, 0, false, stream, table->address ? of_table : of_one);
    return rdt_driver_check(kernel->driver, rc, err, "launch a copy of %" PRIu64 " arrays",
                            table->count);
}
