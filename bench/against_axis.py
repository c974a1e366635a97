#!/usr/bin/env python3
"""Times redtune along an axis of a matrix beside PyTorch, CuPy and CUB, interleaved, in one process.

Prints a row per op, dtype, axis and shape: redtune's time, torch's, which of the others is the
fastest there, and its time over redtune's; and at the end what the rows come to. Axis 1 reduces
each row, axis 0 each column. Calls are those of a replayed graph, each on an input of its own, with
L2 flushed before. `read` is the fastest of three kernels that read the bytes and reduce nothing,
`whole` redtune's time for all elements into one result, up to 4 MiB. A peer that fails at a shape
is left out there, with a note.

CUB races where libraries made of axis_peers.cu are named, one for each CCCL:
    nvcc -shared -Xcompiler -fPIC -std=c++17 -O3 -arch=native bench/axis_peers.cu -o peers.so

Exits with 0 if all results agree, 1 if not, 2 on wrong usage, and 77 where it cannot run.
"""

import argparse
import collections
import contextlib
import ctypes
import os
import sys
import time
import warnings

sys.dont_write_bytecode = True  # beside the sources
import against_torch
from against_torch import Gpu, GraphTimer, make_data, skip, summarise
from axis_report import SMALL_BYTES, Case, Row, case_bytes, report
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
# A few of them, where all would take too long.
SIX = [(33, 33793), (64, 262144), (1024, 16384), (16384, 1024), (65536, 256), (4194304, 4)]
GRAPH_NS, GRAPH_CALLS = 100e3, (2, 48)
POOL_BYTES = 1 << 30
LIMIT = 20  # a contestant slower than redtune by this factor is timed once
FAILURES_MAX = 3  # in a row, of redtune or of torch: the GPU is of no more use


def note(case, text):
    print(f"against_axis: {case.op} {case.dtype} {case.rows} x {case.cols} axis {case.axis}: {text}",
          file=sys.stderr)


def leave_out(case, name, reason):
    text = " ".join(str(reason).split())[:120]
    note(case, f"{name} is left out: {type(reason).__name__}: {text}")


# ---- the contestants -------------------------------------------------------------------------


def max_at(x, axis):
    values, indices = torch.max(x, dim=axis)
    return values, indices


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
        "mean_var": lambda x: torch.var_mean(x, dim=case.axis, correction=0)[::-1],
        "logsumexp": lambda x: torch.logsumexp(x, dim=case.axis),
        "max_at": lambda x: max_at(x, case.axis),
    }[case.op]


def results_of(returned):
    """A flat tensor for each result."""
    return [each.view(-1) for each in (returned if isinstance(returned, tuple) else (returned,))]


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


def compile_works():
    """Whether torch.compile has all that it needs, such as Triton and a C compiler."""
    try:
        torch.compile(lambda x: torch.sum(x, dim=1))(torch.ones(8, 8, device="cuda"))
        return True
    except Exception as reason:  # of any kind: Inductor has many
        print(f"against_axis: torch.compile does not race: {' '.join(str(reason).split())[:200]}",
              file=sys.stderr)
        return False


def compiled_peer(case, theirs):
    torch.compiler.reset()  # beyond some shapes of one function it would no more compile
    return [("compiled", torch.compile(theirs, dynamic=False), None)]


def cupy_peer(case, reference):
    out = torch.empty_like(reference)
    reduce = cupy_reduce(case, out)
    return [("cupy", reduce, out)] if reduce else []


def cub_peers(case, cub, reference):
    out = torch.empty_like(reference)
    return [(name, reduce, out) for name, reduce in cub.forms(case, out)]


def readers(case, cub):
    out = torch.empty(4, dtype=torch.int32, device="cuda")
    return [(name, reduce, None) for name, reduce in cub.readers(case_bytes(case), out)]


def contestants(case, options, like):
    """(name, function, result, results or None) of everyone but redtune, who have all run once;
    like: an input. A peer that fails is left out."""
    theirs = torch_reduce(case)
    reference = theirs(like)
    yield "torch", theirs, reference
    makers = [("compiled", compiled_peer, theirs)] if options.compile else []
    if not isinstance(reference, tuple):
        makers.append(("cupy", cupy_peer, reference))
        makers += [(cub.name, cub_peers, cub, reference) for cub in options.cub]
    makers += [("read", readers, cub) for cub in options.cub[:1]]
    for name, make, *given in makers:
        try:
            peers = make(case, *given)
        except Exception as reason:
            leave_out(case, name, reason)
            continue
        for each, reduce, result in peers:
            try:  # CuPy 14.2's min and max take no out=
                returned = reduce(like)
                torch.cuda.current_stream().synchronize()
            except Exception as reason:
                leave_out(case, each, reason)
                continue
            yield each, reduce, returned if result is None else result


