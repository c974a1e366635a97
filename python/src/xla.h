// XLA: the structures by which XLA calls a function of a program's own, as its C API of version 0.1
// and later has them, as far as they are used here. Members that follow are not declared.
#pragma once

#include <cstddef>
#include <cstdint>

struct XlaExtension {
    size_t struct_size;
    int32_t type;
    XlaExtension *next;
};

enum : int32_t { XLA_EXTENSION_METADATA = 1 };

struct XlaVersion {
    size_t struct_size;
    XlaExtension *extension;
    int32_t major_version;
    int32_t minor_version;
};

struct XlaMetadata {
    size_t struct_size;
    XlaVersion api_version;
    uint32_t traits;
};

// XLA asks for these once, by a call that has this extension and no arguments.
struct XlaMetadataExtension {
    XlaExtension base;
    XlaMetadata *metadata;
};

// xla::PrimitiveType, of redtune's dtypes.
struct XlaDtype {
    int32_t number;
    const char *name;
};

enum : int32_t { XLA_PRED = 1 };
constexpr XlaDtype XLA_DTYPES[] = {
    {XLA_PRED, "u8"}, {2, "i8"},   {3, "i16"},   {4, "i32"},   {5, "i64"},
    {6, "u8"},        {7, "u16"},  {8, "u32"},   {9, "u64"},   {10, "f16"},
    {11, "f32"},      {12, "f64"}, {16, "bf16"}, {19, "e5m2"}, {20, "e4m3"},
};

struct XlaBuffer {
    size_t struct_size;
    XlaExtension *extension;
    int32_t dtype;
    void *data;
    int64_t rank;
    int64_t *dims;
};

// Arguments or results, which are XlaBuffers here.
struct XlaBuffers {
    size_t struct_size;
    XlaExtension *extension;
    int64_t size;
    int32_t *types;
    void **items;
};

struct XlaScalar {
    int32_t dtype;
    void *value;
};

// Sorted by name.
struct XlaAttributes {
    size_t struct_size;
    XlaExtension *extension;
    int64_t size;
    int32_t *types;
    void **names;
    void **items; // XlaScalars here
};

struct XlaError;

struct XlaErrorCreate {
    size_t struct_size;
    XlaExtension *extension;
    const char *message;
    int32_t code;
};

enum : int32_t { XLA_INVALID_ARGUMENT = 3, XLA_INTERNAL = 13 };

struct XlaStreamGet {
    size_t struct_size;
    XlaExtension *extension;
    void *context;
    void *stream;
};

struct XlaDeviceGet {
    size_t struct_size;
    XlaExtension *extension;
    void *context;
    int32_t device;
};

struct XlaApi {
    size_t struct_size; // of what this XLA has
    XlaExtension *extension;
    XlaVersion version;
    void *internal;
    XlaError *(*create_error)(XlaErrorCreate *arguments);
    void *get_error_details;
    void *destroy_error;
    void *register_handler;
    XlaError *(*get_stream)(XlaStreamGet *arguments);
    void *unused[12];
    XlaError *(*get_device)(XlaDeviceGet *arguments);
};

struct XlaCall {
    size_t struct_size;
    XlaExtension *extension;
    const XlaApi *api;
    void *context;
    int32_t stage;
    XlaBuffers arguments;
    XlaBuffers results;
    XlaAttributes attributes;
};
