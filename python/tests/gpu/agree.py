"""Agree: random calls, held against the answer of NumPy in f64. Needs torch, CuPy, JAX and a GPU.

usage: agree.py CALLS [SEED]
"""

import collections
import os
import random
import sys

import cupy
import jax
import numpy
import torch

import redtune

sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), ".."))
from answers import ANSWERS, TWO_INPUTS, answer_of, is_close

FLOATS = ["float16", "float32", "float64"]
INTEGERS = ["int8", "uint8", "int16", "int32", "int64"]
OPS = [name for name in ANSWERS if name != "prod"]  # products of large arrays overflow


def random_shape(draw):
    dimensions = draw.choice([1, 1, 2, 2, 2, 3])
    most = {1: 3_000_000, 2: 1500, 3: 120}[dimensions]
    return tuple(int(most ** draw.random()) + draw.choice([0, 1]) for _ in range(dimensions))


def random_case(draw, numbers):
    """An array, a second one, and the axis: views with steps between rows included."""
    shape = random_shape(draw)
    dtype = draw.choice(FLOATS + ["float32"] * 3 + INTEGERS)
    pad = draw.choice([0, 0, 0, 1, 5]) if len(shape) > 1 else 0
    full = shape[:-1] + (shape[-1] + pad,)
    arrays = []
    for _ in range(2):
        values = (
            numbers.integers(-6, 7, full) if dtype in INTEGERS else numbers.normal(0.5, 1, full)
        )
        if dtype.startswith("u"):
            values = abs(values)
        arrays.append(values.astype(dtype)[..., : shape[-1]])
    axes = [None] if pad == 0 or len(shape) == 1 else []
    axes += list(range(len(shape))) if len(shape) < 3 else [1, 2, (0, 1)] + [0, (1, 2)] * (pad == 0)
    return arrays[0], arrays[1], draw.choice(axes)


def to_library(name, array):
    """The array there, as the same view of a wider one."""
    base = array if array.base is None else array.base
    if name == "torch":
        return torch.from_numpy(numpy.ascontiguousarray(base)).cuda()[..., : array.shape[-1]]
    if name == "cupy":
        return cupy.asarray(base)[..., : array.shape[-1]]
    return jax.numpy.asarray(array) if name == "jax" else array


def to_numpy(result):
    if isinstance(result, tuple):
        return tuple(map(to_numpy, result))
    if isinstance(result, torch.Tensor):
        return result.cpu().numpy()
    return cupy.asnumpy(result) if isinstance(result, cupy.ndarray) else numpy.asarray(result)


def check(draw, numbers):
    x, y, axis = random_case(draw, numbers)
    name = draw.choice(OPS)
    library = draw.choice(["torch", "cupy", "jax", "numpy"])
    arrays = [x, y][: 2 if name in TWO_INPUTS else 1]
    given = [to_library(library, array) for array in arrays]
    keepdims = draw.random() < 0.3
    functions = redtune.jax if library == "jax" else redtune
    got = to_numpy(getattr(functions, name)(*given, axis=axis, keepdims=keepdims))
    wanted, scale = answer_of(name, x, y, axis)
    count = x.size // max(1, numpy.size(wanted if not isinstance(wanted, tuple) else wanted[0]))
    gots, wants = (got, wanted) if isinstance(got, tuple) else ((got,), (wanted,))
    for one, want in zip(gots, wants):
        if keepdims:
            want = numpy.asarray(want).reshape(one.shape)
        near = numpy.reshape(scale, numpy.shape(want)) if numpy.ndim(scale) else scale
        if not is_close(numpy.asarray(one), want, near, str(x.dtype), count):
            what = f"{name} of {library} {x.dtype} {x.shape} strides {x.strides} axis {axis}"
            return library, f"{what}: {one} for {want}"
    return library, None


def main(calls, seed):
    jax.config.update("jax_enable_x64", True)
    draw, numbers = random.Random(seed), numpy.random.default_rng(seed)
    done, wrong = collections.Counter(), []
    for _ in range(calls):
        library, fault = check(draw, numbers)
        done[library] += 1
        if fault:
            wrong.append(" ".join(fault.split())[:300])
    lines = [f"{calls} calls ({dict(done)}), {len(wrong)} wrong", *wrong[:10]]
    print("\n".join(lines))
    return bool(wrong)


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 1))
