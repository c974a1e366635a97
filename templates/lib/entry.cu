//@ -- The head of a kernel's entry. `extents`: the parameter that says where elements lie. `least`:
//@ -- blocks that are to be resident on a multiprocessor.
//@ takes given, result, block, entry?, extents, least?
extern "C" __global__ void __launch_bounds__(@{block}@{least and ", " .. least or ""})
@{entry or "redtune_reduce"}(const element *input, @{extents}, @{result.c} *output, void *scratch, u32 overlaps@{given.kernel})
