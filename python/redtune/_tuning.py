"""Tuning: what the command says and measures, as Python's objects."""

from . import _bundle, _core, _functions, _settings

# json, html and subprocess take longer to import than all of redtune: each is where it is needed.


class Table(list):
    """Rows as dictionaries, which print, and show in a notebook, as a table; so do slices."""

    caption = ""

    def __getitem__(self, key):
        found = super().__getitem__(key)
        return type(self)(found) if isinstance(key, slice) else found

    def _cells(self):
        """The columns' titles, and the rows' texts."""
        keys = list(self[0] if self else ())
        return keys, [[_text(row.get(key, "")) for key in keys] for row in self]

    def __repr__(self):
        keys, cells = self._cells()
        lines = [keys, *cells]
        widths = [max(len(line[i]) for line in lines) for i in range(len(keys))]
        rows = ("  ".join(c.ljust(w) for c, w in zip(line, widths)).rstrip() for line in lines)
        return "\n".join([*([self.caption, ""] if self.caption else []), *rows])

    def _repr_html_(self):
        from html import escape

        keys, cells = self._cells()
        head = "".join(f"<th>{escape(key)}</th>" for key in keys)
        body = ("".join(f"<td>{escape(cell)}</td>" for cell in row) for row in cells)
        caption = f"<caption>{escape(self.caption)}</caption>" if self.caption else ""
        rows = "".join(f"<tr>{row}</tr>" for row in body)
        return f"<table>{caption}<tr>{head}</tr>{rows}</table>"


def _ratio(above, below, unit):
    return f"{above / below:.2f}{unit}" if above and below else "-"


class Winners(Table):
    """Winners by the command's JSON names, which print in the columns of redtune show."""

    @property
    def caption(self):
        gpus = {row["gpu"] for row in self}
        if not gpus:
            return (
                "no winners: redtune.tune(op, dtype, size=elements) finds one, "
                "redtune.show(shipped=True) has those that redtune comes with"
            )
        return gpus.pop() if len(gpus) == 1 else ""

    def _cells(self):
        several = not self.caption
        keys = ["op", "dtype", "size", "L2", "us", "GB/s", "gain", "family", "config"]
        cells = [
            [
                *([row["gpu"]] if several else []),
                ", ".join(row[key] for key in ("op", "order", "accuracy") if key in row),
                row["dtype"], row["size"], row["cache"], _ratio(row["median_ns"], 1e3, ""),
                f"{row['gbps']:.1f}", _ratio(row["default_ns"], row["median_ns"], "x"),
                row["family"], row["config"],
            ]
            for row in self
        ]  # fmt: skip
        return ["GPU", *keys] if several else keys, cells


class Explanation(dict):
    """What a program would run, by the command's JSON names; prints, and shows as a table, what
    redtune explain says."""

    text = ""

    def __repr__(self):
        return self.text

    def _repr_html_(self):
        import re

        caption, *lines = self.text.splitlines()
        table = Table()
        for line in lines:
            found = re.match(r"  (\S+) +(.*)", line)
            if found:
                table.append({"": found[1], "answer": found[2]})
            else:
                table[-1]["answer"] += " " + line.strip()
        table.caption = caption
        return table._repr_html_()


class Page(str):
    """A report's HTML, which shows itself in a notebook; write it to a file to keep it."""

    def __repr__(self):
        return f"<redtune report of {len(self)} characters>"

    def _repr_html_(self):
        import html

        return f'<iframe width="100%" height="600" srcdoc="{html.escape(str(self))}"></iframe>'


def _text(value):
    return f"{value:.4g}" if isinstance(value, float) else str(value)


# ---- the command ---------------------------------------------------------------------------------


# From other libraries' names to the command's.
_NAMES = {"op": _functions.alias, "dtype": _functions.dtype_name}


