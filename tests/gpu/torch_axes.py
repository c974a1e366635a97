#!/usr/bin/env python3
"""Reduces PyTorch's tensors along some of their dims with redtune, by ctypes, and compares with
PyTorch: 400 tensors of random shapes, strides, dims, dtypes and ops, on streams and within graphs.
Ops of two inputs take a second tensor of the same strides and another alignment; parameters are the
host's or lie on the GPU. torch_reference.py has what PyTorch gives.

The elements are small integers, so sums are exact, and results must be PyTorch's bit for bit,
except those that are divided, rooted or logarithms. Dims side by side of a packed tensor must be
taken; what redtune refuses of others must be a case that it says it cannot fold.

usage: torch_axes.py LIBREDTUNE [DATABASE]

Exits with 0 if all agree, 1 if not, and 77 without PyTorch or a GPU.
"""

import ctypes
import math
import os
import random
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../bench"))
from redtune_library import Redtune, Refused

try:
    import torch
    from torch_reference import (FLOATS_ONLY, OPS, PARAMETERS, TWO_INPUTS, same, torch_results)
except ImportError:
    torch = None

CASES, ELEMENTS_MAX, SKIPPED = 400, 1 << 21, 77


def dtypes():
    return {"i8": torch.int8, "u8": torch.uint8, "i16": torch.int16, "i32": torch.int32,
            "i64": torch.int64, "f16": torch.float16, "bf16": torch.bfloat16,
            "f32": torch.float32, "f64": torch.float64}


def redtune_dtypes():
    """PyTorch's of what redtune's results are; they are small, so the sign of an integer's dtype
    makes no difference."""
    return {**dtypes(), "u16": torch.int16, "u32": torch.int32, "u64": torch.int64}


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
        self.ops = [op for op in OPS if self.has(op)]

    def has(self, op):
        try:
            self.redtune.find("op", op)
            return True
        except Refused:
            print(f"{op} is left out: redtune has no such op")
            return False

    def problem(self, op, name, x, dims):
        """Raises Refused for what cannot be folded."""
        problem = self.redtune.problem(op, name, 0)
        shape = (ctypes.c_int64 * x.dim())(*x.shape)
        strides = (ctypes.c_int64 * x.dim())(*x.stride())
        axes = (ctypes.c_int * len(dims))(*dims)
        self.redtune.call("redtune_problem_fold", ctypes.byref(problem), shape, strides,
                          ctypes.c_size_t(x.dim()), axes, ctypes.c_size_t(len(dims)))
        return problem

    def launch(self, problem, tensors, outs, parameters):
        """By redtune_reduce where that is enough, else by redtune_run."""
        stream = ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)
        if len(tensors) + len(outs) == 2 and parameters is None:
            self.redtune.call("redtune_reduce", self.redtune.handle, ctypes.byref(problem),
                              ctypes.c_void_p(tensors[0].data_ptr()),
                              ctypes.c_void_p(outs[0].data_ptr()), stream)
            return
        operands = self.redtune.operands(problem)
        for i, tensor in enumerate(tensors):
            operands.d_in[i] = tensor.data_ptr()
        for i, out in enumerate(outs):
            operands.d_out[i] = out.data_ptr()
        if parameters is not None and parameters.is_cuda:
            operands.d_parameters = parameters.data_ptr()
        elif parameters is not None:
            operands.parameters = parameters.data_ptr()
        self.redtune.call("redtune_run", self.redtune.handle, ctypes.byref(problem),
                          ctypes.byref(operands), stream)

    def reduce(self, problem, tensors, outs, parameters, way):
        """By the table of plans on a stream of its own, within a graph, or by a plan for the
        problem, whose parameters are the host's."""
        if way == "plan":
            given = parameters.tolist() if parameters is not None else ()
            more = [each[1].data_ptr() if len(each) == 2 else None for each in (tensors, outs)]
            with self.redtune.plan(problem, given) as run:
                run(tensors[0].data_ptr(), outs[0].data_ptr(),
                    torch.cuda.current_stream().cuda_stream, *(more if any(more) else ()))
                torch.cuda.synchronize()
        elif way == "graph":
            self.redtune.call("redtune_prepare", self.redtune.handle, ctypes.byref(problem),
                              ctypes.c_size_t(1))
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                self.launch(problem, tensors, outs, parameters)
            for _ in range(2):
                for out in outs:
                    out.fill_(77)
                graph.replay()
            torch.cuda.synchronize()
        else:
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self.launch(problem, tensors, outs, parameters)
            side.synchronize()


