"""Torch races: calls of PyTorch's with and without redtune.torch.install(), for torch_install.py.

Each case is compared with PyTorch's result before it is timed. Its time is the shortest of some
turns, in which PyTorch's kernels and redtune's alternate; PyTorch's run while redtune is not
installed.
"""

import contextlib
import math
import sys
import time

import torch

import redtune

HOST = "--host" in sys.argv
DEVICE, KEY = ("cpu", "CPU") if HOST else ("cuda", "CUDA")
SLOW, NEVER = 0.97, 1 << 40
TOLERANCE = {torch.float32: 1e-4, torch.float16: 4e-3, torch.bfloat16: 2e-2}
failures = []


def fail(line):
    failures.append(line)
    print(f"WRONG: {line}")


def synchronize():
    if not HOST:
        torch.cuda.synchronize()


def wait():
    end = time.monotonic() + 120
    while redtune.torch.report().pending and time.monotonic() < end:
        time.sleep(0.01)


def positive(*shape, dtype=torch.float32, limit=30000):
    """Random numbers whose sum of all is below the limit, and so in the range of halves."""
    count = math.prod(shape)
    x = torch.rand(shape, device=DEVICE) + 0.5
    return (x * min(1, limit / count)).to(dtype)


# ---- states --------------------------------------------------------------------------------------


@contextlib.contextmanager
def plain():
    yield


@contextlib.contextmanager
def served():
    with redtune.torch.install(_key=KEY):
        yield


@contextlib.contextmanager
def left():
    with redtune.torch.install(at_least=NEVER, _key=KEY):
        yield


@contextlib.contextmanager
def forced():
    """Served whatever was measured, and not counted."""
    with redtune.torch.install(at_least=0, _key=KEY):
        redtune._core.torch_quiet(True)
        try:
            yield
        finally:
            redtune._core.torch_quiet(False)


# ---- timing --------------------------------------------------------------------------------------


def results_of(call):
    found = call()
    return found if isinstance(found, tuple) else (found,)


def compare(label, got, want):
    for mine, theirs in zip(got, want):
        tolerance = TOLERANCE.get(theirs.dtype, 0)
        most = float(theirs.abs().max()) if tolerance else 0  # what is added up is positive
        try:
            torch.testing.assert_close(mine, theirs, rtol=tolerance, atol=tolerance * most)
        except AssertionError as error:
            fail(f"{label}: {' '.join(str(error).split())[:150]}")
            return False
    return True


def settle(cases, state):
    """Has the kernels of a state made."""
    for _ in range(2):
        with state():
            for call in cases.values():
                call()
            wait()


def right(cases, states, exact):
    """The cases that every state computes as PyTorch does, or redtune as the exact results are."""
    want = {label: exact.get(label) or results_of(call) for label, call in cases.items()}
    bad = set()
    for state in states:
        if state is plain:
            continue
        settle(cases, state)
        with state():
            bad |= {
                label
                for label, call in cases.items()
                if not compare(label, results_of(call), want[label])
            }
    return {label: call for label, call in cases.items() if label not in bad}


def us_of(call, count, waits):
    """Of a call, in a run of them; waits: for the GPU, too."""
    for _ in range(3):
        call()
    synchronize()
    begun = time.perf_counter()
    for _ in range(count):
        call()
    if waits:
        synchronize()
    taken = time.perf_counter() - begun
    synchronize()
    return 1e6 * taken / count


def race(cases, states, count, waits=True, turns=5, exact={}):
    """{label: us in each state} of the cases whose results are right. count: calls in a run.

    The host's first runs of a state take longer: of its own time a turn has four.
    """
    cases = right(cases, states, exact)
    best = {label: [math.inf] * len(states) for label in cases}
    for _ in range(1 if HOST else turns):
        for number, state in enumerate(states):
            with state():
                for label, call in cases.items():
                    its = best[label]
                    for _ in range(1 if HOST or waits else 4):
                        its[number] = min(
                            its[number], us_of(call, 2 if HOST else count(label), waits)
                        )
    return best


def mean_of(gains):
    return math.exp(sum(map(math.log, gains)) / len(gains)) if gains else math.nan


