#!/usr/bin/env python3
"""Random reductions by key, held against NumPy's bincount and ufunc.at: exactly where results are, else within the
bounds of docs/ops.md and docs/keys.md.

A class is an op, dtypes, an order, a mask and some numbers of keys; it has pools of elements, keys and masks on the
GPU, and each of its calls takes stretches of them: of any length, beginning at any element, with keys that are
uniform, all equal, sorted, mostly equal, or out of range by their dtype's limits. So calls bring nothing to the GPU,
and a class compiles a few kernels only. A third of the calls write into a larger array, whose rest must stay.

usage: random_keys.py [--library torch|cupy|sim|numpy] [--calls N] [--classes N] [--seed SEED] [--jobs N]
                      [--seconds LIMIT] [--device DEVICE] [--class C [--call I]]

--jobs processes share the classes. What is refused or wrong names its class and call, which --class and --call
repeat. Exits with 0 if none is refused or wrong, 1 if some are, and 77 without the library.
"""

import argparse
import subprocess
import sys
import time
from typing import NamedTuple

import numpy
from keyed_answers import BOUNDED, RESUMED, answer, wrong_place

import redtune

SKIPPED, POISON = 77, 77
PATTERNS = ("uniform", "one", "sorted", "hot", "outside")
FLOATS, INTEGERS = ("f4", "f4", "f8", "f2", "bf16"), ("i4", "u1", "i2", "i8")
PAIRS = ("dot", "wmean", "mse", "cityblock", "chebyshev")
OPS = (
    *("sum",) * 4, *("mean",) * 2, "max", "min", "prod", "count_nonzero", "any", "sumsq", "norm2", "var", "argmax",
    "max_at", "mean_var", *PAIRS,
)  # fmt: skip


class Library(NamedTuple):
    """How arrays of a library are made of NumPy's, cut and read."""

    to_gpu: object
    cut: object  # of (array, first, shape): elements from that one on
    to_host: object
    keys: tuple
    floats: tuple = ("f4", "f4", "f8", "f2")
    most: int = 1 << 17  # elements of a pattern in a pool
    keys_most: int = 1_000_000


def cut(array, first, shape):
    return array[first : first + int(numpy.prod(shape))].reshape(shape)


def cut_memory(array, first, shape):
    strides = [int(numpy.prod(shape[i + 1 :])) for i in range(len(shape))]
    return array.view(shape, strides, first)


def open_library(name):
    if name == "torch":
        import torch

        if not torch.cuda.is_available():
            raise ImportError("torch finds no GPU")
        return Library(
            lambda x: torch.from_numpy(x).cuda(), cut, lambda x: (x.float() if x.dtype == torch.bfloat16 else x).cpu().numpy(),
            ("i4", "i8", "i8", "u1", "i2", "i1"), FLOATS,
        )  # fmt: skip
    all_keys = ("i4", "i8", "u4", "u8", "u1", "i2", "i1", "u2")
    if name == "cupy":
        import cupy

        return Library(cupy.asarray, cut, cupy.asnumpy, all_keys)
    if name == "sim":
        import sim_memory

        return Library(
            sim_memory.asarray, cut_memory, lambda x: x.numpy(), all_keys, most=2000, keys_most=5000
        )
    return Library(numpy.asarray, cut, numpy.asarray, all_keys, most=2000, keys_most=5000)


# ---- classes --------------------------------------------------------------------------------------------------------


class Kind(NamedTuple):
    """What the calls of a class have in common."""

    op: str
    dtype: str
    key: str
    counts: tuple  # of keys
    width: int  # of rows; 1: elements have a key each
    mask: str  # "", "bools" or "bits"
    order: object
    whole: bool  # elements are small integers, whose sums are exact
    spread: object
    initial: object


