// DLPack: the structures of version 1.3 of its specification, as far as they are used here. Array
// libraries give pointers to them.
#pragma once

#include <cstdint>

enum : int32_t { kDLCPU = 1, kDLCUDA = 2, kDLCUDAHost = 3, kDLCUDAManaged = 13 };

struct DLDevice {
    int32_t device_type;
    int32_t device_id;
};

enum : uint8_t {
    kDLInt = 0,
    kDLUInt = 1,
    kDLFloat = 2,
    kDLBfloat = 4,
    kDLComplex = 5,
    kDLBool = 6
};

struct DLDataType {
    uint8_t code;
    uint8_t bits;
    uint16_t lanes;
};

struct DLTensor {
    void *data;
    DLDevice device;
    int32_t ndim;
    DLDataType dtype;
    int64_t *shape;
    int64_t *strides; // in elements; NULL: packed, row-major
    uint64_t byte_offset;
};

// What a capsule named "dltensor" holds.
struct DLManagedTensor {
    DLTensor dl_tensor;
    void *manager_ctx;
    void (*deleter)(DLManagedTensor *self);
};

struct DLPackVersion {
    uint32_t major;
    uint32_t minor;
};

enum : uint64_t { DLPACK_FLAG_BITMASK_READ_ONLY = 1 };

// What a capsule named "dltensor_versioned" holds.
struct DLManagedTensorVersioned {
    DLPackVersion version;
    void *manager_ctx;
    void (*deleter)(DLManagedTensorVersioned *self);
    uint64_t flags;
    DLTensor dl_tensor;
};

struct DLPackExchangeAPIHeader {
    DLPackVersion version;
    DLPackExchangeAPIHeader *prev_api;
};

// What a type's __dlpack_c_exchange_api__ holds, a capsule named "dlpack_exchange_api". Functions
// return 0, or set a Python exception.
struct DLPackExchangeAPI {
    DLPackExchangeAPIHeader header;
    void *managed_tensor_allocator;
    void *managed_tensor_from_py_object_no_sync;
    void *managed_tensor_to_py_object_no_sync;
    // Lends a description that lives as long as the object; may be NULL.
    int (*dltensor_from_py_object_no_sync)(void *object, DLTensor *out);
    int (*current_work_stream)(int32_t device_type, int32_t device_id, void **out_stream);
};
