/* Shape grid: the shapes of a plane that are tuned when the caller names none.
 *
 * Powers of four in both directions, of inputs from 4 KiB to 1 GiB: what is best changes slowly,
 * and crossovers are measured between neighbours. Beside them stands a coarser grid of shapes whose
 * rows begin at odd elements, of every second power of four and one: no load of several elements is
 * aligned there, which asks for other configs. */
#include "api/tuning/shape_grid.h"

enum {
    INPUT_LOW_BYTES = 4 << 10,
    INPUT_HIGH_BYTES = 1 << 30,
    ODD_HIGH_BYTES = INPUT_HIGH_BYTES / 4,
    LEAST_BITS = 2, /* of count and of results: fewer results are a whole array, or nearly */
    STEP_BITS = 2,
    ODD_STEP_BITS = 4,
};

/* On the simulated GPU: short and long ones, and one of each that breaks alignment. */
static const rdt_shape simulated[] = {{16, 64}, {256, 4}, {65, 16}};

/* Adds powers of two that are `step` doublings apart, plus `beyond`, whose inputs have
 * INPUT_LOW_BYTES to `most` bytes. Returns the new size. */
static size_t add_grid(int step, rdt_shape beyond, uint64_t most, size_t element_bytes,
                       rdt_shape out[RDT_SHAPE_GRID_MAX], size_t size) {
    for (uint64_t count = UINT64_C(1) << LEAST_BITS; count <= most; count <<= step)
        for (uint64_t results = UINT64_C(1) << LEAST_BITS; results <= most; results <<= step) {
            const rdt_shape shape = {count + beyond.count, results + beyond.results};
            const uint64_t bytes = shape.count * shape.results * element_bytes;
            if (size < RDT_SHAPE_GRID_MAX && bytes >= INPUT_LOW_BYTES && bytes <= most)
                out[size++] = shape;
        }
    return size;
}

size_t rdt_shape_grid_make(size_t element_bytes, bool rows, bool is_simulated,
                           rdt_shape out[RDT_SHAPE_GRID_MAX]) {
    const rdt_shape odd = {rows, !rows};
    size_t size = 0;
    if (!is_simulated) {
        size = add_grid(STEP_BITS, (rdt_shape){0}, INPUT_HIGH_BYTES, element_bytes, out, size);
        return add_grid(ODD_STEP_BITS, odd, ODD_HIGH_BYTES, element_bytes, out, size);
    }
    while (size < sizeof simulated / sizeof *simulated) {
        const rdt_shape *each = &simulated[size];
        out[size++] = rows ? *each : (rdt_shape){each->results, each->count};
    }
    return size;
}
