-- The steps of the ladder, in order: each name with what it changes and why that pays. docs/ladder.md
-- tells the story and cites where each step comes from. A variant stands beside the step before it:
-- the next step goes on from that one.
return {
    { name = "global", text =
        "Neighbours are added, then neighbours of neighbours, in place in global memory: the " ..
        "textbook's tree as one first writes it. It overwrites what it adds, so it needs a copy of " ..
        "the input, and every round reads and writes memory that all blocks share." },
    { name = "modulo", text =
        "The same tree in shared memory, which lies beside the block's own threads. The threads that " ..
        "add lie scattered: every warp takes part in most rounds, with ever fewer of its lanes." },
    { name = "strided", text =
        "The same additions by the first threads: whole warps run full or not at all, and % is " ..
        "gone. But the addresses lie 2s apart, so lanes queue for the same bank of shared memory." },
    { name = "sequential", text =
        "Each thread adds what lies half the array further on: lanes use neighbouring words, " ..
        "so that a warp takes no more passes over the banks than its bytes need." },
    { name = "neighbours", variant = true, text =
        "The same threads add a[2i] and a[2i+1]: lanes meet in the banks again, and there is a " ..
        "second barrier, for sums are written where others still read. It does not pay." },
    { name = "first_add", text =
        "Each thread adds two elements on loading them: half as many blocks, and no thread whose " ..
        "only work is to bring one element." },
    { name = "adjacent", variant = true, text =
        "Each thread adds two elements that lie side by side: a warp's loads are no longer " ..
        "neighbouring words, so that each of the two fetches every sector that both need." },
    { name = "last_warp", text =
        "When one warp is left its lanes wait for each other alone, with __syncwarp: the last " ..
        "rounds need no barrier of the whole block." },
    { name = "unrolled", text =
        "The block's size is known when the kernel is made, so the loop is written out: no " ..
        "counter, no test, no branch back." },
    { name = "grid_stride", text =
        "As many blocks as run at once, each of whose threads adds up many elements before the " ..
        "tree: its cost is paid per block, not per two elements of a thread, and loads overlap." },
    { name = "shuffle", text =
        "The lanes of a warp hand each other their registers: one barrier, and shared memory for " ..
        "one sum per warp only." },
    { name = "vector", text =
        "16 bytes per load: a quarter of the loads for elements of 4 bytes, half of them for those of " ..
        "8, and more bytes on the way at any time." },
    { name = "one_launch", text =
        "The block that draws the last ticket adds up the blocks' sums: no second launch." },
    { name = "poll", text =
        "A block hands its sum over in words that hold 4 bytes of it and a flag, each in one store, " ..
        "and the first block waits for the words: no fence, no atomic operation." },
}
