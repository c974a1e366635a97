#!/usr/bin/env python3
"""Times redtune's plans beside torch.sum, amin, amax, argmin and argmax, interleaved, in one process.

Prints a row per op, dtype, size and mode, and what the rows come to. The modes are those of
against_cub: cold and warm replay CUDA graphs, whose inputs are not or are in L2; stream calls back
to back from Python, whose own time is part of that.

Exits with 0 if all results agree, 1 if not, 2 on wrong usage, and 77 where it cannot run: without
PyTorch, a GPU or libredtune.so.
"""

import argparse
import collections
import csv
import json
import math
import os
import statistics
import sys
import time

sys.dont_write_bytecode = True  # beside the sources
from redtune_library import Redtune, Refused

try:
    import torch
except ImportError:
    torch = None

SKIPPED = 77
MODES = ("cold", "warm", "stream")
CONTESTANTS = ("torch", "tuned")
GRAPH_NS, GRAPH_CALLS = 200e3, (4, 128)  # the aim for what is timed at a time, and its bounds
STREAM_NS, STREAM_CALLS = 2e6, (1, 1000)
CALL_NS = 2000  # a small call, at the least
HOLD_CYCLES = 200_000  # how long the GPU is kept busy while the host queues what is timed
POOL_BYTES = 1 << 30  # of inputs, at the least, where calls are dealt different ones

Row = collections.namedtuple("Row", "op dtype count bytes mode agree torch tuned")
Time = collections.namedtuple("Time", "ns spread_ns gbps")


def skip(reason):
    program = os.path.basename(sys.argv[0]).removesuffix(".py")
    print(f"{program}: skipped: {reason}", file=sys.stderr)
    sys.exit(SKIPPED)


# ---- PyTorch ---------------------------------------------------------------------------------


def torch_dtypes():
    """PyTorch's dtypes by redtune's names; it sums no unsigned integers but bytes."""
    return {
        "i8": torch.int8, "u8": torch.uint8, "i16": torch.int16, "i32": torch.int32,
        "i64": torch.int64, "f16": torch.float16, "bf16": torch.bfloat16, "f32": torch.float32,
        "f64": torch.float64,
    }


def torch_reduce(op, dtype):
    """PyTorch's function for an op. Its sums are asked for in the dtype that redtune sums into;
    those of unsigned integers have the same bits in i64."""
    if op == "sum":
        into = torch.float32 if dtype in (torch.float16, torch.bfloat16) else None
        return lambda tensor: torch.sum(tensor, dim=0, dtype=into)
    function = {"min": torch.amin, "max": torch.amax, "argmin": torch.argmin,
                "argmax": torch.argmax}[op]
    return lambda tensor: function(tensor, dim=0)


def make_data(dtype, count):
    """Any integers, or floats from 1 up to 2; never zeros alone."""
    generator = torch.Generator(device="cuda").manual_seed(20)
    if dtype.is_floating_point:
        data = torch.empty(count, dtype=dtype, device="cuda")
        # In pieces: the random numbers are f32 or f64, and may be larger than the data.
        wide = torch.float64 if dtype == torch.float64 else torch.float32
        for start in range(0, count, 1 << 26):
            piece = data[start : start + (1 << 26)]
            noise = torch.rand(len(piece), dtype=wide, device="cuda", generator=generator)
            # Just below 2 at the most, in 8 bits of mantissa too.
            piece.copy_(1 + noise * 0.99)
        return data
    info = torch.iinfo(dtype)
    data = torch.empty(count, dtype=dtype, device="cuda")
    return data.random_(info.min, info.max, generator=generator)


def agree(op, count, mine, other):
    """Whether two results agree: bit for bit, or, for sums of floats, within twice the error bound
    of a sum whose longest chain of additions has 64 + count / 2^14 links."""
    if op != "sum" or not mine.dtype.is_floating_point:
        return mine.item() == other.item()
    x, y = mine.item(), other.item()
    roundoff = torch.finfo(mine.dtype).eps / 2
    bound = 2 * (64 + count / 16384) * roundoff * max(abs(x), abs(y))
    return math.isfinite(x) and math.isfinite(y) and abs(x - y) <= bound


