// Elements: a host array's, one after the other, in an order of its axes that the reader chooses.
#include "elements.h"

#include <algorithm>
#include <cstring>

elements::elements(const array &x, const int *order, int axis_count)
    : at(static_cast<char *>(x.data)), left(1), bytes(redtune_dtype_bytes(x.dtype)),
      boolean(x.boolean) {
    int64_t steps[DIMENSIONS_MAX], packed = static_cast<int64_t>(bytes);
    for (int i = x.dimensions; i-- > 0; packed *= x.shape[i])
        steps[i] = x.strides ? x.strides[i] * static_cast<int64_t>(bytes) : packed;
    for (int i = 0; i < axis_count; i++) {
        const int64_t size = x.shape[order[i]], step = steps[order[i]];
        left *= static_cast<size_t>(size);
        if (size == 1) continue;
        axis &outside = each[axes - (axes > 0)];
        if (axes && outside.step == size * step)
            outside = {outside.size * size, step, 0};
        else
            each[axes++] = {size, step, 0};
    }
    if (!axes) each[axes++] = {1, 0, 0};
}

elements::elements(const array &x, uint64_t count)
    : axes(1), at(static_cast<char *>(x.data)), left(count), bytes(redtune_dtype_bytes(x.dtype)),
      boolean(x.boolean) {
    each[0] = {static_cast<int64_t>(count), static_cast<int64_t>(bytes), 0};
}

// Calls copy(elements, how many, step) for stretches along the innermost axis.
template <typename Copy> size_t elements::pass(size_t most, Copy copy) {
    const size_t wanted = std::min(most, left);
    axis &inner = each[axes - 1];
    for (size_t done = 0; done < wanted;) {
        const auto stretch = std::min(wanted - done, static_cast<size_t>(inner.size - inner.index));
        copy(at, stretch, inner.step);
        done += stretch;
        inner.index += static_cast<int64_t>(stretch);
        at += static_cast<int64_t>(stretch) * inner.step;
        for (int i = axes - 1; i && each[i].index == each[i].size; i--) {
            at += each[i - 1].step - each[i].size * each[i].step;
            each[i].index = 0;
            each[i - 1].index++;
        }
    }
    left -= wanted;
    return wanted;
}

namespace {

template <size_t BYTES>
void copy_steps(char *to, int64_t to_step, const char *from, int64_t from_step, size_t count) {
    for (size_t i = 0; i < count; i++, to += to_step, from += from_step) memcpy(to, from, BYTES);
}

void copy(char *to, int64_t to_step, const char *from, int64_t from_step, size_t count,
          size_t bytes) {
    const auto packed = static_cast<int64_t>(bytes);
    if (to_step == packed && from_step == packed)
        memcpy(to, from, count * bytes);
    else if (bytes == 1)
        copy_steps<1>(to, to_step, from, from_step, count);
    else if (bytes == 2)
        copy_steps<2>(to, to_step, from, from_step, count);
    else if (bytes == 4)
        copy_steps<4>(to, to_step, from, from_step, count);
    else
        copy_steps<8>(to, to_step, from, from_step, count);
}

} // namespace

size_t elements::read(char *packed, size_t most) {
    char *to = packed;
    const size_t read = pass(most, [&](const char *from, size_t stretch, int64_t step) {
        copy(to, static_cast<int64_t>(bytes), from, step, stretch, bytes);
        to += stretch * bytes;
    });
    if (boolean) std::for_each(packed, to, [](char &each) { each = each != 0; });
    return read;
}

size_t elements::write(const char *packed, size_t most) {
    return pass(most, [&](char *to, size_t stretch, int64_t step) {
        copy(to, step, packed, static_cast<int64_t>(bytes), stretch, bytes);
        packed += stretch * bytes;
    });
}
