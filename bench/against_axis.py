#!/usr/bin/env python3
"""Times redtune along an axis of a matrix beside PyTorch, CuPy and CUB, in turns, in one process.

Prints a row per op, dtype, axis and shape: every contestant's time, which of the others is the
fastest there, and its time over redtune's; and at the end what the rows come to. Axis 1 reduces
each row, axis 0 each column. Calls are those of a replayed graph, each on an input of its own, with
L2 flushed before. `read` is the fastest of three kernels that read the bytes and reduce nothing.

CUB races where libraries made of axis_peers.cu are named, one for each CCCL:
    nvcc -shared -Xcompiler -fPIC -std=c++17 -O3 -arch=native bench/axis_peers.cu -o peers.so

Exits with 0 if all results agree, 1 if not, 2 on wrong usage, and 77 where it cannot run.
"""

import argparse
import collections
import csv
import ctypes
import math
import os
import statistics
import sys
import warnings

sys.dont_write_bytecode = True  # beside the sources
import against_torch
from against_torch import Gpu, GraphTimer, make_data, skip, summarise
from redtune_library import Redtune, Refused

try:
    import torch
except ImportError:
    torch = None
try:
    import cupy
except ImportError:
    cupy = None

# From one long row to many short ones, even and odd.
SHAPES = [
    (1, 16777216), (7, 1000003), (8, 2097152), (32, 1024), (33, 33793), (64, 262144), (128, 4096),
    (256, 65536), (1024, 1024), (1024, 16384), (2048, 50257), (4096, 4096), (4096, 5120),
    (8192, 8192), (16384, 1024), (65536, 256), (100000, 300), (262144, 64), (1000003, 3),
    (1048576, 16), (4194304, 4),
]
GRAPH_NS, GRAPH_CALLS = 100e3, (2, 48)
POOL_BYTES = 1 << 30
LIMIT = 20  # a contestant slower than redtune by this factor is timed once

Case = collections.namedtuple("Case", "op dtype axis rows cols")
Row = collections.namedtuple("Row", "case agree ns")  # ns: by contestant


def note(case, text):
    print(f"against_axis: {case.op} {case.dtype} {case.rows} x {case.cols} axis {case.axis}: {text}",
          file=sys.stderr)


# ---- the contestants -------------------------------------------------------------------------


def torch_reduce(case):
    """PyTorch's function of a matrix; f16 is summed into f32, as redtune does."""
    into = torch.float32
    return {
        "sum": lambda x: torch.sum(x, dim=case.axis, dtype=into),
        "mean": lambda x: torch.mean(x, dim=case.axis, dtype=into),
        "min": lambda x: torch.amin(x, dim=case.axis),
        "max": lambda x: torch.amax(x, dim=case.axis),
        "argmax": lambda x: torch.argmax(x, dim=case.axis),
        "norm2": lambda x: torch.linalg.vector_norm(x, dim=case.axis, dtype=into),
    }[case.op]


warnings.filterwarnings("ignore", message="ExternalStream")  # its successor is CuPy 14's


def cupy_reduce(case, out):
    function = {"sum": "sum", "mean": "mean", "min": "min", "max": "max", "argmax": "argmax"}
    if cupy is None or case.op not in function:
        return None
    result, given = cupy.asarray(out), {}
    if case.op in ("sum", "mean"):
        given["dtype"] = cupy.float32

    def reduce(tensor):
        with cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream):
            getattr(cupy, function[case.op])(cupy.asarray(tensor), axis=case.axis, out=result,
                                             **given)

    return reduce


