//@ -- Loads of elements with their keys, and of elements of rows with the key of each.
//@ takes op, given, loads, load, dtype, layout, vec, key_vec, key_layout, single_key, key_number, number, of_rows, columns
//@ local other = given.other_layout(vec)
//@ if of_rows then
// Of an element of a row: each column of a key has a cell.
struct place {
    u64 row, column;  // in the row, or of those that the block takes
};

//@     if columns == 0 then
__device__ __forceinline__ place place_of(u64 index, const elements &s)
{
    if ((index | s.width) >> 32) return place{index / s.width, index % s.width};
    return place{(u32)index / (u32)s.width, (u32)index % (u32)s.width};
}

//@     end
// The number of that cell in the table, where the key is below `keys`; else a greater one than there are.
__device__ __forceinline__ @{number} cell_of(target &to, @{number} key, u64 keys, const place &at, const elements &s)
{
//@     if columns > 0 then
    if (key < keys) return key * COLUMNS + cell_of_column((u32)at.column);
    to.skipped += to.column + at.column == 0;
//@     else
    if (key < keys) return key * (@{number})s.width + (@{number})at.column;
    to.skipped += at.column == 0;
//@     end
    return to.keys;
}

//@ end
//@ if vec > 1 and of_rows then
struct loaded {
    vector elements;
    @{number} key;
    place at;
};

__device__ __forceinline__ loaded load_keyed(const element *input, u64 index, @{columns > 0 and "u64 column, " or ""}const elements &s@{given.parameter})
{
    loaded v;
    @{single_key.word.c} word[1];
//@     if columns > 0 then
    v.at = place{index / ROW_LOADS, index % ROW_LOADS * VEC};
    index = v.at.row * s.width + column + v.at.column;
//@     else
    v.at = place_of(index, s);
//@     end
    v.elements = load_vector((u64)(input + index)@{given.argument});
    @{loads.statement(single_key, "plain", "word", "s.key + v.at.row")}
    v.key = @{key_number("word[0]", 0)};
    return v;
}

__device__ __forceinline__ void take_loaded(target &to, const loaded &v, u64 keys, const elements &s,
                                            bool there@{given.parameter})
{
    value x[VEC];
//@     if given.inputs > 1 then
    @{given.other_value} y[VEC];
//@     end
    @{number} key[VEC];
    const @{number} first = there ? cell_of(to, v.key, keys, v.at, s) : 0;
//@     for j = 0, vec - 1 do
    x[@{j}] = @{dtype.unpack("v.elements.word[" .. j // layout.per_word .. "]", j % layout.per_word)};
//@         if given.inputs > 1 then
    y[@{j}] = @{given.other.unpack("v.elements.other[" .. j // other.per_word .. "]", j % other.per_word)};
//@         end
    key[@{j}] = first + @{j}@{columns > 0 and " * ROW_LOADS" or ""};
//@     end
    take_elements(to, x@{given.inputs > 1 and ", y" or ""}, key, v.at.row, there@{given.argument});
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
//@     if given.inputs > 1 then
    @{given.other_value} y[VEC];
//@     end
    @{number} key[VEC];
//@     for j = 0, vec - 1 do
    x[@{j}] = @{dtype.unpack("v.elements.word[" .. j // layout.per_word .. "]", j % layout.per_word)};
//@         if given.inputs > 1 then
    y[@{j}] = @{given.other.unpack("v.elements.other[" .. j // other.per_word .. "]", j % other.per_word)};
//@         end
//@         local word = ("v.key%d[%d]"):format(j // key_vec, j % key_vec // key_layout.per_word)
    key[@{j}] = @{key_number(word, j % key_vec % key_layout.per_word)};
//@     end
    take_elements(to, x@{given.inputs > 1 and ", y" or ""}, key, index, there@{given.argument});
}

//@ end
