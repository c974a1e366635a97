// Elements: a host array's, one after the other, in an order of its axes that the reader chooses.
#pragma once

#include "array.h"

// Goes through the elements of an array whose axes may have any strides: 0, negative ones, gaps.
class elements {
  public:
    // In that order of its axes, the last one fastest; axes that are not listed have size 1.
    // Strides are those of x, packed ones where it has none.
    elements(const array &x, const int *order, int axis_count);
    // As many as that from the first one on, as they lie in memory.
    elements(const array &x, uint64_t count);
    // Copies the next ones, as many as there are but at most `most`, to or from packed memory, and
    // says how many. Bools become 0 or 1.
    size_t read(char *packed, size_t most);
    size_t write(const char *packed, size_t most);

  private:
    template <typename Copy> size_t pass(size_t most, Copy copy);

    struct axis {
        int64_t size, step, index; // step in bytes
    };
    axis each[DIMENSIONS_MAX]; // outermost first; one that goes on where the next one ends has
                               // joined it
    int axes = 0;
    char *at;
    size_t left, bytes;
    bool boolean;
};
