"""Tuning: what the command says and measures, as Python's objects."""

from . import _bundle, _core, _settings

# json, html and subprocess take longer to import than all of redtune: each is where it is needed.


class Table(list):
    """Rows as dictionaries, which print, and show in a notebook, as a table."""

    columns = ()

    def _cells(self):
        keys = [key for key in self.columns if any(key in row for row in self)]
        keys = keys or list(self[0] if self else ())
        cells = [[_text(row.get(key, "")) for key in keys] for row in self]
        return keys, cells

    def __repr__(self):
        keys, cells = self._cells()
        lines = [keys, *cells]
        widths = [max(len(line[i]) for line in lines) for i in range(len(keys))]
        rows = ("  ".join(c.ljust(w) for c, w in zip(line, widths)).rstrip() for line in lines)
        return "\n".join(rows)

    def _repr_html_(self):
        import html

        keys, cells = self._cells()
        head = "".join(f"<th>{html.escape(key)}</th>" for key in keys)
        body = (
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in cells
        )
        return f"<table><tr>{head}</tr>{''.join(body)}</table>"


class Winners(Table):
    columns = (
        "gpu",
        "op",
        "dtype",
        "layout",
        "outer",
        "count",
        "inner",
        "config",
        "median_ns",
        "gbps",
    )


class Explanation(dict):
    """What a program would run, by the command's names; prints, and shows, as a table."""

    def _table(self):
        return Table({"field": key, "value": value} for key, value in self.items())

    def __repr__(self):
        return repr(self._table())

    def _repr_html_(self):
        return self._table()._repr_html_()


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


def _options(**options):
    """The command's options: None and False are left out, True stands alone, lists have commas."""
    words = []
    for key, value in options.items():
        if value is None or value is False:
            continue
        words.append("--" + key)
        if value is not True:
            values = value if isinstance(value, (list, tuple)) else [value]
            words.append(",".join(map(str, values)))
    return words


def _shape(shape):
    if shape is None:
        return None
    if isinstance(shape, list):
        return [_shape(each) for each in shape]
    return "x".join(map(str, shape)) if isinstance(shape, tuple) else str(shape)


def _run(*words, quiet=True):
    """The command's output. Its progress, if it is not quiet, goes to stderr."""
    import subprocess

    ran = subprocess.run(
        [_bundle.command(), *words],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if quiet else None,
        env=_bundle.environment(),
        text=True,
    )
    if ran.returncode == 130:
        raise KeyboardInterrupt
    if ran.returncode:
        reason = (ran.stderr or "").strip() or f"the command ended with {ran.returncode}"
        kind = ValueError if ran.returncode == 2 else _core.Error
        raise kind(reason.removeprefix("redtune: "))
    return ran.stdout


def _read(text):
    """What the command said in JSON."""
    import json

    return json.loads(text)


def tune(
    op="sum", dtype=None, size=None, shape=None, axis=None, *, order=None, accuracy=None,
    device=None, effort=None, budget=None, again=False, database=None, ops=None, quiet=True,
):  # fmt: skip
    """Finds the fastest kernels on a GPU, and stores every measurement; later calls use them.

    op, dtype: names, or lists of them. size: numbers of elements of whole arrays, such as
    "1K..256M" or [4096, 65536]. shape: a tuple, or a list of tuples, and axis the reduced axis.
    order, accuracy: as for the functions. device: "0", "0,1", "all" or "sim"; None: as
    redtune.configure chose. effort: "quick", "standard" or "exhaustive". budget: seconds. again:
    also what is known already. database: as for redtune.configure. ops: files of your own.
    quiet=False prints the progress to stderr.

    Returns the winners as a table. Raises ValueError for what the command does not take, and
    redtune.Error where the tune fails. Ctrl-C ends it; what was measured stays.

    >>> redtune.tune("sum", "f32", size=256, device="sim", effort="quick")[0]["op"]
    'sum'
    """
    words = _options(
        op=op, dtype=dtype, size=size, shape=_shape(shape), axis=axis, order=order,
        accuracy=accuracy, device=_settings.device if device is None else device, effort=effort,
        budget=None if budget is None else f"{budget}s", again=again, db=database, ops=ops,
        json=True,
    )  # fmt: skip
    found = _read(_run("tune", *words, quiet=quiet))
    _core.reload()
    return Winners(found["results"])


def explain(
    op="sum", dtype="f32", count=None, shape=None, axis=None, *, order=None, accuracy=None,
    device=None, gpu=None, database=None, ops=None,
):  # fmt: skip
    """Says which configuration a reduction would run, and where it was measured.

    count: the elements of a whole array; or shape and axis. order, accuracy: as for the functions.
    device: a GPU here; gpu: a model by its name, such as "H200", which need not be here. database,
    ops: as for redtune.tune. Returns a dictionary that prints as a table.

    >>> redtune.explain("sum", "f32", count=1 << 20, gpu="H200")["gpu"]
    'NVIDIA H200'
    >>> redtune.explain("sum", "f32", count=1 << 20, gpu="H200", order="fixed")["family"]
    'ordered'
    """
    if device is None and gpu is None:
        device = _settings.device
    words = _options(
        op=op, dtype=dtype, count=count, shape=_shape(shape), axis=axis, order=order,
        accuracy=accuracy, device=device, gpu=gpu, db=database, ops=ops, json=True,
    )  # fmt: skip
    return Explanation(_read(_run("explain", *words)))


def show(op=None, dtype=None, *, gpu=None, shipped=False, database=None):
    """The winners that are known, as a table; shipped: those that redtune comes with.

    >>> redtune.show("sum", "f32", gpu="H200", shipped=True)[0]["op"]
    'sum'
    """
    words = _options(op=op, dtype=dtype, gpu=gpu, shipped=shipped, db=database, json=True)
    return Winners(_read(_run("show", *words))["rows"])


def report(*, gpu=None, shipped=False, database=None):
    """What was measured on a GPU model, as a page of HTML that a notebook shows.

    >>> redtune.report(gpu="H200", shipped=True).startswith("<!DOCTYPE html>")
    True
    """
    return Page(_run("report", *_options(gpu=gpu, shipped=shipped, db=database, output="-")))
