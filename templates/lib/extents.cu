//@ -- Where rows or columns lie.
// As model/launch.h has it. Of rows inner and step are 1.
struct extents {
    u64 count, outer, inner, outer_step, step;
};

static_assert(sizeof(extents) == 40, "");