class Cub:
    """A library made of axis_peers.cu."""

    FORMS = {1: ("fixed", "offsets"), 0: ("columns",)}
    NUMBERS = {"fixed": 0, "offsets": 1, "columns": 2}
    OPS = {"sum": 0, "min": 1, "max": 2}

    def __init__(self, path):
        self.library = ctypes.CDLL(os.path.abspath(path))
        version = self.library.axis_peers_version()
        self.name = f"cub {version // 100000}.{version // 100 % 1000}"
        pointer = ctypes.c_void_p
        self.library.axis_peers_reduce.argtypes = [
            ctypes.c_int, ctypes.c_int, ctypes.c_int, pointer, pointer, ctypes.c_uint64,
            ctypes.c_uint64, pointer, pointer, pointer]
        self.library.axis_peers_read.argtypes = [pointer, ctypes.c_uint64, pointer, ctypes.c_int,
                                                 pointer]

    def forms(self, case, out):
        """(name, function) of each form that this CCCL has."""
        for form in self.FORMS[case.axis]:
            reduce = self.form(case, form, out) if case.op in self.OPS else None
            if reduce:
                yield f"{self.name} {form}", reduce

    def form(self, case, form, out):
        size = ctypes.c_size_t()
        scratch = None

        def call(data, stream):
            at = scratch.data_ptr() if scratch is not None else None
            return self.library.axis_peers_reduce(
                self.NUMBERS[form], self.OPS[case.op], case.dtype == "f16", data, out.data_ptr(),
                case.rows, case.cols, at, ctypes.addressof(size), stream)

        if max(case.rows, case.cols) >= 1 << 31 or call(None, None):
            return None
        scratch = torch.empty(max(1, size.value), dtype=torch.uint8, device="cuda")

        def reduce(tensor):
            if call(tensor.data_ptr(), torch.cuda.current_stream().cuda_stream):
                raise Refused(f"{self.name} {form} failed")

        return reduce

    def readers(self, size_bytes, out):
        for unroll in (1, 4, 8):
            def read(tensor, unroll=unroll):
                self.library.axis_peers_read(tensor.data_ptr(), size_bytes, out.data_ptr(), unroll,
                                             torch.cuda.current_stream().cuda_stream)
            yield f"read {unroll}", read


def contestants(case, options, like):
    """(name, function, result) of everyone but redtune; like: an input."""
    theirs = torch_reduce(case)
    reference = theirs(like)
    yield "torch", theirs, reference
    if options.compile:
        torch.compiler.reset()
        yield "compiled", torch.compile(theirs, dynamic=False), None
    mine = torch.empty_like(reference)
    cupys = cupy_reduce(case, mine)
    if cupys:
        yield "cupy", cupys, mine
    for cub in options.cub:
        out = torch.empty_like(reference)
        for name, reduce in cub.forms(case, out):
            yield name, reduce, out
    if options.cub:
        out = torch.empty(4, dtype=torch.int32, device="cuda")
        for name, reduce in options.cub[0].readers(like.numel() * like.element_size(), out):
            yield name, reduce, None


# ---- racing ----------------------------------------------------------------------------------


def agree(case, mine, other):
    """Whether two results agree: bit for bit, or, where floats are added, within twice the error
    bound of chains of 64 + count / 2^14 additions; the numbers are positive."""
    if case.op in ("min", "max", "argmax"):
        return bool(torch.equal(mine.to(other.dtype), other))
    count = case.cols if case.axis == 1 else case.rows
    bound = 2 * (64 + count / 16384) * torch.finfo(torch.float32).eps / 2
    return bool(((mine - other).abs() <= bound * other.abs()).all())


