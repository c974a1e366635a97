"""Torch install, where there is a GPU: what redtune.torch.install() must show, in 4 minutes.

usage: torch_install.py [SECTION...] [--samples N] [--host]

opinfo  PyTorch's own samples of the served ops, with and without install(): the same outcomes
host    host us of a call of 1024 elements: PyTorch's kernel, served, and left to PyTorch
eager   calls one after the other, 64 KiB to 64 MiB: how many times as fast
rows    index_add and scatter_reduce of elements and rows by key, likewise
strides axes that are neither rows nor columns, such as (0, 2, 3) of NCHW, likewise
step    examples/python/transformer_step.py, and gradient clipping by itself
state   the dispatcher's table after uninstall(); threads, graphs, autocast, torch.compile, views
tests   test_torch_install.py and test_torch_scatter.py on this GPU

No section: all of them. --host: the CPU's tensors and the simulated GPU, tiny, to try this program.
What is timed was compared with PyTorch's results before. Each time is the shortest of some turns,
PyTorch's and redtune's interleaved; PyTorch's are those of a process without redtune's kernels.
"""

import argparse
import importlib.util
import os
import random
import re
import subprocess
import sys
import threading
import time

import torch

import redtune
from torch_races import DEVICE, HOST, KEY, TOLERANCE, eager, fail, failures, host, race, rows
from torch_races import plain, served, strides, synchronize, wait

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLE = os.path.join(HERE, "..", "..", "..", "examples", "python", "transformer_step.py")


def opinfo(arguments):
    import test_torch_install as tests
    from torch.testing._internal.common_methods_invocations import op_db

    dtypes = torch.float32, torch.float16, torch.bfloat16, torch.float64, torch.int64, torch.int32
    samples = []
    for info in op_db:
        for dtype in (*dtypes, torch.uint8, torch.bool):
            if info.name in tests.OPINFO and dtype in info.supported_dtypes(DEVICE):
                torch.manual_seed(5)
                of = info.sample_inputs(DEVICE, dtype, requires_grad=False)
                samples += [(info, dtype, each) for each in of]
    random.Random(7).shuffle(samples)
    chosen = samples[: arguments.samples]

    def call(info, _, sample):
        # A sample may be changed by its call.
        clone = lambda x: x.clone() if isinstance(x, torch.Tensor) else x
        its = [clone(each) for each in sample.args]
        return tests.outcome(lambda x: info.op(x, *its, **sample.kwargs), sample.input.clone())

    want = [call(*each) for each in chosen]
    wrong, errors = 0, sum(isinstance(each, type) for each in want)
    with redtune.torch.install(at_least=0, _key=KEY):
        for _ in range(2):
            for each in chosen:
                call(*each)
            wait()
        redtune.torch.report(reset=True)
        for each, theirs in zip(chosen, want):
            label, mine = f"{each[0].name} of {each[1]}", call(*each)
            if isinstance(theirs, type) or isinstance(mine, type):
                if mine is not theirs:
                    wrong += 1
                    fail(f"{label}: {mine} with install(), {theirs} without")
                continue
            same = all(
                (a.dtype, a.shape, a.stride()) == (b.dtype, b.shape, b.stride())
                for a, b in zip(mine, theirs)
            )
            try:
                torch.testing.assert_close(mine, theirs, equal_nan=True)
            except AssertionError:
                same = False
            if not same:
                wrong += 1
                fail(f"{label}: {mine} with install(), {theirs} without"[:200])
        count = sum(its["served"] for its in redtune.torch.report().values())
        failure = redtune.torch.report().failure
    print(
        f"{len(chosen)} of {len(samples)} samples, {errors} of which PyTorch refuses: {wrong} "
        f"differ with install(); {count} calls were served" + (f"; {failure}" if failure else "")
    )


def load_example():
    found = importlib.util.spec_from_file_location("transformer_step", EXAMPLE)
    module = importlib.util.module_from_spec(found)
    found.loader.exec_module(module)
    return module


