//@ -- Any axes: where elements and results are. A second input, or a mask, has steps
//@ -- of its own.
//@ takes given
//@ local two, other = given.inputs > 1, given.masked and "unsigned char" or "element"
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
};

static_assert(sizeof(strides) == 80 + 2 * AXES * sizeof(axis), "");

// Where elements or results are, relative to others.
struct place {
    i64 x@{two and ", y" or ""}, result;
};

__device__ __forceinline__ void add_steps(place &p, const axis &a, u64 n)
{
    p.x += n * a.x;
//@ if two then
    p.y += n * a.y;
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
__device__ __forceinline__ place place_of(const axis (&axes)[AXES], u32 count, u64 n)
{
    place p = {};
    u32 i = 0;
    if (count > 1) {
        const u64 outer = divide(n, axes[0]);
        add_steps(p, axes[0], n);
        n = outer;
        i = 1;
#pragma unroll 1
        for (; i + 1 < count; i++) {
            const u64 further = divide(n, axes[i]);
            add_steps(p, axes[i], n);
            n = further;
        }
    }
    add_steps(p, axes[i], n);
    return p;
}

__device__ __forceinline__ place place_of_result(const strides &s, u64 k)
{
    return place_of(s.kept, s.kept_axes, k);
}

__device__ __forceinline__ place place_of_element(const strides &s, u64 e)
{
    return place_of(s.reduced, s.reduced_axes, e);
}

// Element 0 of each input of a result.
struct origin {
    const element *x;
//@ if two then
    const @{other} *y;
//@ end
};

__device__ __forceinline__ origin moved(origin o, const place &p)
{
    o.x += p.x;
//@ if two then
    o.y += p.y;
//@ end
    return o;
}