# ---- racing ----------------------------------------------------------------------------------


def added_agree(case, mine, other, size):
    """Whether two results of adding floats are within twice the error bound of chains of
    64 + count / 2^14 additions, and of their dtypes' rounding; size: of what is added, the numbers
    being positive."""
    count = case.cols if case.axis == 1 else case.rows
    bound = 2 * (64 + count / 16384) * torch.finfo(torch.float32).eps / 2
    rounded = sum(torch.finfo(each.dtype).eps for each in (mine, other)) * other.abs()
    return bool(((mine.double() - other.double()).abs() <= bound * size + rounded).all())


def agree(case, mine, others):
    """Whether results, a list of one or two, agree: bit for bit, or, where floats are added, within
    an error bound."""
    if case.op in ("min", "max", "argmax", "max_at"):
        return all(torch.equal(own.to(other.dtype), other) for own, other in zip(mine, others))
    first = others[0].double()
    if case.op == "logsumexp":  # the logarithm of a sum that is as wrong as a sum
        return added_agree(case, mine[0], others[0], 1)
    if not added_agree(case, mine[0], others[0], first.abs()):
        return False
    if case.op != "mean_var":
        return True
    # By the condition of a variance: Higham, Accuracy and Stability of Numerical Algorithms, 1.9.
    spread = others[1].double()
    unit = max(torch.finfo(each[0].dtype).eps for each in (mine, others))
    return added_agree(case, mine[1], others[1],
                       spread + first.abs() * spread.sqrt() + unit * first * first)


