//@ -- Constants of many kernels. Of each of the `names`, which may give its value by =, there is a
//@ -- line.
//@ takes dtype, vec, parts?, lanes?, names, rows?, strips?, unroll?, width?
//@ local all = { -- the value, what it is, and the type where that is not u32
//@     WARPS = { "BLOCK / 32" },
//@     GROUP = { lanes, "threads of a group, which take a result" },
//@     GROUPS = { "BLOCK / GROUP" },
//@     WIDTH = { width, "threads side by side, over neighbouring columns" },
//@     DEPTH = { "BLOCK / WIDTH", "threads along the reduced axis" },
//@     VEC = { vec, "elements per load" },
//@     STRIP = { "WIDTH * VEC", "results whose elements the loads of a block side by side bring" },
//@     STRIPS = { strips, "strips at once" },
//@     SET = { "STRIPS * STRIP", "results that a block takes at a time" },
//@     ROWS = { rows, "results that a thread, a group or a block takes at once or one after the other" },
//@     LOADS = { 8, "loads of a thread in a chunk" },
//@     UNROLL = { unroll, "independent loads in flight per thread" },
//@     STEPS = { "LOADS / UNROLL" },
//@     LANES = { parts, "accumulators per thread" },
//@     BITS = { nil, "2^BITS loads or vectors of a chunk are a thread's" },
//@     LEVELS = { 48, "of the tree above chunks" },
//@     LOAD_BYTES = { "VEC * " .. dtype.bytes, "", "u64" },
//@     CHUNK_BYTES = { "32 * LOADS * LOAD_BYTES", "of the fixed order", "u64" },
//@     CHUNK = { "CHUNK_BYTES / sizeof(element)", "elements", "u64" },
//@     NODE_BYTES = { nil, "at least", "u64" },
//@     AHEAD_BYTES = { nil, "larger inputs are not prefetched", "u64" },
//@     SHARED = { "ROWS * STRIP > BLOCK ? ROWS * STRIP : BLOCK", "values of a block in shared memory" },
//@     COST = { nil, "elements that a segment counts for", "u64" },
//@     LEAST = { 2048 // dtype.bytes, "work of a stretch", "u64" },
//@     ALL = { "0xffffffff", "lanes of a warp" },
//@ }
//@ for part in names:gmatch("[^,]+") do
//@     local name, value = part:match("([%u_]+)(.*)")
//@     local usual, comment, c = table.unpack(all[name])
constexpr @{c or "u32"} @{name} = @{value:match("= *(.*)") or usual};@{(comment or "") ~= "" and "  // " .. comment or ""}
//@ end
