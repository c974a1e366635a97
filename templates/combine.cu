//@ local indexed, given = op.indexed, require("lib/operands").of(_ENV)
//@ local op = given.made
//@ local acc = op.acc
//@ local slot_bytes = require("lib/operands").slot_bytes(op)

// Combining the accumulators that the kernel above leaves, and finishing.
namespace combining {

//@ include "lib/types.cu"
typedef @{acc.c} accumulator;

//@ include "lib/given.cu"
//@ include "lib/conversions.cu"
//@ if op.functions then
@{op.functions}
//@ end
struct alignas(@{slot_bytes}) slot {
    accumulator a;
};

static_assert(sizeof(slot) == @{slot_bytes}, "");

__device__ __forceinline__ accumulator combine(accumulator a, accumulator b@{given.parameter})
{
    return @{op.combine("a", "b")};
}

//@ include "lib/write.cu"
// slots[0] becomes the combination of slots[0], ..., slots[n-1], with `first` elements of the whole
// before them; *output, where it is not NULL, the result over count elements.
// Start it with one warp.
extern "C" __global__ void __launch_bounds__(32)
redtune_combine(slot *slots, u32 n, u64 first, u64 count, @{result.c} *output@{given.kernel})
{
//@ for _, line in ipairs(given.begin("nullptr", "count", "output")) do
    @{line}
//@ end
    accumulator a = @{op.identity};
//@ if order == "fixed" then
//@     include("lib/order_slots.cu", { slot = "slots[i].a" })
//@ else
    for (u32 i = threadIdx.x; i < n; i += 32) a = combine(a, slots[i].a@{given.argument});
//@     include("lib/fold_lanes.cu", { lanes = 32 })
//@ end
    if (threadIdx.x > 0) return;
//@ if indexed then
    a = @{acc.moved("a", "first")};
//@ end
    slots[0].a = a;
    if (output) @{given.write("*output", "a", "count")}
}

}  // namespace combining
