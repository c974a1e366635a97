#!/usr/bin/env python3
"""Races segments and keys by another folder of templates against redtune's own, in one process: the first call of a
plan, in ms, which with an empty kernel cache is NVRTC's time for the most part, and what the kernels take. Each round
makes both plans anew, in one order and then in the other: where code lies makes one or the other faster. Inputs
have copies, so that no call finds its own in L2; keys, tables and masks are those of all calls.

Exits with 0, with 1 if no line has one of the words, and with 77 without NumPy. Bits that differ are for the reader to
judge: in free order they may.

Wants a cache folder of its own (XDG_CACHE_HOME) and CUDA_CACHE_DISABLE=1. tests/gpu/template_race is the same for whole
arrays, rows and columns.

usage: bench/race_templates.py LIBRARY FOLDER [WORD...]     LIBRARY: libredtune.so; only lines with one of the words
       bench/race_templates.py LIBRARY FOLDER --dry         small, on the simulated GPU of REDTUNE_CUDA_DRIVER
"""
import ctypes
import math
import os
import statistics
import sys
import time

sys.dont_write_bytecode = True  # beside the sources
try:
    import numpy
except ImportError:
    print("skipped: there is no NumPy", file=sys.stderr)
    sys.exit(77)
import redtune_library

MI, ROUNDS, SAMPLES, FLUSH = 1 << 20, 4, 9, 160 << 20


class Segments(ctypes.Structure):
    _fields_ = [
        ("d_in", ctypes.c_void_p), ("count", ctypes.c_uint64), ("d_begin", ctypes.c_void_p),
        ("d_end", ctypes.c_void_p), ("offset_bytes", ctypes.c_uint64), ("d_out", ctypes.c_void_p * 2),
        ("workspace", ctypes.c_void_p), ("parameters", ctypes.c_void_p), ("d_parameters", ctypes.c_void_p),
        ("accumulate", ctypes.c_uint64), ("d_arrays", ctypes.c_void_p), ("list", ctypes.c_void_p),
        ("d_mask", ctypes.c_void_p), ("mask_first", ctypes.c_uint64), ("d_second", ctypes.c_void_p),
        ("reserved", ctypes.c_uint64),
    ]  # fmt: skip


class Keyed(ctypes.Structure):
    _fields_ = [
        ("d_in", ctypes.c_void_p), ("d_keys", ctypes.c_void_p), ("count", ctypes.c_uint64),
        ("keys", ctypes.c_uint64), ("d_out", ctypes.c_void_p * 2), ("d_skipped", ctypes.c_void_p),
        ("workspace", ctypes.c_void_p), ("parameters", ctypes.c_void_p), ("d_parameters", ctypes.c_void_p),
        ("accumulate", ctypes.c_uint64), ("initial", ctypes.c_void_p), ("d_second", ctypes.c_void_p),
        ("d_mask", ctypes.c_void_p), ("mask_first", ctypes.c_uint64), ("reserved", ctypes.c_uint64),
    ]  # fmt: skip


class Gpu:
    """The driver, its context and a stream."""

    def __init__(self):
        self.driver = ctypes.CDLL(os.environ.get("REDTUNE_CUDA_DRIVER", "libcuda.so.1"))
        context, self.stream = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuInit", 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), 0)
        self.call("cuCtxSetCurrent", context)
        self.call("cuStreamCreate", ctypes.byref(self.stream), 1)
        self.events = [ctypes.c_void_p() for _ in range(2)]
        for event in self.events:
            self.call("cuEventCreate", ctypes.byref(event), 0)

    def call(self, name, *arguments):
        rc = getattr(self.driver, name)(*arguments)
        if rc:
            raise RuntimeError(f"{name} says {rc}")

    def allocate(self, nbytes):
        address = ctypes.c_uint64()
        self.call("cuMemAlloc_v2", ctypes.byref(address), ctypes.c_size_t(max(1, nbytes)))
        return address.value

    def free(self, addresses):
        for address in addresses:
            self.call("cuMemFree_v2", ctypes.c_uint64(address))

    def put(self, array):
        address = self.allocate(array.nbytes)
        if array.nbytes:
            self.call("cuMemcpyHtoD_v2", ctypes.c_uint64(address), array.ctypes.data_as(ctypes.c_void_p),
                      ctypes.c_size_t(array.nbytes))
        return address

    def get(self, address, nbytes):
        out = numpy.empty(nbytes, "u1")
        self.call("cuMemcpyDtoH_v2", out.ctypes.data_as(ctypes.c_void_p), ctypes.c_uint64(address),
                  ctypes.c_size_t(nbytes))
        return out

    def wait(self):
        self.call("cuStreamSynchronize", self.stream)

    def graph(self, calls):
        graph, made = ctypes.c_void_p(), ctypes.c_void_p()
        self.call("cuStreamBeginCapture_v2", self.stream, 1)
        for call in calls:
            call()
        self.call("cuStreamEndCapture", self.stream, ctypes.byref(graph))
        self.call("cuGraphInstantiateWithFlags", ctypes.byref(made), graph, ctypes.c_ulonglong(0))
        self.call("cuGraphDestroy", graph)
        return made

    def time_us(self, graph):
        ms, (begin, end) = ctypes.c_float(), self.events
        self.call("cuEventRecord", begin, self.stream)
        self.call("cuGraphLaunch", graph, self.stream)
        self.call("cuEventRecord", end, self.stream)
        self.call("cuEventSynchronize", end)
        self.call("cuEventElapsedTime", ctypes.byref(ms), begin, end)
        return 1e3 * ms.value


