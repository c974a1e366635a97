"""Torch install: redtune's kernels in place of those that PyTorch's own calls run.

The shim (_torch_shim.cpp) is compiled for the PyTorch that is there, by one command, and kept in
the user's cache; a wheel may bring it along in redtune/bundle. It has a kernel for each op, which
asks redtune._core about each call, and else calls the kernel that was there before.
"""

import ctypes
import hashlib
import os
import shutil
import subprocess
import tempfile

import torch

from . import _core, _torch_measure

# PyTorch's functions, and the ops of its dispatcher that they come to.
_OPS = {
    "sum": ["sum.dim_IntList"],
    "mean": ["mean.dim"],
    "nansum": ["nansum"],
    "amax": ["amax"],
    "amin": ["amin"],
    "max": ["max", "max.dim"],
    "min": ["min", "min.dim"],
    "argmax": ["argmax"],
    "argmin": ["argmin"],
    "var": ["var.correction"],
    "std": ["std.correction"],
    "var_mean": ["var_mean.correction"],
    "norm": ["linalg_vector_norm"],
    "logsumexp": ["logsumexp"],
    "any": ["any", "any.dim", "any.dims"],
    "all": ["all", "all.dim", "all.dims"],
    "count_nonzero": ["count_nonzero.dim_IntList"],
    "index_add": ["index_add", "index_add_"],
    "scatter_add": ["scatter_add", "scatter_add_"],
    "scatter_reduce": ["scatter_reduce.two", "scatter_reduce_.two"],
}
# Bytes from which redtune serves a call unless at_least says otherwise: docs/torch.md.
_AT_LEAST = {"index_add": 1 << 20, "scatter_add": 1 << 20, "scatter_reduce": 1 << 18}
_FLAGS = ["-O2", "-std=c++17", "-fPIC", "-shared", "-fvisibility=hidden"]
_MESSAGE_BYTES = 1024

# What at_least="measured" tries: 4 KiB to 16 MiB, and how much slower redtune may be there.
_MEASURED, _SLOWER = (12, 16, 20, 24), 1.03
_NEVER = 1 << 61

_shim = None  # the shared library, once it is loaded
_installed = False
_device = "cuda"


# ---- the shim ------------------------------------------------------------------------------------


def _shim_name(sources):
    """A name that another PyTorch, or another text of the shim, does not have."""
    content = hashlib.sha256(" ".join([torch.__version__, *_FLAGS]).encode())
    for path in sources:
        with open(path, "rb") as file:
            content.update(file.read())
    return f"torch-shim-{torch.__version__.partition('+')[0]}-{content.hexdigest()[:16]}.so"


