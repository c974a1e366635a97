"""Race: sums of torch's tensors on a stream by redtune and by torch, from 2^10 to 2^30 elements."""

import statistics
import sys

import torch

import redtune


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


def main(last):
    print("elements  torch us  redtune us  times faster")
    for power in range(10, last + 1):
        x = torch.rand(1 << power, device="cuda")
        count = 500 if power < 24 else 40
        calls = (lambda: torch.sum(x)), (lambda: redtune.sum(x))
        for call in calls:
            for _ in range(10):
                call()
        torch_us, redtune_us = (time_us(call, count) for call in calls)
        print(f"2^{power:<7} {torch_us:9.2f} {redtune_us:10.2f} {torch_us / redtune_us:8.2f}")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 30)