def draw_kind(random, library):
    op = str(random.choice(OPS))
    floats = library.floats
    dtype = str(random.choice((*floats, *floats, *INTEGERS)))
    if op in ("norm2", "var", "mean_var", "wmean", "mse") and dtype in INTEGERS:
        dtype = "f4"
    counts = {1, int(random.integers(2, 60)), int(random.integers(60, 5000))}
    more = (20000, 50000, library.keys_most, 3)
    counts.add(min(library.keys_most, more[random.integers(4)]))
    width = 1 if random.integers(4) else int(random.choice((2, 3, 8, 33, 64)))
    if width > 1:
        counts = {min(k, 20000) // width + 1 for k in counts}
    mask = "" if random.integers(2) else str(random.choice(("bools", "bits")))
    order = "fixed" if not (mask and width > 1) and not random.integers(4) else None
    if mask and width > 1 and op in ("argmax", "max_at", "var", "mean_var"):
        counts = {
            min(k, 1000 // width + 1) for k in counts
        }  # others would be reordered, which rows are not then
    whole = dtype not in ("f4", "f8") or op not in BOUNDED or bool(random.integers(2))
    spread = (None, None, "uniform", "skewed")[random.integers(4)]
    key = str(random.choice(library.keys))
    initial = 3 if op in RESUMED and not random.integers(4) else None
    return Kind(op, dtype, key, tuple(sorted(counts)), width, mask, order, whole, spread, initial)


def draw_keys(random, dtype, K, n, pattern):
    limits = numpy.iinfo(dtype)
    most = min(K - 1, limits.max)
    if pattern == "one":
        keys = numpy.full(n, most)
    elif pattern == "sorted":
        keys = numpy.arange(n) * (most + 1) // n
    elif pattern == "hot":
        keys = numpy.where(random.random(n) < 0.9, most // 2, random.integers(0, most + 1, n))
    else:
        keys = random.integers(0, most + 1, n)
    keys = keys.astype(dtype)
    if pattern == "outside":
        others = [x for x in (limits.min, limits.max, K, -1, -K) if limits.min <= x <= limits.max]
        others = [x for x in others if not 0 <= x < K]
        places = numpy.nonzero(random.random(n) < 0.4)[0]
        if others:
            keys[places] = numpy.array([others[i % len(others)] for i in range(len(places))], dtype)
    return keys


class Pools:
    """The elements, keys and masks of a class, on the host and the GPU."""

    def __init__(self, kind, library, seed):
        random = numpy.random.default_rng(seed)
        self.n = library.most
        room = 2 * self.n
        host = "f4" if kind.dtype == "bf16" else kind.dtype
        if kind.op in ("prod",):
            low, high = (1, 2) if host.startswith("u") else (-1, 2)
            make = lambda: random.integers(low, high, room)
        elif kind.whole:
            low = 0 if host.startswith("u") or kind.op == "wmean" else -4
            make = lambda: random.integers(low, 5, room)
        else:
            make = lambda: random.standard_normal(room) * 10.0 ** random.integers(-3, 4, room)
        self.x, self.y = (make().astype(host) for _ in range(2))
        self.where = random.random(room) < 0.7
        self.where[self.n // 2 : self.n // 2 + self.n // 8] = False
        self.keys = {
            K: numpy.concatenate([draw_keys(random, kind.key, K, self.n, each) for each in PATTERNS])
            for K in kind.counts
        }
        on_gpu = library.to_gpu
        self.gpu_x, self.gpu_y = on_gpu(self.x), on_gpu(self.y)
        if kind.dtype == "bf16":
            self.gpu_x, self.gpu_y = self.gpu_x.bfloat16(), self.gpu_y.bfloat16()
        self.gpu_where = on_gpu(self.where)
        self.gpu_bits = on_gpu(numpy.packbits(self.where, bitorder="little"))
        self.gpu_keys = {K: on_gpu(keys) for K, keys in self.keys.items()}


# ---- calls ----------------------------------------------------------------------------------------------------------


class Call(NamedTuple):
    """Stretches of a class's pools."""

    K: int
    n: int  # of keys
    x_at: int
    y_at: int
    key_at: int
    where_at: int
    out_at: int  # 0: the call makes its results
    counts_skipped: bool


def draw_call(random, kind, pools):
    K = int(kind.counts[random.integers(len(kind.counts))])
    size = int(random.choice((0, 1, 40, 40, 3000, 3000, 3000, 20000)))
    if not random.integers(50):
        size = pools.n
    if K > 100000 and random.integers(20):
        K = int(kind.counts[0])  # reading a million results takes longer than most calls
    n = int(random.integers(0, min(size, pools.n) + 1)) // kind.width
    elements = n * kind.width
    ahead = int(random.integers(0, pools.n * 2 - elements + 1))
    pattern = int(random.integers(0, len(PATTERNS)))
    return Call(
        K, n, ahead if random.integers(2) else ahead // 16 * 16,
        int(random.integers(0, pools.n * 2 - elements + 1)),
        pattern * pools.n + int(random.integers(0, pools.n - n + 1)),
        int(random.integers(0, pools.n * 2 - elements + 1)),
        int(random.integers(1, 9)) if not random.integers(3) else 0,
        bool(random.integers(2)),
    )  # fmt: skip


def make_call(call, kind, pools, library, name):
    """The results that redtune gives, and how many keys it skipped."""
    shape = (call.n, kind.width) if kind.width > 1 else (call.n,)
    x = library.cut(pools.gpu_x, call.x_at, shape)
    keys = library.cut(pools.gpu_keys[call.K], call.key_at, (call.n,))
    more = {"order": kind.order, "spread": kind.spread, "initial": kind.initial}
    if kind.op in PAIRS:
        more["y"] = library.cut(pools.gpu_y, call.y_at, shape)
    if kind.mask == "bools":
        more["where"] = library.cut(pools.gpu_where, call.where_at, shape)
    elif kind.mask:
        more["where"] = redtune.bits(pools.gpu_bits, call.where_at)
    skipped = None
    if call.counts_skipped and name != "numpy":
        skipped = more["skipped"] = library.to_gpu(numpy.zeros(1, "i8"))
    got = redtune.by_key(x, keys, call.K, kind.op, **more)
    several = isinstance(got, tuple)
    results = [library.to_host(each) for each in (got if several else (got,))]
    if call.out_at and not several and kind.dtype != "bf16":
        wanted = results[0]
        whole = library.to_gpu(numpy.full(wanted.size + 16, POISON, wanted.dtype))
        more["out"] = library.cut(whole, call.out_at, wanted.shape)
        redtune.by_key(x, keys, call.K, kind.op, **more)
        there = library.to_host(whole)
        results = [there[call.out_at : call.out_at + wanted.size].reshape(wanted.shape).copy()]
        there[call.out_at : call.out_at + wanted.size] = POISON
        if wanted.dtype.kind != "b" and not (there == POISON).all():
            raise AssertionError("what lies beside out is written")
    return (results, None if skipped is None else int(library.to_host(skipped)[0]), 1 + ("out" in more))


def check_call(call, kind, pools, library, name):
    """None, or ("refused" or "wrong", why)."""
    elements = call.n * kind.width
    try:
        results, skipped, runs = make_call(call, kind, pools, library, name)
    except Exception as reason:
        return "refused", f"{type(reason).__name__}: {reason}"
    keys = pools.keys[call.K][call.key_at : call.key_at + call.n]
    here = (keys >= 0) & (keys <= numpy.array(min(call.K - 1, numpy.iinfo(keys.dtype).max), keys.dtype))
    there = pools.where[call.where_at : call.where_at + elements] if kind.mask else numpy.ones(elements, bool)
    rows = numpy.repeat(numpy.arange(call.n), kind.width)
    taken = there & here[rows]
    rows, columns = rows[taken], numpy.nonzero(taken)[0] % kind.width
    cells = keys[rows].astype("i8") * kind.width + columns
    x = pools.x[call.x_at : call.x_at + elements][taken].astype("f8")
    y = pools.y[call.y_at : call.y_at + elements][taken].astype("f8")
    kinds = pools.x.dtype
    limits = (-numpy.inf, numpy.inf)
    if kinds.kind != "f":
        limits = numpy.iinfo(kinds).min, numpy.iinfo(kinds).max
    wants = answer(kind, cells, rows, x, y, call.K * kind.width, limits)
    for i, ((want, size), got) in enumerate(zip(wants, results)):
        place = wrong_place(kind, got, want, size, call.n)
        if place is not None:
            return ("wrong", f"result {i} of cell {place} is {got.reshape(-1)[place]}, not {want[place]}")
    if skipped is not None:
        outside = ~here & (there if kind.width == 1 else True)
        if skipped != runs * numpy.count_nonzero(outside):
            return ("wrong", f"{skipped} keys were skipped, not {runs * numpy.count_nonzero(outside)}")
    return None


def run(name, calls, classes, seed, seconds=float("inf"), part=(0, 1), only=(None, None)):
    """How many calls were done, in how many classes, and the faults among them."""
    library, end = open_library(name), time.monotonic() + seconds
    done, seen, faults = 0, 0, []
    for c in range(part[0], classes, part[1]):
        if only[0] is not None and c != only[0]:
            continue
        kind = draw_kind(numpy.random.default_rng((seed, c)), library)
        pools = Pools(kind, library, (seed, c, 1))
        seen += 1
        for i in range(calls // classes + (c < calls % classes)):
            if only[1] is not None and i != only[1]:
                continue
            if time.monotonic() > end:
                return done, seen, faults
            call = draw_call(numpy.random.default_rng((seed, c, 2, i)), kind, pools)
            fault = check_call(call, kind, pools, library, name)
            done += 1
            if fault:
                faults.append((*fault, f"--class {c} --call {i}: {kind}, {call}"))
    return done, seen, faults


# ---- processes ------------------------------------------------------------------------------------------------------


def run_jobs(given):
    """The same by as many processes; what they print of faults is passed on."""
    more = [f"--{name}={getattr(given, name)}" for name in ("library", "calls", "classes", "seed", "seconds")]
    optional = {"device": given.device, "class": given.class_, "call": given.call}
    more += [f"--{name}={value}" for name, value in optional.items() if value is not None]
    jobs = [
        subprocess.Popen(
            [sys.executable, __file__, *more, f"--part={i}/{given.jobs}"], stdout=subprocess.PIPE, text=True
        )
        for i in range(given.jobs)
    ]
    totals, failed = [0] * 4, 0
    said = [job.communicate()[0] for job in jobs]
    if any(job.returncode == SKIPPED for job in jobs):
        return None
    for job, text in zip(jobs, said):
        failed |= job.returncode not in (0, 1)
        for line in text.splitlines():
            if line.startswith("part: "):
                totals = [a + int(b) for a, b in zip(totals, line.split()[1:])]
            else:
                print(line)
    return totals, failed


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--library", choices=("torch", "cupy", "sim", "numpy"), default="torch")
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--classes", type=int, default=48)
    parser.add_argument("--seed", type=int, default=20261128)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--device", help="as redtune.configure has it")
    parser.add_argument("--class", type=int, dest="class_", help="this one alone")
    parser.add_argument("--call", type=int, help="of the class, this one alone")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    given = parser.parse_args()
    begun = time.monotonic()
    if given.jobs > 1:
        found = run_jobs(given)
        if found is None:
            return SKIPPED
        (done, seen, refused, wrong), failed = found
    else:
        if given.device:
            redtune.configure(device=given.device)
        part = tuple(map(int, given.part.split("/"))) if given.part else (0, 1)
        try:
            done, seen, faults = run(
                given.library,
                given.calls,
                given.classes,
                given.seed,
                given.seconds,
                part,
                (given.class_, given.call),
            )
        except ImportError as reason:
            print(f"skipped: {reason}", file=sys.stderr)
            return SKIPPED
        for kind in ("refused", "wrong"):
            for _, why, what in [each for each in faults if each[0] == kind][:10]:
                print(f"{kind}: {' '.join(why.split())[:300]}: {what}")
        refused, failed = sum(fault[0] == "refused" for fault in faults), False
        wrong = len(faults) - refused
        if given.part:
            print(f"part: {done} {seen} {refused} {wrong}")
            return int(bool(faults))
    rate = done / max(1e-9, time.monotonic() - begun)
    print(
        f"{done} of {given.calls} calls by key of {given.library}'s arrays, {seen} classes, seed {given.seed}: "
        f"{refused} refused, {wrong} wrong; {rate:.0f} a second"
    )
    return int(failed or refused + wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
