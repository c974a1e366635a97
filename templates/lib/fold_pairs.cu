//@ -- Combines the `many` values of an array, a power of two, neighbours first. `each` is what
//@ -- stands behind the index.
//@ takes given, array, each?, many
//@ local each, apart = each or "", 1
//@ while apart < many do
//@     for i = 0, many - 1, 2 * apart do
    @{array}[@{i}]@{each} = combine(@{array}[@{i}]@{each}, @{array}[@{i + apart}]@{each}@{given.argument});
//@     end
//@     apart = 2 * apart
//@ end
