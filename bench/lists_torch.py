"""PyTorch's norm of a list of bf16 arrays, as bench/lists.cu has redtune's: lists_torch.py SIZES

SIZES has the elements of an array on each line. Prints the microseconds of torch._foreach_norm and the norm of
its results, as torch.nn.utils.clip_grad_norm_ computes it: the median of 5 rounds of 10 calls.
"""

import sys

import torch
from torch_events import median_us, time_us

sizes = [int(line) for line in open(sys.argv[1])]
arrays = [torch.ones(size, device="cuda", dtype=torch.bfloat16) for size in sizes]


def norm(_):
    return torch.linalg.vector_norm(torch.stack(torch._foreach_norm(arrays)))


time_us(norm, 3)
us = median_us(norm, calls=10, rounds=5)
print(f"torch._foreach_norm and vector_norm of {len(sizes)} arrays, {sum(sizes)} elements: {us:.1f} us")