def _command(source, target):
    """The one command that makes the shim."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if not compiler:
        raise RuntimeError(
            "cannot install: there is no C++ compiler for the shim; install g++, or name one in CXX"
        )
    root = os.path.dirname(torch.__file__)
    include, lib = os.path.join(root, "include"), os.path.join(root, "lib")
    names = ["c10", "torch_cpu", "torch_cuda"]
    libraries = [f"-l{name}" for name in names if os.path.exists(f"{lib}/lib{name}.so")]
    return [
        *compiler.split(), *_FLAGS, f"-I{include}", f"-I{include}/torch/csrc/api/include", source,
        "-o", target, f"-L{lib}", "-Wl,--no-as-needed", *libraries,
    ]  # fmt: skip


def _compile(source, folder, name):
    os.makedirs(folder, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as own:
        made = os.path.join(own, name)
        command = _command(source, made)
        try:
            done = subprocess.run(command, capture_output=True, text=True)
        except OSError as error:
            raise RuntimeError(
                f"cannot install: cannot run the C++ compiler {command[0]!r}: {error}; set CXX"
            ) from error
        if done.returncode:
            raise RuntimeError(
                f"cannot install: the shim does not compile: {done.stderr[:600]}; the command was "
                + " ".join(command)
            )
        os.replace(made, os.path.join(folder, name))


def build_shim(folder=None):
    """The path of the shim for this PyTorch, which is compiled unless it is there.

    folder: where it is looked for and kept; None: the one that the wheel brings, else the user's
    cache. Raises RuntimeError where there is no C++ compiler, or it fails.
    """
    here = os.path.dirname(os.path.abspath(__file__))
    source = os.path.join(here, "_torch_shim.cpp")
    name = _shim_name(
        [source, *(os.path.join(here, f"_torch_{each}.h") for each in ("shim", "keyed"))]
    )
    brought = os.path.join(here, "bundle", name)
    if not folder and os.path.exists(brought):
        return brought
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    folder = folder or os.path.join(cache, "redtune")
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        _compile(source, folder, name)
    return path


def _load_shim():
    global _shim
    if _shim is None:
        found = ctypes.CDLL(build_shim())
        found.redtune_torch_shim_install.argtypes = [
            ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_char_p,
        ]  # fmt: skip
        found.redtune_torch_shim_uninstall.restype = None
        found.redtune_torch_shim_leave.restype = None
        _shim = found
    return _shim


# ---- installing ----------------------------------------------------------------------------------


def _chosen(ops):
    """The names among _OPS."""
    names = list(_OPS) if ops is None else [ops] if isinstance(ops, str) else list(ops)
    for name in names:
        if name not in _OPS:
            raise ValueError(f"cannot install {name!r}: give some of {', '.join(_OPS)}")
    return names


def _measure(names):
    """From how many bytes of f32 on each op was as fast in all layouts, and what is as large."""
    kinds = {}
    for name in names:
        for log_bytes in _MEASURED:
            some = (log_bytes - 2) // 2
            layouts = [(each, some) for each in _torch_measure.ALONG]
            if name in _AT_LEAST:
                layouts = [(_torch_measure.KEYED, min(8, some))]
            for layout, results in layouts:
                kind = _OPS[name][-1], _torch_measure.FLOAT, layout, log_bytes, results
                kinds[name, kind] = log_bytes
    times = _torch_measure.race(_shim, _device, kinds)
    least = {name: 0 for name in names}
    for (name, kind), (plain, served) in times.items():
        if served > _SLOWER * plain:
            larger = [1 << each for each in _MEASURED if each > kind[3]] + [_NEVER]
            least[name] = max(least[name], larger[0])
    return least


def _bytes(at_least, name):
    """From how many bytes on the op is served."""
    if isinstance(at_least, dict):
        _chosen(at_least)
    usual = _AT_LEAST.get(name, 0)
    found = at_least.get(name, usual) if isinstance(at_least, dict) else at_least
    found = usual if found is None else found
    if isinstance(found, bool) or not isinstance(found, int) or not 0 <= found < 2**62:
        raise ValueError(f"cannot install {name} with at_least={found!r}: give a number of bytes")
    return found


class _Installed:
    """What install() returns: within `with` it lasts to the end of the block."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        uninstall()


def install(ops=None, at_least=None, *, _key="CUDA"):
    """Has PyTorch's own calls on CUDA tensors run redtune's kernels where they mean the same.

    ops: names such as ["sum", "norm"], or one; None: all that docs/torch.md lists. at_least: bytes
    of a tensor from which redtune serves it, or a dictionary of them by op; None: as measured on an
    H100 (docs/torch.md); "measured": as is measured now, which makes kernels of four sizes for each
    op and takes seconds to a minute. Everything else runs PyTorch's kernel, as do calls whose kernel
    is still to be made, which a thread then does.

    Use it as a function, or with `with`. Raises RuntimeError where it is installed already, or the
    shim cannot be compiled, ValueError for what cannot be.

    >>> redtune.torch.install()                   # doctest: +SKIP
    >>> with redtune.torch.install(["sum"]): ...  # doctest: +SKIP
    """
    global _installed, _device
    names = _chosen(ops)
    if _installed:
        raise RuntimeError("cannot install: redtune is installed; call uninstall() before")
    if _key == "CUDA" and not torch.cuda.is_available():
        raise RuntimeError("cannot install: PyTorch finds no GPU")
    numbers = {op: number for number, op in enumerate(_core.torch_ops)}
    is_measured = isinstance(at_least, str) and at_least == "measured"
    least, bits = [0] * len(numbers), 0
    for name in names:
        for op in _OPS[name]:
            bits |= 1 << numbers[op]
            least[numbers[op]] = 0 if is_measured else _bytes(at_least, name)
    shim, message = _load_shim(), ctypes.create_string_buffer(_MESSAGE_BYTES)
    device = torch.cuda.current_device() if _key == "CUDA" else -1  # others once a call needs them
    hooks = _core.torch_install(device, least)
    if shim.redtune_torch_shim_install(hooks, _key.encode(), bits, message):
        raise RuntimeError(f"cannot install: {message.value.decode(errors='replace')}")
    _installed, _device = True, _key.lower()
    if is_measured:
        try:
            for name, found in _measure(names).items():
                for op in _OPS[name]:
                    least[numbers[op]] = found
        except BaseException:
            uninstall()
            raise
        _core.torch_install(device, least)
    return _Installed()


