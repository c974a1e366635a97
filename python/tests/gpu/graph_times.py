"""Graph times: how long CUDA graphs take, replayed one after the other in rounds, for masked_lists.py
and masked_rows.py."""

import statistics

import torch


def median_us(graphs, calls, rounds):
    """{name: the median us of a call} of {name: graph of so many calls}."""
    times = {name: [] for name in graphs}
    for _ in range(rounds):
        for name, graph in graphs.items():
            begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            begin.record()
            graph.replay()
            end.record()
            end.synchronize()
            times[name].append(begin.elapsed_time(end) * 1e3 / calls)
    return {name: statistics.median(every) for name, every in times.items()}
