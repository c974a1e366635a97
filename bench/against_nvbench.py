#!/usr/bin/env python3
"""Times sums of whole arrays by NVBench, the harness of NVIDIA's libraries: redtune, PyTorch, CUB.

NVBench comes as the Python package cuda-bench. Prints a row per dtype and size. Its cold time is
that of one launch between two events, after a memset that flushes L2; its batch time is that of a
call in a row of calls on one input. docs/benchmarks.md says where these differ from the times of
against_cub.

Exits with 0, with 1 if results differ, 2 on wrong usage, and 77 where it cannot run: without
PyTorch, cuda-bench, a GPU or libredtune.so.
"""

import argparse
import contextlib
import ctypes
import functools
import os
import sys
import tempfile

sys.dont_write_bytecode = True  # beside the sources
from against_torch import agree, make_data, read_names, read_sizes, show_size, skip
from redtune_library import Redtune

try:
    import cuda.bench as nvbench
    import cuda.bench.results
    import torch
except ImportError as missing:
    nvbench, reason = None, missing

DTYPES = ("f32", "f16")


class Cub:
    """DeviceReduce, in a library made of axis_peers.cu."""

    def __init__(self, path):
        self.library = ctypes.CDLL(os.path.abspath(path))
        version = self.library.axis_peers_version()
        self.version = f"CUB {version // 100000}.{version // 100 % 1000}"
        pointer = ctypes.c_void_p
        self.library.axis_peers_whole.argtypes = [
            ctypes.c_int, pointer, ctypes.c_uint64, pointer, pointer, pointer, pointer]

    def sum(self, tensor, out):
        """A function of a stream's handle."""
        half, count = tensor.dtype == torch.float16, len(tensor)
        size_bytes = ctypes.c_size_t()
        size_at = ctypes.addressof(size_bytes)
        self.run(half, tensor.data_ptr(), count, out.data_ptr(), None, size_at, None)
        scratch = torch.empty(size_bytes.value, dtype=torch.uint8, device="cuda")

        def reduce(stream):
            self.run(half, tensor.data_ptr(), count, out.data_ptr(), scratch.data_ptr(), size_at,
                     stream)

        return reduce

    def run(self, *arguments):
        status = self.library.axis_peers_whole(*arguments)
        if status:
            raise RuntimeError(f"CUB fails with CUDA's status {status}")


def torch_sum(tensor, out):
    @functools.lru_cache
    def external(stream):
        return torch.cuda.ExternalStream(stream)

    def reduce(stream):
        with torch.cuda.stream(external(stream)):
            torch.sum(tensor, dim=0, dtype=torch.float32, out=out)

    return reduce


