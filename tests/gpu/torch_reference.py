"""What PyTorch gives for the ops of docs/ops.md, in f64: what torch_axes.py compares with."""

import math

import torch


def log_product(x):
    return [torch.prod(torch.sign(x), -1), torch.log(x.abs()).sum(-1)]


def norm(x, p):
    return [(x.abs() ** p).sum(-1) ** (1 / p)]


def variance(x, ddof):
    return torch.var_mean(x, dim=-1, correction=int(ddof))


# By op, of the last dim: a list of one or two results. y is the second input; then parameters come.
OPS = {
    "sum": lambda x: [x.sum(-1)],
    "sumsq": lambda x: [(x * x).sum(-1)],
    "mean": lambda x: [x.mean(-1)],
    "norm2": lambda x: [(x * x).sum(-1).sqrt()],
    "nonzeros": lambda x: [torch.count_nonzero(x, dim=-1)],
    "min": lambda x: [x.amin(-1)],
    "max": lambda x: [x.amax(-1)],
    "argmin": lambda x: [torch.argmin(x, dim=-1)],
    "argmax": lambda x: [torch.argmax(x, dim=-1)],
    "argmaxabs": lambda x: [torch.argmax(x.abs(), dim=-1)],
    "nans": lambda x: [x.isnan().sum(-1)],
    "nonfinite": lambda x: [(~x.isfinite()).any(-1)],
    "ptp": lambda x: [x.amax(-1) - x.amin(-1)],
    "normp": norm,
    "var": lambda x, ddof: [variance(x, ddof)[0]],
    "std": lambda x, ddof: [variance(x, ddof)[0].sqrt()],
    "logsumexp": lambda x: [torch.logsumexp(x, dim=-1)],
    "slogprod": log_product,
    "min_at": lambda x: [x.amin(-1), torch.argmin(x, dim=-1)],
    "max_at": lambda x: [x.amax(-1), torch.argmax(x, dim=-1)],
    "minmax": lambda x: [x.amin(-1), x.amax(-1)],
    "sum_sumsq": lambda x: [x.sum(-1), (x * x).sum(-1)],
    "mean_var": lambda x, ddof: list(variance(x, ddof)[::-1]),
    "sum_nonfinite": lambda x: [x.sum(-1), (~x.isfinite()).sum(-1)],
    "dot": lambda x, y: [(x * y).sum(-1)],
    "sqeuclidean": lambda x, y: [((x - y) ** 2).sum(-1)],
    "euclidean": lambda x, y: [((x - y) ** 2).sum(-1).sqrt()],
    "cityblock": lambda x, y: [(x - y).abs().sum(-1)],
    "chebyshev": lambda x, y: [(x - y).abs().amax(-1)],
    "cosine": lambda x, y: [(x * y).sum(-1) / (x * x).sum(-1).sqrt() / (y * y).sum(-1).sqrt()],
    "wmean": lambda x, y: [(x * y).sum(-1) / y.sum(-1)],
    "mismatches": lambda x, y, tolerance: [(~((x - y).abs() <= tolerance)).sum(-1)],
    "mse": lambda x, y: [((x - y) ** 2).mean(-1)],
}
TWO_INPUTS = {"dot", "sqeuclidean", "euclidean", "cityblock", "chebyshev", "cosine", "wmean",
              "mismatches", "mse"}
FLOATS_ONLY = {"nans", "nonfinite", "sum_nonfinite"}
# Values that the parameter of an op takes here.
PARAMETERS = {"normp": (2, 1, 0.5, 3), "var": (0, 1), "std": (0, 1), "mean_var": (0, 1),
              "mismatches": (0, 1, 2.5)}
# These round, even where the elements are whole numbers.
ROUNDED = {"mean", "norm2", "normp", "var", "std", "logsumexp", "slogprod", "mean_var", "euclidean",
           "cosine", "wmean", "mse"}


def flattened(x, dims):
    """In f64, with the reduced dims as the last one, in row-major order."""
    kept = [i for i in range(x.dim()) if i not in dims]
    wide = x.to(torch.float64).permute(kept + dims)
    return wide.reshape([x.shape[i] for i in kept] + [math.prod(x.shape[i] for i in dims)])


def torch_results(op, tensors, dims, parameters):
    return OPS[op](*(flattened(each, dims) for each in tensors), *parameters)


def same(op, got, wanted):
    """Whether results are PyTorch's: bit for bit, or of ops that round, nearly."""
    if op not in ROUNDED:
        wanted = wanted.to(got.dtype)
        return bool(((got == wanted) | ((got != got) & (wanted != wanted))).all())
    wide = got.dtype == torch.float64
    return torch.allclose(got.double(), wanted.double(), rtol=1e-11 if wide else 2e-5,
                          atol=1e-11 if wide else 2e-6, equal_nan=True)
