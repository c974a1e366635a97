"""Times of PyTorch's calls, by events on the GPU."""

import statistics

import torch


def time_us(call, calls):
    """Microseconds of call(i), for `calls` numbers one after the other."""
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    torch.cuda.synchronize()
    begin.record()
    for i in range(calls):
        call(i)
    end.record()
    end.synchronize()
    return 1000 * begin.elapsed_time(end) / calls


def median_us(call, calls, rounds):
    """The median of that over some rounds."""
    return statistics.median(time_us(call, calls) for _ in range(rounds))
