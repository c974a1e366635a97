//@ -- Combines the `many` values of an array, a power of two, the upper half into the lower.
//@ takes given, array, many
//@ local half = many // 2
//@ while half > 0 do
//@     for i = 0, half - 1 do
    @{array}[@{i}] = combine(@{array}[@{i}], @{array}[@{i + half}]@{given.argument});
//@     end
//@     half = half // 2
//@ end
