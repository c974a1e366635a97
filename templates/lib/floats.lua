-- Floats: the names of the dtypes that are floats, for ops that only they have.
return { "f16", "bf16", "f32", "f64", "e4m3", "e5m2" }
