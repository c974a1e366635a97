//@ -- Where a thread's share of the tiles of columns begins, and how far the next tile is.
//@ takes shared
//@ if shared then
    const u64 first = mine.split * TILE + along(), next = mine.splits * TILE;
//@ else
    constexpr u64 next = TILE;
    const u64 first = along();
//@ end
