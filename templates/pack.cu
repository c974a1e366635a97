//@ local warps, loads, axes = 4, 8, 8
//@ local units = { { 16, "uint4" }, { 8, "u64" }, { 4, "u32" }, { 2, "u16" }, { 1, "u8" } }
// Packing: copies arrays with gaps to where their elements lie side by side. An array comes in units, as
// wide as one load may be; a warp takes a piece of one: a run of @{32 * loads} units in their order, or, where units that
// share sectors follow another axis than the innermost one, a tile of both axes. Pieces are numbered
// through all arrays, so that warps deal with small and large ones alike.
typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef long long i64;
typedef unsigned long long u64;

constexpr u32 AXES = @{axes}, LOADS = @{loads}, PIECE = 32 * LOADS, WARPS = @{warps};
constexpr u32 TILE_BITS = 10, TILE = 1 << TILE_BITS;

// As model/launch.h has it: axes are listed from the innermost on. In units, but bytes is of one.
struct axis {
    u64 size, reciprocal;
    i64 step;
};

struct packed {
    u64 from, to, units;
    u32 bytes, axes, across, width;
    axis along[AXES];
};

static_assert(sizeof(packed) == 40 + AXES * sizeof(axis), "");

// n / a.size, whose remainder n becomes: the quotient by the reciprocal, (2^64 - 1) / size rounded down, is right or
// one less.
__device__ __forceinline__ u64 divide(u64 &n, const axis &a)
{
    u64 quotient = __umul64hi(n, a.reciprocal);
    n -= quotient * a.size;
    if (n < a.size) return quotient;
    n -= a.size;
    return quotient + 1;
}

// The same of 32 bits.
__device__ __forceinline__ u32 divide_short(u32 &n, u32 size, u32 reciprocal)
{
    u32 quotient = __umulhi(n, reciprocal);
    n -= quotient * size;
    if (n < size) return quotient;
    n -= size;
    return quotient + 1;
}

// Where the lane's units of a run are. The first unit's indices are found once, and the others' from how
// far they are from it.
__device__ __forceinline__ void find_places(const packed &a, u64 first, i64 (&place)[LOADS])
{
    u32 further[LOADS];  // along the axis, from the first unit's index
#pragma unroll
    for (u32 k = 0; k < LOADS; k++) {
        further[k] = threadIdx.x % 32 + 32 * k;
        place[k] = 0;
    }
#pragma unroll 1
    for (u32 i = 0; i < a.axes; i++) {
        const axis along = a.along[i];
        u64 index = first;
        first = divide(index, along);
        if (along.size >> 31) {
#pragma unroll
            for (u32 k = 0; k < LOADS; k++) {
                const bool over = index + further[k] >= along.size;
                place[k] += (i64)(index + further[k] - (over ? along.size : 0)) * along.step;
                further[k] = over;
            }
        } else {
#pragma unroll
            for (u32 k = 0; k < LOADS; k++) {
                u32 its = (u32)index + further[k];
                further[k] = divide_short(its, along.size, along.reciprocal >> 32);
                place[k] += its * along.step;
            }
        }
    }
}

// Loads of AT_ONCE units are in flight together.
template <typename unit, u32 AT_ONCE>
__device__ __forceinline__ void copy(const packed &a, const i64 (&place)[LOADS], u64 first)
{
    const u64 left = a.units - first;
    const u32 count = left < PIECE ? left : PIECE, lane = threadIdx.x % 32;
    const unit *from = (const unit *)a.from;
    unit *to = (unit *)a.to + first + lane, held[AT_ONCE];
#pragma unroll
    for (u32 some = 0; some < LOADS; some += AT_ONCE) {
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++)
            if (lane + 32 * (some + k) < count) held[k] = from[place[some + k]];
#pragma unroll
        for (u32 k = 0; k < AT_ONCE; k++)
            if (lane + 32 * (some + k) < count) to[32 * (some + k)] = held[k];
    }
}

