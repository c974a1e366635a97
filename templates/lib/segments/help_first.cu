//@ -- Within reduce_all(): the blocks in front help with giants, in the shared memory `mem`.
//@ takes given, mem
    if (blockIdx.x < duties_of(s.count).helpers) {
        help(@{mem}, input, s, scratch, output@{given.argument});
        return;
    }
