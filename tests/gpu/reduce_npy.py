#!/usr/bin/env python3
"""Reduces .npy files with the command: random f32 against NumPy's float64 sum, and the variance of f64
values of mean 10^6 and deviation 1 against two passes in extended precision, to ten digits.

usage: reduce_npy.py REDTUNE COUNT
"""
import subprocess
import sys
import tempfile
import time

try:
    import numpy as np
except ImportError:
    print("there is no NumPy")
    sys.exit(77)

redtune, count = sys.argv[1], int(sys.argv[2])
rng = np.random.default_rng(20261120)


def reduce(path, op):
    """What the command prints, and what it says of it."""
    run = subprocess.run([redtune, "reduce", path, "--op", op, "-v"], capture_output=True, text=True)
    if run.returncode:
        sys.exit(f"{op}: exit {run.returncode}: {run.stderr}")
    return run.stdout.strip(), "  " + run.stderr.strip().replace("\n", "\n  ")


def two_passes(array):
    """The population's variance. Pieces, so that no copy is as large as the array."""
    pieces = np.array_split(array, max(len(array) // 1000000, 1))
    mean = sum(np.sum(piece, dtype=np.longdouble) for piece in pieces) / len(array)
    return sum(np.sum((piece - mean) ** 2) for piece in pieces) / len(array)


with tempfile.TemporaryDirectory() as folder:
    for name, array in [
        ("uniform", rng.random(count, dtype=np.float32)),
        ("normal", rng.standard_normal(count, dtype=np.float32)),
        ("Fortran order", np.asfortranarray(rng.random((count // 1000, 1000), dtype=np.float32))),
    ]:
        path = folder + "/array.npy"
        np.save(path, array)
        start = time.perf_counter()
        result, said = reduce(path, "sum")
        seconds = time.perf_counter() - start
        exact = array.sum(dtype=np.float64)
        # A piece is 2^24 elements at most. No winner at that size adds more than 100 of them one
        # after the other before its tree begins, and no tree is deeper than 28.
        bound = 128 * 2.0**-24 * np.abs(array).sum(dtype=np.float64)
        error = abs(float(result) - exact)
        print(f"{name}: {result}, NumPy {exact:.9g}, off by {error:.3g} "
              f"(bound {bound:.3g}), {seconds:.2f} s in all")
        print(said)
        if not error <= bound:
            sys.exit(f"{name}: the error is beyond the bound")

    array = rng.standard_normal(count) + 1e6
    np.save(path, array)
    result, said = reduce(path, "var")
    exact = two_passes(array)
    error = abs(np.longdouble(result) - exact) / exact
    naive = np.mean(array * array) - np.mean(array) ** 2
    print(f"variance: {result}, two passes {exact:.17g}, off by {float(error):.3g} of it; "
          f"the mean of the squares less the square of the mean {naive:.6g}")
    print(said)
    if not error <= 1e-10:
        sys.exit("variance: it is not right to ten digits")
