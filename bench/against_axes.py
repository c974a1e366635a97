#!/usr/bin/env python3
"""Times redtune along any axes of arrays with any steps by a grid of configurations, beside PyTorch,
interleaved, in one process.

For each case: what redtune runs without a database (default) and with its own (served), the fastest
configuration that a search in steps found (best), PyTorch's call (of a matrix and a vector its mv and
matmul, which are cuBLAS), redtune's sum of a packed array of as many elements and results, and
`read`, redtune's sum of as many bytes as the case's sectors have. Calls are those of a replayed
graph, each on an input of its own, with L2 flushed before. Results are compared with PyTorch's.

Each stage of the search compiles its kernels in as many processes as there are cores, and then
times them: a grid at 256 threads, what differs by a step from the fastest, and that again.

Exits with 0 if all results agree, 1 if not, 2 on wrong usage, and 77 where it cannot run.
"""

import argparse
import collections
import contextlib
import ctypes
import itertools
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True  # beside the sources
from redtune_library import Axis, Options, Redtune, Refused

X, Y, RESULTS = 1, 2, 8  # of Problem.steps: 1 << redtune_array
BYTES = {"f32": 4, "f16": 2, "bf16": 2}
GRAPH_NS, GRAPH_CALLS = 100e3, (2, 32)
POOL_BYTES = 1 << 30
BLOCKS, PER_SM = (64, 128, 256, 512), (2, 4, 8, 16)
FIRST, NEXT, LAST = 3, 2, 4  # configurations that a stage goes on from, and that race at the end

# strides: of x, in elements; None: packed. second: those of a second input. offset: where x begins
# behind an aligned address. read: bytes of the sectors that its elements are in. gap: results lie so
# many elements apart; of 2 even what is rows or columns is any axes.
Case = collections.namedtuple("Case", "name op dtype shape strides axes lanes second offset read gap")


def case(name, op, dtype, shape, axes, lanes, strides=None, second=None, offset=0, read=None, gap=1):
    return Case(name + (" gaps" if gap > 1 else ""), op, dtype, shape, strides or packed(shape),
                axes, lanes, second, offset, read or math.prod(shape) * BYTES[dtype], gap)


def packed(shape):
    return tuple(math.prod(shape[i + 1 :]) for i in range(len(shape)))


def matrix_vector(rows, columns, dtype):
    return case(f"{rows}x{columns} by a vector", "dot", dtype, (rows, columns), (1,),
                ("reduced", "spans"), second=(0, 1))


def crop(op, dtype, axes, lanes, first, gap=1, size=62):
    n, c, side = 64, 128, 64
    read = n * c * size * side * BYTES[dtype]
    return case(f"{size}x{size} from {first} on of {n}x{c}x{side}x{side} {axes}", op, dtype,
                (n, c, size, size), axes, lanes, packed((n, c, side, side)),
                offset=first * (side + 1), read=read, gap=gap)


