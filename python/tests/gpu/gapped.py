"""Arrays with gaps: lists, segments and reductions by key of random views, held against those of their
packed copies, bit by bit; and the times of lists of cropped arrays and of segments of every second
element over those of packed ones, and of ones that PyTorch copies first. Needs torch and a GPU.

usage: gapped.py [ROUNDS]     rounds of random views (default: 200)
       gapped.py --dry        a few rounds on the simulated GPU
"""

import os
import sys

import numpy

import redtune

OPS = (("sum", "f4"), ("argmax", "u1"), ("norm2", "f2"), ("max", "f8"))
CALLS, TIMINGS = 4, 15


def random_view(random, dtype, axes, flips):
    """Some steps, any order of the axes, and now and then the same row again and again."""
    x = random.integers(0, 9, random.integers(1, 60 if axes < 3 else 12, axes)).astype(dtype)
    steps = [int(random.choice((1, 1, 2, 3, -1) if flips else (1, 1, 2, 3))) for _ in range(axes)]
    x = x[tuple(slice(None, None, step) for step in steps)]
    if random.random() < 0.2:
        x = numpy.broadcast_to(x[:1], (5, *x.shape[1:]))
    return x.transpose(random.permutation(axes))


def check(rounds, move, pack, read, flips):
    random = numpy.random.default_rng(46)
    for turn in range(rounds):
        op, dtype = OPS[turn % len(OPS)]
        order = ("free", "fixed")[turn // len(OPS) % 2]
        views = [random_view(random, dtype, random.integers(1, 4), flips) for _ in range(9)]
        long = random_view(random, dtype, 1, flips)
        offsets = numpy.sort(random.integers(0, long.size + 1, 12))
        keys = random.integers(0, 4, 2 * long.size).astype("i4")[::2]
        found = []
        for its in (move, pack):
            made = redtune.List([its(x) for x in views])
            given = its(long), its(offsets[::2]), its(keys)
            found.append(
                [
                    read(made.reduce(op, each=True, order=order)).tobytes(),
                    read(redtune.segments(given[0], given[1], op=op, order=order)).tobytes(),
                    read(redtune.by_key(given[0], given[2], 4, op, order="fixed")).tobytes(),
                ]
            )
        for name, got, want in zip(("list", "segments", "by key"), *found):
            assert got == want, f"round {turn}: {name}, {op} of {dtype}, {order}"
    print(f"{rounds} rounds: all bits are those of packed copies")


def print_times(what, calls):
    """Of the calls in a graph each: us, and over the first one's."""
    import torch
    from graph_times import median_us

    graphs = {}
    for name, call in calls.items():
        call()
        graphs[name] = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graphs[name]):
            for _ in range(CALLS):
                call()
    us = median_us(graphs, CALLS, TIMINGS)
    print(f"{what}: us, over packed")
    for name, each in us.items():
        print(f"{each:10.2f} {each / us['packed']:7.3f} {name}")


def time_lists(arrays, rows, columns, pitch, dtype):
    import torch

    crops = [torch.rand(rows, pitch, device="cuda").to(dtype)[:, :columns] for _ in range(arrays)]
    packed = [x.contiguous() for x in crops]
    gaps, whole = redtune.List(crops), redtune.List(packed)

    def copied():
        for x, its in zip(crops, packed):
            its.copy_(x)
        whole.reduce("norm2")

    calls = {
        "packed": lambda: whole.reduce("norm2"),
        "gaps": lambda: gaps.reduce("norm2"),
        "copied by PyTorch": copied,
    }
    print_times(f"{arrays} arrays of {rows} x {columns} of {pitch} {dtype}, norm2 of all", calls)


def time_segments(segments, length):
    import torch

    x = torch.rand(segments * length, 2, device="cuda")[:, 0]
    offsets = torch.arange(segments + 1, device="cuda") * length
    packed = x.contiguous()
    calls = {
        "packed": lambda: redtune.segments(packed, offsets),
        "gaps": lambda: redtune.segments(x, offsets),
        "copied by PyTorch": lambda: redtune.segments(packed.copy_(x), offsets),
    }
    print_times(f"{segments} segments of {length} of every second f32, sum", calls)


def main():
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, os.path.join(here, ".."))
    if sys.argv[1:] == ["--dry"]:
        import sim_memory
        from random_views import on_gpu

        redtune.configure(device="sim")
        copied = lambda x: sim_memory.asarray(x.copy())
        check(8, on_gpu, copied, lambda x: x.numpy(), True)
        return
    import torch

    def move(x):
        """A view of a tensor that lies as x does, with steps of 0 and above."""
        root = x
        while root.base is not None:
            root = root.base
        flat = torch.from_numpy(numpy.ascontiguousarray(root).ravel()).cuda()
        first = (x.__array_interface__["data"][0] - root.__array_interface__["data"][0]) // x.itemsize
        return flat.as_strided(x.shape, [step // x.itemsize for step in x.strides], first)

    check(
        int(sys.argv[1]) if sys.argv[1:] else 200, move,
        lambda x: torch.from_numpy(x.copy()).cuda(), lambda x: x.cpu().numpy(), False,
    )  # fmt: skip
    time_lists(100, 1000, 1000, 1024, torch.float32)
    time_lists(100, 1000, 1001, 1024, torch.bfloat16)
    time_lists(300, 64, 64, 65, torch.float32)
    time_segments(65536, 1000)


if __name__ == "__main__":
    main()
