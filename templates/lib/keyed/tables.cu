//@ -- What becomes of the tables of a block in the end.
//@ takes op, given, acc, narrow, split, columns, looped, private, warps, shared
//@ if private then
// Leaves the block's table: a warp combines the columns of a key.
__device__ __forceinline__ void leave_table(accumulator *table, const accumulator *cells, u64 keys@{given.parameter})
{
    __syncthreads();
    for (u64 k = threadIdx.x / 32; k < keys; k += WARPS) {
        const accumulator *cell = cells + (u32)k * BLOCK + threadIdx.x % 32;
        accumulator a = @{acc.copy("(*cell)")};
#pragma unroll 1
        for (u32 i = 1; i < WARPS; i++) a = combine(a, @{acc.copy("cell[i * 32]")}@{given.argument});
//@ include("lib/fold_lanes.cu", { lanes = 32, looped = looped })
        if (threadIdx.x % 32 == 0) table[blockIdx.x * keys + k] = a;
    }
}

//@ elseif warps then
// Leaves the block's table: a thread combines the warps' cells of a key.
__device__ __forceinline__ void leave_table(accumulator *table, const accumulator *cells, u64 keys@{given.parameter})
{
    __syncthreads();
    for (u64 k = threadIdx.x; k < keys; k += BLOCK) {
        accumulator a = @{acc.copy("cells[k]")};
#pragma unroll 1
        for (u32 i = 1; i < WARPS; i++) a = combine(a, @{acc.copy("cells[i * keys + k]")}@{given.argument});
        table[blockIdx.x * keys + k] = a;
    }
}

//@ elseif shared then
// Adds the block's cells to the table of all.
__device__ __forceinline__ void add_tables(accumulator *table, const target &to@{given.parameter})
{
    __syncthreads();
    for (u32 k = threadIdx.x; k < to.keys; k += BLOCK) {
        accumulator a = @{op.identity};
//@     if narrow then
        const u32 *cell = to.front + k * COPIES;
        const u32 APART = COPIES * to.keys;
//@         for _, part in ipairs(narrow.parts) do
//@             local at = ("cell[%d * APART + (i + k) %% COPIES]"):format(part.word)
//@             local high = ("cell[%d * APART + (i + k) %% COPIES]"):format(part.word + 1)
#pragma unroll
//@             if part.kind == "float" then
        for (u32 i = 0; i < COPIES; i++)
//@                 if split then
            a@{part.path} += (double)(int)(@{at} - MIDDLE) * unit_of(to.scale@{part.back});
//@                 else
            a@{part.path} += (double)(i64)(((u64)@{high} << 32 | @{at}) - MIDDLE) * unit_of(to.scale@{part.back});
//@                 end
//@             elseif part.kind == "count" then
        for (u32 i = 0; i < COPIES; i++) a@{part.path} += @{at};
//@             else
        for (u32 i = 0; i < COPIES; i++) a@{part.path} += (u64)@{high} << 32 | @{at};
//@             end
//@         end
//@     else
        // Lanes begin at different copies, so that they read different banks.
#pragma unroll
        for (u32 i = 0; i < COPIES; i++) {
            const u32 at = k * COPIES + (i + k) % COPIES;
            a = combine(a, @{acc.copy("to.cells[at]")}@{given.argument});
        }
//@     end
//@     if columns > 0 then
        const u64 column = column_of_cell(to, k);
        if (column < to.width && !is_neutral(a)) add_to<false>(table + k / COLUMNS * to.width + column, a@{given.argument});
//@     else
        if (!is_neutral(a)) add_to<false>(table + k, a@{given.argument});
//@     end
    }
}

//@ end
