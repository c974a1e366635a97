//@ -- The table of chunks of the work, which stands in front of the slots.
constexpr u64 CHUNKS = 4096;
constexpr u64 TABLE_BYTES = 33024;
constexpr u32 PREFIX_BLOCK = 256;

constexpr u32 ALL = 0xffffffff;  // lanes of a warp
