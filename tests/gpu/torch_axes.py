#!/usr/bin/env python3
"""Reduces PyTorch's tensors along some of their dims with redtune, by ctypes, and compares with
PyTorch: 300 tensors of random shapes, strides, dims, dtypes and ops, on streams and within graphs.

The elements are small integers, so sums are exact, and every result but a mean or a norm must be
PyTorch's bit for bit. Dims side by side of a packed tensor must be taken; what redtune refuses of
others must be a case that it says it cannot fold.

usage: torch_axes.py LIBREDTUNE [DATABASE]

Exits with 0 if all agree, 1 if not, and 77 without PyTorch or a GPU.
"""

import ctypes
import os
import random
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../bench"))
from redtune_library import Redtune, Refused

try:
    import torch
except ImportError:
    torch = None

CASES, ELEMENTS_MAX, SKIPPED = 300, 1 << 21, 77


def dtypes():
    return {"i8": torch.int8, "u8": torch.uint8, "i16": torch.int16, "i32": torch.int32,
            "i64": torch.int64, "f16": torch.float16, "bf16": torch.bfloat16,
            "f32": torch.float32, "f64": torch.float64}


def torch_result(op, x, dims, result):
    """What PyTorch gives; x has whole numbers only."""
    exact = x.to(torch.float64)
    if op == "sum":
        return torch.sum(exact, dim=dims).to(result)
    if op == "sumsq":
        return torch.sum(exact * exact, dim=dims).to(result)
    if op == "mean":
        return torch.mean(exact, dim=dims).to(result)
    if op == "norm2":
        return torch.sqrt(torch.sum(exact * exact, dim=dims)).to(result)
    if op == "nonzeros":
        return torch.count_nonzero(exact, dim=dims).to(result)
    if op == "min":
        return torch.amin(x, dim=dims).to(result)
    if op == "max":
        return torch.amax(x, dim=dims).to(result)
    # The index along the reduced dims, in row-major order.
    kept = [i for i in range(x.dim()) if i not in dims]
    flat = exact.permute(kept + dims).reshape([x.shape[i] for i in kept] + [-1])
    return (torch.argmin if op == "argmin" else torch.argmax)(flat, dim=-1).to(result)


def random_tensor(rng, dtype):
    """And whether it is packed."""
    shape, room = [], ELEMENTS_MAX
    for _ in range(rng.randint(1, 4)):
        side = min(room, int(2 ** rng.uniform(0, rng.choice((4, 8, 14)))))
        shape.append(side)
        room //= side
    rng.shuffle(shape)
    low = 0 if dtype == torch.uint8 else -3
    x = torch.randint(low, 4, shape, device="cuda", dtype=torch.int32).to(dtype)
    if rng.random() < 0.5:
        return x, True
    # A part of each side, from an odd element on.
    for dim in range(x.dim()):
        if rng.random() < 0.5 and x.shape[dim] > 2:
            start = rng.randint(0, 1)
            x = x.narrow(dim, start, rng.randint(1, x.shape[dim] - start))
    return x, x.is_contiguous()


class Client:
    def __init__(self, path, database):
        torch.zeros(1, device="cuda")  # PyTorch's context, which redtune takes
        self.redtune = Redtune(path, database)

    def problem(self, op, name, x, dims):
        """Raises Refused for what cannot be folded."""
        problem = self.redtune.problem(op, name, 0)
        shape = (ctypes.c_int64 * x.dim())(*x.shape)
        strides = (ctypes.c_int64 * x.dim())(*x.stride())
        axes = (ctypes.c_int * len(dims))(*dims)
        self.redtune.call("redtune_problem_fold", ctypes.byref(problem), shape, strides,
                          ctypes.c_size_t(x.dim()), axes, ctypes.c_size_t(len(dims)))
        return problem

    def launch(self, problem, x, out):
        stream = torch.cuda.current_stream().cuda_stream
        self.redtune.call("redtune_reduce", self.redtune.handle, ctypes.byref(problem),
                          ctypes.c_void_p(x.data_ptr()), ctypes.c_void_p(out.data_ptr()),
                          ctypes.c_void_p(stream))

    def reduce(self, problem, x, out, way):
        """By redtune_reduce on a stream of its own, within a graph, or by a plan for the problem."""
        if way == "plan":
            with self.redtune.plan(problem) as run:
                run(x.data_ptr(), out.data_ptr(), torch.cuda.current_stream().cuda_stream)
                torch.cuda.synchronize()
        elif way == "graph":
            self.redtune.call("redtune_prepare", self.redtune.handle, ctypes.byref(problem),
                              ctypes.c_size_t(1))
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.launch(problem, x, out)
            for _ in range(2):
                out.fill_(77)
                graph.replay()
            torch.cuda.synchronize()
        else:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self.launch(problem, x, out)
            side.synchronize()


def fault_of(client, rng, case):
    """None, or what is wrong; and whether it was refused."""
    name, dtype = rng.choice(list(dtypes().items()))
    x, packed = random_tensor(rng, dtype)
    first = rng.randrange(x.dim())
    dims = list(range(first, rng.randint(first, x.dim() - 1) + 1))
    op = rng.choice(["sum", "sumsq", "mean", "norm2", "nonzeros", "min", "max", "argmin", "argmax"])
    way = ("stream", "graph", "plan")[case % 3]
    text = f"{op} of {name} {list(x.shape)} strides {list(x.stride())} dims {dims}, by {way}"
    try:
        problem = client.problem(op, name, x, dims)
    except Refused as reason:
        known = "cannot fold" in str(reason) and not packed
        return None if known else f"{text}: refused: {reason}", True
    results = {"i64": torch.int64, "u64": torch.int64, "f16": torch.float16,
               "bf16": torch.bfloat16, "f32": torch.float32, "f64": torch.float64}
    result = client.redtune.result(problem)
    result = results.get(result) or dtypes()[result]
    wanted = torch_result(op, x, dims, result)
    behind = torch.full((wanted.numel() + 64,), 77, device="cuda", dtype=result)
    client.reduce(problem, x, behind, way)
    got = behind[: wanted.numel()].view(wanted.shape)
    if op in ("mean", "norm2"):
        right = torch.allclose(got.double(), wanted.double(), rtol=1e-6, atol=1e-9)
    else:
        right = torch.equal(got, wanted)
    if not right:
        at = (got != wanted).flatten().nonzero()[:3].flatten().tolist()
        return f"{text}: results differ at {at}", False
    if not bool((behind[wanted.numel():] == 77).all()):
        return f"{text}: it wrote behind its results", False
    return None, False


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    if not torch or not torch.cuda.is_available():
        print("skipped: no PyTorch with a GPU", file=sys.stderr)
        sys.exit(SKIPPED)
    rng = random.Random(11)
    torch.manual_seed(11)
    client = Client(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else None)
    wrong, refusals = 0, 0
    for case in range(CASES):
        fault, refused = fault_of(client, rng, case)
        refusals += refused
        if fault:
            wrong += 1
            print(f"case {case}: {fault}")
    print(f"{CASES - wrong} of {CASES} agree with PyTorch, {refusals} of them refused")
    client.redtune.close()
    sys.exit(1 if wrong or refusals > CASES // 3 else 0)


if __name__ == "__main__":
    main()