RANDOM = numpy.random.default_rng(1)


def chain(lengths):
    return numpy.concatenate([[0], numpy.cumsum(lengths)]).astype("i8")


def equal(count, length, large=0):
    lengths = numpy.full(count, length)
    if large:
        lengths[count // 3] = large
    return chain(lengths)


def zipf(count, elements):
    return chain((RANDOM.permutation(1 / numpy.arange(1, count + 1)) * elements / math.log(count)).astype("i8"))


def draw_keys(spread, keys, count):
    drawn = RANDOM.integers(keys, size=count).astype("i4")
    return {"uniform": drawn, "sorted": numpy.sort(drawn), "one": drawn * 0}[spread]


def tables(dry):
    """{name: (op, dtype, mask, offsets, whether each segment has an end of its own)}"""
    few = {"1000 of 1000": (1000, 1000), "16384 of 4096": (16384, 4096), "1024 of 4096": (1024, 4096),
           "65536 of 256": (65536, 256), "10^6 of 10": (1000000, 10), "256 of 65536": (256, 65536),
           "4096 of 4096, one of 16 Mi": (4096, 4096, 16 * MI), "10^6 of 3, one of 32 Mi": (1000000, 3, 32 * MI),
           "100 of 30000": (100, 30000)}  # fmt: skip
    if dry:
        few = {name: (min(count, 20), min(length, 50), min(*large, 5000) if large else 0)
               for name, (count, length, *large) in few.items()}  # fmt: skip
    made = {f"sum f32 {name}": ("sum", "f32", 0, equal(*given), False) for name, given in few.items()}
    made["sum f32 100000 by Zipf"] = "sum", "f32", 0, zipf(100 if dry else 100000, 3000 if dry else 32 * MI), False
    for op, dtype, mask in ("max", "f16", 0), ("argmax", "f32", 0), ("var", "f32", 0), ("sum", "f32", 1):
        for name in "1000 of 1000", "16384 of 4096", "4096 of 4096, one of 16 Mi":
            made[f"{op} {dtype} {'masked ' * mask}{name}"] = op, dtype, mask, equal(*few[name]), False
    made["sum f32 16384 of 4096, ends"] = "sum", "f32", 0, equal(*few["16384 of 4096"]), True
    return made


def keyed(dry):
    """{name: (op, dtype, mask, keys, spread, count)}"""
    made = {}
    for op, dtype, mask, keys, spread in (
        ("mean_var", "f32", 0, 1000, "uniform"), ("mean_var", "f32", 0, 1000, "one"),
        ("mean_var", "f32", 0, 1000, "sorted"), ("mean_var", "f32", 0, 100, "uniform"),
        ("mean_var", "f32", 0, 8, "uniform"), ("mean_var", "f32", 1, 1000, "uniform"),
        ("var", "f16", 0, 1000, "uniform"), ("logsumexp", "f32", 0, 1000, "uniform"),
        ("logsumexp", "f32", 0, 8, "uniform"), ("logsumexp", "f32", 0, 1000, "sorted"),
    ):  # fmt: skip
        for count in (3000,) if dry else (10**6, 16 * MI):
            name = f"{op} {dtype} {'masked ' * mask}of {count} by {keys} keys, {spread}"
            made[name] = op, dtype, mask, keys, spread, count
    return made


class Contest:
    """A problem, its operands on the GPU, and how it is run."""

    def __init__(self, gpu, library, op, dtype, mask, dry):
        self.gpu, self.library, self.mask = gpu, library.library, mask
        self.op, self.dtype, self.type = library.find("op", op), library.find("dtype", dtype), numpy.dtype(
            {"f32": "f4", "f16": "f2"}[dtype])  # fmt: skip
        self.dry, self.held, self.error = dry, [], redtune_library.Error()

    def put(self, array):
        self.held.append(self.gpu.put(array))
        return self.held[-1]

    def fill(self, count, results):
        """Copies of the input, and the results' and the mask's addresses."""
        self.results, self.count = 8 * results, count
        copies = 1 if self.dry else max(1, FLUSH // max(1, count * self.type.itemsize))
        x = RANDOM.random(count, dtype="f4").astype(self.type)
        self.inputs = [self.put(x) for _ in range(min(copies, 40))]
        self.outputs = [self.put(numpy.zeros(self.results, "u1")) for _ in range(2)]
        self.d_mask = self.put(RANDOM.random(count) < 0.5) if self.mask else None

    def segments(self, offsets, ends):
        self.fill(int(offsets[-1]), len(offsets) - 1)
        begin = self.put(offsets[:-1].copy() if ends else offsets)
        end = self.put(offsets[1:].copy()) if ends else None
        count = len(offsets) - 1
        self.problem = self.library.redtune_problem_segments(
            self.op, self.dtype, ctypes.c_uint64(count), ctypes.c_uint64(self.count // count))
        self.run = self.library.redtune_plan_run_segments
        self.operands = [Segments(d_in=x, count=count, d_begin=begin, d_end=end, d_mask=self.d_mask)
                         for x in self.inputs]  # fmt: skip

    def by_key(self, library, keys, spread, count):
        self.fill(count, keys)
        key = self.put(draw_keys(spread, keys, count))
        self.problem = self.library.redtune_problem_by_key(
            self.op, self.dtype, library.find("dtype", "i32"), ctypes.c_uint64(keys), ctypes.c_uint64(count))
        self.run = self.library.redtune_plan_run_keyed
        self.operands = [Keyed(d_in=x, d_keys=key, count=count, d_mask=self.d_mask) for x in self.inputs]

    def prepare(self, several):
        self.problem.mask = self.mask
        for operands in self.operands:
            operands.d_out[0] = self.outputs[0]
            operands.d_out[1] = self.outputs[1] if several else None

    def call(self, plan, i):
        operands = ctypes.byref(self.operands[i % len(self.operands)])
        if self.run(plan, operands, self.gpu.stream, ctypes.byref(self.error)):
            raise redtune_library.Refused(self.error.message.decode())

    def close(self):
        self.gpu.free(self.held)


def open_by(path, folder):
    """redtune by that folder of templates; None: its own."""
    os.environ.pop("REDTUNE_TEMPLATES", None)
    if folder:
        os.environ["REDTUNE_TEMPLATES"] = folder
    return redtune_library.Redtune(path, None)


def time_round(contest, path, folders, order, first_ms, results):
    """The median us of a call, by both."""
    gpu, us, sides = contest.gpu, [[], []], {}
    for k in order:
        library, plan = open_by(path, folders[k]), ctypes.c_void_p()
        begin = time.perf_counter()
        library.call("redtune_plan_create", library.handle, ctypes.byref(contest.problem), ctypes.byref(plan))
        contest.call(plan, 0)
        gpu.wait()
        first_ms[k].append(1e3 * (time.perf_counter() - begin))
        results[k] = gpu.get(contest.outputs[0], contest.results)
        calls = 1 if contest.dry else max(len(contest.operands), 4)
        sides[k] = library, plan, gpu.graph([lambda i=i, p=plan: contest.call(p, i) for i in range(calls)]), calls
    for sample in range(1 if contest.dry else SAMPLES + 1):
        for k in order:
            taken = gpu.time_us(sides[k][2]) / sides[k][3]
            if sample or contest.dry:
                us[k].append(taken)
    for library, plan, graph, _ in sides.values():
        gpu.call("cuGraphExecDestroy", graph)
        library.library.redtune_plan_destroy(plan)
        library.close()
    return [statistics.median(each) for each in us]


def race(name, contest, path, folder):
    """Prints a line, and returns the logarithm of the ratio."""
    first_ms, results, logs = [[], []], [None, None], [0, 0]
    rounds = 2 if contest.dry else ROUNDS
    for number in range(rounds):
        order = (0, 1) if number % 2 == 0 else (1, 0)
        for k, us in enumerate(time_round(contest, path, (None, folder), order, first_ms, results)):
            logs[k] += math.log(max(us, 1e-3)) / rounds
    own, other = map(math.exp, logs)
    bits = "equal" if (results[0] == results[1]).all() else "DIFFER"
    print(f"{name:52} {own:9.2f} us, other {other:9.2f}: {own / other:.3f}; first call {first_ms[0][0]:6.1f} ms, "
          f"other {first_ms[1][0]:6.1f}; bits {bits}", flush=True)  # fmt: skip
    return logs[0] - logs[1]


def main():
    path, folder, *words = sys.argv[1:]
    dry = "--dry" in words
    wanted = [word for word in words if word != "--dry"] or [""]
    gpu, ratios = Gpu(), []
    library = open_by(path, None)
    for make in "redtune_problem_segments", "redtune_problem_by_key":
        getattr(library.library, make).restype = redtune_library.Problem
    for name, (op, dtype, mask, *given) in {**tables(dry), **keyed(dry)}.items():
        if not any(word in name for word in wanted):
            continue
        contest = Contest(gpu, library, op, dtype, mask, dry)
        if len(given) == 2:
            contest.segments(*given)
        else:
            contest.by_key(library, *given)
        contest.prepare(op == "mean_var")
        ratios.append(race(name, contest, path, folder))
        contest.close()
    if not ratios:
        sys.exit(f"no line has one of the words {' '.join(wanted)}")
    mean = math.exp(sum(ratios) / len(ratios))
    print(f"{len(ratios)} timed: own over other in the geometric mean {mean:.4f}, at most {math.exp(max(ratios)):.3f}")


if __name__ == "__main__":
    main()
