#!/usr/bin/env python3
"""Times the first call of reductions in this process, in ms, until the result is there: with PyTorch's tensors on GPU
0, or with NumPy's arrays on the simulated GPU.

The folder of XDG_CACHE_HOME decides what they find: an empty one, and CUDA_CACHE_DISABLE=1, that kernels are compiled
anew; one that such a process has filled, what a later process takes.

usage: bench/first_calls.py NAME [--sim] [--csv PATH]      NAME: of the column, such as first or later
"""
import argparse
import time

BEGUN = time.perf_counter()

import redtune  # noqa: E402: how long that takes is measured

IMPORTED_MS = 1e3 * (time.perf_counter() - BEGUN)


def make_torch():
    """Functions: an array of that shape and dtype, integers below a bound, 0, 1000, ... n, and waiting for the GPU."""
    import torch

    torch.zeros(1, device="cuda").sum().item()  # its context, and the loading of its libraries

    def rand(*shape, dtype="float32"):
        return torch.rand(*shape, device="cuda").to(getattr(torch, dtype))

    def below(bound, count, dtype="int32"):
        return torch.randint(bound, (count,), device="cuda", dtype=getattr(torch, dtype))

    return rand, below, lambda n: torch.arange(0, n + 1, 1000, device="cuda"), torch.cuda.synchronize


def make_numpy():
    import numpy

    redtune.configure(device="sim")
    generator = numpy.random.default_rng(1)

    def rand(*shape, dtype="float32"):
        return generator.random(shape).astype("float32" if dtype == "bfloat16" else dtype)

    def below(bound, count, dtype="int32"):
        return generator.integers(bound, size=count).astype(dtype)

    return rand, below, lambda n: numpy.arange(0, n + 1, 1000), lambda: None


def cases(rand, below, offsets_of):
    """{name: call}, in the order of the page's table."""
    x, half, brain = rand(1000, 1000), rand(1000, 1000, dtype="float16"), rand(1000, 1000, dtype="bfloat16")
    cube, mask = rand(100, 100, 100), rand(1000, 1000) > 0.5
    flat, values = x.reshape(-1), rand(10**6)
    keys, wide, many = below(1000, 10**6), below(1000, 10**6, "int64"), below(10**6, 10**6)
    offsets, arrays, row_keys = offsets_of(10**6), [x[i] for i in range(64)], below(100, 1000)
    return {
        "whole sum, f32": lambda: redtune.sum(flat),
        "whole max": lambda: redtune.max(flat),
        "sum of rows": lambda: redtune.sum(x, axis=1),
        "sum of columns, f32": lambda: redtune.sum(x, axis=0),
        "sum of columns, f16": lambda: redtune.sum(half, axis=0),
        "argmax of rows": lambda: redtune.argmax(x, axis=1),
        "argmax of columns": lambda: redtune.argmax(x, axis=0),
        "var of columns, bf16": lambda: redtune.var(brain, axis=0),
        "logsumexp of rows": lambda: redtune.logsumexp(x, axis=1),
        "whole sum in fixed order": lambda: redtune.sum(flat, order="fixed"),
        "rows in fixed order": lambda: redtune.sum(x, axis=1, order="fixed"),
        "columns in fixed order": lambda: redtune.sum(x, axis=0, order="fixed"),
        "compensated sum": lambda: redtune.sum(flat, accuracy="compensated"),
        "exact sum": lambda: redtune.sum(flat, accuracy="exact"),
        "sum of segments": lambda: redtune.segments(flat, offsets),
        "a list": lambda: redtune.List(arrays).reduce("norm2"),
        "sum along (0, 2) of 100 x 100 x 100": lambda: redtune.sum(cube, axis=(0, 2)),
        "mean of rows with a mask": lambda: redtune.mean(x, axis=1, where=mask),
        "by 1000 keys, i32": lambda: redtune.by_key(values, keys, 1000),
        "max by 1000 keys, i64": lambda: redtune.by_key(values, wide, 1000, "max"),
        "by 10^6 keys": lambda: redtune.by_key(values, many, 10**6),
        "mean_var by 1000 keys": lambda: redtune.by_key(values, keys, 1000, "mean_var"),
        "1000 rows by 100 keys": lambda: redtune.by_key(x, row_keys, 100),
    }


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("name")
    options.add_argument("--sim", action="store_true")
    options.add_argument("--csv")
    given = options.parse_args()
    *arrays, wait = make_numpy() if given.sim else make_torch()
    calls = cases(*arrays)
    wait()
    out = open(given.csv, "w", encoding="utf-8") if given.csv else None
    times = {"import": IMPORTED_MS}
    for name, call in calls.items():
        begin = time.perf_counter()
        call()
        wait()
        times[name] = 1e3 * (time.perf_counter() - begin)
    for name, ms in times.items():
        print(f"{name:38} {ms:8.1f} ms")
        if out:
            print(f'{given.name},"{name}",{ms:.2f}', file=out)


if __name__ == "__main__":
    main()