def step(arguments):
    done = subprocess.run(
        [sys.executable, EXAMPLE, *["--host"][:HOST]], capture_output=True, text=True
    )
    same = re.findall(r"^(.*?) +alone and .*same bits in \[2, 7, 32\]$", done.stdout, re.M)
    for line in done.stdout.splitlines():
        if " alone and in batches" not in line:
            print(line)
    print(f"fixed order, alone and in batches of 2, 7, 32: the same bits of {', '.join(same)}")
    if not {"mean", "sum", "norm", "logsumexp"} <= set(same):
        fail("bits of the example's batches")
    if done.returncode:
        fail(f"the example: {done.stderr[-300:]}")
    example = load_example()
    torch.manual_seed(1)
    model = example.Model().to(DEVICE)
    parameters = list(model.parameters())
    for each in parameters:
        each.grad = torch.randn_like(each) * 1e-5  # below the limit, which leaves it as it is
    cases = {
        "the example's clip()": lambda: example.clip(parameters),
        "clip_grad_norm_": lambda: torch.nn.utils.clip_grad_norm_(parameters, 1e9),
        "clip_grad_norm_, foreach=False": lambda: torch.nn.utils.clip_grad_norm_(
            parameters, 1e9, foreach=False
        ),
    }
    for label, (theirs, mine) in race(cases, (plain, served), lambda _: 20).items():
        print(f"{label} of {len(parameters)} gradients: {theirs:.0f} us before, {mine:.0f} after")


# ---- state ---------------------------------------------------------------------------------------


def dispatcher():
    return [torch._C._dispatch_dump(f"aten::{op}") for op in redtune._core.torch_ops]


def values(x):
    return x.sum(), x.sum(0), x.mean(1), torch.linalg.vector_norm(x), x.amax(1), x.logsumexp(1)


def in_threads(x):
    """The results of six threads on streams of their own, 20 times each."""
    found = [None] * 6

    def work(number):
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.default_stream())
        with torch.cuda.stream(stream):
            for _ in range(20):
                found[number] = values(x + number)
        stream.synchronize()

    threads = [threading.Thread(target=work, args=[number]) for number in range(len(found))]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    return [each for its in found for each in its]


def in_graph(x):
    """The results of a graph that was captured for other data."""
    given = torch.ones_like(x)
    values(given)
    synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        found = values(given)
    given.copy_(x)
    graph.replay()
    return found


def in_autocast(x):
    with torch.autocast(DEVICE, torch.bfloat16):
        mixed = x @ x.T
        return mixed.sum(), mixed.mean(1), mixed.float().logsumexp(1), torch.linalg.vector_norm(x)


def compiled(backend):
    return lambda x: torch.compile(lambda x: values(x * 1.25), backend=backend)(x)


def in_views(x):
    """Gradients of slices of one flat parameter, at any element, as FSDP has them."""
    flat = x.flatten().clone().requires_grad_()
    one, other = flat[7:487].view(12, 40), flat[487:].split((1, 1001, flat.numel() - 1489))[1]
    (one.norm(dim=1).sum() + one.var(0).sum() + other.norm() * other.amax()).backward()
    return flat.grad, torch.linalg.vector_norm(flat.grad[3:]), flat.grad[5:485].sum()


def strange(x):
    """Negated by a bit, batched by vmap, strides of neither rows nor columns, no elements."""
    conjugate = torch.complex(x, x).conj().imag
    batched = torch.vmap(lambda row: row.sum() + row.amax())(x)
    return conjugate.sum(), batched, x[::2, ::2].sum(), x[:0].sum(0), x.T.sum(1), x.sum(dim=())


def with_and_without(call, x, tolerance):
    """Whether the results are those without install(), and how many calls were served."""
    want = call(x)
    torch._dynamo.reset()
    with served():
        for _ in range(2):
            call(x)
            wait()
        redtune.torch.report(reset=True)
        got = call(x)
        counts = redtune.torch.report()
        synchronize()
    is_right = all(torch.allclose(a, b, tolerance, 1e-4) for a, b in zip(got, want))
    return is_right, sum(its["served"] for its in counts.values())


def state(arguments):
    before = dispatcher()
    x = torch.randn(64, 96, device=DEVICE)
    checks = {
        "autocast": in_autocast, "views of a flat parameter": in_views, "strange views": strange,
        "torch.compile, aot_eager": compiled("aot_eager"),
    }  # fmt: skip
    if not HOST:
        checks |= {
            "six threads and streams": in_threads, "a graph": in_graph,
            "torch.compile, inductor": compiled("inductor"),
        }  # fmt: skip
    said = []
    for name, call in checks.items():
        tolerance = TOLERANCE[torch.bfloat16 if "autocast" in name else torch.float32]
        try:
            is_right, count = with_and_without(call, x, tolerance)
        except Exception as error:
            fail(f"{name}: {type(error).__name__}: {error}"[:300])
            continue
        if is_right:
            said.append(f"{name} {count}")
        else:
            fail(name)
    print(f"right, and calls served: {', '.join(said)}")
    is_same = dispatcher() == before
    print(f"uninstall(): the dispatcher's table is {'as before' if is_same else 'ANOTHER'}")
    if not is_same:
        fail("the dispatcher's table")
    check_fixed_order()
    if not HOST:
        check_captures()


