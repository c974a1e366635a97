#!/usr/bin/env python3
"""Random calls of arrays that lie as they like, held against NumPy in f64 within the bounds of docs/ops.md.

Arrays of 0 to 6 dimensions, some without elements, are permuted, sliced with any step, flipped and broadcast; calls
reduce any set of axes, of two inputs with strides of their own and of shapes that broadcast, with masks, and into an `out` with strides whose
gaps must stay.
A call is a line of Python: what is printed of one that is refused or wrong repeats it, with this folder in
PYTHONPATH. The arrays are made by NumPy and moved, and the library takes the same view there.

usage: random_views.py [--library cupy|torch|numpy|sim] [--calls N] [--seed SEED] [--seconds LIMIT]
                       [--device DEVICE]

Exits with 0 if none is refused or wrong, 1 if some are, and 77 without the library.
"""

import argparse
import sys
import time
import warnings
from typing import NamedTuple

import numpy
from answers import TWO_INPUTS, answer_of, is_close

import redtune

SKIPPED = 77
FLOATS, INTEGERS = ("f4", "f4", "f8", "f2"), ("i4", "u1", "i2", "i1", "i8")
INDICES = ("argmax", "argmin")
MASKED = ("sum", "mean", "var", "any", "all", "norm2", "max", "min")
OPS = ("sum", "mean", "max", "min", "prod", "var", "any", "all", "norm2", "count_nonzero", *INDICES)
# Each op and dtype that meets a lay-out of its own is a kernel to compile: on sim most calls take these.
USUAL = (("sum", "f4"), ("argmax", "f4"), ("max", "u1"), ("dot", "f4"))


class Library(NamedTuple):
    """Whose arrays are reduced, as text: {} is an array's or a view's."""

    module: str  # that has broadcast_to
    move: str  # makes its array of NumPy's
    permute: str  # its name of transpose
    give: str  # what redtune is given for a view
    read: str  # makes a result NumPy's
    read_whole: str  # the memory of which an out is a view
    flips: bool = True  # whether steps may be negative
    most: int = 1 << 18  # elements
    usual: bool = False


LIBRARIES = {
    "cupy": Library("cupy", "cupy.asarray({})", "transpose", "{}", "cupy.asnumpy({})", "w"),
    "torch": Library(
        "torch", "torch.from_numpy({}).cuda()", "permute", "{}", "{}.cpu().numpy()", "w", flips=False
    ),
    "numpy": Library("numpy", "{}", "transpose", "{}", "numpy.asarray({})", "w", most=2000),
    "sim": Library(
        "numpy", "{}", "transpose", "on_gpu({})", "{}.numpy()", "out.root", most=2000, usual=True
    ),
}


def base(seed, dtype, shape):
    """Small integers, and in every other f4 and f8 random digits."""
    random = numpy.random.default_rng(seed)
    if seed % 2 and dtype in ("f4", "f8"):
        return numpy.asarray(random.standard_normal(shape)).astype(dtype)
    return numpy.asarray(random.integers(-2, 3, shape)).astype(dtype)


