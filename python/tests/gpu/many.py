"""Many: a million calls leave no memory behind, of Python, of the process or of the GPU.

usage: many.py [CALLS]     needs torch and a GPU
"""

import gc
import os
import sys
import time

import torch

import redtune

MOST_BYTES = 2 << 20  # what an allocator's own books may grow by


def in_use():
    """The bytes that this process holds, PyTorch's on the GPU, the GPU's, and Python's objects."""
    gc.collect()
    torch.cuda.synchronize()
    with open("/proc/self/statm") as file:
        resident = int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    free, total = torch.cuda.mem_get_info()
    return {
        "resident": resident, "torch": torch.cuda.memory_allocated(), "gpu": total - free,
        "objects": sys.getallocatedblocks(),
    }  # fmt: skip


def kinds():
    """One call of each kind; the tensors of some are gone right after them."""
    x, y = torch.rand(1 << 14, device="cuda"), torch.rand(1 << 14, device="cuda")
    rows = x.reshape(64, -1)
    out = torch.empty((), device="cuda")
    plan = redtune.plan(x)
    parts = redtune.List([x, y])
    offsets = torch.tensor([0, 5, 5, 1 << 14], device="cuda")
    return [
        lambda: redtune.sum(x),
        lambda: redtune.sum(x, out=out),
        lambda: redtune.sum(x.clone()),
        lambda: redtune.max(rows, axis=0, keepdims=True),
        lambda: redtune.mean_var(rows, axis=1),
        lambda: redtune.dot(x, y),
        lambda: plan(y),
        plan.run,
        lambda: parts.reduce("norm2"),
        lambda: redtune.segments(x, offsets),
    ]


def refused(x):
    """A call that raises, whose message and exception must go, too."""
    try:
        redtune.sum(x, axis=3)
    except ValueError:
        pass


def main(calls):
    each = kinds()
    x = torch.rand(8, device="cuda")
    each.append(lambda: refused(x))

    def work(rounds):
        for _ in range(rounds):
            for call in each:
                call()

    work(2000)
    before = in_use()
    start = time.perf_counter()
    work(calls // len(each))
    seconds = time.perf_counter() - start
    grown = {key: value - before[key] for key, value in in_use().items()}
    print(f"{calls} calls in {seconds:.1f} s; grown: {grown}")
    return any(grown[key] > MOST_BYTES for key in ("resident", "torch", "gpu")) or (
        grown["objects"] > 100
    )


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000))
