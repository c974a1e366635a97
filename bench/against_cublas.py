#!/usr/bin/env python3
"""Times redtune's dot, sumabs, norm2 and argmaxabs beside cuBLAS and PyTorch, interleaved, in one
process.

Prints a row per op, dtype, mode and size, and what the rows come to: cuBLAS's and PyTorch's time
over redtune's, and the share of the bus that large inputs reach. cuBLAS is called by ctypes, as
redtune is, with its result in device memory and a workspace of its own. The modes are those of
against_torch.py: cold replays CUDA graphs of calls, each on an input of its own, L2 flushed before;
stream calls back to back, the host's time included, on an input that is the same each time.

A point where a peer is near is timed in more rounds, with graphs made anew in another order: where
data and code lie makes one or the other a few per cent faster. The geometric mean of all its rounds
counts.

Exits with 0 if all results agree, 1 if not, 2 on wrong usage, and 77 where it cannot run: without
PyTorch, a GPU, cuBLAS or libredtune.so.
"""

import argparse
import collections
import contextlib
import ctypes
import functools
import glob
import math
import os
import statistics
import sys
import time

sys.dont_write_bytecode = True  # beside the sources
import against_torch
from against_torch import (Gpu, GraphTimer, StreamTimer, choose_pool, make_data, read_names,
                           read_sizes, skip)
from blas_report import Row, report
from redtune_library import Redtune, Refused

try:
    import torch
except ImportError:
    torch = None

OPS = ("dot", "sumabs", "norm2", "argmaxabs")
DTYPES = ("f32", "f64", "f16")
GRAPH_NS, GRAPH_CALLS = 150e3, (2, 64)
STREAM_NS, STREAM_CALLS = 1.5e6, (2, 400)
NEAR, ROUNDS = 1.03, 3  # a peer this near is timed in ROUNDS rounds
SLOW = 8  # a contestant slower than redtune by this factor is timed twice a round
PIECE = 1 << 24  # elements that the expected result is computed of at a time
WORKSPACE_BYTES = 64 << 20
FAILURES_MAX = 3  # in a row: the GPU is of no more use


def note(text):
    print(f"against_cublas: {text}", file=sys.stderr, flush=True)


# ---- the contestants -------------------------------------------------------------------------

# bind(x, y) gives a function without arguments that queues a call, and is true if that failed;
# result() what the last one gave, rounded to that dtype.
Contestant = collections.namedtuple("Contestant", "name bind result dtype")