def who_serves(cases):
    """The cases that redtune serves by default."""
    settle(cases, served)
    found = set()
    with served():
        for label, call in cases.items():
            redtune.torch.report(reset=True)
            call()
            if any(its["served"] for its in redtune.torch.report().values()):
                found.add(label)
    return found


# ---- sections -------------------------------------------------------------------------------------


def host(arguments):
    x = positive(32, 32)
    y = torch.empty(32, device=DEVICE)
    keys = torch.arange(1024, device=DEVICE) % 4
    into, flat = torch.zeros(4, device=DEVICE), x.flatten()
    cases = {
        "sum(x)": lambda: torch.sum(x),
        "sum(x, 1)": lambda: torch.sum(x, 1),
        "sum(x, 1, out=y)": lambda: torch.sum(x, 1, out=y),
        "mean(x, 1)": lambda: torch.mean(x, 1),
        "amax(x, 1)": lambda: torch.amax(x, 1),
        "max(x, 1)": lambda: torch.max(x, 1)[0],
        "argmax(x, 1)": lambda: torch.argmax(x, 1),
        "vector_norm(x)": lambda: torch.linalg.vector_norm(x),
        "var(x, 1)": lambda: torch.var(x, 1),
        "any(x, 1)": lambda: torch.any(x, 1),
        "count_nonzero(x, 1)": lambda: torch.count_nonzero(x, 1),
        "logsumexp(x, 1)": lambda: torch.logsumexp(x, 1),
        "index_add(y, 0, keys, x)": lambda: into.index_add(0, keys, flat),
        "scatter_reduce, amax": lambda: into.scatter_reduce(0, keys, flat, "amax"),
    }
    served_cases = who_serves(cases)
    times = race(cases, (plain, served, left), lambda _: 200, waits=False, turns=6)
    cells = []
    for label, (theirs, ours, back) in times.items():
        mark = "" if label in served_cases else " (left)"
        if label in served_cases and ours > theirs:
            mark = " SLOWER"
        if back > theirs + 1.5:
            mark += " MORE THAN 1.5"
        cells.append(f"{label} {theirs:.1f} {ours:.1f} {back:.1f}{mark}")
    print("host us of a call of 1024 f32: by PyTorch, by default with install(), left to PyTorch")
    for i in range(0, len(cells), 2):
        print("  " + "".join(f"{cell:<48}" for cell in cells[i : i + 2]).rstrip())
    print(
        f"a call that is left costs {max(b - a for a, _, b in times.values()):.1f} us more at most"
    )


