//@ -- Any axes: where elements and results are. A second input, or a mask, has steps
//@ -- of its own.
//@ takes given
//@ local two, other = given.inputs > 1, given.masked and "unsigned char" or "element"
//@ local function mask_of(i) return given.pairs and ", mask[" .. i .. "]" or "" end
constexpr u32 AXES = 8;

// As model/launch.h has it: axes are listed from the innermost on.
struct axis {
    u64 size, reciprocal;
    i64 x, y, result;  // steps
};

struct strides {
    u64 count, results;
    i64 x, y, result;  // where the first elements are
    i64 reach_first;
    u64 reach;
    u32 reduced_vec, kept_vec, reduced_axes, kept_axes;
    u64 spans_apart;
    axis reduced[AXES], kept[AXES];
//@ if given.pairs then
    i64 mask, reduced_mask[AXES], kept_mask[AXES];  // where the mask's first one is, and its steps
//@ end
};

static_assert(sizeof(strides) == 80 + 2 * AXES * sizeof(axis)@{given.pairs and " + (1 + 2 * AXES) * sizeof(i64)" or ""}, "");

// Where elements or results are, relative to others.
struct place {
    i64 x@{two and ", y" or ""}@{given.pairs and ", mask" or ""}, result;
};

__device__ __forceinline__ void add_steps(place &p, const axis &a, u64 n@{given.pairs and ", i64 mask" or ""})
{
    p.x += n * a.x;
//@ if two then
    p.y += n * a.y;
//@ end
//@ if given.pairs then
    p.mask += n * mask;
//@ end
    p.result += n * a.result;
}

// Called, since it is much code.
__device__ __noinline__ u64 divide_wide(u64 n, u64 by) { return n / by; }

// n / a.size, whose remainder n becomes.
__device__ __forceinline__ u64 divide(u64 &n, const axis &a)
{
    u64 quotient;
    if (n >> 32 == 0) {
        const u64 low = n * (u32)a.reciprocal >> 32;
        quotient = n * (u32)(a.reciprocal >> 32) + low >> 32;
    } else {
        quotient = divide_wide(n, a.size);
    }
    n -= quotient * a.size;
    return quotient;
}

// The place of the element or result of number n. The two innermost axes are those of most arrays.
__device__ __forceinline__ place place_of(const axis (&axes)[AXES], u32 count, u64 n@{given.pairs and ", const i64 (&mask)[AXES]" or ""})
{
    place p = {};
    u32 i = 0;
    if (count > 1) {
        const u64 outer = divide(n, axes[0]);
        add_steps(p, axes[0], n@{mask_of("0")});
        n = outer;
        i = 1;
#pragma unroll 1
        for (; i + 1 < count; i++) {
            const u64 further = divide(n, axes[i]);
            add_steps(p, axes[i], n@{mask_of("i")});
            n = further;
        }
    }
    add_steps(p, axes[i], n@{mask_of("i")});
    return p;
}

__device__ __forceinline__ place place_of_result(const strides &s, u64 k)
{
    return place_of(s.kept, s.kept_axes, k@{given.pairs and ", s.kept_mask" or ""});
}

__device__ __forceinline__ place place_of_element(const strides &s, u64 e)
{
    return place_of(s.reduced, s.reduced_axes, e@{given.pairs and ", s.reduced_mask" or ""});
}

// Element 0 of each input of a result.
struct origin {
    const element *x;
//@ if two then
    const @{other} *y;
//@ end
//@ if given.pairs then
    u64 mask;
//@ end
};

//@ if given.pairs then
__device__ __forceinline__ beside load_beside(const origin &from)
{
    beside found[1];
    @{given.load_other(1, "plain", "found", "from.y", "from.mask")}
    return found[0];
}

//@ end

__device__ __forceinline__ origin moved(origin o, const place &p)
{
    o.x += p.x;
//@ if two then
    o.y += p.y;
//@ end
//@ if given.pairs then
    o.mask += p.mask;
//@ end
    return o;
}