def find_cublas():
    """The one that PyTorch has loaded, or one beside it or of the toolkit."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        loaded = [line.split()[-1] for line in maps if "/libcublas.so" in line]
    site = os.path.dirname(os.path.dirname(torch.__file__))
    found = loaded + [path for pattern in (
        f"{site}/nvidia/*/lib/libcublas.so*", f"{site}/torch/lib/libcublas*.so*",
        "/usr/local/cuda*/lib64/libcublas.so*", "/usr/lib/*/libcublas.so*")
        for path in sorted(glob.glob(pattern), reverse=True)]
    return found[0] if found else None


class Cublas:
    NUMBERS = {"f32": 0, "f64": 1, "f16": 2}  # cudaDataType
    NAMES = {
        "dot": ("cublasSdot_v2", "cublasDdot_v2", "cublasDotEx"),
        "sumabs": ("cublasSasum_v2", "cublasDasum_v2", "cublasAsumEx"),
        "norm2": ("cublasSnrm2_v2", "cublasDnrm2_v2", "cublasNrm2Ex"),
        "argmaxabs": ("cublasIsamax_v2", "cublasIdamax_v2", "cublasIamaxEx"),
    }

    def __init__(self, path, stream):
        self.library = ctypes.CDLL(path)
        self.handle = ctypes.c_void_p()
        self.call("cublasCreate_v2", ctypes.byref(self.handle))
        self.workspace = torch.empty(WORKSPACE_BYTES, dtype=torch.uint8, device="cuda")
        # A stream takes the workspace back.
        self.call("cublasSetStream_v2", self.handle, ctypes.c_void_p(stream))
        self.call("cublasSetWorkspace_v2", self.handle, ctypes.c_void_p(self.workspace.data_ptr()),
                  ctypes.c_size_t(WORKSPACE_BYTES))
        self.call("cublasSetPointerMode_v2", self.handle, 1)  # CUBLAS_POINTER_MODE_DEVICE
        version = ctypes.c_int()
        self.call("cublasGetVersion_v2", self.handle, ctypes.byref(version))
        self.version = version.value

    def call(self, name, *arguments):
        status = getattr(self.library, name)(*arguments)
        if status:
            raise Refused(f"{name} returns {status}")

    def contestant(self, op, dtype, count):
        """Raises AttributeError where this cuBLAS has no such function."""
        function = self.library[self.NAMES[op][self.NUMBERS[dtype]]]
        of, f32 = ctypes.c_int(self.NUMBERS[dtype]), ctypes.c_int(0)
        result = torch.int32 if op == "argmaxabs" else against_torch.torch_dtypes()[dtype]
        out = torch.empty(1, dtype=result, device="cuda")
        one, pointer = ctypes.c_int(1), ctypes.c_void_p

        def bind(x, y):
            inputs = []
            for each in (x, y) if y is not None else (x,):
                # The functions ending in Ex are told what they read, write and compute in.
                inputs += [pointer(each.data_ptr()), *([of] if dtype == "f16" else []), one]
            more = [of, f32] if dtype == "f16" and op != "argmaxabs" else []
            return functools.partial(function, self.handle, ctypes.c_int(count), *inputs,
                                     pointer(out.data_ptr()), *more)

        # The first element's index is 1.
        return Contestant("cublas", bind,
                          lambda: out.item() - 1 if op == "argmaxabs" else out.item(), dtype)


def ours(redtune, plan, problem, stream):
    dtype = redtune.result(problem)
    out = torch.empty(1, dtype=against_torch.torch_dtypes()[dtype], device="cuda")

    def bind(x, y):
        d_in = [each.data_ptr() for each in (x, y) if each is not None]
        return redtune.bind(plan, problem, d_in, [out.data_ptr()], stream)

    return Contestant("redtune", bind, out.item, dtype)


def torchs(op, dtype):
    """Norms of f16 are f32, as redtune's are."""
    into = torch.float32 if dtype == "f16" else None
    norm, last = torch.linalg.vector_norm, [None]
    function = {
        "dot": torch.dot,
        "sumabs": lambda x: norm(x, 1, dtype=into),
        "norm2": lambda x: norm(x, 2, dtype=into),
        "argmaxabs": lambda x: torch.argmax(torch.abs(x)),
    }[op]

    def bind(x, y):
        def call():
            last[0] = function(x) if y is None else function(x, y)

        return call

    return Contestant("torch", bind, lambda: last[0].item(),
                      "f32" if into and op != "dot" else dtype)


# ---- results ---------------------------------------------------------------------------------


def expected(op, x, y):
    """In f64: the result, and how large what is added is; of argmaxabs the greatest magnitude."""
    if op == "argmaxabs":
        return x.abs().max().item(), 0
    value, size = 0.0, 0.0
    for start in range(0, len(x), PIECE):
        terms = x[start : start + PIECE].double()
        terms = terms.abs() if op == "sumabs" else \
            terms * (terms if op == "norm2" else y[start : start + PIECE].double())
        value += terms.sum().item()
        size += terms.abs().sum().item()
    return (math.sqrt(value), math.sqrt(size)) if op == "norm2" else (value, size)


def agree(point, got, wanted, x, result):
    """Within twice the error bound of chains of 64 + n / 2^14 additions, and rounded to the
    result's dtype: beyond f16's range that is infinity."""
    value, size = wanted
    if point[0] == "argmaxabs":
        return 0 <= got < len(x) and x[got].abs().item() == value
    unit = {"f64": 2.0**-53, "f32": 2.0**-24, "f16": 2.0**-11}
    bound = 2 * (64 + len(x) / 16384) * unit["f64" if point[1] == "f64" else "f32"] * size
    bound += 2 * unit[result] * abs(value)
    if result == "f16" and abs(value) + bound > 65504 and math.isinf(got):
        return True
    return abs(got - value) <= bound


def about(point, text):
    op, dtype, count = point
    note(f"{op} of {count} {dtype}: {text}")


