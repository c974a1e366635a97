// Array: where the elements of a Python array are, and how they lie.
#pragma once

#include "library.h"

// Valid as long as the object that it was read from, which the caller holds.
struct array {
    array_library *library = nullptr;
    void *data = nullptr;
    redtune_dtype dtype = REDTUNE_DTYPE_NONE;
    bool boolean = false; // one byte, 0 or 1, as u8
    bool on_host = false;
    bool read_only = false;
    int device = 0; // the CUDA device's number; of the host's: HOST_DEVICE
    int dimensions = 0;
    const int64_t *shape = nullptr;
    const int64_t *strides = nullptr; // in elements; NULL: packed, row-major
    uintptr_t stream = 0;             // that CUDA's array interface names; 0: none

    array() = default;
    array(const array &) = delete;
    array &operator=(const array &) = delete;
    ~array() {
        if (lender != NOBODY) give_back();
    }

    // purpose is what it is read for, such as "reduce x", for messages.
    void read(nb::handle object, const char *purpose);
    // Of an array that its library has just made for a result: where it lies, and no more.
    void read_new(array_library *its_library, nb::handle object);
    bool is_packed() const;
    // Where elements without gaps begin, whatever the order of their axes; NULL: they have gaps.
    const void *begin_of_dense() const;
    // Whether elements share memory, or lie between those of another index.
    bool may_overlap_itself() const;
    uint64_t count() const;
    // Gives it that shape, as NumPy's broadcast_to; false: it does not broadcast to it, and stays.
    bool broadcast_to(const array &other);

  private:
    void read_place(const DLTensor &tensor);
    void read_tensor(const DLTensor &tensor, const char *purpose);
    bool has_unsigned_strides() const;
    void sign_strides();
    void take_capsule(nb::handle object, nb::handle capsule, const char *purpose);
    void read_exchange(nb::handle object, const char *purpose);
    bool read_protocol(nb::handle object, const char *purpose); // false: it has none
    void read_capsule(nb::handle object, const char *purpose);
    bool read_extension(nb::handle object, const char *purpose); // false: no such array
    void read_buffer(nb::handle object, const char *purpose);
    void read_interface(nb::handle object, const nb::object &interface, const char *purpose);
    void put_extents(nb::handle shape, nb::handle strides, const char *purpose);
    void check_extents(nb::handle object, const char *purpose) const;
    void give_back();
    int sort_axes(int *order) const; // those of several indices, by stride; how many

    nb::object held;                     // the array that was made of a scalar, if any
    int64_t extents[2 * DIMENSIONS_MAX]; // of those that are not read as they come
    enum { NOBODY, BUFFER, CAPSULE, VERSIONED_CAPSULE } lender = NOBODY;
    union { // by lender: what is to be given back
        Py_buffer buffer;
        DLManagedTensor *managed;
        DLManagedTensorVersioned *versioned;
    };
};
