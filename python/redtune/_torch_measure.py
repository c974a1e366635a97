"""Torch measure: how long PyTorch's kernels take for calls of a kind, and how long redtune's.

A kind is an op of the dispatcher's, a dtype, a layout, and the powers of two below the bytes and
the results. Its calls are stood for by one tensor of ones of that size. On this thread the shim is
told to leave calls to PyTorch, and not to; what is called here is not counted.
"""

import contextlib
import math
import time

import torch

from . import _core

ALONG = WHOLE, ROWS, COLUMNS = range(3)  # torch_layout
STRIDED, KEYED = 3, 4  # and those behind it: one for each power of two of a row's elements
_DTYPES = {
    0: torch.uint8, 1: torch.int8, 2: torch.int16, 3: torch.int32, 4: torch.int64,
    5: torch.float16, 6: torch.float32, 7: torch.float64, 11: torch.bool, 15: torch.bfloat16,
}  # fmt: skip
FLOAT = 6
_OF_ONE_AXIS = "max", "min", "argmax", "argmin", "any", "all"
_TURNS, _CALLS = 3, 20
_SECONDS = 0.05  # from which on a turn has fewer calls


def _call(name, kind, device):
    """A call of the function that a report names so, of the kind."""
    op, dtype, layout, log_bytes, log_results = kind
    results, dtype = 1 << log_results, _DTYPES[dtype]
    count = max((1 << log_bytes) // dtype.itemsize, results)
    if layout >= KEYED:
        width = 1 << (layout - KEYED)
        rows = max((1 << log_bytes) // dtype.itemsize // width, 2)
        x = torch.ones(rows, *[width][: width > 1], dtype=dtype, device=device)
        keys, out = torch.arange(rows, device=device) % results, x.new_zeros(results, *x.shape[1:])
        each = keys.view(-1, *[1] * (x.dim() - 1)).expand(x.shape)  # scatter's are of x's shape
        if name == "scatter_reduce":
            return lambda: out.scatter_reduce(0, each, x, "amax")
        return lambda: getattr(out, name)(0, keys if name == "index_add" else each, x)
    length, dim = count // results, int(layout == ROWS)
    shape = (results, length) if layout == ROWS else (length, results)
    if layout == STRIDED and name in _OF_ONE_AXIS:
        side = max(2, round(results ** (1 / 3)))
        x = torch.ones(side, side + 1, length, side + 2, dtype=dtype, device=device)
        x, dim = x[:, 1:, :, 1:-1], 2
    elif layout == STRIDED:
        plane = 1 << length.bit_length() // 2
        x = torch.ones(length // plane or 1, results, plane + 2, dtype=dtype, device=device)
        x, dim = x[..., 1:-1], (0, 2)
    else:
        x = torch.ones(count if layout == WHOLE else shape, dtype=dtype, device=device)
    if name == "norm":
        return lambda: torch.linalg.vector_norm(x, dim=dim)
    function = getattr(torch, name)
    return (lambda: function(x)) if op in ("max", "min", "any", "all") else lambda: function(x, dim)


def _seconds(call, synchronize):
    """Of a call, the shortest of some turns."""
    for _ in range(2):
        begun = time.perf_counter()
        call()
        synchronize()
    count = max(1, min(_CALLS, int(_SECONDS / (time.perf_counter() - begun))))
    best = math.inf
    for _ in range(_TURNS):
        begun = time.perf_counter()
        for _ in range(count):
            call()
        synchronize()
        best = min(best, time.perf_counter() - begun)
    return best / count


@contextlib.contextmanager
def _uncounted(shim):
    _core.torch_quiet(True)
    try:
        yield
    finally:
        shim.redtune_torch_shim_leave(0)
        _core.torch_quiet(False)


def race(shim, device, kinds):
    """The seconds of PyTorch's kernel and of redtune's, of each (name, kind); waits for kernels.

    A kind that there is no room for is left out.
    """
    synchronize = torch.cuda.synchronize if device == "cuda" else lambda: None
    found = {}
    with torch.no_grad(), _uncounted(shim):
        for is_first in (True, False):
            for each in kinds:
                try:
                    call = _call(*each, device)
                    call()  # has its kernel made
                    if is_first:
                        continue
                    served = _seconds(call, synchronize)
                    shim.redtune_torch_shim_leave(1)
                    found[each] = _seconds(call, synchronize), served
                except torch.cuda.OutOfMemoryError:
                    continue
                finally:
                    shim.redtune_torch_shim_leave(0)
            while _core.torch_pending():
                time.sleep(0.01)
    return found