class Gpu:
    """What timing needs: a stream, a buffer that is read to flush L2, and the bus's speed."""

    def __init__(self):
        torch.zeros(1, device="cuda")  # makes the context
        properties = torch.cuda.get_device_properties(torch.cuda.current_device())
        self.name = properties.name
        self.gbps = measure_gbps()
        self.stream = torch.cuda.Stream()
        l2_bytes = getattr(properties, "L2_cache_size", 0) or 64 << 20
        self.flush_buffer = make_data(torch.int32, 2 * l2_bytes // 4)
        self.hold_cycles = HOLD_CYCLES

    def flush(self):
        """Reads: what a write leaves behind in L2 would be written back while others are timed."""
        torch.amax(self.flush_buffer, dim=0)

    def calls(self, size_bytes, ns, bounds):
        """How many calls last about ns together."""
        wanted = 1 + int(ns / (CALL_NS + size_bytes / self.gbps))
        return max(bounds[0], min(bounds[1], wanted))


def measure_gbps():
    """Bytes that a large reduction reads per ns, to choose numbers of calls by."""
    data = make_data(torch.float32, 1 << 26)
    start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    for _ in range(3):
        start.record()
        torch.sum(data)
        stop.record()
        stop.synchronize()
    return 4 * len(data) / (start.elapsed_time(stop) * 1e6)


# ---- timing ----------------------------------------------------------------------------------


class GraphTimer:
    """A contestant in a graph of several calls, each on an input of its own if cold."""

    def __init__(self, gpu, reduce, inputs, cold):
        self.gpu, self.cold, self.calls = gpu, cold, len(inputs)
        self.graph = torch.cuda.CUDAGraph()
        self.start, self.stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        with torch.cuda.stream(gpu.stream):
            # Not torch.cuda.graph(), which collects garbage first: that takes longer than the race.
            self.graph.capture_begin(capture_error_mode="thread_local")
            try:
                for each in inputs:
                    reduce(each)
            finally:
                self.graph.capture_end()
            self.graph.replay()  # pays for uploading it
        gpu.stream.synchronize()

    def sample_ns(self):
        with torch.cuda.stream(self.gpu.stream):
            while True:
                torch.cuda._sleep(self.gpu.hold_cycles)
                self.gpu.flush() if self.cold else self.graph.replay()
                self.start.record()
                self.graph.replay()
                self.stop.record()
                late = self.start.query()  # the GPU had to wait for the host
                self.stop.synchronize()
                if not late:
                    return self.start.elapsed_time(self.stop) * 1e6 / self.calls
                self.gpu.hold_cycles *= 2


class StreamTimer:
    """A contestant that is called back to back."""

    def __init__(self, gpu, reduce, inputs):
        self.gpu, self.reduce, self.inputs = gpu, reduce, inputs

    def sample_ns(self):
        with torch.cuda.stream(self.gpu.stream):
            start = time.perf_counter_ns()
            for each in self.inputs:
                self.reduce(each)
            self.gpu.stream.synchronize()
            return (time.perf_counter_ns() - start) / len(self.inputs)


def summarise(samples, size_bytes):
    """Median, and half the distance between the quartiles."""
    ordered = sorted(samples)
    quartiles = statistics.quantiles(ordered, n=4, method="inclusive") if samples[1:] else [0, 0, 0]
    median = statistics.median(ordered)
    return Time(median, (quartiles[2] - quartiles[0]) / 2, size_bytes / median)


def race(gpu, mode, reduces, pool, count, samples):
    """Each contestant's Time; they take turns, and each begins in turn."""
    size_bytes = count * pool.element_size()
    stride = -(-size_bytes // 256) * 256 // pool.element_size()
    bounds = (STREAM_NS, STREAM_CALLS) if mode == "stream" else (GRAPH_NS, GRAPH_CALLS)
    calls = gpu.calls(size_bytes, *bounds)
    if mode == "cold":
        calls = min(calls, max(1, len(pool) // stride))
        inputs = [pool[i * stride : i * stride + count] for i in range(calls)]
    else:
        inputs = [pool[:count]] * calls
    if mode == "stream":
        timers = [StreamTimer(gpu, reduce, inputs) for reduce in reduces]
    else:
        timers = [GraphTimer(gpu, reduce, inputs, mode == "cold") for reduce in reduces]
    taken = [[] for _ in timers]
    for sample in range(samples):
        for i in range(len(timers)):
            turn = (sample + i) % len(timers)
            taken[turn].append(timers[turn].sample_ns())
    return [summarise(each, size_bytes) for each in taken]


def run_problem(gpu, redtune, op, dtype, pool, count, options):
    """Yields a row per mode."""
    size_bytes = count * pool.element_size()
    problem = redtune.problem(op, dtype, count)
    result = torch_dtypes().get(redtune.result(problem).replace("u64", "i64"))
    if result is None:
        raise Refused(f"PyTorch has no {redtune.result(problem)}")
    out = torch.empty((), dtype=result, device="cuda")
    theirs = torch_reduce(op, pool.dtype)
    with redtune.plan(problem) as reduce:

        def ours(tensor):
            stream = torch.cuda.current_stream().cuda_stream
            reduce(tensor.data_ptr(), out.data_ptr(), stream)

        with torch.cuda.stream(gpu.stream):
            reference = theirs(pool[:count])
            ours(pool[:count])
        gpu.stream.synchronize()
        same = agree(op, count, out, reference)
        if not same:
            note(op, count, dtype, f"torch gives {reference.item()}, redtune {out.item()}")
        for mode in options.modes:
            times = race(gpu, mode, [theirs, ours], pool, count, options.samples)
            gpu.stream.synchronize()
            yield Row(op, dtype, count, size_bytes, mode, same, *times)


def choose_pool(count_max, element):
    """Elements of the pool: several of the largest inputs, in what memory there is."""
    free_bytes, _ = torch.cuda.mem_get_info()
    wanted = max(4 * count_max, POOL_BYTES // element)
    return min(wanted, free_bytes * 3 // 4 // element)


def note(op, count, dtype, text):
    print(f"against_torch: {op} of {count} {dtype}: {text}", file=sys.stderr)


def run_all(gpu, redtune, options):
    for dtype in options.dtypes:
        if dtype not in torch_dtypes():
            print(f"against_torch: {dtype}: skipped: PyTorch reduces none", file=sys.stderr)
            continue
        element = torch_dtypes()[dtype].itemsize
        counts = [size // element if in_bytes else size for size, in_bytes in options.sizes]
        pool = make_data(torch_dtypes()[dtype], choose_pool(max(counts), element))
        for op in options.ops:
            for count in counts:
                try:
                    if not 0 < count <= len(pool):
                        raise Refused("no whole element" if not count else "not enough memory")
                    yield from run_problem(gpu, redtune, op, dtype, pool, count, options)
                except Refused as reason:
                    note(op, count, dtype, f"skipped: {reason}")
        del pool
        torch.cuda.empty_cache()


# ---- the report ------------------------------------------------------------------------------


def show_size(size):
    unit = 0
    while unit < 3 and size % 1024 == 0:
        size, unit = size // 1024, unit + 1
    return f"{size} {('B', 'KiB', 'MiB', 'GiB')[unit]}"


def summaries(rows):
    """Geometric mean and least of torch's time over redtune's, by op, dtype and mode."""
    groups = collections.defaultdict(list)
    for row in rows:
        ratio = row.torch.ns / row.tuned.ns
        groups[row.op, row.dtype, row.mode].append(ratio)
        groups[row.op, "all", row.mode].append(ratio)
    ordered = sorted(groups.items(), key=lambda item: item[0][1] == "all")
    return [(key, len(ratios), statistics.geometric_mean(ratios), min(ratios))
            for key, ratios in ordered]


def report_text(scene, rows):
    print(f"{scene['gpu']}; torch {scene['torch']}; medians of {scene['samples']} samples\n")
    print(f"{'op':6}  {'dtype':5}  {'input':>9}  {'mode':6}  {'torch us':>10}  {'tuned us':>10}  "
          f"{'torch/tuned':>11}  {'GB/s':>7}  {'+-%':>5}")
    seen = []
    for row in rows:
        seen.append(row)
        spread = max(each.spread_ns / each.ns for each in (row.torch, row.tuned))
        print(f"{row.op:6}  {row.dtype:5}  {show_size(row.bytes):>9}  {row.mode:6}  "
              f"{row.torch.ns / 1e3:10.3f}  {row.tuned.ns / 1e3:10.3f}  "
              f"{row.torch.ns / row.tuned.ns:11.3f}  {row.tuned.gbps:7.1f}  {100 * spread:5.1f}"
              f"{'' if row.agree else '  RESULTS DIFFER'}", flush=True)
    print(f"\n{'op':6}  {'dtype':5}  {'mode':6}  {'points':>6}  {'torch/tuned':>11}  {'least':>7}")
    for (op, dtype, mode), points, mean, least in summaries(seen):
        print(f"{op:6}  {dtype:5}  {mode:6}  {points:6}  {mean:11.3f}  {least:7.3f}")
    return seen


def flatten(row):
    flat = {name: value for name, value in row._asdict().items() if name not in CONTESTANTS}
    for name in CONTESTANTS:
        flat.update({f"{name}_{key}": value for key, value in getattr(row, name)._asdict().items()})
    return flat


def report_csv(_, rows):
    seen, writer = [], None
    for row in rows:
        seen.append(row)
        writer = writer or csv.DictWriter(sys.stdout, flatten(row), lineterminator="\n")
        if len(seen) == 1:
            writer.writeheader()
        writer.writerow(flatten(row))
        sys.stdout.flush()
    return seen


def report_json(scene, rows):
    seen = list(rows)
    summary = [
        dict(zip(("op", "dtype", "mode"), key), points=points, mean=mean, least=least)
        for key, points, mean, least in summaries(seen)
    ]
    document = {**scene, "rows": [flatten(row) for row in seen], "summary": summary}
    print(json.dumps(document, indent=1))
    return seen


# ---- the command line ------------------------------------------------------------------------


def read_size(text):
    digits = text.rstrip("KMG")
    shift = {"": 0, "K": 10, "M": 20, "G": 30}.get(text[len(digits) :])
    if shift is None or not digits.isdecimal() or int(digits) == 0:
        raise argparse.ArgumentTypeError(f"'{text}' is no size; give 1000, 4K, 256M or 1K..1G")
    return int(digits) << shift


def read_sizes(text):
    """Sizes such as 1000,4K and, as the powers of two between, 1K..1G."""
    sizes = []
    for part in text.split(","):
        first, dots, last = part.partition("..")
        if dots:
            sizes += [1 << i for i in range(50) if read_size(first) <= 1 << i <= read_size(last)]
        else:
            sizes.append(read_size(part))
    return sizes


def read_names(*known):
    def read(text):
        for name in text.split(","):
            if name not in known:
                raise argparse.ArgumentTypeError(f"'{name}' is none of {', '.join(known)}")
        return text.split(",")

    return read


def parse(words):
    dtypes = ("i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64", "f16", "bf16", "f32", "f64")
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build", "release")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--op", dest="ops", type=read_names("sum", "min", "max", "argmin", "argmax"),
        default=["sum"], metavar="OP,...", help="sum, min, max, argmin, argmax (default: sum)")
    add("--dtype", dest="dtypes", type=read_names(*dtypes), default=list(dtypes),
        metavar="DTYPE,...", help="of the elements (default: all)")
    add("--size", type=read_sizes, default=[], metavar="SIZES",
        help="elements: 4K,1M or powers of two, 1K..256M; K is 1024")
    add("--bytes", type=read_sizes, default=[], metavar="SIZES",
        help="the same in bytes (default: 1K..1G)")
    for mode in MODES:
        add(f"--{mode}", dest="modes", action="append_const", const=mode,
            help="time this mode (default: all three)")
    add("--samples", type=int, default=21, metavar="N", help="per contestant (default: 21)")
    add("--db", metavar="PATH", help="redtune's tuning database (default: redtune's own)")
    add("--library", metavar="PATH", default=os.path.join(beside, "libredtune.so"),
        help="libredtune.so (default: that of build/release)")
    add("--format", choices=("text", "csv", "json"), default="text")
    add("--device", type=int, default=0, metavar="N", help="the GPU (default: 0)")
    options = parser.parse_args(words)
    options.modes = options.modes or list(MODES)
    options.sizes = [(size, False) for size in options.size]
    options.sizes += [(size, True) for size in options.bytes]
    options.sizes = options.sizes or [(size, True) for size in read_sizes("1K..1G")]
    if options.samples < 1:
        parser.error("--samples: give 1 or more")
    return options


def main(words):
    options = parse(words)
    if torch is None:
        skip("there is no PyTorch")
    if not torch.cuda.is_available() or torch.cuda.device_count() <= options.device:
        skip("PyTorch finds no such GPU")
    if not os.path.exists(options.library):
        skip(f"there is no {options.library}; build redtune, or give --library")
    torch.cuda.set_device(options.device)
    gpu = Gpu()
    try:
        redtune = Redtune(options.library, options.db)
    except (OSError, Refused) as reason:
        print(f"against_torch: {reason}", file=sys.stderr)
        return 1
    scene = {"gpu": gpu.name, "torch": torch.__version__, "samples": options.samples}
    report = {"text": report_text, "csv": report_csv, "json": report_json}[options.format]
    rows = report(scene, run_all(gpu, redtune, options))
    torch.cuda.synchronize()
    redtune.close()
    return 0 if all(row.agree for row in rows) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