def on_gpu(x, memory=None):
    """An array of the simulated GPU that lies as x does on the host, in memory like its base, `root`."""
    import sim_memory

    root = x
    while root.base is not None:
        root = root.base
    if memory is None:
        memory = sim_memory.asarray(root)
        memory.shape = root.shape  # () too
    apart = x.__array_interface__["data"][0] - root.__array_interface__["data"][0]
    strides = tuple(step // x.itemsize for step in x.strides)
    view = memory.view(x.shape, strides, apart // x.itemsize)
    view.root = memory
    return view


class View(NamedTuple):
    """An array of the shape whose axes have any order and steps, or are broadcast."""

    seed: int
    dtype: str
    whole: tuple  # the shape of the base
    order: tuple
    slices: tuple  # each as text
    shape: tuple

    def text(self, library):
        array = library.move.format(f"base({self.seed}, '{self.dtype}', {self.whole})")
        if len(self.shape) > 1:
            array += f".{library.permute}({', '.join(map(str, self.order))})"
        if self.shape:
            array += f"[{', '.join(self.slices)}]"
        return f"{library.module}.broadcast_to({array}, {self.shape})"

    def numpy(self):
        return eval(self.text(LIBRARIES["numpy"]))


def draw_view(random, shape, dtype, flips=True, room=1 << 20):
    sizes, slices = [], []
    for size in shape:
        step = int(random.choice([1, 1, 2, 3, -1, -2, 0]))
        start = int(random.integers(2)) if step > 1 else 0
        step = step if flips else abs(step)
        if size * abs(step) > room:
            step, start = 1, 0
        room //= max(1, abs(step))
        sizes.append(size * abs(step) + start if step else 1)
        slices.append(f"{start or ''}::{step if step not in (0, 1) else ''}")
    order = random.permutation(len(shape))
    whole = tuple(sizes[axis] for axis in order)
    places = tuple(map(int, numpy.argsort(order)))
    return View(int(random.integers(1 << 20)), dtype, whole, places, tuple(slices), tuple(shape))


def view(random, shape, dtype):
    return draw_view(random, shape, dtype).numpy()


class Call(NamedTuple):
    op: str
    arrays: tuple  # views
    axis: object
    keepdims: bool
    mask: object = None  # a view
    initial: object = None
    out: tuple = None  # the order and the steps of its axes

    def more(self):
        """The arguments that NumPy takes, too, but where."""
        return {} if self.initial is None else {"initial": self.initial}

    def text(self, library, out=None):
        """Sets `got`, or what the variable `out` is a view of."""
        given = [library.give.format(each.text(library)) for each in self.arrays]
        given += [f"axis={self.axis}", f"keepdims={self.keepdims}"]
        if self.mask:
            given.append(f"where={library.give.format(self.mask.text(library))}")
        given += [f"{name}={value}" for name, value in self.more().items()]
        if not out:
            return f"got = redtune.{self.op}({', '.join(given)})"
        made, slices = out
        place = library.give.format(f"w{slices.format(permute=library.permute)}")
        return (
            f"w = {library.move.format(made)}; out = {place}; "
            f"redtune.{self.op}({', '.join(given)}, out=out); got = {library.read_whole}"
        )

    def out_text(self, dtype, shape):
        """How NumPy makes an array with gaps around results, and the view of the results."""
        order, flipped = self.out
        order = [axis for axis in order if axis < len(shape)]
        slices = [":0:-2" if flipped[axis] else "1::2" for axis in range(len(shape))]
        sizes = [2 * shape[axis] + 1 for axis in numpy.argsort(order)] if shape else []
        permuted = f".{{permute}}({', '.join(map(str, order))})" if len(shape) > 1 else ""
        text = f"numpy.full({tuple(map(int, sizes))}, 7, '{dtype}')"
        return text, f"{permuted}[{', '.join(slices) or '...'}]"

    def describe(self):
        strides = " and ".join(str(each.numpy().strides) for each in self.arrays)
        return f"{self.op} of {self.arrays[0].dtype} {self.arrays[0].shape} with strides {strides}"


def draw_shape(random, most):
    shape, room = [], most
    for _ in range(random.integers(0, 7)):
        side = random.choice([6, 6, 6, 40, 3000])
        size = min(room, int(random.integers(1, side) if most > 2000 else random.integers(1, 6)))
        shape.append(size)
        room //= max(1, size)
    if shape and not random.integers(16):
        shape[0] = 0
    return tuple(int(size) for size in random.permutation(shape))


def draw_second(random, shape):
    """The shape, or one that broadcasts to it."""
    if random.integers(3):
        return shape
    first = int(random.integers(len(shape) + 1))
    return tuple(n if random.integers(3) else 1 for n in shape[first:])


def draw_axis(random, op, axes):
    axis = tuple(map(int, random.permutation(axes)[: random.integers(op in INDICES, 7)]))
    axis = tuple(a - axes if not random.integers(4) else a for a in axis)
    if not axis and op in INDICES or not random.integers(6):
        return None
    return axis[0] if axis and not random.integers(4) else axis


def draw_call(random, library):
    shape = draw_shape(random, library.most)
    op, dtype = USUAL[random.integers(len(USUAL))]
    if not library.usual or not random.integers(8):
        op = str(random.choice((*OPS, *OPS, *TWO_INPUTS, *TWO_INPUTS)))
        dtype = str(random.choice((*FLOATS, *FLOATS, *INTEGERS, "?")))
    if op == "prod" and (dtype not in ("f4", "f8", "i4") or numpy.prod(shape) > 60):
        op = "sum"  # no product of the range
    if dtype == "?" and op in ("norm2", *TWO_INPUTS):
        dtype = "f4"
    limits = library.flips, 8 * library.most
    beside = [draw_view(random, draw_second(random, shape), dtype, *limits)] * (op in TWO_INPUTS)
    call = Call(
        op,
        (draw_view(random, shape, dtype, *limits), *beside),
        draw_axis(random, op, len(shape)),
        bool(random.integers(2)),
        out=(random.permutation(6), random.integers(2, size=6) * library.flips),
    )
    if op in MASKED and not random.integers(4):
        sizes = tuple(n if random.integers(4) else 1 for n in shape)
        initial = 1 if op in ("max", "min") else None
        call = call._replace(mask=draw_view(random, sizes, "?", *limits), initial=initial)
    return call if not random.integers(3) else call._replace(out=None)


def namespace(name):
    names = {"redtune": redtune, "numpy": numpy, "base": base, "on_gpu": on_gpu}
    if name in ("cupy", "torch"):
        names[name] = __import__(name)
    return names


def wanted_of(call):
    """NumPy's results, what their errors are relative to, and how many elements each is made of."""
    x, y = (call.arrays[i].numpy() for i in (0, -1))
    y = numpy.broadcast_to(y, x.shape)
    more = call.more()
    if call.mask:
        more["where"] = numpy.broadcast_to(call.mask.numpy(), x.shape)
    with warnings.catch_warnings(), numpy.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of means of nothing
        wanted, scale = answer_of(call.op, x, y, call.axis, **more)
    axes = range(x.ndim) if call.axis is None else numpy.atleast_1d(call.axis).astype(int)
    shape, count = numpy.shape(wanted), x.size // max(1, numpy.size(wanted))
    if call.keepdims:
        reduced = {axis % x.ndim for axis in axes}
        shape = tuple(1 if axis in reduced else n for axis, n in enumerate(x.shape))
    scale = numpy.broadcast_to(scale, numpy.shape(wanted)).reshape(shape)
    return numpy.reshape(wanted, shape), scale, count


def fault_of(call, name):
    """None, or what is wrong, and the line that shows it: ("refused" or "wrong", why, line)."""
    library, names = LIBRARIES[name], namespace(name)
    try:
        wanted, scale, count = wanted_of(call)
    except ValueError:
        return fault_of_none(call, library, names)
    dtype = call.arrays[0].numpy().dtype
    lines = [(call.text(library), lambda values: values)]
    for line, into in lines:
        try:
            exec(line, names)
            got = eval(library.read.format("got"), names)
        except Exception as reason:
            return "refused", f"{type(reason).__name__}: {reason}", line
        want, near = into(wanted), into(scale)
        if not is_close(got, want, near, dtype, count):
            return "wrong", f"{got} for {want}", line
        if call.out and len(lines) == 1:
            made, slices = call.out_text(got.dtype.str[1:], got.shape)
            lines.append((call.text(library, (made, slices)), lambda values: placed(made, slices, values)))
    return None


def fault_of_none(call, library, names):
    """What NumPy refuses, such as the greatest of no elements, redtune refuses, too."""
    line = call.text(library)
    try:
        exec(line, names)
    except ValueError:
        return None
    except Exception as reason:
        return "refused", f"{type(reason).__name__}: {reason}", line
    return "wrong", "a result of no elements", line


def placed(made, slices, values):
    """The whole array of an out with values in it."""
    whole = numpy.asarray(eval(made)).astype("f8")
    eval(f"whole{slices.format(permute='transpose')}", {"whole": whole})[...] = values
    return whole


def run(name, calls, seed, seconds=float("inf")):
    """How many calls were done, and the faults among them."""
    random, end = numpy.random.default_rng(seed), time.monotonic() + seconds
    faults, done = [], 0
    try:
        while done < calls and time.monotonic() < end:
            call = draw_call(random, LIBRARIES[name])
            fault = fault_of(call, name)
            done += 1
            if fault:
                faults.append((*fault, call.describe()))
    except KeyboardInterrupt:
        pass
    return done, faults


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--library", choices=LIBRARIES, default="cupy")
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=20261128)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    parser.add_argument("--device", help="as redtune.configure has it")
    given = parser.parse_args()
    try:
        namespace(given.library)
    except ImportError as reason:
        print(f"skipped: {reason}", file=sys.stderr)
        return SKIPPED
    if given.device:
        redtune.configure(device=given.device)
    done, faults = run(given.library, given.calls, given.seed, given.seconds)
    for kind in ("refused", "wrong"):
        for _, why, line, what in [each for each in faults if each[0] == kind][:10]:
            print(f"{kind}: {what}: {' '.join(why.split())[:300]}")
            module = LIBRARIES[given.library].module
            imports = "numpy" if module == "numpy" else f"numpy, {module}"
            print(f"    import redtune, {imports}; from random_views import base, on_gpu; {line}")
    refused = sum(fault[0] == "refused" for fault in faults)
    calls = f"{done} of {given.calls} calls of {given.library} with seed {given.seed}"
    print(f"{calls} done: {refused} refused, {len(faults) - refused} wrong")
    return int(bool(faults))


if __name__ == "__main__":
    sys.exit(main())