__device__ __forceinline__ void copy_run(const packed &a, u64 first)
{
    i64 place[LOADS];
    find_places(a, first, place);
    switch (a.bytes) {
//@ for _, unit in ipairs(units) do
    case @{unit[1]}: copy<@{unit[2]}, @{unit[1] == 16 and loads // 2 or loads}>(a, place, first); break;
//@ end
    }
}

// Where a tile is, and how much of it there is.
struct tile {
    i64 from;
    u64 to, behind;  // from one unit along `across` to the next
    u32 inner, across;
};

__device__ __forceinline__ tile tile_of(const packed &a, u64 piece)
{
    const u32 height_bits = TILE_BITS - a.width;
    tile t = {};
    u64 behind = 1;
#pragma unroll 1
    for (u32 i = 0; i < a.axes; i++) {
        const axis along = a.along[i];
        const u32 bits = i == 0 ? height_bits : i == a.across ? a.width : 0;
        const u64 tiles = (along.size - 1 >> bits) + 1, next = piece / tiles;
        const u64 first = piece - next * tiles << bits, left = along.size - first;
        const u32 there = left < 1 << bits ? left : 1 << bits;
        piece = next;
        t.from += (i64)first * along.step;
        t.to += first * behind;
        if (i == 0) t.inner = there;
        if (i == a.across) {
            t.across = there;
            t.behind = behind;
        }
        behind *= along.size;
    }
    return t;
}

// Loads follow `across`, stores the innermost axis. Places in between are one further every 32, so that
// neither meets in a bank.
template <typename unit>
__device__ __forceinline__ void copy_tile(const packed &a, const tile &t, unit *held)
{
    const unit *from = (const unit *)a.from + t.from;
    unit *to = (unit *)a.to + t.to;
    const i64 inner_step = a.along[0].step, step = a.along[a.across].step;
    const u32 height_bits = TILE_BITS - a.width;
#pragma unroll 4
    for (u32 at = threadIdx.x % 32; at < TILE; at += 32) {
        const u32 i = at & (1 << a.width) - 1, j = at >> a.width;
        if (i < t.across && j < t.inner) held[at + at / 32] = from[i * step + j * inner_step];
    }
    __syncwarp();
#pragma unroll 4
    for (u32 at = threadIdx.x % 32; at < TILE; at += 32) {
        const u32 i = at >> height_bits, j = at & (1 << height_bits) - 1, there = i | j << a.width;
        if (i < t.across && j < t.inner) to[i * t.behind + j] = held[there + there / 32];
    }
}

__device__ __forceinline__ void copy_piece(const packed &a, u64 piece)
{
    __shared__ u64 rooms[WARPS][TILE + TILE / 32];
    if (!a.across) {
        copy_run(a, piece * PIECE);
        return;
    }
    const tile t = tile_of(a, piece);
    void *room = rooms[threadIdx.x / 32];
    switch (a.bytes) {
//@ for _, unit in ipairs(units) do
//@     if unit[1] <= 8 then
    case @{unit[1]}: copy_tile(a, t, (@{unit[2]} *)room); break;
//@     end
//@ end
    }
}

__device__ __forceinline__ u64 piece_of_warp()
{
    return (u64)blockIdx.x * WARPS + threadIdx.x / 32;
}

// `count` arrays, of which array i has the pieces from firsts[i] on; firsts[count] is how many there are.
extern "C" __global__ void __launch_bounds__(32 * WARPS, 6)
redtune_pack(const u64 *firsts, const packed *arrays, u64 count)
{
    const u64 piece = piece_of_warp();
    u64 low = 0, high = count;
    if (piece >= firsts[count]) return;
    while (high - low > 1) {
        const u64 middle = (low + high) / 2;
        if (firsts[middle] > piece) high = middle;
        else low = middle;
    }
    copy_piece(arrays[low], piece - firsts[low]);
}

// Of one array.
extern "C" __global__ void __launch_bounds__(32 * WARPS, 6)
redtune_pack_one(packed array, u64 pieces)
{
    if (piece_of_warp() < pieces) copy_piece(array, piece_of_warp());
}
