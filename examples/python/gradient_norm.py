"""The global norm of a model's gradients, for clipping them: one pass over all, without a copy.

usage: gradient_norm.py [--host]     --host: on the host's tensors, which go to the GPU in pieces
"""

import sys

import torch

import redtune


def gradient_norm(parameters):
    """The Euclidean norm of all gradients together, as a tensor on their device."""
    gradients = [each.grad for each in parameters if each.grad is not None]
    if gradients[0].is_cuda:
        return redtune.List(gradients).reduce("norm2")  # in one launch
    squares = [redtune.sumsq(each) for each in gradients]
    return torch.stack(squares).sum().sqrt()


def main(device):
    model = torch.nn.Sequential(
        torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10)
    ).to(device)
    x, target = torch.randn(32, 64, device=device), torch.randint(10, (32,), device=device)
    torch.nn.functional.cross_entropy(model(x), target).backward()

    norm = gradient_norm(model.parameters())
    scale = torch.clamp(1.0 / norm, max=1.0)  # no wait for the GPU
    for each in model.parameters():
        each.grad.mul_(scale)

    by_torch = torch.linalg.vector_norm(
        torch.stack([torch.linalg.vector_norm(each.grad) for each in model.parameters()])
    )
    print(f"the gradients' norm was {norm:.6f}, and is {by_torch:.6f} now")


if __name__ == "__main__":
    main("cpu" if "--host" in sys.argv else "cuda")