def _options(**options):
    """The command's options: None is as redtune.configure says, or left out like False, True stands
    alone, lists have commas."""
    words = []
    for key, value in options.items():
        value = _settings.of_command.get(key) if value is None else value
        if value is None or value is False:
            continue
        if key in ("db", "ops"):
            value = _settings.joined(value, key)
        words.append("--" + key)
        if value is not True:
            values = value if isinstance(value, (list, tuple)) else [value]
            if key in _NAMES:
                values = map(_NAMES[key], values)
            words.append(",".join(map(str, values)))
    return words


def _is_array(value):
    """Not a class such as numpy.float32, whose attributes describe those of its scalars."""
    return hasattr(value, "dtype") and isinstance(getattr(value, "shape", None), tuple)


def _steps(array):
    """Its strides in elements, of an array that is not packed and says them; else None."""
    in_elements = callable(getattr(array, "stride", None))  # PyTorch
    steps = array.stride() if in_elements else getattr(array, "strides", None)
    packed, each = 1, 1 if in_elements else getattr(array.dtype, "itemsize", 0)
    if not steps or not each or 0 in array.shape or any(step % each for step in steps):
        return None
    steps, is_packed = [step // each for step in steps], True
    for size, step in zip(reversed(array.shape), reversed(steps)):
        is_packed &= size == 1 or step == packed
        packed *= size
    return None if is_packed else steps


def _problem(op, dtype, size, count, shape, axis, y, where):
    """The options of a problem; an array as dtype stands for its own, and for its size, or shape and
    strides; one as y or where for its shape."""
    if _is_array(op):
        raise TypeError(
            'cannot take an array as op: name the op first, such as "sum", then give the array'
        )
    if size is not None and count is not None:
        raise ValueError(f"cannot take size={size!r} and count={count!r}: both are the elements")
    size, steps = count if size is None else size, None
    if _is_array(dtype):
        array, dtype = dtype, dtype.dtype
        if size is None and shape is None:
            from math import prod

            steps = _steps(array)
            whole = axis is None and y is None and where is None and steps is None
            size, shape = (prod(array.shape), None) if whole else (None, tuple(array.shape))
    beside = [tuple(each.shape) if _is_array(each) else each for each in (y, where)]
    return {
        "op": op, "dtype": dtype, "size": size, "shape": _shape(shape), "axis": axis,
        "strides": steps, "second-shape": _shape(beside[0]), "where-shape": _shape(beside[1]),
    }  # fmt: skip


def _shape(shape):
    if shape is None:
        return None
    if isinstance(shape, list):
        return [_shape(each) for each in shape]
    return "x".join(map(str, shape)) if isinstance(shape, tuple) else str(shape)


def _run(*words, progress=None):
    """The command's output. progress gets each line of its stderr as it comes."""
    import signal
    import subprocess
    import tempfile

    said = []
    with tempfile.TemporaryFile("w+", encoding="utf-8") as found, subprocess.Popen(
        [_bundle.command(), *words],
        stdout=found,
        stderr=subprocess.PIPE,
        env=_bundle.environment(),
        encoding="utf-8",
        errors="replace",
    ) as process:
        try:
            for line in process.stderr:
                said.append(line.strip().removeprefix("redtune: "))
                if progress and not said[-1].startswith("cannot "):  # which is raised
                    progress(said[-1])
        except BaseException:
            process.send_signal(signal.SIGINT)  # a tune keeps what it measured
            raise
        code = process.wait()
        found.seek(0)
        text = found.read()
    if code == 130:
        raise KeyboardInterrupt
    if code:
        reason = said[-1] if said else f"the command ended with {code}"
        kind = ValueError if code == 2 else _core.Error
        raise kind(reason.replace("--device sim", 'device="sim"'))
    return text


def _print_progress(line):
    import sys

    print("redtune:", line, file=sys.stderr, flush=True)


def _read(text):
    """What the command said in JSON."""
    import json

    return json.loads(text)


def tune(
    op="sum", dtype=None, size=None, shape=None, axis=None, *, order=None, accuracy=None,
    device=None, effort=None, budget=None, again=False, database=None, ops=None, quiet=False,
    progress=None, count=None, y=None, where=None,
):  # fmt: skip
    """Finds the fastest kernels on a GPU, and stores every measurement; later calls use them.

    op, dtype: names, or lists of them; an array as dtype stands for its dtype and its size, or with
    axis its shape, and where it is not packed its strides. size: numbers of elements of whole arrays, such as
    "1K..256M" or [4096, 65536]; count is the same. shape: a tuple, or a list of tuples, and axis
    the reduced axis. y: the shape of the second input of an op of two, such as "dot", or the input,
    where it broadcasts to the first one's, as in NumPy: y=(1024,) beside shape=(16384, 1024).
    where: the shape of a mask that broadcasts, or the mask.
    order, accuracy: as for the functions. device: "0", "0,1", "all" or "sim"; None: as
    redtune.configure chose. effort: "quick", "standard" or "exhaustive". budget: seconds. again:
    also what is known already. database, ops: as for redtune.configure, whose settings hold for
    what is None, and whose machine names the measurements. progress: a function that is called
    with a line for each problem that is done; None: they are printed to sys.stderr, unless quiet.

    Returns the winners as a table: of dictionaries, by the command's JSON names. Raises ValueError
    for what the command does not take, and redtune.Error where the tune fails. Ctrl-C ends it; what
    was measured stays.

    >>> redtune.tune("sum", "f32", size=256, device="sim", effort="quick", quiet=True)[0]["op"]
    'sum'
    """
    words = _options(
        **_problem(op, dtype, size, count, shape, axis, y, where), order=order, accuracy=accuracy,
        device=_settings.device if device is None else device, effort=effort, machine=None,
        budget=None if budget is None else f"{budget}s", again=again, db=database, ops=ops,
        json=True,
    )  # fmt: skip
    if not progress and not quiet:
        progress = _print_progress
    found = _read(_run("tune", *words, progress=progress))
    _core.reload()
    about = {"gpu": found["device"]["name"], "cache": "cold"}
    return Winners({**about, **row} for row in found["results"])


def explain(
    op="sum", dtype="f32", size=None, shape=None, axis=None, *, order=None, accuracy=None,
    device=None, gpu=None, database=None, ops=None, count=None, y=None, where=None,
):  # fmt: skip
    """Says which configuration a reduction would run, and where it was measured.

    size, or count: the elements of a whole array; or shape and axis; or dtype: an array. y, where: as
    for redtune.tune. order, accuracy: as for the functions.
    device: a GPU here; gpu: a model by its name, such as "H200", which need not be here. database,
    ops: as for redtune.tune. Returns a dictionary that
    prints as redtune explain does.

    >>> redtune.explain("sum", "f32", size=1 << 20, gpu="H200")["gpu"]
    'NVIDIA H200'
    >>> redtune.explain("sum", "f32", size=1 << 20, gpu="H200", order="fixed")["family"]
    'ordered'
    """
    if device is None and gpu is None:
        device = _settings.device
    words = _options(
        **_problem(op, dtype, size, count, shape, axis, y, where), order=order, accuracy=accuracy,
        device=device, gpu=gpu, db=database, ops=ops,
    )  # fmt: skip
    found = Explanation(_read(_run("explain", *words, "--json")))
    found.text = _run("explain", *words).rstrip()
    return found


def show(op=None, dtype=None, *, gpu=None, shipped=False, database=None):
    """The winners that are known, as a table; shipped: those that redtune comes with.

    >>> redtune.show("sum", "f32", gpu="H200", shipped=True)[0]["op"]
    'sum'
    """
    words = _options(
        op=op, dtype=dtype, gpu=gpu, shipped=shipped, db=database, ops=None, json=True
    )  # fmt: skip
    return Winners(_read(_run("show", *words))["rows"])


def report(*, gpu=None, shipped=False, database=None):
    """What was measured on a GPU model, as a page of HTML that a notebook shows.

    >>> redtune.report(gpu="H200", shipped=True).startswith("<!DOCTYPE html>")
    True
    """
    words = _options(gpu=gpu, shipped=shipped, db=database, ops=None, output="-")
    return Page(_run("report", *words))
