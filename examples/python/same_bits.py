"""A mean that has the same bits each time, and on each machine with the same model of GPU, for a
test that compares them: the plan's configuration is written down, and asked for again.

usage: same_bits.py     needs PyTorch and a GPU
"""

import torch

import redtune


def mean_with(x, config):
    return redtune.plan(x, op="mean", config=config).run().clone()


def main():
    x = torch.randn(1_000_003, device="cuda", generator=torch.Generator("cuda").manual_seed(1))
    config = redtune.plan(x, op="mean").config  # what a test would have written down
    first, again = mean_with(x, config), mean_with(x, config)
    assert torch.equal(first.view(torch.int32), again.view(torch.int32))
    print(f"{float(first)!r} by {config}")


if __name__ == "__main__":
    main()