def second_like(rng, x):
    """Of the same sizes and strides; its first element may be aligned differently. So small that
    sums of squared differences are exact in f32."""
    shift = rng.randint(0, 5)
    reach = 1 + sum((size - 1) * step for size, step in zip(x.shape, x.stride()))
    low = 0 if x.dtype == torch.uint8 else -1
    flat = torch.randint(low, 2, [shift + reach], device="cuda", dtype=torch.int32).to(x.dtype)
    return flat.as_strided(x.shape, x.stride(), shift)


def suit(rng, op, x):
    """Plants what the op is about."""
    if op == "slogprod" and rng.random() < 0.5:
        x[x == 0] = 1
    if op in FLOATS_ONLY and rng.random() < 0.7:
        for value in (math.nan, math.inf, -math.inf):
            if rng.random() < 0.6:
                x[torch.rand(x.shape, device="cuda") < 0.01] = value


def fault_of(client, rng, case):
    """None, or what is wrong; and whether it was refused."""
    op = rng.choice(client.ops)
    name, dtype = rng.choice([(name, dtype) for name, dtype in dtypes().items()
                              if op not in FLOATS_ONLY or dtype.is_floating_point])
    x, packed = random_tensor(rng, dtype)
    suit(rng, op, x)
    tensors = [x, second_like(rng, x)] if op in TWO_INPUTS else [x]
    first = rng.randrange(x.dim())
    dims = list(range(first, rng.randint(first, x.dim() - 1) + 1))
    given = [rng.choice(PARAMETERS[op])] if op in PARAMETERS else []
    way = ("stream", "graph", "plan")[case % 3]
    text = f"{op} of {name} {list(x.shape)} strides {list(x.stride())} dims {dims}, by {way}"
    text += f" with {given[0]}" if given else ""
    try:
        problem = client.problem(op, name, x, dims)
    except Refused as reason:
        known = "cannot fold" in str(reason) and not packed
        return None if known else f"{text}: refused: {reason}", True
    wanted = torch_results(op, tensors, dims, given)
    outs = [torch.full((wanted[0].numel() + 64,), 77, device="cuda", dtype=redtune_dtypes()[result])
            for result in client.redtune.results(problem)]
    parameters = torch.tensor(given, dtype=torch.float64) if given else None
    if given and way != "plan" and rng.random() < 0.5:
        parameters = parameters.cuda()
    client.reduce(problem, tensors, outs, parameters, way)
    for i, (out, each) in enumerate(zip(outs, wanted)):
        got = out[: each.numel()].view(each.shape)
        if not same(op, got, each):
            at = (got.double() != each.double()).flatten().nonzero()[:3].flatten().tolist()
            values = [(got.flatten()[k].item(), each.flatten()[k].item()) for k in at]
            return f"{text}: results {i} differ at {at}: {values}", False
        if not bool((out[each.numel():] == 77).all()):
            return f"{text}: it wrote behind its results {i}", False
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
        try:
            fault, refused = fault_of(client, rng, case)
        except Refused as reason:
            fault, refused = f"refused: {reason}", True
        refusals += refused
        if fault:
            wrong += 1
            print(f"case {case}: {fault}")
    print(f"{CASES - wrong} of {CASES} agree with PyTorch, {refusals} of them refused")
    client.redtune.close()
    sys.exit(1 if wrong or refusals > CASES // 3 else 0)


if __name__ == "__main__":
    main()
