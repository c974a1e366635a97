//@ -- Elements of any axes that lie APART numbers from each other: a thread finds the first one's place, and steps from
//@ -- there. lib/strides.cu has the axes.
//@ takes given
//@ local two, pairs = given.inputs > 1, given.pairs
// What a step is: along the innermost axis, and what it adds where that ends and goes on in the one around it, and
// likewise where that one ends. Of one axis it never ends. ends_after: places of the third, behind which a place is
// found anew; the greatest number: never.
struct step {
    u32 size, within, around_size, around, beyond, ends_after;
    i64 x, x_at_end, x_at_second_end@{two and ", y, y_at_end, y_at_second_end" or ""}@{pairs and ", mask, mask_at_end, mask_at_second_end" or ""};
};

constexpr u32 NEVER = 0xffffffff;

__device__ __forceinline__ step step_of(const strides &s, u64 apart)
{
    const axis &inner = s.reduced[0], &outer = s.reduced[1], &third = s.reduced[2];
    step by = {NEVER, 0, NEVER, 0, 0, NEVER, (i64)apart * inner.x, 0, 0@{two and ", (i64)apart * inner.y, 0, 0" or ""}@{pairs and ", (i64)apart * s.reduced_mask[0], 0, 0" or ""}};
    if (s.reduced_axes == 1) return by;
    u64 within = apart;
    u64 around = divide(within, inner), beyond = 0;
    by.x_at_end = outer.x - (i64)inner.size * inner.x;
//@ if two then
    by.y_at_end = outer.y - (i64)inner.size * inner.y;
//@ end
//@ if pairs then
    by.mask_at_end = s.reduced_mask[1] - (i64)inner.size * s.reduced_mask[0];
//@ end
    by.size = (u32)inner.size;
    by.within = (u32)within;
    if (s.reduced_axes > 2) {
        beyond = divide(around, outer);
        by.around_size = (u32)outer.size;
        by.around = (u32)around;
        by.beyond = (u32)beyond;
        by.x_at_second_end = third.x - (i64)outer.size * outer.x;
//@ if two then
        by.y_at_second_end = third.y - (i64)outer.size * outer.y;
//@ end
//@ if pairs then
        by.mask_at_second_end = s.reduced_mask[2] - (i64)outer.size * s.reduced_mask[1];
//@ end
    }
    // Numbers of 32 bits only; else each place is found anew.
    if (inner.size >> 31 || (s.reduced_axes > 2 && outer.size >> 31)) by.ends_after = 0;
    else if (s.reduced_axes > 3) by.ends_after = third.size >> 31 ? 0 : (u32)third.size;
    by.x = (i64)beyond * third.x + (i64)around * outer.x + (i64)within * inner.x;
//@ if two then
    by.y = (i64)beyond * third.y + (i64)around * outer.y + (i64)within * inner.y;
//@ end
//@ if pairs then
    by.mask = (i64)beyond * s.reduced_mask[2] + (i64)around * s.reduced_mask[1] + (i64)within * s.reduced_mask[0];
//@ end
    return by;
}

// Where a thread is: the element, and its places along the three innermost axes.
struct walk {
    origin at;
    u32 within, around, beyond;
};

__device__ __forceinline__ walk walk_from(const origin &first, const strides &s, u64 n)
{
    walk w = {moved(first, place_of_element(s, n)), 0, 0, 0};
    if (s.reduced_axes > 1) {
        u64 outer = divide(n, s.reduced[0]);
        w.within = (u32)n;
        if (s.reduced_axes > 2) {
            u64 third = divide(outer, s.reduced[1]);
            w.around = (u32)outer;
            if (s.reduced_axes > 3) {
                divide(third, s.reduced[2]);
                w.beyond = (u32)third;
            }
        }
    }
    return w;
}

// What a step minds: the end of the innermost axis, that of the one around it, too, or that of the third as well, where
// places are found anew.
constexpr int ONE_END = 1, TWO_ENDS = 2, ALL_ENDS = 3;

// Steps to the element of number n.
template <int ENDS>
__device__ __forceinline__ void go_on(walk &w, const step &by, const origin &first, const strides &s, u64 n)
{
    w.at.x += by.x;
//@ if two then
    w.at.y += by.y;
//@ end
//@ if pairs then
    w.at.mask += by.mask;
//@ end
    w.within += by.within;
    if (ENDS > ONE_END) w.around += by.around;
    if (ENDS > TWO_ENDS) w.beyond += by.beyond;
    if (w.within >= by.size) {
        w.within -= by.size;
        if (ENDS > ONE_END) w.around++;
        w.at.x += by.x_at_end;
//@ if two then
        w.at.y += by.y_at_end;
//@ end
//@ if pairs then
        w.at.mask += by.mask_at_end;
//@ end
    }
    if (ENDS > ONE_END && w.around >= by.around_size) {
        w.around -= by.around_size;
        if (ENDS > TWO_ENDS) w.beyond++;
        w.at.x += by.x_at_second_end;
//@ if two then
        w.at.y += by.y_at_second_end;
//@ end
//@ if pairs then
        w.at.mask += by.mask_at_second_end;
//@ end
    }
    if (ENDS > TWO_ENDS && w.beyond >= by.ends_after) w = walk_from(first, s, n);
}

