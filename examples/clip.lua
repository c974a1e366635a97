-- The global norm of gradients, and the factor that they must be scaled by so that it is at most
-- `most`: 1 where it is not above.
return {
    name = "clip",
    formula = "norm = sqrt(x[0]^2 + ... + x[n-1]^2), factor = min(1, most / norm)",
    dtypes = { "f16", "bf16", "f32" },
    accumulator = "f32",
    identity = "0",
    map = "x * x",
    combine = "a + b",
    parameters = { { name = "most", usual = 1 } },
    finish = { factor = "(float)fmin(1.0, given.most / sqrt((double)a))", norm = "sqrtf(a)" },
    result = { factor = "f32", norm = "f32" },
    examples = { { x = { 3, 4 }, result = { factor = 0.2, norm = 5 } } },
}
