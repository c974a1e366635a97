/* Cub_offset: the type of the number of elements that CUB is called with. */
#pragma once

#include <cstdint>

/* Calls call(n). CUB is at its fastest with 32-bit offsets, so it gets them for as long as they
 * suffice. Of the sizes in use only those of 1-byte elements can be above that. */
template <class Element, class Call>
cudaError_t bench_cub_with_offset(std::uint64_t count, Call call) {
    if (count <= UINT32_MAX) return call(static_cast<std::uint32_t>(count));
    if constexpr (sizeof(Element) == 1)
        return call(count);
    else
        return cudaErrorNotSupported;
}
