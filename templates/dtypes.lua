-- The dtypes. An entry says how an element is stored, loaded and accumulated:
--   c            the CUDA type
--   bytes        of one element
--   accumulator  the dtype in which it is combined; also the usual result
--   ptx          the type of a load instruction
--   constraint   the letter of an inline-assembly register operand
--   zero, one    literals
return {
    i32 = {
        name = "i32", c = "int", bytes = 4, accumulator = "i64",
        ptx = "s32", constraint = "r", zero = "0", one = "1",
    },
    i64 = {
        name = "i64", c = "long long", bytes = 8, accumulator = "i64",
        ptx = "s64", constraint = "l", zero = "0ll", one = "1ll",
    },
    f32 = {
        name = "f32", c = "float", bytes = 4, accumulator = "f32",
        ptx = "f32", constraint = "f", zero = "0.0f", one = "1.0f",
    },
    f64 = {
        name = "f64", c = "double", bytes = 8, accumulator = "f64",
        ptx = "f64", constraint = "d", zero = "0.0", one = "1.0",
    },
}