class Race:
    """What NVBench calls, for each dtype, size and contestant."""

    def __init__(self, redtune, cub, sizes):
        self.redtune, self.cub, self.sizes = redtune, cub, sizes
        self.pools, self.sums, self.differ = {}, {}, False

    def pool(self, dtype):
        if dtype not in self.pools:
            element = torch.float16 if dtype == "f16" else torch.float32
            size_bytes = min(max(self.sizes), torch.cuda.mem_get_info()[0] // 3)
            count = size_bytes // element.itemsize
            self.pools[dtype] = make_data(element, count)
        return self.pools[dtype]

    def check(self, dtype, count, by, value):
        first = self.sums.setdefault((dtype, count), value)
        if not agree("sum", count, value, first):
            self.differ = True
            print(f"against_nvbench: sum of {count} {dtype}: {by} gives {value.item()}, another "
                  f"{first.item()}", file=sys.stderr)

    def run(self, state):
        dtype, by = state.get_string("dtype"), state.get_string("by")
        size_bytes = state.get_int64("bytes")
        pool = self.pool(dtype)
        count = size_bytes // pool.element_size()
        if count > len(pool):
            return state.skip("not enough memory")
        tensor, out = pool[:count], torch.empty((), device="cuda")
        with contextlib.ExitStack() as stack:
            if by == "redtune":
                plan = stack.enter_context(
                    self.redtune.plan(self.redtune.problem("sum", dtype, count)))
                reduce = functools.partial(plan, tensor.data_ptr(), out.data_ptr())
            else:
                reduce = (torch_sum if by == "torch" else self.cub.sum)(tensor, out)
            # A stream's first call allocates, which would wait for the kernel that NVBench
            # holds the GPU with.
            reduce(state.get_stream().addressof())
            torch.cuda.synchronize()
            self.check(dtype, count, by, out)
            state.add_global_memory_reads(size_bytes)
            state.exec(lambda launch: reduce(launch.get_stream().addressof()), batched=True)
            torch.cuda.synchronize()


def first_of(summaries, *tags):
    """In seconds, of the first tag that this version of NVBench gives."""
    for tag in tags:
        if tag in summaries:
            return float(summaries[tag].value)
    return float("nan")


def read_times(path):
    """(cold, batch) in us by (dtype, bytes, contestant)."""
    times = {}
    for bench in cuda.bench.results.BenchmarkResult.from_json(path).values():
        for state in bench:
            if state.is_skipped:
                continue
            point = {name: str(value) for name, value in state.point.items()}
            cold = first_of(state.summaries, "nv/cold/time/gpu/median", "nv/cold/time/gpu/mean")
            batch = first_of(state.summaries, "nv/batch/time/gpu/mean")
            key = point["dtype"], int(point["bytes"]), point["by"]
            times[key] = cold * 1e6, batch * 1e6
    return times


def report(times, contestants):
    others = [by for by in contestants if by != "redtune"]
    print("dtype,bytes,input," + ",".join(f"{by}_cold_us,{by}_batch_us" for by in contestants) + ","
          + ",".join(f"{by}/redtune cold,{by}/redtune batch" for by in others))
    for dtype, size_bytes in dict.fromkeys(key[:2] for key in times):
        row = {by: times.get((dtype, size_bytes, by), (float("nan"),) * 2) for by in contestants}
        cells = [f"{us:.3f}" for by in contestants for us in row[by]]
        cells += [f"{row[by][i] / row['redtune'][i]:.3f}" for by in others for i in range(2)]
        print(",".join([dtype, str(size_bytes), show_size(size_bytes), *cells]))


@contextlib.contextmanager
def stdout_to_stderr():
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        os.dup2(kept, 1)
        os.close(kept)


def parse(words):
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build", "release")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--dtype", dest="dtypes", type=read_names(*DTYPES), default=list(DTYPES),
        metavar="DTYPE,...", help="f32, f16 (default: both)")
    add("--bytes", type=read_sizes, default=read_sizes("4K..4G"), metavar="SIZES",
        help="4K,1M or powers of two, 1K..1G (default: 4K..4G)")
    add("--cub", metavar="PATH", help="a library made of axis_peers.cu (default: no CUB)")
    add("--timeout", type=float, default=1.0, metavar="SECONDS",
        help="of each measurement at most (default: 1)")
    add("--db", metavar="PATH", help="redtune's tuning database (default: redtune's own)")
    add("--library", metavar="PATH", default=os.path.join(beside, "libredtune.so"),
        help="libredtune.so (default: that of build/release)")
    return parser.parse_args(words)


def main(words):
    options = parse(words)
    if nvbench is None:
        skip(reason)
    if not torch.cuda.is_available():
        skip("PyTorch finds no GPU")
    if not os.path.exists(options.library):
        skip(f"there is no {options.library}; build redtune, or give --library")
    torch.zeros(1, device="cuda")  # makes the context
    cub = Cub(options.cub) if options.cub else None
    contestants = ["redtune", "torch"] + (["cub"] if cub else [])
    race = Race(Redtune(options.library, options.db), cub, options.bytes)
    bench = nvbench.register(race.run)
    bench.set_name("sum").set_timeout(options.timeout).set_batch_target_time(options.timeout / 4)
    bench.add_string_axis("by", contestants)
    bench.add_int64_axis("bytes", options.bytes)
    bench.add_string_axis("dtype", options.dtypes)
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "nvbench.json")
        with stdout_to_stderr():  # where NVBench's own tables go
            nvbench.run_all_benchmarks([sys.argv[0], "--device", "0", "--json", path])
        report(read_times(path), contestants)
    race.redtune.close()
    return int(race.differ)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
