//@ -- Rows in the order of their keys: threads side by side have a load of each row, and combine rows of a key by
//@ -- themselves before they add them to the table of all.
//@ takes op, given, acc, load, loads, dtype, layout, single, vec
constexpr u32 LANES_OF_ROW = COLUMNS / VEC, ROWS = 128;  // threads of a row's columns, and rows of these at a time

// Loads of a row's columns, from that one on: side by side where rows are aligned to them.
struct row_columns {
    u64 first;
    u32 apart;
    bool whole;  // one load
};

__device__ __forceinline__ void load_row(const element *row, const row_columns &at, u64 width,
                                         value (&x)[VEC]@{given.parameter})
{
    if (at.whole) {
        const vector v = load_vector((u64)(row + at.first)@{given.argument});
//@ for j = 0, vec - 1 do
        x[@{j}] = @{dtype.unpack("v.word[" .. j // layout.per_word .. "]", j % layout.per_word)};
//@ end
        return;
    }
#pragma unroll
    for (u32 j = 0; j < VEC; j++) {
        @{single.word.c} word[1] = {};
        const u64 column = at.first + j * at.apart;
        if (column < width) @{loads.statement(single, load, "word", "row + column")}
        x[j] = @{dtype.unpack("word[0]", 0)};
    }
}

__device__ __forceinline__ void add_columns(accumulator *cells, const row_columns &at, u64 width,
                                            const accumulator (&a)[VEC]@{given.parameter})
{
#pragma unroll
    for (u32 j = 0; j < VEC; j++) {
        const u64 column = at.first + j * at.apart;
        if (column < width && !is_neutral(a[j])) add_to<false>(cells + column, a[j]@{given.argument});
    }
}

__device__ __forceinline__ void take_sorted(target &to, const element *input, const elements &s, const reordering &r,
                                            u64 chunk, u64 slice@{given.parameter})
{
    const bool whole = s.width % VEC == 0 && (u64)input % LOAD_BYTES == 0;
    const u32 lane = threadIdx.x % LANES_OF_ROW;
    const row_columns at = {slice * COLUMNS + lane * (whole ? VEC : 1), whole ? 1 : LANES_OF_ROW, whole};
    const u64 end = min((chunk + 1) * ROWS, s.count);
    accumulator a[VEC];
    u32 now = to.keys;  // no key
    if (at.first >= s.width) return;
    for (u64 i = chunk * ROWS; i < end; i += UNROLL) {
        value x[UNROLL][VEC];
        u32 key[UNROLL], row[UNROLL];
#pragma unroll
        for (u32 n = 0; n < UNROLL; n++) {
            key[n] = i + n < end ? r.key[0][i + n] : to.keys;
            row[n] = i + n < end ? r.index[0][i + n] : 0;
        }
#pragma unroll
        for (u32 n = 0; n < UNROLL; n++)
            if (key[n] < to.keys) load_row(input + row[n] * s.width, at, s.width, x[n]@{given.argument});
#pragma unroll
        for (u32 n = 0; n < UNROLL; n++) {
            if (key[n] >= to.keys) {
                to.skipped += at.first == 0 && i + n < end;
                continue;
            }
            const bool same = key[n] == now;
            if (!same && now < to.keys) add_columns(to.cells + now * s.width, at, s.width, a@{given.argument});
            now = key[n];
#pragma unroll
            for (u32 j = 0; j < VEC; j++) {
                const accumulator before = @{op.identity};
                a[j] = combine(same ? a[j] : before, of_element(x[n][j], row[n]@{given.argument})@{given.argument});
            }
        }
    }
    if (now < to.keys) add_columns(to.cells + now * s.width, at, s.width, a@{given.argument});
}
