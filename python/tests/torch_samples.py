"""PyTorch's own samples (OpInfo) of its reductions, through redtune's functions of the same names.

    python torch_samples.py [--samples N] [--seed N] [--names sum,mean] [--show N]

Prints how many have PyTorch's result, how many are refused, and why, and how many differ. Needs
PyTorch with expecttest. Results are compared as values, in PyTorch's dtype: those of redtune may be
wider. Of max and min with an axis the values are compared, as redtune has NumPy's; var and std without a
correction are given PyTorch's, 1, where NumPy's is 0 (docs/python.md).
"""

import argparse
import collections
import inspect
import random
import sys

import numpy
import torch
from torch.testing._internal.common_methods_invocations import op_db

import redtune

NAMES = """sum mean amax amin max min prod var std var_mean std_mean aminmax argmax argmin any all
count_nonzero nansum nanmean logsumexp norm linalg.norm linalg.vector_norm""".split()
DTYPES = [torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.uint8, torch.bool]
OTHERS = {"binary"}  # of two arrays, element by element
SPREADS = {"var", "std"}
TOLERANCE = {torch.float16: 2e-3, torch.bfloat16: 1.6e-2}


def samples(names=NAMES):
    for info in op_db:
        if info.name not in names or info.variant_test_name in OTHERS:
            continue
        for dtype in DTYPES:
            if dtype in info.supported_dtypes("cpu"):
                torch.manual_seed(5)
                for each in info.sample_inputs("cpu", dtype, requires_grad=False):
                    yield info, dtype, each


def function_of(info):
    of = redtune
    for part in info.name.split("."):
        of = getattr(of, part, None)
    return of


def corrected(name, args, kwargs):
    """The same call with PyTorch's correction where it names none."""
    named = {"correction", "unbiased", "ddof"} & set(kwargs)
    said = (
        named
        or (args and isinstance(args[0], bool))
        or (len(args) > 1 and isinstance(args[1], bool))
    )
    return kwargs if name not in SPREADS or said else {**kwargs, "correction": 1}


def values_of(found):
    """A result's arrays, without the indices of max and min."""
    fields = getattr(found, "_fields", None) or tuple(
        each
        for each in ("values", "indices")
        if not torch.is_tensor(found) and hasattr(found, each)
    )
    if fields == ("values", "indices"):
        return [found.values]
    return list(found) if isinstance(found, (tuple, list)) else [found]


def compare(got, want):
    """None, or how redtune's arrays differ from PyTorch's."""
    if len(got) != len(want):
        return f"{len(got)} results and not {len(want)}"
    for mine, its in zip(got, want):
        mine = torch.as_tensor(numpy.asarray(mine) if not torch.is_tensor(mine) else mine)
        if mine.shape != its.shape:
            return f"shape {tuple(mine.shape)} and not {tuple(its.shape)}"
        if its.dtype == torch.bool and mine.dtype != torch.bool:  # of uint8 its any is uint8
            return f"{mine.dtype} and not {its.dtype}"
        near = TOLERANCE.get(its.dtype, 1e-5)
        close = torch.isclose(mine.double(), its.double(), near, near, equal_nan=True)
        if not close.all():
            at = (~close).reshape(-1).nonzero()[0, 0]
            return f"{mine.reshape(-1)[at].item()} and not {its.reshape(-1)[at].item()}"
    return None


def outcome(info, sample):
    """The kind, equal, refused, wrong or no function, and what is said. PyTorch's refusals count for
    nothing (None)."""
    try:
        want = info.op(sample.input.clone(), *sample.args, **sample.kwargs)
    except (RuntimeError, IndexError, TypeError):
        return None
    function = function_of(info)
    if function is None:
        return "no function", info.name
    kwargs = corrected(info.name, sample.args, sample.kwargs)
    try:
        got = function(sample.input, *sample.args, **kwargs)
    except (TypeError, ValueError, RuntimeError, NotImplementedError) as error:
        return "refused", f"{type(error).__name__}: {error}"
    wrong = compare(values_of(got), values_of(want))
    return ("wrong", wrong) if wrong else ("equal", "")


def describe(info, dtype, sample):
    args = [str(each) for each in sample.args] + [f"{k}={v}" for k, v in sample.kwargs.items()]
    shape = "x".join(map(str, sample.input.shape)) or "scalar"
    return f"{info.name} of {str(dtype)[6:]} {shape} ({', '.join(args)})"


def run(chosen, show=0):
    """How many samples came out how; prints examples of what was not equal."""
    counts, reasons = collections.Counter(), collections.defaultdict(list)
    for info, dtype, sample in chosen:
        found = outcome(info, sample)
        if found is None:
            continue
        counts[found[0]] += 1
        if found[0] != "equal":
            reasons[found].append(describe(info, dtype, sample))
    for (kind, why), calls in sorted(reasons.items(), key=lambda each: -len(each[1])):
        if show:
            print(f"{kind} {len(calls)}: {why}")
            print("".join(f"    {each}\n" for each in calls[:show]), end="")
    return counts, reasons


def main():
    parser = argparse.ArgumentParser(description=inspect.cleandoc(__doc__.split("\n")[0]))
    parser.add_argument("--samples", type=int, help="how many, drawn at random; all without it")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--names", default=",".join(NAMES))
    parser.add_argument("--show", type=int, default=3, help="examples of each reason")
    parser.add_argument("--device", default="sim")
    arguments = parser.parse_args()
    redtune.configure(device=arguments.device)
    every = list(samples(arguments.names.split(",")))
    random.Random(arguments.seed).shuffle(every)
    counts, _ = run(every[: arguments.samples], arguments.show)
    print(f"{sum(counts.values())} samples:", ", ".join(f"{n} {k}" for k, n in counts.items()))
    return bool(counts["wrong"])


if __name__ == "__main__":
    sys.exit(main())