def check_fixed_order():
    redtune.configure(device="sim" if HOST else "0", order="fixed")
    x = torch.randn(32, 1000, device=DEVICE)
    keys = torch.randint(50, (1000,), device=DEVICE)
    calls = {
        "sum": lambda x: x.sum(1), "mean": lambda x: x.mean(1), "norm": lambda x: x.norm(dim=1),
        "logsumexp": lambda x: x.logsumexp(1), "var": lambda x: x.var(1),
    }  # fmt: skip
    with redtune.torch.install(_key=KEY):
        same = [name for name, call in calls.items()
                if all(torch.equal(call(x[:n])[:1], call(x[:1])) for n in (2, 7, 32))]  # fmt: skip
        zeros = torch.zeros(50, device=DEVICE)
        sums = [zeros.index_add(0, keys, x[0]) for _ in range(5)]
        some = x[0][keys == 3]
        alone = zeros[:1].index_add(0, torch.zeros_like(keys[: len(some)]), some)
        if all(torch.equal(each, sums[0]) for each in sums) and torch.equal(alone[0], sums[0][3]):
            same.append("index_add")
    redtune.configure(device="sim" if HOST else "0")
    print(f"fixed order, alone and in 2, 7 and 32: the same bits of {', '.join(same)}")
    if len(same) < 6:
        fail("fixed order")


# What a capture meets for the first time: PyTorch's, in fixed order refused.
CAPTURE = """
import sys, torch, redtune
redtune.configure(order=sys.argv[1])
x = torch.rand(1234, 77, device="cuda")
x[:3].logsumexp(1)
redtune.torch.install()
graph = torch.cuda.CUDAGraph()
try:
    with torch.cuda.graph(graph):
        y = x.logsumexp(1)
    graph.replay()
    torch.testing.assert_close(y, x.double().logsumexp(1).float())
    print("runs")
except RuntimeError as error:
    while error and "order is fixed" not in str(error):
        error = error.__context__
    print("refused" if error else "fails")
sys.stdout.flush()
import os; os._exit(0)
"""


def check_captures():
    said = [
        subprocess.run(
            [sys.executable, "-c", CAPTURE, order], capture_output=True, text=True, timeout=90
        ).stdout.strip()
        for order in ("free", "fixed")
    ]
    print(f"a capture of a new shape: in free order it {said[0]}, in fixed order it is {said[1]}")
    if said != ["runs", "refused"]:
        fail("captures")


def tests(arguments):
    begun = time.monotonic()
    names = "test_torch_install", "test_torch_scatter"
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "unittest", *names], capture_output=True, text=True,
        cwd=os.path.join(HERE, ".."),
    )  # fmt: skip
    lines = done.stderr.rstrip().splitlines()
    bad = [line for line in lines if line.startswith(("FAIL:", "ERROR:")) or "Error:" in line]
    print(
        "\n".join([line[:150] for line in bad[:6]] + lines[-1:]),
        f"{time.monotonic() - begun:.0f} s",
    )
    if done.returncode:
        fail("tests")


SECTIONS = {each.__name__: each for each in (host, eager, rows, strides, step, state, opinfo, tests)}


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("sections", nargs="*", choices=[[], *SECTIONS])
    parser.add_argument("--samples", type=int, default=20 if HOST else 600)
    parser.add_argument("--host", action="store_true")
    arguments = parser.parse_args()
    sys.path.insert(0, os.path.join(HERE, ".."))
    redtune.configure(device="sim" if HOST else "0")
    name = "the simulated GPU" if HOST else torch.cuda.get_device_name()
    print(f"{name}, PyTorch {torch.__version__}")
    took = []
    for section in arguments.sections or SECTIONS:
        begun = time.monotonic()
        print(f"== {section}", flush=True)
        SECTIONS[section](arguments)
        took.append(f"{section} {time.monotonic() - begun:.0f} s")
    print(f"{len(failures)} wrong; {', '.join(took)}")
    return bool(failures)


if __name__ == "__main__":
    sys.exit(main())