def make_inputs(gpu, pool, case):
    count = case.rows * case.cols
    stride = -(-count * pool.element_size() // 256) * 256 // pool.element_size()
    calls = gpu.calls(count * pool.element_size(), GRAPH_NS, GRAPH_CALLS)
    calls = min(calls, max(1, len(pool) // stride))
    return [pool[i * stride : i * stride + count].view(case.rows, case.cols) for i in range(calls)]


def race(gpu, case, named, inputs, samples):
    """The median of each, by name; they take turns. A peer that cannot be captured is left out."""
    timers, taken = {}, collections.defaultdict(list)
    for name, reduce in named.items():
        try:
            with torch.cuda.stream(gpu.stream):
                reduce(inputs[-1])
            gpu.stream.synchronize()
            timers[name] = GraphTimer(gpu, reduce, inputs, cold=True)
        except Exception as reason:
            if name == "redtune":
                raise
            leave_out(case, name, reason)
    for sample in range(samples):
        for name, timer in timers.items():
            if sample and taken[name][0] > LIMIT * taken["redtune"][0]:
                continue
            taken[name].append(timer.sample_ns())
    return {name: summarise(each, 1).ns for name, each in taken.items()}


def our_run(redtune, problem, count, plans):
    """A function of a tensor, by a plan that lives as long as `plans`, and the tensors of `count`
    results that it fills."""
    dtype = {"i64": torch.int64, "u64": torch.int64, "f16": torch.float16}
    outs = [torch.empty(count, dtype=dtype.get(name, torch.float32), device="cuda")
            for name in redtune.results(problem)]
    run = plans.enter_context(redtune.plan(problem))
    more = (None, outs[1].data_ptr()) if len(outs) == 2 else ()

    def ours(tensor):
        run(tensor.data_ptr(), outs[0].data_ptr(), torch.cuda.current_stream().cuda_stream, *more)

    return ours, outs


def run_case(gpu, redtune, pool, case, options):
    inputs = make_inputs(gpu, pool, case)
    problem = redtune.axis_problem(case.op, case.dtype, case.rows, case.cols, case.axis)
    named, results = {}, {}
    with contextlib.ExitStack() as plans:
        with torch.cuda.stream(gpu.stream):
            named["redtune"], outs = our_run(redtune, problem,
                                             case.rows if case.axis == 1 else case.cols, plans)
            named["redtune"](inputs[0])
            for name, reduce, returned in contestants(case, options, inputs[0]):
                named[name] = reduce
                if name == "torch":
                    wanted = results_of(returned)
                    results["redtune"] = agree(case, outs, wanted)
                elif returned is not None:
                    results[name] = agree(case, results_of(returned), wanted)
            if case_bytes(case) <= SMALL_BYTES:
                whole = redtune.problem(case.op, case.dtype, case.rows * case.cols)
                named["whole"], _ = our_run(redtune, whole, 1, plans)
        gpu.stream.synchronize()
        for name, right in results.items():
            if not right:
                note(case, f"{name} and torch differ")
        ns = race(gpu, case, named, inputs, options.samples)
        gpu.stream.synchronize()
    reads = [ns.pop(name) for name in list(ns) if name.startswith("read ")]
    return Row(case, results["redtune"], {**ns, **({"read": min(reads)} if reads else {})})


def cases_of(options, dtype):
    return [Case(op, dtype, axis, rows, cols)
            for op in options.ops for axis in options.axes for rows, cols in options.shapes]


def run_all(gpu, redtune, options):
    start, failures = time.monotonic(), 0
    for dtype in options.dtypes:
        element = against_torch.torch_dtypes()[dtype].itemsize
        largest = max(rows * cols for rows, cols in options.shapes)
        pool = make_data(against_torch.torch_dtypes()[dtype],
                         max(4 * largest, POOL_BYTES // element))
        for case in cases_of(options, dtype):
            if options.seconds and time.monotonic() - start > options.seconds:
                note(case, f"left out, with what follows: {options.seconds} s are over")
                return
            try:
                yield run_case(gpu, redtune, pool, case, options)
                failures = 0
            except Exception as reason:  # the table goes on, as long as the GPU does
                note(case, f"skipped: {type(reason).__name__}: {str(reason)[:200]}")
                failures += not isinstance(reason, Refused)
                if failures == FAILURES_MAX:
                    return
        del pool
        torch.cuda.empty_cache()


def prepare(redtune, options):
    """Makes what the contestants of every N-th case compile, and times nothing."""
    part, parts = options.prepare
    for dtype in options.dtypes:
        pool = make_data(against_torch.torch_dtypes()[dtype],
                         max(rows * cols for rows, cols in options.shapes))
        for case in cases_of(options, dtype)[part::parts]:
            problem = redtune.axis_problem(case.op, dtype, case.rows, case.cols, case.axis)
            try:
                with redtune.created(problem):
                    like = pool[: case.rows * case.cols].view(case.rows, case.cols)
                    collections.deque(contestants(case, options, like), maxlen=0)
            except Exception as reason:  # the race says so, too
                leave_out(case, "a contestant", reason)


# ---- the command line ------------------------------------------------------------------------


def read_part(text):
    part, _, parts = text.partition("/")
    if not (part.isdigit() and parts.isdigit() and int(part) < int(parts)):
        raise argparse.ArgumentTypeError(f"'{text}': give a part and their number, such as 0/16")
    return int(part), int(parts)


def read_shapes(text):
    if text == "six":
        return SIX
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
        help="sum, mean, min, max, argmax, norm2, mean_var, logsumexp, max_at (default: sum)")
    add("--dtype", dest="dtypes", type=names, default=["f32", "f16"], metavar="DTYPE,...",
        help="f32, f16 (default: both)")
    add("--axis", dest="axes", type=int, action="append", choices=(0, 1), help="default: both")
    add("--shape", dest="shapes", type=read_shapes, default=SHAPES, metavar="ROWSxCOLS,...",
        help="or six: a few of them (default: 21 of up to 400 MB)")
    add("--cub", action="append", default=[], metavar="PATH", help="a library of axis_peers.cu")
    add("--compile", action="store_true", help="torch.compile races, too")
    add("--prepare", type=read_part, metavar="K/N",
        help="race nobody: compile what every N-th case from K on needs, for a race to come")
    add("--seconds", type=float, metavar="S", help="begin no shape after S seconds")
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
    options.compile = options.compile and compile_works()
    redtune = Redtune(options.library, options.db)
    if options.prepare:
        prepare(redtune, options)
        return 0
    print(f"{gpu.name}; torch {torch.__version__}; cupy {cupy.__version__ if cupy else 'none'}; "
          f"{', '.join(cub.name for cub in options.cub) or 'no CUB'}; "
          f"{'torch.compile; ' if options.compile else ''}medians of {options.samples} samples\n",
          flush=True)
    out = open(options.csv, "w", encoding="ascii") if options.csv else None
    right = report(run_all(gpu, redtune, options), out)
    torch.cuda.synchronize()
    redtune.close()
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
