#!/usr/bin/env python3
"""Reduces .npy files of random f32 with the command and compares with NumPy's float64 sum.

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
with tempfile.TemporaryDirectory() as folder:
    for name, array in [
        ("uniform", rng.random(count, dtype=np.float32)),
        ("normal", rng.standard_normal(count, dtype=np.float32)),
        ("Fortran order", np.asfortranarray(rng.random((count // 1000, 1000), dtype=np.float32))),
    ]:
        path = folder + "/array.npy"
        np.save(path, array)
        start = time.perf_counter()
        run = subprocess.run([redtune, "reduce", path, "--op", "sum", "-v"],
                             capture_output=True, text=True)
        seconds = time.perf_counter() - start
        if run.returncode:
            sys.exit(f"{name}: exit {run.returncode}: {run.stderr}")
        exact = array.sum(dtype=np.float64)
        # A piece is 2^24 elements at most. No winner at that size adds more than 100 of them one
        # after the other before its tree begins, and no tree is deeper than 28.
        bound = 128 * 2.0**-24 * np.abs(array).sum(dtype=np.float64)
        error = abs(float(run.stdout) - exact)
        print(f"{name}: {run.stdout.strip()}, NumPy {exact:.9g}, off by {error:.3g} "
              f"(bound {bound:.3g}), {seconds:.2f} s in all")
        print("  " + run.stderr.strip().replace("\n", "\n  "))
        if not error <= bound:
            sys.exit(f"{name}: the error is beyond the bound")
