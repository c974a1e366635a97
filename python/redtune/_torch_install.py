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

from . import _core

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

_shim = None  # the shared library, once it is loaded
_installed = False


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
    name = _shim_name([source, os.path.join(here, "_torch_shim.h")])
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
    of a tensor from which redtune serves it, or a dictionary of them by op; None: as measured
    (docs/torch.md). Everything else runs PyTorch's kernel, as do calls whose kernel is still to be
    made, which a thread then does.

    Use it as a function, or with `with`. Raises RuntimeError where it is installed already, or the
    shim cannot be compiled, ValueError for what cannot be.

    >>> redtune.torch.install()                   # doctest: +SKIP
    >>> with redtune.torch.install(["sum"]): ...  # doctest: +SKIP
    """
    global _installed
    names = _chosen(ops)
    if _installed:
        raise RuntimeError("cannot install: redtune is installed; call uninstall() before")
    if _key == "CUDA" and not torch.cuda.is_available():
        raise RuntimeError("cannot install: PyTorch finds no GPU")
    numbers = {op: number for number, op in enumerate(_core.torch_ops)}
    least, bits = [0] * len(numbers), 0
    for name in names:
        for op in _OPS[name]:
            bits |= 1 << numbers[op]
            least[numbers[op]] = _bytes(at_least, name)
    shim, message = _load_shim(), ctypes.create_string_buffer(_MESSAGE_BYTES)
    device = torch.cuda.current_device() if _key == "CUDA" else -1  # others once a call needs them
    hooks = _core.torch_install(device, least)
    if shim.redtune_torch_shim_install(hooks, _key.encode(), bits, message):
        raise RuntimeError(f"cannot install: {message.value.decode(errors='replace')}")
    _installed = True
    return _Installed()


def uninstall():
    """Puts PyTorch's kernels back; nothing happens where redtune is not installed."""
    global _installed
    if _installed:
        _shim.redtune_torch_shim_uninstall()
        _installed = False


# ---- reporting -----------------------------------------------------------------------------------


class Report(dict):
    """What became of the calls: {op: {"served": n, "left": {reason: n}}}, and a table as text."""

    def __str__(self):
        lines = [f"{'op':<16}{'served':>10}{'left':>10}  why they were left to PyTorch"]
        for op, its in self.items():
            why = ", ".join(f"{count} {reason}" for reason, count in its["left"].items())
            left = sum(its["left"].values())
            lines.append(f"{op:<16}{its['served']:>10}{left:>10}  {why}".rstrip())
        if self.failure:
            lines.append(f"the last failure: {self.failure}")
        return "\n".join(lines)


def report(reset=False):
    """What redtune served of PyTorch's calls and what it left, how often and why, since the start
    or the last reset. Ops without calls are left out.

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
    if reset:
        _core.torch_forget_counts()
    return found