def eager_cases():
    shapes = {}
    for dtype, logs in ((torch.float32, range(16, 27, 2)), (torch.float16, (18, 22, 25))):
        for log in logs if not HOST else (10,):
            count = (1 << log) // dtype.itemsize
            rows = 1 << (count.bit_length() // 2)
            size = f"{2 ** (log - 10)} KiB" if log < 20 else f"{2 ** (log - 20)} MiB"
            shapes[size, dtype] = (rows, count // rows)
    for shape in ((8192, 768), (1000, 1003)) if not HOST else ((30, 7),):
        for dtype in (torch.float32, torch.bfloat16):
            shapes["{}x{}".format(*shape), dtype] = shape
    functions = {
        "sum": torch.sum,
        "mean": torch.mean,
        "norm": lambda x, dim=None: torch.linalg.vector_norm(x, dim=dim),
        "amax": lambda x, dim=(): torch.amax(x, dim),
    }
    cases = {}
    for (size, dtype), shape in shapes.items():
        x = positive(*shape, dtype=dtype)
        for name, function in functions.items():
            its = size, str(dtype)[6:], name
            cases[*its, "whole"] = lambda x=x, function=function: function(x)
            cases[*its, "rows"] = lambda x=x, function=function: function(x, 1)
            cases[*its, "columns"] = lambda x=x, function=function: function(x, 0)
    return cases


def eager(arguments):
    cases = eager_cases()
    ours = who_serves(cases)
    times = race(cases, (plain, served, forced), lambda label: 25 if "64 MiB" in label else 50)
    gains = {label: its[0] / its[1] for label, its in times.items()}
    sizes = list(dict.fromkeys((label[0], label[1]) for label in gains))
    cells = []
    for size in sizes:
        some = [gain for label, gain in gains.items() if label[:2] == size]
        cells.append(f"{' '.join(size)} {mean_of(some):.2f} {min(some):.2f}")
    print("times as fast, in the mean and at worst:")
    for i in range(0, len(cells), 4):
        print("  " + "; ".join(cells[i : i + 4]))
    least = min(gains, key=gains.get)
    print(
        f"{len(gains)} cases, {len(gains) - len(ours)} of them left to PyTorch: {mean_of(gains.values()):.2f} "
        f"in the geometric mean (at least 1.2), {gains[least]:.2f} at worst ({' '.join(least)})"
    )
    slow, fast = [], []
    for label, (theirs, mine, all_served) in times.items():
        line = f"{' '.join(label)}: PyTorch {theirs:.1f} us, redtune {all_served:.1f}"
        if gains[label] < SLOW:
            slow.append(f"{line}, {gains[label]:.3f}{'' if label in ours else ', left'}")
        elif label not in ours and theirs / all_served > 1.03:
            fast.append(line)
    for name, lines in ((f"below {SLOW}", slow), ("left, but faster", fast)):
        if lines:
            print(f"{len(lines)} {name}:", "\n    ".join(lines[:6]))


def keyed_cases():
    """The cases, and the results of those in which PyTorch rounds to bf16 with each addition."""
    if HOST:
        shapes = [(3000, 0, 4), (600, 3, 2)]
    else:
        shapes = [(1 << 16, 0, 256), (1 << 18, 0, 256), (1 << 20, 0, 4096), (1 << 24, 0, 256),
                  (1 << 24, 0, 1 << 20), (1 << 20, 64, 1000), (1 << 18, 64, 64), (1 << 17, 64, 1000),
                  (1 << 16, 768, 64), (1 << 16, 768, 1000), (1 << 14, 768, 16), (1 << 14, 768, 256),
                  (1 << 13, 768, 8), (1 << 21, 4, 8000), (1 << 20, 8, 4000), (1 << 20, 8, 30000)]  # fmt: skip
    cases, exact = {}, {}
    for rows, width, count in shapes:
        keys = torch.randint(count, (rows,), device=DEVICE)
        for dtype in (torch.float32, torch.bfloat16):
            shape = (rows, width) if width else (rows,)
            x = positive(*shape, dtype=dtype)
            out = x.roll(1, 0)[:count].clone()
            every = keys.view(-1, *[1] * (x.dim() - 1)).expand(x.shape)
            label = f"{rows}x{width or 1} by {count}", str(dtype)[6:]
            cases[*label, "index_add"] = lambda k=keys, x=x, o=out: o.index_add(0, k, x)
            if dtype == torch.bfloat16 and not HOST:
                exact[*label, "index_add"] = (out.float().index_add(0, keys, x.float()).to(dtype),)
            for kind in ("amax", "mean") if dtype == torch.float32 else ():
                cases[*label, kind] = lambda k=every, x=x, o=out, kind=kind: o.scatter_reduce(
                    0, k, x, kind
                )
    return cases, exact


def rows(arguments):
    cases, exact = keyed_cases()
    TOLERANCE[torch.float32] = 2e-3  # PyTorch adds up to 65,536 numbers one after the other
    ours = who_serves(cases)
    times = race(cases, (plain, forced), lambda _: 10, turns=3, exact=exact)
    print(
        f"{'us by PyTorch, redtune':<28}{'index_add f32':>16}{'bf16':>16}{'amax f32':>16}{'mean f32':>16}"
    )
    kinds = (
        ("float32", "index_add"),
        ("bfloat16", "index_add"),
        ("float32", "amax"),
        ("float32", "mean"),
    )
    for size in dict.fromkeys(label[0] for label in cases):
        cells = []
        for kind in kinds:
            label = (size, *kind)
            if label not in times:
                cells.append("wrong")
                continue
            theirs, mine = times[label]
            slow = "!" if label in ours and theirs / mine < SLOW else ""
            cells.append(f"{theirs:.0f} {mine:.0f}{'' if label in ours else ' left'}{slow}")
        print(f"{size:<28}" + "".join(f"{cell:>16}" for cell in cells))
    gains = [times[label][0] / times[label][1] for label in times if label in ours]
    print(
        f"{len(gains)} served: {mean_of(gains):.2f} in the mean, {min(gains, default=0):.2f} at worst (!: below {SLOW})"
    )


# ---- strides -------------------------------------------------------------------------------------


def strided_cases():
    images = [(32, 64, 56, 56), (64, 256, 56, 56), (64, 512, 7, 7), (256, 2048, 7, 7), (64, 64, 112, 112),
              (16, 3, 224, 224), (8, 256, 14, 14), (128, 1024, 14, 14), (4, 16, 8, 8)]  # fmt: skip
    views = {
        "(0, 2) of 32x12x512x64": lambda dtype: (positive(32, 12, 512, 64, dtype=dtype), (0, 2)),
        "(0, 2) of 64x1024x256": lambda dtype: (positive(64, 1024, 256, dtype=dtype), (0, 2)),
        "(1, 3) of 16x64x32x128": lambda dtype: (positive(16, 64, 32, 128, dtype=dtype), (1, 3)),
        "(2, 3) of 62x62 of 64x64": lambda dtype: (
            positive(64, 64, 64, 64, dtype=dtype)[:, :, 1:-1, 1:-1], (2, 3)),
        "(0, 2, 3) of 62x62 of 64x64": lambda dtype: (
            positive(64, 64, 64, 64, dtype=dtype)[:, :, 1:-1, 1:-1], (0, 2, 3)),
        "1 of every second column": lambda dtype: (positive(8192, 2048, dtype=dtype)[:, ::2], 1),
        "0 of every second column": lambda dtype: (positive(8192, 2048, dtype=dtype)[:, ::2], 0),
        "all of every second row": lambda dtype: (positive(8192, 2048, dtype=dtype)[::2], (0, 1)),
        "0 of a broadcast": lambda dtype: (positive(4096, dtype=dtype).expand(4096, 4096), 0),
        "1 of 1024x(512x64) transposed": lambda dtype: (
            positive(64, 512, 1024, dtype=dtype).permute(2, 1, 0), 1),
    }  # fmt: skip
    if HOST:
        images = [(4, 3, 5, 7)]
        views = {"1 of every second column": lambda dtype: (positive(8, 40, dtype=dtype)[:, ::2], 1)}
    for shape in images:
        name = "(0, 2, 3) of {}x{}x{}x{}".format(*shape)
        views[name] = lambda dtype, shape=shape: (positive(*shape, dtype=dtype), (0, 2, 3))
    functions = {
        "sum": torch.sum,
        "mean": torch.mean,
        "norm": lambda x, dim: torch.linalg.vector_norm(x, dim=dim),
        "amax": torch.amax,
        "var": torch.var,
    }
    cases = {}
    for view, make in views.items():
        for dtype in (torch.float32, torch.bfloat16):
            x, dim = make(dtype)
            for name, function in functions.items():
                cases[view, str(dtype)[6:], name] = lambda f=function, x=x, d=dim: f(x, d)
    return cases


def strides(arguments):
    cases = strided_cases()
    ours = who_serves(cases)
    times = race(cases, (plain, forced), lambda _: 20, turns=3)
    rows = {}
    for (view, dtype, name), its in times.items():
        rows.setdefault((view, dtype), {})[name] = (*its, (view, dtype, name) in ours)
    names = list(dict.fromkeys(label[2] for label in cases))
    print(f"{'us by PyTorch, redtune':<40}" + "".join(f"{name:>16}" for name in names))
    for (view, dtype), its in rows.items():
        cells = []
        for name in names:
            theirs, mine, is_served = its.get(name, (math.nan, math.nan, True))
            slow = "!" if is_served and theirs / mine < SLOW else ""
            cells.append(f"{theirs:.0f} {mine:.0f}{'' if is_served else ' left'}{slow}")
        print(f"{view:<31}{dtype:<9}" + "".join(f"{cell:>16}" for cell in cells))
    gains = [its[0] / its[1] for label, its in times.items() if label in ours]
    print(
        f"{len(gains)} served: {mean_of(gains):.2f} in the mean, {min(gains, default=0):.2f} at worst (!: below {SLOW})"
    )
