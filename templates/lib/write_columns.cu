//@ -- The results of a thread that has whole columns.
//@ takes op, given, result, second, vec, resumes
//@ local widest = math.max(result.bytes, second and second.bytes or 0)
//@ local store = math.max(1, math.min(vec, 16 // widest))
//@ include "lib/stored.cu"

// Writes this thread's results: neighbours together, where that is aligned.
template <bool WHOLE>
__device__ __forceinline__ void write_columns(@{result.c} *output, const accumulator (&a)[VEC],
                                              u64 count, u32 columns@{given.parameter})
{
//@ local aligned = "(u64)output % sizeof(stored) == 0"
//@ if second then
    @{second.c} *other = second_result(output, given);
//@     aligned = aligned .. " && (u64)other % sizeof(other_stored) == 0"
//@ end
//@ if resumes then aligned = "!given.goes_on && " .. aligned end
    if (WHOLE && @{aligned}) {
        if (column_of<WHOLE>(0) >= columns) return;
#pragma unroll
        for (u32 j = 0; j < VEC; j += @{store}) {
            stored s;
//@ local first_value, other_value = op.finalize("a[j + i]", "count")
#pragma unroll
            for (u32 i = 0; i < @{store}; i++) s.value[i] = @{first_value};
            *(stored *)(output + column_of<WHOLE>(j)) = s;
//@ if second then
            other_stored t;
#pragma unroll
            for (u32 i = 0; i < @{store}; i++) t.value[i] = @{other_value};
            *(other_stored *)(other + column_of<WHOLE>(j)) = t;
//@ end
        }
    } else {
#pragma unroll
        for (u32 j = 0; j < VEC; j++) {
            const u32 column = column_of<WHOLE>(j);
            if (column < columns) @{given.write("output[column]", "a[j]", "count")}
        }
    }
}