def every_second(rows, columns, axis, dtype, lanes, gap=1):
    return case(f"{rows}x{columns}[:, ::2] ({axis},)", "sum", dtype, (rows, columns // 2), (axis,),
                lanes, (columns, 2), read=rows * columns * BYTES[dtype], gap=gap)


def cases():
    nchw, along = (0, 2, 3), ("reduced", "spans")
    for shape, dtypes in [((256, 2048, 7, 7), ("f32", "bf16")), ((256, 256, 7, 7), ("f32", "bf16")),
                          ((64, 64, 112, 112), ("bf16",)), ((32, 64, 112, 112), ("bf16",)),
                          ((16, 256, 112, 112), ("bf16",)), ((256, 512, 14, 14), ("bf16",))]:
        for dtype in dtypes:
            yield case("x".join(map(str, shape)), "sum", dtype, shape, nchw, along)
    yield case("256x2048x7x7", "mean_var", "bf16", (256, 2048, 7, 7), nchw, along)
    for rows, columns, dtype in [(2048, 50257, "f32"), (2048, 50257, "f16"), (262144, 64, "f16"),
                                 (16384, 1024, "f32"), (16384, 1024, "f16"), (1024, 16384, "f32")]:
        yield matrix_vector(rows, columns, dtype)
    for gap in (1, 2):
        for dtype in ("f32", "bf16"):
            yield crop("var", dtype, (2,), ("kept",), 1, gap)
            yield crop("sum", dtype, (2,), ("kept",), 0, gap)
        yield crop("sum", "bf16", (2,), ("kept",), 1, gap)
        yield every_second(16384, 8192, 0, "bf16", ("kept",), gap)
        yield every_second(8192, 4096, 1, "bf16", along, gap)
        for dtype in ("f32", "bf16"):
            yield every_second(8192, 400, 0, dtype, ("kept",), gap)
    yield crop("sum", "bf16", nchw, along, 1)
    yield case("4096x1 to 4096x4096 (1,)", "sum", "f32", (4096, 4096), (1,), ("reduced", "kept"),
               (1, 0), read=1 << 14)
    yield case("1x4096 to 4096x4096 (1,)", "sum", "f32", (4096, 4096), (1,), ("reduced",), (0, 1),
               read=1 << 14)
    yield case("16384x1024[:, ::-1] (1,)", "sum", "f32", (16384, 1024), (1,), ("reduced",),
               (1024, -1), offset=1023)
    yield case("16384x1024[:, ::-1] (1,)", "sum", "bf16", (16384, 1024), (1,), ("reduced",),
               (1024, -1), offset=1023)


def reach(case):
    """Elements from the lowest address to behind the highest."""
    return 1 + sum((size - 1) * abs(stride) for size, stride in zip(case.shape, case.strides))


def results_count(case):
    kept = [size for i, size in enumerate(case.shape) if i not in case.axes]
    return math.prod(kept), math.prod(case.shape) // math.prod(kept)


def make_problem(redtune, case, config=None):
    problem = redtune.problem(case.op, case.dtype, 1)
    if case.second or case.gap > 1:
        problem.steps = X | RESULTS | (Y if case.second else 0)
        kept, reduced = [], []
        apart = results_count(case)[0] * case.gap
        for i, size in enumerate(case.shape):
            if i not in case.axes:
                apart //= size
            step = (case.strides[i], case.second[i] if case.second else 0, 0,
                    0 if i in case.axes else apart)
            axis = Axis(size, (ctypes.c_int64 * 4)(*step))
            (reduced if i in case.axes else kept).append(axis)
        problem.kept_axes, problem.reduced_axes = len(kept), len(reduced)
        for i, axis in enumerate(kept):
            problem.kept[i] = axis
        for i, axis in enumerate(reduced):
            problem.reduced[i] = axis
    else:
        sizes = ctypes.c_int64 * len(case.shape)
        redtune.call("redtune_problem_fold", ctypes.byref(problem), sizes(*case.shape),
                     sizes(*case.strides), ctypes.c_size_t(len(case.shape)),
                     (ctypes.c_int * len(case.axes))(*case.axes), ctypes.c_size_t(len(case.axes)))
    problem.config = config.encode() if config else None
    return problem


# ---- configurations --------------------------------------------------------------------------

# A configuration is a tuple of pairs, ("family", ...) first.


def text(config):
    return config[0][1] + ":" + ",".join(f"{name}={value}" for name, value in config[1:])


def of_text(words):
    family, _, rest = words.partition(":")
    pairs = (each.split("=") for each in rest.split(","))
    return (("family", family),
            *((name, int(value) if value.isdigit() else value) for name, value in pairs))


def changed(config, **changes):
    return tuple((name, changes.get(name, value)) for name, value in config)


def paths(case):
    return ("beside", "plain") if case.op == "dot" else ("no_allocate", "plain")


def sensible(case, config):
    c = dict(config)
    full = 16 // BYTES[case.dtype]
    if c["width"] > c["block"] or c["vec"] > full:
        return False
    if c["family"] == "columns":
        return c["unroll"] <= 64 and (c["finish"] == "single" or c["width"] < c["block"])
    if c["lanes"] == "spans" and c["vec"] < full:
        return False
    return c["unroll"] <= 16 and not (c["lanes"] != "kept" and c["width"] > 64)


def grid(case, family):
    """At 256 threads: the widths, loads and numbers of loads of each kind of lanes."""
    full = 16 // BYTES[case.dtype]
    few = results_count(case)[0] < 400
    end = (("load", paths(case)[0]), ("finish", "poll" if few else "single"),
           ("per_sm", 4 if few else 1))
    if family == "columns":
        for vec, width, unroll in itertools.product((1,), (1, 8, 16, 32, 64, 128),
                                                    (8, 16, 32)):
            yield (("family", family), ("block", 256), ("width", width), ("vec", vec),
                   ("unroll", unroll), *end)
        return
    for lanes in case.lanes:
        vecs = {"reduced": (full, full // 2), "spans": (full,), "kept": (1, full)}[lanes]
        widths = (8, 16, 32, 64) if lanes == "kept" else (1, 2, 4, 8, 16)
        unrolls = (1, 2, 4, 8) if lanes == "spans" else (2, 4, 8, 16)
        for vec, width, unroll in itertools.product(vecs, widths, unrolls):
            yield (("family", family), ("block", 256), ("lanes", lanes), ("width", width),
                   ("vec", vec), ("unroll", unroll), *end)


def near(case, config):
    c = dict(config)
    for block in BLOCKS:
        yield changed(config, block=block)
        if block != c["block"]:
            yield changed(config, block=block, width=max(1, c["width"] * block // c["block"]))
    for name in ("unroll", "width", "vec"):
        yield changed(config, **{name: 2 * c[name]})
        if c[name] > 1:
            yield changed(config, **{name: c[name] // 2})
    yield changed(config, width=2 * c["width"], unroll=max(1, c["unroll"] // 2))
    yield changed(config, width=max(1, c["width"] // 2), unroll=2 * c["unroll"])
    for load in paths(case):
        yield changed(config, load=load)
    yield changed(config, finish="single", per_sm=1)
    for per_sm in PER_SM:
        yield changed(config, finish="poll", per_sm=per_sm)


# ---- kernels made by other processes ---------------------------------------------------------


def open_alone(library, device):
    """A Redtune without PyTorch's context."""
    made = Redtune.__new__(Redtune)
    plain = Redtune.__init__.__globals__["Options"]
    try:
        Redtune.__init__.__globals__["Options"] = lambda **given: plain(device=device, **given)
        made.__init__(library, "/nowhere/at/all.db")
    finally:
        Redtune.__init__.__globals__["Options"] = plain
    return made


def make_part(options):
    """Makes the kernels of every N-th entry of a file."""
    path, part, parts = options.make
    redtune = open_alone(options.library, options.device.encode())
    known = list(cases())
    with open(path, encoding="ascii") as file:
        wanted = json.load(file)[int(part) :: int(parts)]
    failed = 0
    for index, config in wanted:
        try:
            with redtune.created(make_problem(redtune, known[index], config)):
                pass
        except Refused as reason:
            failed += 1
            if options.verbose:
                print(f"{known[index].name}: {config}: {reason}", file=sys.stderr)
    redtune.close()
    if options.verbose:
        print(f"{len(wanted) - failed} of {len(wanted)} made", file=sys.stderr)


def compile_all(options, known, wanted, seen):
    """wanted: configurations by the index of a case. Kernels are of an op, a dtype and a config."""
    entries = []
    for index, configs in wanted.items():
        for config in configs:
            key = (known[index].op, known[index].dtype, config)
            if key not in seen:
                seen.add(key)
                entries.append((index, text(config)))
    if not entries:
        return
    start, parts = time.monotonic(), max(1, min(len(entries), os.cpu_count() or 1))
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "wanted.json")
        with open(path, "w", encoding="ascii") as file:
            json.dump(entries, file)
        command = [sys.executable, os.path.abspath(__file__), "--library", options.library,
                   "--device", options.device]
        made = [subprocess.Popen([*command, "--make", path, str(i), str(parts)])
                for i in range(parts)]
        for each in made:
            each.wait()
    print(f"# {len(entries)} kernels in {time.monotonic() - start:.0f} s", flush=True)


# ---- racing ----------------------------------------------------------------------------------


class Field:
    """A case on the GPU: its inputs, PyTorch's result, and the times so far."""

    def __init__(self, gpu, pool, redtune, case):
        import torch
        from against_torch import torch_dtypes

        self.gpu, self.redtune, self.case, self.torch = gpu, redtune, case, torch
        self.element = BYTES[case.dtype]
        apart = -(-(case.offset + reach(case)) * self.element // 256) * 256 // self.element
        calls = min(gpu.calls(case.read, GRAPH_NS, GRAPH_CALLS), len(pool) // apart)
        self.starts = [pool[i * apart :] for i in range(max(1, calls))]
        self.vector = pool[len(pool) - case.shape[-1] :]
        self.count = results_count(case)
        names = redtune.results(make_problem(redtune, case))
        self.outs = [torch.empty(self.count[0] * case.gap, dtype=torch_dtypes()[name],
                                 device=pool.device) for name in names]
        self.times, self.wrong = {}, []
        self.wanted = self.reference(self.view(self.starts[0]))

    def view(self, start):
        """PyTorch has no negative steps: of these the packed array, whose sums are the same."""
        case = self.case
        if min(case.strides) < 0:
            return start.as_strided(case.shape, packed(case.shape))
        return start[case.offset :].as_strided(case.shape, case.strides)

    def reference(self, x):
        x, axes = x.double(), self.case.axes
        if self.case.op == "dot":
            return x @ self.vector.double()
        if self.case.op == "sum":
            return x.sum(axes).flatten()
        variance = self.torch.var(x, axes, correction=0).flatten()
        return variance if self.case.op == "var" else x.mean(axes).flatten()

    def peers(self):
        torch, axes = self.torch, self.case.axes
        if self.case.op == "dot":
            yield "mv", lambda x: torch.mv(x, self.vector)
            yield "matmul", lambda x: torch.matmul(x, self.vector[:, None])
        elif self.case.op == "sum":
            yield "sum", lambda x: torch.sum(x, axes, dtype=torch.float32)
        elif self.case.op == "var":
            yield "var", lambda x: torch.var(x, axes, correction=0)
        else:
            yield "var_mean", lambda x: torch.var_mean(x, axes, correction=0)

    def ours(self, plans, redtune, config=None):
        """(the plan's address, a function of the start of an input); the plan lives with plans."""
        problem = make_problem(redtune, self.case, config)
        plan = plans.enter_context(redtune.created(problem))
        run = redtune.shaped(plan, problem)
        second = self.vector.data_ptr() if self.case.second else None
        second_out = self.outs[1].data_ptr() if self.case.op == "mean_var" else None
        stream, out, first = self.gpu.stream.cuda_stream, self.outs[0].data_ptr(), \
            self.case.offset * self.element

        def reduce(start):
            run(start.data_ptr() + first, out, stream, second, second_out)

        return plan, reduce

    def check(self, name):
        got, limit = self.outs[0][:: self.case.gap].double(), 2e-3 if self.case.dtype != "f32" else 1e-4
        if self.case.op == "var":
            limit = 1e-2
        if not bool(((got - self.wanted).abs() <= limit * self.wanted.abs()).all()):
            self.wrong.append(name)

    def timer(self, reduce, inputs):
        from against_torch import GraphTimer

        with self.torch.cuda.stream(self.gpu.stream):
            reduce(inputs[-1])
        self.gpu.stream.synchronize()
        return GraphTimer(self.gpu, reduce, inputs, cold=True)

    def try_config(self, config):
        """Its time by one sample, or two if it is near the fastest; nothing of one that is refused."""
        with contextlib.ExitStack() as plans:
            try:
                _, reduce = self.ours(plans, self.redtune, text(config))
            except Refused:
                return
            self.outs[0].zero_()
            self.torch.cuda.synchronize()
            reduce(self.starts[0])
            self.gpu.stream.synchronize()
            self.check(text(config))
            timer = self.timer(reduce, self.starts)
            ns = timer.sample_ns()
            if ns < 1.15 * min(self.times.values(), default=math.inf):
                ns = statistics.median([ns, timer.sample_ns(), timer.sample_ns()])
            self.times[config] = ns
            self.gpu.stream.synchronize()

    def fastest(self, count):
        return sorted(self.times, key=self.times.get)[:count]

    def race(self, bare, served, samples):
        """{name: us} of everyone, and {name: config} of what redtune runs."""
        torch, stream = self.torch, self.gpu.stream
        views = [self.view(start) for start in self.starts]
        with contextlib.ExitStack() as plans:
            timers, configs = {}, {}
            for name, redtune, config in [("default", bare, None), ("served", served, None)] + [
                    (f"best {i}", bare, text(each)) for i, each in enumerate(self.fastest(LAST))]:
                plan, reduce = self.ours(plans, redtune, config)
                redtune.library.redtune_plan_config.restype = ctypes.c_char_p
                redtune.library.redtune_plan_config.argtypes = [ctypes.c_void_p]
                configs[name] = redtune.library.redtune_plan_config(plan).decode()
                timers[name] = self.timer(reduce, self.starts)
                self.outs[0].zero_()
                torch.cuda.synchronize()
                reduce(self.starts[0])
                stream.synchronize()
                self.check(name)
            for name, call in self.peers():
                try:
                    timers[name] = self.timer(call, views)
                except Exception as reason:  # of any kind: it is left out
                    print(f"# {self.case.name}: {name}: {str(reason)[:100]}")
            for name, problem in self.references(bare):
                plan = plans.enter_context(bare.created(problem))
                run = bare.shaped(plan, problem) if problem.kept_axes else bare.whole(plan, problem)
                spare = torch.empty(self.count[0], dtype=torch.float32, device=self.outs[0].device)
                address, out = self.gpu.stream.cuda_stream, spare.data_ptr()
                timers[name] = self.timer(
                    lambda start, run=run, out=out: run(start.data_ptr(), out, address), self.starts)
            stream.synchronize()
            taken = collections.defaultdict(list)
            for sample in range(samples):
                names = list(timers)
                for name in names[sample % len(names) :] + names[: sample % len(names)]:
                    taken[name].append(timers[name].sample_ns())
            stream.synchronize()
        return {name: statistics.median(each) / 1e3 for name, each in taken.items()}, configs

    def references(self, redtune):
        """What reads as much, without a step."""
        room = len(self.starts[-1])
        if self.case.read <= room * self.element:
            yield "read", redtune.problem("sum", "f32", self.case.read // 4)
        if self.case.op == "sum" and math.prod(self.case.shape) <= room:
            yield "packed", redtune.axis_problem("sum", self.case.dtype, *self.count, 1)


# ---- the table -------------------------------------------------------------------------------


def short(config):
    """'b256 reduced w1 v4 u8 no_allocate single'."""
    c = dict(of_text(config))
    if "width" not in c:
        return config
    return (f"{c['family']} b{c['block']} {c.get('lanes', '')} w{c['width']} v{c['vec']} "
            f"u{c['unroll']} {c['load']} "
            f"{c['finish']}{c['per_sm'] if c['finish'] != 'single' else ''}")


def print_case(case, us, configs, tried, wrong):
    ours = ("default", "served", "packed", "read")
    peers = {name: each for name, each in us.items()
             if name not in ours and not name.startswith("best")}
    best = min((name for name in us if name.startswith("best")), key=us.get, default="default")
    peer = min(peers, key=peers.get, default=None)
    column = lambda name: f"{us[name]:8.2f}" if name in us else f"{'-':>8}"
    print(f"{case.op:8} {case.dtype:4} {case.name:44} {column('read')} {column('packed')} "
          f"{column(peer)} {column('default')} {column('served')} {column(best)} "
          f"{us['default'] / us[best]:6.3f} {us[best] / us[peer] if peer else math.nan:6.3f} "
          f"{tried:4}{'  WRONG: ' + '; '.join(wrong[:3]) if wrong else ''}")
    print(f"    default {short(configs['default'])}")
    if configs["served"] != configs["default"]:
        print(f"    served  {short(configs['served'])}")
    for name in sorted((name for name in us if name.startswith("best")), key=us.get)[:3]:
        print(f"    {us[name]:8.2f} {short(configs[name])}", flush=True)


def search(options, gpu, pools, bare, known, chosen):
    fields = {index: Field(gpu, pools[known[index].dtype], bare, known[index]) for index in chosen}
    tried, seen = {index: set() for index in chosen}, set()
    with contextlib.ExitStack() as plans:
        firsts = {}
        for index in chosen:
            plan = plans.enter_context(bare.created(make_problem(bare, known[index])))
            bare.library.redtune_plan_config.restype = ctypes.c_char_p
            bare.library.redtune_plan_config.argtypes = [ctypes.c_void_p]
            firsts[index] = of_text(bare.library.redtune_plan_config(plan).decode())
    start = time.monotonic()
    for stage in range(3):
        wanted = {}
        for index in chosen:
            one, field = known[index], fields[index]
            family = firsts[index][0][1]
            if family not in ("strided", "columns"):
                continue
            found = itertools.chain([firsts[index]], grid(one, family)) if stage == 0 else (
                each for config in field.fastest(FIRST if stage == 1 else NEXT)
                for each in near(one, config))
            wanted[index] = [config for config in dict.fromkeys(found)
                             if config not in tried[index] and sensible(one, config)]
        if time.monotonic() - start > options.seconds:
            print(f"# no stage {stage + 1}: {options.seconds:.0f} s are over")
            break
        compile_all(options, known, wanted, seen)
        for index, configs in wanted.items():
            for config in configs:
                tried[index].add(config)
                if time.monotonic() - start > options.seconds:
                    continue
                fields[index].try_config(config)
        print(f"# stage {stage + 1} ends after {time.monotonic() - start:.0f} s", flush=True)
    return fields


def run(options):
    try:
        import torch
    except ImportError:
        torch = None
    from against_torch import Gpu, make_data, skip, torch_dtypes

    if torch is None or not torch.cuda.is_available():
        skip("PyTorch or its GPU is missing")
    if not os.path.exists(options.library):
        skip(f"there is no {options.library}; build redtune, or give --library")
    known = list(cases())
    chosen = [i for i, each in enumerate(known)
              if any(word in f"{each.op} {each.dtype} {each.name}" for word in options.only)]
    gpu = Gpu()
    served = Redtune(options.library, None)
    os.environ["REDTUNE_SYSTEM_DB"] = ""
    bare = Redtune(options.library, "/nowhere/at/all.db")
    pools = {}
    for dtype in {known[i].dtype for i in chosen}:
        span = max(known[i].offset + reach(known[i]) for i in chosen if known[i].dtype == dtype)
        pools[dtype] = make_data(torch_dtypes()[dtype], max(3 * span, POOL_BYTES // BYTES[dtype]))
    fields = search(options, gpu, pools, bare, known, chosen)
    print(f"{gpu.name}; torch {torch.__version__}; us, medians of {options.samples}; "
          "default/best, best/peer, configs tried")
    print(f"{'op':8} {'':4} {'':44} {'read':>8} {'packed':>8} {'peer':>8} {'default':>8} "
          f"{'served':>8} {'best':>8} {'':6} {'':6}")
    wrong = 0
    for index, field in fields.items():
        try:
            us, configs = field.race(bare, served, options.samples)
            print_case(known[index], us, configs, len(field.times), field.wrong)
            wrong += bool(field.wrong)
        except Exception as reason:  # the table goes on
            print(f"# {known[index].name}: {type(reason).__name__}: {str(reason)[:200]}", flush=True)
    torch.cuda.synchronize()
    return 1 if wrong else 0


def parse(words):
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build", "release")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--only", nargs="*", default=[""], metavar="TEXT", help="cases with one of these in them")
    add("--seconds", type=float, default=150, metavar="S", help="search no longer (default: 150)")
    add("--samples", type=int, default=9, metavar="N", help="at the end (default: 9)")
    add("--library", metavar="PATH", default=os.path.join(beside, "libredtune.so"),
        help="libredtune.so (default: that of build/release)")
    add("--device", default="0", help="the GPU's number, or sim with --make")
    add("--make", nargs=3, metavar=("FILE", "K", "N"), help="make the kernels of every N-th entry")
    add("--list", action="store_true", help="print the grids as such a file has them, and end")
    add("--verbose", action="store_true", help="with --make: say what is refused")
    return parser.parse_args(words)


def main(words):
    options = parse(words)
    if options.list:
        print(json.dumps([(i, text(config)) for i, each in enumerate(cases())
                          for family in ("strided", "columns") for config in grid(each, family)
                          if sensible(each, config)]))
        return 0
    if options.make:
        make_part(options)
        return 0
    return run(options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
