//@ local indexed, given = op.indexed, require("lib/operands").of(_ENV)
//@ local op = given.made
//@ local acc = op.acc
//@ local block_of_results, rest = 128, given.kernel ~= "" and ", rest" or ""
//@ local bytes = 2 * require("lib/operands").slot_bytes(op)
//@ op.message = require("lib/operands").message(acc, bytes)

// Joining the parts of a team, whose messages the kernel above leaves, into the result.
namespace joining {

//@ include "lib/types.cu"
typedef @{acc.c} accumulator;

//@ include "lib/given.cu"
//@ include "lib/conversions.cu"
//@ if op.functions then
@{op.functions}
//@ end
static_assert(sizeof(message) == @{bytes}, "");

__device__ __forceinline__ accumulator combine(accumulator a, accumulator b@{given.parameter})
{
    return @{op.combine("a", "b")};
}

// The part's accumulator, with its index in the whole.
__device__ __forceinline__ accumulator take(const message &part)
{
    accumulator a = part.a;
//@ if indexed then
    a = @{acc.moved("a", "part.first")};
//@ end
    return a;
}

//@ include "lib/write.cu"
// *output becomes the result of the n parts, in an order that depends on n alone, so that all ranks
// get the same bits. A warp calls it.
__device__ __forceinline__ void join(const message *messages, u32 n, @{result.c} *output@{given.kernel})
{
    u64 count = 0;
    for (u32 i = threadIdx.x; i < n; i += 32) count += messages[i].count;
//@ for _, step in ipairs { 16, 8, 4, 2, 1 } do
    count += __shfl_xor_sync(0xffffffff, count, @{step});
//@ end
//@ for _, line in ipairs(given.begin("nullptr", "count", "output")) do
    @{line}
//@ end
    accumulator a = @{op.identity};
//@ if order == "fixed" then
//@     include("lib/order_slots.cu", { slot = "take(messages[i])" })
//@ else
    for (u32 i = threadIdx.x; i < n; i += 32) a = combine(a, take(messages[i])@{given.argument});
//@     include("lib/fold_lanes.cu", { lanes = 32 })
//@ end
    if (threadIdx.x == 0) @{given.write("*output", "a", "count")}
}

// Start it with one warp.
extern "C" __global__ void __launch_bounds__(32)
redtune_join(const message *messages, u32 n, @{result.c} *output@{given.kernel})
{
    join(messages, n, output@{rest});
}

// Likewise for each of `results` results: part i has its messages of all of them side by side. A
// thread takes a result, on as many blocks as that takes.
extern "C" __global__ void __launch_bounds__(@{block_of_results})
redtune_join_each(const message *messages, u32 n, u64 results, @{result.c} *output@{given.kernel})
{
    const u64 at = (u64)blockIdx.x * @{block_of_results} + threadIdx.x;
    if (at >= results) return;
    u64 count = 0;
    for (u32 i = 0; i < n; i++) count += messages[i * results + at].count;
//@ for _, line in ipairs(given.begin("nullptr", "count", "output")) do
    @{line}
//@ end
    accumulator a = @{op.identity};
//@ if order == "fixed" then
    accumulator level[32];
    for (u32 i = 0; i < n; i++) {
        u32 k = 0;
        a = take(messages[i * results + at]);
        for (; i >> k & 1; k++) a = combine(level[k], a@{given.argument});
        level[k] = a;
    }
    a = @{op.identity};
    for (u32 k = 0; n >> k; k++)
        if (n >> k & 1) a = combine(level[k], a@{given.argument});
//@ else
    for (u32 i = 0; i < n; i++) a = combine(a, take(messages[i * results + at])@{given.argument});
//@ end
    @{given.write("output[at]", "a", "count")}
}

//@ include "lib/peers.cu"
}  // namespace joining
