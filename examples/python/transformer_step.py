"""A small transformer's training step before and after redtune.torch.install(), and its report.

Then, with order="fixed", one sequence alone and in batches of 2, 7 and 32: the reductions that
redtune serves have the same bits, and the example names what else differs.

usage: transformer_step.py [--host]     --host: a tiny one of host tensors, on the simulated GPU
"""

import math
import sys
import time

import torch
from torch.nn import functional

import redtune

HOST = "--host" in sys.argv
DEVICE, KEY = ("cpu", "CPU") if HOST else ("cuda", "CUDA")
WIDTH, HEADS, LAYERS, LENGTH, BATCH, WORDS = (
    (32, 2, 1, 8, 2, 50) if HOST else (768, 12, 6, 512, 16, 8192)
)
STEPS = 3 if HOST else 30


def root_mean_square(x):
    """x by the root of the mean of its squares, along the last axis."""
    return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6)


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.out = torch.nn.Linear(WIDTH, WIDTH)
        self.up, self.down = torch.nn.Linear(WIDTH, 4 * WIDTH), torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, length, _ = x.shape
        parts = self.qkv(root_mean_square(x)).view(batch, length, 3, HEADS, -1).permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(*parts, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, WIDTH))
        return x + self.down(functional.gelu(self.up(root_mean_square(x))))


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.words = torch.nn.Embedding(WORDS, WIDTH)
        self.places = torch.nn.Parameter(torch.randn(LENGTH, WIDTH) / math.sqrt(WIDTH))
        self.blocks = torch.nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.head = torch.nn.Linear(WIDTH, WORDS, bias=False)

    def forward(self, tokens):
        return self.head(root_mean_square(self.blocks(self.words(tokens) + self.places)))


def loss_of(logits, target):
    """Cross entropy, and a small penalty for logits that drift (the z-loss), by logsumexp."""
    log_z = logits.logsumexp(-1)
    chosen = logits.gather(-1, target[..., None])[..., 0]
    return (log_z - chosen).mean() + 1e-4 * log_z.square().mean()


def clip(parameters, limit=1.0):
    """Gradients are clipped by their global norm: a norm of each, and one of these."""
    norms = [torch.linalg.vector_norm(each.grad) for each in parameters]
    norm = torch.linalg.vector_norm(torch.stack(norms))
    for each in parameters:
        each.grad.mul_(torch.clamp(limit / norm, max=1.0))
    return norm


def train():
    """The losses, the gradients' norms, and the ms of a step."""
    torch.manual_seed(1)
    model = Model().to(DEVICE)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    tokens = torch.randint(WORDS, (BATCH, LENGTH + 1), device=DEVICE)
    losses, norms, begun = [], [], 0.0
    for step in range(STEPS):
        if step == STEPS // 3:  # kernels are there by then
            synchronize()
            begun = time.perf_counter()
        optimizer.zero_grad()
        loss = loss_of(model(tokens[:, :-1]), tokens[:, 1:])
        loss.backward()
        norms.append(clip(list(model.parameters())))
        optimizer.step()
        losses.append(loss.detach())
    synchronize()
    ms = 1e3 * (time.perf_counter() - begun) / (STEPS - STEPS // 3)
    return torch.stack(losses), torch.stack(norms), ms


def synchronize():
    if not HOST:
        torch.cuda.synchronize()


def compare_steps():
    losses, norms, plain_ms = train()
    with redtune.torch.install(_key=KEY):
        train()  # meanwhile kernels are made
        while redtune.torch.report().pending:
            time.sleep(0.01)
        redtune.torch.report(reset=True)
        ours, our_norms, ms = train()
        print(redtune.torch.report())
    torch.testing.assert_close(ours, losses, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(our_norms, norms, rtol=1e-3, atol=1e-4)
    print(f"a step took {plain_ms:.2f} ms, and takes {ms:.2f} ms; the last loss is {ours[-1]:.5f}")


def compare_batches():
    """What of one sequence has the same bits alone and in batches."""
    redtune.configure(device="sim" if HOST else "0", order="fixed")
    torch.manual_seed(1)
    model = Model().to(DEVICE)
    tokens = torch.randint(WORDS, (32, LENGTH), device=DEVICE)
    parts = {
        "mean": lambda x: x.square().mean(-1),
        "sum": lambda x: x.sum(1),
        "norm": lambda x: x.norm(dim=-1),
        "logsumexp": lambda x: x.logsumexp(-1),
        "PyTorch's embedding": model.words,
        "PyTorch's matmul": model.head,
        "logits": model,
    }
    hidden = torch.randn(32, LENGTH, WIDTH, device=DEVICE)
    with torch.no_grad(), redtune.torch.install(_key=KEY):
        for name, part in parts.items():
            x = tokens if name in ("logits", "PyTorch's embedding") else hidden
            alone = part(x[:1])
            same = [rows for rows in (2, 7, 32) if torch.equal(part(x[:rows])[:1], alone)]
            print(f"{name:<20} alone and in batches of 2, 7, 32: the same bits in {same}")


if __name__ == "__main__":
    redtune.configure(device="sim" if HOST else "0")
    compare_steps()
    compare_batches()
