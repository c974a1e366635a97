"""Masked rows: the time of a masked mean along rows of f32 by each config of a small grid, over that
of reading the elements and the mask. Needs torch and a GPU.

usage: masked_rows.py [ROWS COLUMNS [OP]]     65536 256 mean
       masked_rows.py --dry                   makes the plans on the simulated GPU, and compares
"""

import sys

import numpy

import redtune

CONFIG = (
    "rows:block={block},lanes={lanes},rows={rows},vec=4,unroll={unroll},load=no_allocate,"
    "finish=single,per_sm=1"
)
GRID = [
    {"block": block, "lanes": lanes, "rows": rows, "unroll": unroll}
    for block in (128, 256)
    for lanes in (8, 16, 32, 64)
    for rows in (1, 2, 4)
    for unroll in (1, 2, 4, 8)
]
ROUNDS, CALLS = 15, 20


def plans(x, mask, op):
    """(name, plan) of the default and of each config that is there for the problem."""
    yield "default", redtune.plan(x, op=op, axis=1, where=mask)
    for point in GRID:
        config = CONFIG.format(**point)
        try:
            yield config, redtune.plan(x, op=op, axis=1, where=mask, config=config)
        except ValueError as refused:
            print(f"not made: {config}: {refused}", file=sys.stderr)


def timed(rows, columns, op):
    import torch
    from graph_times import median_us

    # Inputs that L2 does not hold from one call to the next.
    copies = max(2, 2**28 // (rows * columns * 5) + 1)
    xs = [torch.rand(rows, columns, device="cuda") for _ in range(copies)]
    masks = [torch.rand(rows, columns, device="cuda") < 0.5 for _ in xs]
    out = torch.empty(rows, device="cuda")
    whole = redtune.plan(torch.empty(rows * columns * 5 // 4, device="cuda"), op="sum")
    reads = [torch.rand(rows * columns * 5 // 4, device="cuda") for _ in xs]
    total = torch.empty((), device="cuda")

    def graph_of(call):
        graph = torch.cuda.CUDAGraph()
        call(0)
        torch.cuda.synchronize()
        with torch.cuda.graph(graph):
            for i in range(CALLS):
                call(i % copies)
        return graph

    graphs = {"reading": graph_of(lambda i: whole(reads[i], out=total))}
    made = dict(plans(xs[0], masks[0], op))  # a graph needs its plan as long as it runs
    for name, plan in made.items():
        graphs[name] = graph_of(lambda i, plan=plan: plan(xs[i], out=out, where=masks[i]))
    us = median_us(graphs, CALLS, ROUNDS)
    print(f"{op} of {rows} x {columns} f32 with a mask; reading both takes {us['reading']:.2f} us")
    for name in sorted(us, key=us.get):
        print(f"{us[name]:8.2f} us {us[name] / us['reading']:6.3f} {name}")


def dry():
    import os

    sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
    import sim_memory

    redtune.configure(device="sim")
    random = numpy.random.default_rng(1)
    x = random.integers(0, 9, (9, 256)).astype("f4")
    mask = random.random(x.shape) < 0.5
    made = 0
    for name, plan in plans(sim_memory.asarray(x), sim_memory.asarray(mask), "mean"):
        want = numpy.mean(x, axis=1, where=mask)
        numpy.testing.assert_allclose(plan.run().numpy(), want, 1e-6, err_msg=name)
        made += 1
    print(f"{made} of {1 + len(GRID)} plans, all right")


if __name__ == "__main__":
    if sys.argv[1:] == ["--dry"]:
        dry()
    else:
        given = sys.argv[1:] + ["65536", "256", "mean"][len(sys.argv) - 1 :]
        timed(int(given[0]), int(given[1]), given[2])
