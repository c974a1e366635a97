"""A mean with the same bits on each GPU and at each address, for a test that compares them.

usage: same_bits.py     needs PyTorch and a GPU
"""

import torch

import redtune


def bits(x):
    """The bits of a mean in the fixed order (docs/order.md), which a test may write down."""
    return int(redtune.mean(x, order="fixed").view(torch.int32))


def main():
    x = torch.sin(torch.arange(1_000_003, device="cuda"))
    elsewhere = torch.empty(1_000_004, device="cuda")[1:].copy_(x)  # at another alignment
    assert bits(x) == bits(elsewhere)
    print(f"the mean's bits are {bits(x):#010x} wherever its elements lie")


if __name__ == "__main__":
    main()
