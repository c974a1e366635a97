//@ -- Loads of elements with their keys, and of elements of rows with the key of each.
//@ takes op, given, loads, load, dtype, layout, vec, key_vec, key_layout, single_key, key_number, of_rows
//@ if of_rows then
// Of an element of a row: each column of a key has a cell.
struct place {
    u64 row, column;
};

__device__ __forceinline__ place place_of(u64 index, const elements &s)
{
    if ((index | s.width) >> 32) return place{index / s.width, index % s.width};
    return place{(u32)index / (u32)s.width, (u32)index % (u32)s.width};
}

// The number of that cell, where the key is below `keys`; else a greater one than there are.
__device__ __forceinline__ u64 cell_of(target &to, u64 key, u64 keys, const place &at, const elements &s)
{
    if (key < keys) return key * s.width + at.column;
    to.skipped += at.column == 0;
    return ~0ull - VEC;
}

//@ end
//@ if vec > 1 and of_rows then
struct loaded {
    vector elements;
    u64 key;
    place at;
};

__device__ __forceinline__ loaded load_keyed(const element *input, u64 index, const elements &s@{given.parameter})
{
    loaded v;
    @{single_key.word.c} word[1];
    v.at = place_of(index, s);
    v.elements = load_vector((u64)(input + index)@{given.argument});
    @{loads.statement(single_key, "plain", "word", "s.key + v.at.row")}
    v.key = @{key_number("word[0]", 0)};
    return v;
}

__device__ __forceinline__ void take_loaded(target &to, const loaded &v, u64 keys, const elements &s,
                                            bool there@{given.parameter})
{
    value x[VEC];
    u64 key[VEC];
    const u64 first = there ? cell_of(to, v.key, keys, v.at, s) : 0;
//@     for j = 0, vec - 1 do
    x[@{j}] = @{dtype.unpack("v.elements.word[" .. j // layout.per_word .. "]", j % layout.per_word)};
    key[@{j}] = first + @{j};
//@     end
    take_elements(to, x, key, v.at.row, there@{given.argument});
}

//@ elseif vec > 1 then
// A load of elements, and their keys.
struct loaded {
    vector elements;
//@     for i = 0, vec // key_vec - 1 do
    @{key_layout.word.c} key@{i}[@{key_layout.words}];
//@     end
};

__device__ __forceinline__ loaded load_keyed(const element *x_at, const key_element *key_at@{given.parameter})
{
    loaded v;
    v.elements = load_vector((u64)x_at@{given.argument});
//@     for i = 0, vec // key_vec - 1 do
    @{loads.statement(key_layout, load, "v.key" .. i, ("key_at + %d"):format(i * key_vec))}
//@     end
    return v;
}

__device__ __forceinline__ void take_loaded(target &to, const loaded &v, u64 index, bool there@{given.parameter})
{
    value x[VEC];
    u64 key[VEC];
//@     for j = 0, vec - 1 do
    x[@{j}] = @{dtype.unpack("v.elements.word[" .. j // layout.per_word .. "]", j % layout.per_word)};
//@         local word = ("v.key%d[%d]"):format(j // key_vec, j % key_vec // key_layout.per_word)
    key[@{j}] = @{key_number(word, j % key_vec % key_layout.per_word)};
//@     end
    take_elements(to, x, key, index, there@{given.argument});
}

//@ end
