"""Race: sums of torch's tensors on a stream by redtune and by torch.

usage: race.py POWER     of whole tensors from 2^10 to 2^POWER elements, and of rows and columns
"""

import statistics
import sys

import torch

import redtune

SHAPES = [
    (1, 16777216), (7, 1000003), (8, 2097152), (32, 1024), (33, 33793), (64, 262144), (128, 4096),
    (256, 65536), (1024, 1024), (1024, 16384), (2048, 50257), (4096, 4096), (4096, 5120),
    (8192, 8192), (16384, 1024), (65536, 256), (100000, 300), (262144, 64), (1000003, 3),
    (1048576, 16), (4194304, 4),
]  # fmt: skip


def time_us(call, count):
    """The median of five times of `count` calls on the stream, per call."""
    times = []
    for _ in range(5):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        start.record()
        for _ in range(count):
            call()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) * 1e3 / count)
    return statistics.median(times)


def race(name, calls, count):
    """Prints the line of two calls, torch's and redtune's, and returns how many times faster."""
    for call in calls:
        for _ in range(10):
            call()
    torch_us, redtune_us = (time_us(call, count) for call in calls)
    print(f"{name:16} {torch_us:9.2f} {redtune_us:10.2f} {torch_us / redtune_us:8.2f}")
    return torch_us / redtune_us


def race_whole(power):
    x = torch.rand(1 << power, device="cuda")
    calls = (lambda: torch.sum(x)), (lambda: redtune.sum(x))
    return race(f"2^{power}", calls, 500 if power < 24 else 40)


def race_axis(rows, cols, axis):
    x = torch.rand(rows, cols, device="cuda")
    calls = (lambda: torch.sum(x, axis)), (lambda: redtune.sum(x, axis))
    return race(f"{rows}x{cols} axis {axis}", calls, 500 if rows * cols < 1 << 22 else 40)


def main(last):
    print("elements          torch us  redtune us  times faster")
    gains = [race_whole(power) for power in range(10, last + 1)]
    gains += [race_axis(rows, cols, axis) for axis in (0, 1) for rows, cols in SHAPES]
    print(f"slowest: {min(gains):.2f}; slower than torch: {len([g for g in gains if g < 1])}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
