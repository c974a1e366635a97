"""Masked lists: results of each array of a list with a mask for each, and of all, held against
NumPy's, and their time over that of reading the elements and the masks, beside those without masks.
Needs torch and a GPU.

usage: masked_lists.py [ARRAYS ELEMENTS]...     several lists; one array of each is 16 times as
                                                long, or as often as REDTUNE_LONGER says
       masked_lists.py --dry                    the same comparison on the simulated GPU
"""

import os
import sys

import numpy

import redtune

OPS, CALLS, ROUNDS = ("sum", "mean", "max", "argmax", "var"), 4, 15
SHAPES = [(4096, 4096), (1000, 50000), (100, 1000000), (20000, 40)]


def check(op, order, got, xs, masks):
    """The results are NumPy's in f64; all elements are whole numbers below 16."""
    for i, (x, there) in enumerate(zip(xs, masks)):
        x = x[there].astype("f8")
        if op == "argmax":
            want = numpy.flatnonzero(there)[x.argmax()] if x.size else -1
        elif not x.size:
            continue
        else:
            want = getattr(x, op)()
        what = f"{op}, {order}, array {i} of {there.size}: {got[i]} and not {want}"
        assert abs(got[i] - want) <= 2e-5 * abs(want) + 1e-6, what


def check_all(op, got, xs, masks):
    """The one result of all arrays."""
    want = getattr(numpy.concatenate([x[m] for x, m in zip(xs, masks)]).astype("f8"), op)()
    assert abs(got - want) <= 2e-5 * abs(want), f"{op} of all: {got} and not {want}"


def timed(arrays, elements):
    import torch
    from graph_times import median_us

    random = numpy.random.default_rng(1)
    longer = int(os.environ.get("REDTUNE_LONGER", 16))
    sizes = [elements] * (arrays - 1) + [longer * elements]
    xs = [torch.randint(0, 16, (n,), device="cuda").float() for n in sizes]
    masks = [torch.rand(n, device="cuda") < 0.5 for n in sizes]
    made, chosen = redtune.List(xs), random.choice(arrays, min(arrays, 200), replace=False)
    chosen = [*map(int, chosen), arrays - 1]
    its = [[each[i].cpu().numpy() for i in chosen] for each in (xs, masks)]
    whole = torch.empty(sum(sizes) * 5 // 4, device="cuda")
    calls = {"reading": lambda: redtune.sum(whole), "no mask": lambda: made.reduce(each=True)}
    for op in ("sum", "var"):
        calls[f"no mask, {op}, fixed"] = lambda op=op: made.reduce(op, each=True, order="fixed")
    for op in ("sum", "mean"):
        call = lambda op=op: made.reduce(op, where=masks)
        check_all(op, float(call()), *([each.cpu().numpy() for each in its] for its in (xs, masks)))
        calls[f"{op} of all"] = call
        call = lambda op=op: made.reduce(op, where=masks, order="fixed")
        check_all(op, float(call()), *([each.cpu().numpy() for each in its] for its in (xs, masks)))
        calls[f"{op} of all, fixed"] = call
    for order in ("free", "fixed"):
        for op in OPS:
            call = lambda op=op, order=order: made.reduce(op, each=True, where=masks, order=order)
            check(op, order, call().cpu().numpy()[chosen], *its)
            calls[f"{op}, {order}"] = call
    print(f"{arrays} arrays of {elements} f32: right; us, and over reading both:")
    graphs = {}
    for name, call in calls.items():
        call()  # a first call does not run within a capture
        graphs[name] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[name]):
            for _ in range(CALLS):
                call()
    us = median_us(graphs, CALLS, ROUNDS)
    for name, each in us.items():
        print(f"{each:10.2f} {each / us['reading']:7.3f} {name}")


def dry():
    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    import sim_memory

    redtune.configure(device="sim")
    random = numpy.random.default_rng(1)
    xs = [random.integers(0, 16, n).astype("f4") for n in (0, 5, 40, 1024, 9000)]
    masks = [random.random(x.size) < 0.5 for x in xs]
    made, given = redtune.List(map(sim_memory.asarray, xs)), [*map(sim_memory.asarray, masks)]
    for order in ("free", "fixed"):
        for op in OPS:
            got = made.reduce(op, each=True, where=given, order=order).numpy()
            check(op, order, got, xs, masks)
    for op in ("sum", "mean"):
        for order in ("free", "fixed"):
            got = made.reduce(op, where=given, order=order).numpy()
            check_all(op, float(got), xs, masks)
    print("all right")


if __name__ == "__main__":
    if sys.argv[1:] == ["--dry"]:
        dry()
    else:
        numbers = [*map(int, sys.argv[1:])]
        for shape in zip(numbers[::2], numbers[1::2]) if numbers else SHAPES:
            timed(*shape)
