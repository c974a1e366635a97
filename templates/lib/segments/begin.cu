//@ -- The stretch of a warp: where it begins and ends.
// What a warp goes over: the work [from, to), in the segments [first, last].
struct stretch {
    u64 from, to, first, last, before;
};

// The stretch of this warp. Whether the offsets are seen to decrease: then there is none.
__device__ __forceinline__ bool begin_stretch(stretch &mine, const segments &s, const deal &d,
                                              void *scratch)
{
    const u64 number = (u64)blockIdx.x * WARPS + threadIdx.x / 32;
    mine.from = number * d.stretch;
    mine.to = mine.from + d.stretch < d.total ? mine.from + d.stretch : d.total;
    if (mine.from >= d.total || d.backwards) {
        mine.first = 1;
        mine.last = 0;
        return d.backwards;
    }
    // Half of the warp looks for one end, half for the other.
    const place found = find(s, d, scratch, threadIdx.x % 32 < 16 ? mine.from : mine.to);
    mine.first = __shfl_sync(ALL, found.segment, 0);
    mine.last = __shfl_sync(ALL, found.segment, 16);
    mine.before = __shfl_sync(ALL, found.before, 0);
    if (!are_doubtful(s)) return false;
    const bool is_right = mine.first <= mine.last && mine.before <= mine.from &&
                          mine.from < work_before(s, d, mine.first + 1) &&
                          (mine.from > 0 || mine.first == 0) &&
                          (mine.to < d.total || mine.last == s.count - 1);
    if (!is_right) mine.first = mine.last + 1;
    return !is_right;
}