def check(point, contestants, inputs, stream):
    """Those that run, who have run then, and whether redtune's result is right. What peers get
    wrong is noted."""
    x, y = inputs[0]
    wanted, right, running, results = expected(point[0], x, y), False, [], {}
    for each in contestants:
        try:
            if each.bind(x, y)():
                raise Refused("the call failed")
            stream.synchronize()
            got = each.result()
        except Exception as reason:  # of any kind: it is left out
            if each.name == "redtune":
                raise
            about(point, f"{each.name} is left out: {str(reason)[:120]}")
            continue
        running.append(each)
        results[each.name] = got
        same = agree(point, got, wanted, x, each.dtype)
        right = right or (same and each.name == "redtune")
        if not same:
            about(point, f"{each.name} gives {got}, expected {wanted[0]}")
    # Both give the first of several that are equal.
    if point[0] == "argmaxabs" and results.get("cublas", results["redtune"]) != results["redtune"]:
        about(point, f"the indices differ: {results}")
        right = False
    return running, right


# ---- racing ----------------------------------------------------------------------------------


def queue(call):
    if call():
        raise Refused("a call failed")


def make_inputs(gpu, pool, count, two, ns, bounds):
    """(x, y) of each call, y None for one input; as many calls as last about ns."""
    each = (1 + two) * count
    stride = -(-count * pool.element_size() // 256) * 256 // pool.element_size()
    room = len(pool) // (stride * (1 + two))
    calls = min(gpu.calls(each * pool.element_size(), ns, bounds), room)
    starts = range(0, calls * stride * (1 + two), stride * (1 + two))
    return [(pool[at : at + count], pool[at + stride : at + stride + count] if two else None)
            for at in starts]


def race_round(gpu, mode, contestants, inputs, samples, reverse):
    """The median of each, by name; they take turns."""
    timers, taken = {}, collections.defaultdict(list)
    for each in contestants[::-1] if reverse else contestants:
        bound = [each.bind(*pair) for pair in inputs]
        if mode == "cold":
            timers[each.name] = GraphTimer(gpu, queue, bound, cold=True)
        else:
            timers[each.name] = StreamTimer(gpu, queue, bound)
            timers[each.name].sample_ns()  # the first one is the slowest
    names = list(timers)
    for sample in range(samples):
        for i in range(len(names)):
            name = names[(sample + i) % len(names)]
            if sample < 2 or statistics.median(taken[name]) < SLOW * min(taken["redtune"]):
                taken[name].append(timers[name].sample_ns())
    return {name: statistics.median(each) for name, each in taken.items()}


def can_be_captured(gpu, point, contestant, pair):
    try:
        GraphTimer(gpu, queue, [contestant.bind(*pair)], cold=True)
        return True
    except Exception as reason:  # of any kind: it is left out
        if contestant.name == "redtune":
            raise
        about(point, f"{contestant.name} is left out: in a graph: {str(reason)[:120]}")
        return False


def race(gpu, mode, contestants, inputs, options):
    """The geometric mean of each one's rounds."""
    rounds = []
    for i in range(ROUNDS):
        rounds.append(race_round(gpu, mode, contestants, inputs, options.samples, i % 2 == 1))
        fastest = min((ns for name, ns in rounds[i].items() if name != "redtune"), default=math.inf)
        if fastest > NEAR * rounds[i]["redtune"]:
            break
    return {name: statistics.geometric_mean(each[name] for each in rounds) for name in rounds[0]}


def run_point(gpu, redtune, cublas, pool, point, options):
    """Yields a row per mode."""
    op, dtype, count = point
    problem = redtune.problem(*point)
    stream, two = gpu.stream, redtune.op_info(problem).inputs == 2
    cold = make_inputs(gpu, pool, count, two, GRAPH_NS, GRAPH_CALLS)
    size_bytes = (1 + two) * count * pool.element_size()
    with redtune.created(problem) as plan:
        entered = [ours(redtune, plan, problem, stream.cuda_stream), torchs(op, dtype)]
        with contextlib.suppress(AttributeError):
            entered.append(cublas.contestant(op, dtype, count))
        with torch.cuda.stream(stream):
            running, right = check(point, entered, cold, stream)
            running = [each for each in running if "cold" not in options.modes
                       or can_be_captured(gpu, point, each, cold[0])]
        for mode in options.modes:
            inputs = cold
            if mode == "stream":
                inputs = cold[:1] * gpu.calls(size_bytes, STREAM_NS, STREAM_CALLS)
            ns = race(gpu, mode, running, inputs, options)
            stream.synchronize()
            yield Row(op, dtype, count, size_bytes, mode, right, ns)


def make_pool(dtype, counts):
    """From 1 up to 2 in magnitude, every third one negative."""
    element = against_torch.torch_dtypes()[dtype].itemsize
    pool = make_data(against_torch.torch_dtypes()[dtype], choose_pool(max(counts), element))
    pool[::3].neg_()
    return pool


def known_ops(redtune, options):
    known = []
    for op in options.ops:
        try:
            redtune.find("op", op)
            known.append(op)
        except Refused:
            note(f"{op} is left out: redtune has no such op")
    return known


def run_all(gpu, redtune, cublas, options):
    start, failures, ops = time.monotonic(), 0, known_ops(redtune, options)
    for dtype in options.dtypes:
        problems = [redtune.problem(op, dtype, count) for op in ops for count in options.counts]
        try:  # so that the kernels are compiled several at a time
            redtune.prepare(problems)
        except Refused as reason:
            note(f"{dtype}: {reason}")
        pool = make_pool(dtype, options.counts)
        note(f"{dtype} is ready after {time.monotonic() - start:.0f} s")
        for point in [(op, dtype, count) for op in ops for count in options.counts]:
            if options.seconds and time.monotonic() - start > options.seconds:
                note(f"left out from {point} on: {options.seconds:.0f} s are over")
                return
            try:
                yield from run_point(gpu, redtune, cublas, pool, point, options)
                failures = 0
            except Exception as reason:  # the table goes on, as long as the GPU does
                note(f"{point} is left out: {type(reason).__name__}: {str(reason)[:200]}")
                failures += not isinstance(reason, Refused)
                if failures == FAILURES_MAX:
                    return
        del pool
        torch.cuda.empty_cache()


# ---- the command line ------------------------------------------------------------------------


def parse(words):
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build", "release")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--op", dest="ops", type=read_names(*OPS), default=list(OPS), metavar="OP,...",
        help=f"{', '.join(OPS)} (default: all)")
    add("--dtype", dest="dtypes", type=read_names(*DTYPES), default=list(DTYPES),
        metavar="DTYPE,...", help=f"{', '.join(DTYPES)} (default: all)")
    add("--size", dest="counts", type=read_sizes, default=read_sizes("1K..256M"), metavar="SIZES",
        help="elements: 4K,1M or powers of two (default: 1K..256M)")
    for mode in ("cold", "stream"):
        add(f"--{mode}", dest="modes", action="append_const", const=mode,
            help="time this mode (default: both)")
    add("--samples", type=int, default=7, metavar="N", help="per contestant and round (default: 7)")
    add("--seconds", type=float, metavar="S", help="begin no point after S seconds")
    add("--db", metavar="PATH", help="redtune's tuning database (default: redtune's own)")
    add("--library", metavar="PATH", default=os.path.join(beside, "libredtune.so"),
        help="libredtune.so (default: that of build/release)")
    add("--cublas", metavar="PATH", help="libcublas.so (default: PyTorch's, or the toolkit's)")
    add("--csv", metavar="PATH", help="write every contestant's time there, too")
    options = parser.parse_args(words)
    options.modes = options.modes or ["cold", "stream"]
    if options.samples < 1:
        parser.error("--samples: give 1 or more")
    return options


def main(words):
    options = parse(words)
    if torch is None or not torch.cuda.is_available():
        skip("PyTorch or its GPU is missing")
    if not os.path.exists(options.library):
        skip(f"there is no {options.library}; build redtune, or give --library")
    gpu = Gpu()
    path = options.cublas or find_cublas()
    if not path:
        skip("there is no libcublas; give --cublas")
    cublas = Cublas(path, gpu.stream.cuda_stream)
    redtune = Redtune(options.library, options.db)
    peak_gbps = redtune.device_info().peak_gbps
    print(f"{gpu.name}; cuBLAS {cublas.version}; torch {torch.__version__}; medians of "
          f"{options.samples} samples\n", flush=True)
    out = open(options.csv, "w", encoding="ascii") if options.csv else None
    right = report(run_all(gpu, redtune, cublas, options), out, peak_gbps)
    torch.cuda.synchronize()
    redtune.close()
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
