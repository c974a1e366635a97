"""PyTorch's norm of a list of bf16 arrays, as bench/lists.cu has redtune's: lists_torch.py SIZES

SIZES has the elements of an array on each line. Prints the microseconds of torch._foreach_norm and the norm of
its results, as torch.nn.utils.clip_grad_norm_ computes it: the median of 5 rounds of 10 calls.
"""

import statistics
import sys

import torch

sizes = [int(line) for line in open(sys.argv[1])]
arrays = [torch.ones(size, device="cuda", dtype=torch.bfloat16) for size in sizes]
begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))


def norm():
    return torch.linalg.vector_norm(torch.stack(torch._foreach_norm(arrays)))


def round_us(calls=10):
    torch.cuda.synchronize()
    begin.record()
    for _ in range(calls):
        norm()
    end.record()
    end.synchronize()
    return 1000 * begin.elapsed_time(end) / calls


for _ in range(3):
    norm()
us = statistics.median(round_us() for _ in range(5))
print(f"torch._foreach_norm and vector_norm of {len(sizes)} arrays, {sum(sizes)} elements: {us:.1f} us")
