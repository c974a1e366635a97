#!/usr/bin/env python3
"""Sums PyTorch's tensors with redtune, by ctypes, on PyTorch's own streams and within its graphs, and
compares with torch.sum: 200 tensors of random shapes and dtypes.

usage: torch_client.py LIBREDTUNE [DATABASE]

Exits with 0 if all agree, 1 if not, and 77 without PyTorch or a GPU.
"""

import ctypes
import math
import os
import random
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../bench"))
from redtune_library import Error, Redtune, Refused

try:
    import torch
except ImportError:
    torch = None

CASES, ELEMENTS_MAX, REPLAYS = 200, 1 << 23, 3
SKIPPED = 77


def dtypes():
    """redtune's name, PyTorch's dtype, the result's dtype, and its relative rounding (0: exact)."""
    return [
        ("i8", torch.int8, torch.int64, 0), ("u8", torch.uint8, torch.int64, 0),
        ("i16", torch.int16, torch.int64, 0), ("i32", torch.int32, torch.int64, 0),
        ("i64", torch.int64, torch.int64, 0), ("f16", torch.float16, torch.float32, 2.0**-24),
        ("bf16", torch.bfloat16, torch.float32, 2.0**-24),
        ("f32", torch.float32, torch.float32, 2.0**-24),
        ("f64", torch.float64, torch.float64, 2.0**-53),
    ]


def random_shape(rng):
    """One to four dimensions; sometimes a single element, or none."""
    count = int(2 ** rng.uniform(0, math.log2(ELEMENTS_MAX)))
    if rng.random() < 0.03:
        return [rng.choice([0, 1])]
    shape = []
    for _ in range(rng.randint(0, 3)):
        side = rng.randint(1, 40)
        if count // side:
            shape.append(side)
            count //= side
    return shape + [count]


def random_tensor(shape, dtype):
    if dtype.is_floating_point:
        return torch.randn(shape, device="cuda", dtype=torch.float64).to(dtype)
    bounds = torch.iinfo(dtype)
    low, high = max(bounds.min, -(2**40)), min(bounds.max, 2**40)
    return torch.randint(low, high, shape, device="cuda", dtype=torch.int64).to(dtype)


def depth(config, count, sms):
    """Additions that an element passes through, at most, in the kernel of that config."""
    values = dict(pair.split("=") for pair in config.split(":")[1].split(","))
    threads = int(values["block"])
    tile = threads * int(values["vec"]) * int(values["unroll"])
    blocks = 1 if values["finish"] == "single" else int(values["per_sm"]) * sms
    blocks = max(1, min(blocks, -(-count // tile)))
    tiles = -(-count // (tile * blocks))
    return tiles * tile // threads + -(-blocks // threads) + 64


class Client:
    def __init__(self, path, database):
        torch.zeros(1, device="cuda")  # PyTorch's context, which redtune takes
        self.redtune = Redtune(path, database)
        self.library = self.redtune.library
        self.library.redtune_plan_config.restype = ctypes.c_char_p
        self.sms = torch.cuda.get_device_properties(0).multi_processor_count

    def run(self, plan, tensor, out):
        error = Error()
        stream = torch.cuda.current_stream().cuda_stream
        if self.library.redtune_plan_reduce(
            plan, ctypes.c_void_p(tensor.data_ptr()), ctypes.c_uint64(tensor.numel()),
            ctypes.c_void_p(out.data_ptr()), ctypes.c_void_p(stream), ctypes.byref(error)):
            raise Refused(error.message.decode())

    def sum(self, tensor, name, result, graphed):
        """The sum and the configuration that made it; graphed: by the last of some replays."""
        plan = ctypes.c_void_p()
        problem = self.redtune.problem("sum", name, tensor.numel())
        self.redtune.call("redtune_plan_create", self.redtune.handle, ctypes.byref(problem),
                          ctypes.byref(plan))
        config = self.library.redtune_plan_config(plan).decode()
        out = torch.empty(1, device="cuda", dtype=result)
        if graphed:
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.run(plan, tensor, out)
            for _ in range(REPLAYS):
                out.fill_(77)
                graph.replay()
        else:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self.run(plan, tensor, out)
            torch.cuda.current_stream().wait_stream(side)
        value = out.item()
        if graphed:
            del graph
        self.library.redtune_plan_destroy(plan)
        return value, config


def disagreement(client, tensor, kind, graphed):
    """None, or what is wrong."""
    name, _, result, rounding = kind
    got, config = client.sum(tensor, name, result, graphed)
    torchs = torch.sum(tensor, dtype=result).item()
    if not rounding:
        return None if got == torchs else f"{got}, torch {torchs}"
    exact = torch.sum(tensor, dtype=torch.float64).item()
    size = torch.sum(tensor.abs(), dtype=torch.float64).item()
    # Both are within their bound of the exact sum; f64's own is torch's in another order.
    bound = depth(config, tensor.numel(), client.sms) * rounding * size
    bound += 64 * 2.0**-53 * size
    if abs(got - exact) <= bound and abs(got - torchs) <= bound + 64 * rounding * size:
        return None
    return f"{got}, torch {torchs}, f64 {exact}, bound {bound} ({config})"


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    if not torch or not torch.cuda.is_available():
        print("skipped: no PyTorch with a GPU", file=sys.stderr)
        sys.exit(SKIPPED)
    rng = random.Random(7)
    torch.manual_seed(7)
    client = Client(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
    wrong = 0
    for case in range(CASES):
        kind = rng.choice(dtypes())
        tensor = random_tensor(random_shape(rng), kind[1])
        graphed = case % 2 == 1
        fault = disagreement(client, tensor, kind, graphed)
        if fault:
            wrong += 1
            print(f"case {case}: {kind[0]} {list(tensor.shape)}{' in a graph' * graphed}: {fault}")
    print(f"{CASES - wrong} of {CASES} sums agree with torch.sum")
    client.redtune.close()
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