def make_inputs(gpu, pool, case):
    count = case.rows * case.cols
    stride = -(-count * pool.element_size() // 256) * 256 // pool.element_size()
    calls = gpu.calls(count * pool.element_size(), GRAPH_NS, GRAPH_CALLS)
    calls = min(calls, max(1, len(pool) // stride))
    return [pool[i * stride : i * stride + count].view(case.rows, case.cols) for i in range(calls)]


def race(gpu, named, inputs, samples):
    """The median of each, by name; they take turns."""
    timers, taken = {}, collections.defaultdict(list)
    for name, reduce in named.items():
        with torch.cuda.stream(gpu.stream):
            reduce(inputs[0])
        gpu.stream.synchronize()
        timers[name] = GraphTimer(gpu, reduce, inputs, cold=True)
    for sample in range(samples):
        for name, timer in timers.items():
            if sample and taken[name][0] > LIMIT * taken["redtune"][0]:
                continue
            taken[name].append(timer.sample_ns())
    return {name: summarise(each, 1).ns for name, each in taken.items()}


def run_case(gpu, redtune, pool, case, options):
    inputs = make_inputs(gpu, pool, case)
    problem = redtune.axis_problem(case.op, case.dtype, case.rows, case.cols, case.axis)
    named, results = {}, {}
    with redtune.plan(problem) as run:
        with torch.cuda.stream(gpu.stream):
            others = list(contestants(case, options, inputs[0]))
            indexed = {"i64": torch.int64, "u64": torch.int64}
            result = indexed.get(redtune.result(problem), torch.float32)
            out = torch.empty(others[0][2].numel(), dtype=result, device="cuda")

            def ours(tensor):
                run(tensor.data_ptr(), out.data_ptr(), torch.cuda.current_stream().cuda_stream)

            named["redtune"] = ours
            ours(inputs[0])
            for name, reduce, result in others:
                try:
                    reduce(inputs[0])
                except (Refused, TypeError) as reason:  # CuPy 14.2's min and max with an out=
                    note(case, f"{name} is left out: {str(reason)[:80]}")
                    continue
                named[name] = reduce
                if result is not None and name != "torch":
                    results[name] = agree(case, result.view(-1), others[0][2].view(-1))
            results["redtune"] = agree(case, out, others[0][2].view(-1))
        gpu.stream.synchronize()
        for name, right in results.items():
            if not right:
                note(case, f"{name} and torch differ")
        ns = race(gpu, named, inputs, options.samples)
        gpu.stream.synchronize()
    readers = [ns.pop(name) for name in list(ns) if name.startswith("read ")]
    return Row(case, results["redtune"], {**ns, **({"read": min(readers)} if readers else {})})


def run_all(gpu, redtune, options):
    for dtype in options.dtypes:
        element = against_torch.torch_dtypes()[dtype].itemsize
        largest = max(rows * cols for rows, cols in options.shapes)
        pool = make_data(against_torch.torch_dtypes()[dtype],
                         max(4 * largest, POOL_BYTES // element))
        for op in options.ops:
            for axis in options.axes:
                for rows, cols in options.shapes:
                    case = Case(op, dtype, axis, rows, cols)
                    try:
                        yield run_case(gpu, redtune, pool, case, options)
                    except Refused as reason:
                        note(case, f"skipped: {reason}")
        del pool
        torch.cuda.empty_cache()


# ---- the report ------------------------------------------------------------------------------


def best_peer(row):
    peers = {name: ns for name, ns in row.ns.items() if name not in ("redtune", "read")}
    return min(peers.items(), key=lambda item: item[1])


def report(rows, out):
    """Prints each row as it comes, and the summaries; returns whether all agree."""
    seen = []
    writer = csv.writer(out, lineterminator="\n") if out else None
    print(f"{'op':6} {'dtype':5} {'axis':>4} {'rows':>8} {'cols':>9} {'read us':>8} "
          f"{'redtune':>8} {'torch':>8} {'best peer':>9}  {'best/redtune':>12}  who")
    for row in rows:
        seen.append(row)
        name, ns = best_peer(row)
        case, read = row.case, row.ns.get("read")
        print(f"{case.op:6} {case.dtype:5} {case.axis:4} {case.rows:8} {case.cols:9} "
              f"{read / 1e3 if read else math.nan:8.2f} {row.ns['redtune'] / 1e3:8.2f} "
              f"{row.ns['torch'] / 1e3:8.2f} {ns / 1e3:9.2f}  {ns / row.ns['redtune']:12.3f}  "
              f"{name}{'' if row.agree else '  RESULTS DIFFER'}", flush=True)
        if writer:
            writer.writerows([*case, who, f"{each:.1f}"] for who, each in row.ns.items())
    groups = collections.defaultdict(list)
    for row in seen:
        groups[row.case[:3]].append(row)
    print(f"\n{'op':6} {'dtype':5} {'axis':>4} {'shapes':>6}  {'best peer/redtune':>17} {'least':>6}"
          f"  {'torch/redtune':>13}  {'redtune/read':>12} {'most':>6}  (from 16 MiB on)")
    for (op, dtype, axis), group in groups.items():
        peers = [best_peer(row)[1] / row.ns["redtune"] for row in group]
        torchs = [row.ns["torch"] / row.ns["redtune"] for row in group]
        large = [row.ns["redtune"] / row.ns["read"] for row in group if "read" in row.ns and
                 row.case.rows * row.case.cols * (2 if dtype == "f16" else 4) >= 1 << 24]
        print(f"{op:6} {dtype:5} {axis:4} {len(group):6}  {statistics.geometric_mean(peers):17.3f} "
              f"{min(peers):6.3f}  {statistics.geometric_mean(torchs):13.3f}  "
              f"{statistics.geometric_mean(large) if large else math.nan:12.3f} "
              f"{max(large, default=math.nan):6.3f}")
    return all(row.agree for row in seen)


# ---- the command line ------------------------------------------------------------------------


def read_shapes(text):
    try:
        shapes = [tuple(int(size) for size in each.split("x")) for each in text.split(",")]
    except ValueError:
        shapes = []
    if not shapes or any(len(each) != 2 or min(each) < 1 for each in shapes):
        raise argparse.ArgumentTypeError(f"'{text}': give shapes such as 1024x1024,33x7")
    return shapes


def parse(words):
    beside = os.path.join(os.path.dirname(__file__), "..", "build", "release")
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    add = parser.add_argument
    names = lambda text: text.split(",")
    add("--op", dest="ops", type=names, default=["sum"], metavar="OP,...",
        help="sum, mean, min, max, argmax, norm2 (default: sum)")
    add("--dtype", dest="dtypes", type=names, default=["f32", "f16"], metavar="DTYPE,...",
        help="f32, f16 (default: both)")
    add("--axis", dest="axes", type=int, action="append", choices=(0, 1), help="default: both")
    add("--shape", dest="shapes", type=read_shapes, default=SHAPES, metavar="ROWSxCOLS,...",
        help="default: 21 of up to 200 MiB")
    add("--cub", action="append", default=[], metavar="PATH", help="a library of axis_peers.cu")
    add("--compile", action="store_true", help="torch.compile races, too")
    add("--samples", type=int, default=9, metavar="N", help="per contestant (default: 9)")
    add("--db", metavar="PATH", help="redtune's tuning database (default: redtune's own)")
    add("--library", metavar="PATH", default=os.path.join(beside, "libredtune.so"),
        help="libredtune.so (default: that of build/release)")
    add("--csv", metavar="PATH", help="write every contestant's time there, too")
    options = parser.parse_args(words)
    options.axes = options.axes or [1, 0]
    return options


def main(words):
    options = parse(words)
    if torch is None or not torch.cuda.is_available():
        skip("PyTorch or its GPU is missing")
    if not os.path.exists(options.library):
        skip(f"there is no {options.library}; build redtune, or give --library")
    gpu = Gpu()
    options.cub = [Cub(path) for path in options.cub]
    redtune = Redtune(options.library, options.db)
    print(f"{gpu.name}; torch {torch.__version__}; cupy {cupy.__version__ if cupy else 'none'}; "
          f"{', '.join(cub.name for cub in options.cub) or 'no CUB'}; medians of {options.samples} "
          f"samples\n")
    out = open(options.csv, "w", encoding="ascii") if options.csv else None
    right = report(run_all(gpu, redtune, options), out)
    torch.cuda.synchronize()
    redtune.close()
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