def uninstall():
    """Puts PyTorch's kernels back; nothing happens where redtune is not installed."""
    global _installed
    if _installed:
        _shim.redtune_torch_shim_uninstall()
        _installed = False


# ---- reporting -----------------------------------------------------------------------------------


class Report(dict):
    """What became of the calls: {op: {"served": n, "left": {reason: n}}}, and a table as text.
    Where it was measured, "saved_ms" of each op is an estimate of what redtune saved."""

    kinds = None  # how many kinds of calls were measured

    def __str__(self):
        saved = "" if self.kinds is None else f"{'saved ms':>10}"
        lines = [f"{'op':<16}{'served':>10}{saved}{'left':>10}  why they were left to PyTorch"]
        for op, its in self.items():
            why = ", ".join(f"{count} {reason}" for reason, count in its["left"].items())
            left, saved = sum(its["left"].values()), ""
            if self.kinds is not None:
                saved = f"{its['saved_ms']:>10.2f}"
            lines.append(f"{op:<16}{its['served']:>10}{saved}{left:>10}  {why}".rstrip())
        if self.kinds is not None:
            total = sum(its["saved_ms"] for its in self.values())
            lines.append(f"saved {total:.2f} ms, from the times of {self.kinds} kinds of calls")
        if self.failure:
            lines.append(f"the last failure: {self.failure}")
        return "\n".join(lines)


def _add_saved(found):
    if not _installed:
        raise RuntimeError(
            "cannot measure what was saved: redtune is not installed; ask before uninstall()"
        )
    names = {op: name for name, ops in _OPS.items() for op in ops}
    counts = {}
    for number, *kind, count in _core.torch_kinds():
        op = _core.torch_ops[number]
        counts[names[op], (op, *kind)] = count
    times = _torch_measure.race(_shim, _device, counts)
    found.kinds = len(times)
    for its in found.values():
        its["saved_ms"] = 0.0
    for each, (plain, served) in times.items():
        if each[0] in found:
            found[each[0]]["saved_ms"] += 1e3 * counts[each] * (plain - served)


def report(reset=False, *, saved=False):
    """What redtune served of PyTorch's calls and what it left, how often and why, since the start
    or the last reset. Ops without calls are left out.

    saved: estimates the ms that redtune saved, as "saved_ms" of each op. Every kind of call that
    was served (one op, dtype and layout, and equal powers of two of bytes and results) is measured
    now on a tensor of its own, by PyTorch's kernel and by redtune's. Calls of more kinds than a few
    thousand are not in it.

    >>> print(redtune.torch.report())  # doctest: +SKIP
    """
    counts = dict(zip(_core.torch_ops, _core.torch_counts()))
    found = Report()
    for name, ops in _OPS.items():
        served, left = 0, {}
        for op in ops:
            served += counts[op][0]
            for reason, count in counts[op][1].items():
                left[reason] = left.get(reason, 0) + count
        if served or left:
            found[name] = {"served": served, "left": left}
    found.failure = _core.torch_failure()
    found.pending = _core.torch_pending()
    if saved:
        _add_saved(found)
    if reset:
        _core.torch_forget_counts()
    return found
