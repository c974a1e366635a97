//@ -- What must hold of a kernel's constants: the conditions `that`, and of the accumulator's bytes
//@ -- what `accumulator` says.
//@ takes dtype, accumulator?, that
static_assert(sizeof(element) == @{dtype.bytes}@{accumulator and " && sizeof(accumulator) " .. accumulator or ""}, "");
//@ for _, condition in ipairs(that) do
static_assert(@{condition}, "");
//@ end
