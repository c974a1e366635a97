#!/usr/bin/env python3
"""Prints a recording (docs/tuning.md) of sums over random shapes, the same for the same SEED: rows,
columns and middle axes, of f32 and f16, packed and with a pitch, even and odd, none of the default
grid.

usage: random_shapes.py COUNT SEED [ELEMENTS_MAX]
"""

import json
import random
import sys

ELEMENTS_MIN = 1 << 10


def is_of_grid(size):
    """Powers of two, and the odd extents of the default grid."""
    return size & (size - 1) == 0 or (size - 1) & (size - 2) == 0


def draw_shape(rng, elements_max):
    """(count, outer, inner, outer_step, step), steps of 0 for packed ones."""
    while True:
        elements = ELEMENTS_MIN * (elements_max / ELEMENTS_MIN) ** rng.random()
        count = round(elements ** rng.uniform(0.1, 0.95))
        results = round(elements / count)
        if min(count, results) > 1 and not is_of_grid(count) and not is_of_grid(results):
            break
    pad = rng.choice((0, 0, 0, 1, 8, 24))
    layout = rng.choice(("rows", "rows", "columns", "columns", "middle"))
    if layout == "rows":
        return count, results, 1, count + pad if pad else 0, 0
    outer = rng.randint(2, 16) if layout == "middle" and results > 32 else 1
    inner = results // outer
    step = inner + pad if pad else 0
    return count, outer, inner, count * step if outer > 1 else 0, step


def main():
    count, seed = int(sys.argv[1]), int(sys.argv[2])
    elements_max = int(sys.argv[3]) if len(sys.argv) > 3 else 1 << 25
    rng, seen = random.Random(seed), set()
    print('{"redtune_recording":1}')
    while len(seen) < count:
        dtype, shape = rng.choice(("f32", "f32", "f16")), draw_shape(rng, elements_max)
        if (dtype, shape) in seen:
            continue
        seen.add((dtype, shape))
        members = dict(zip(("count", "outer", "inner", "outer_step", "step"), shape))
        line = {"op": "sum", "dtype": dtype, "result": "f32", **members, "calls": 1, "ns": 0,
                "match": "nearest size"}
        print(json.dumps(line, separators=(",", ":")))


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main()
