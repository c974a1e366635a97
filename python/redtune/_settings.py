"""Settings: what redtune opens a GPU with."""

import os
import sys

from . import _bundle, _checks, _core, _functions

_TRUST = {"verified": 0, "all": 1, "none": 2}  # redtune_trust
_ORDER = {"free": 0, "fixed": 1}  # redtune_order

# Where an array of the host is reduced, as configure says.
device = "0"
# The settings that the command takes as options, by their names.
of_command = {}


def _path(path, name):
    return _checks.text(os.fspath(path) if hasattr(path, "__fspath__") else path, name, "a path")


def joined(paths, name):
    """Paths with ':' between, as the library takes them."""
    if paths is None:
        return None
    if isinstance(paths, (str, bytes, os.PathLike)):
        paths = [paths]
    return ":".join(_path(path, name) for path in paths)


def configure(
    *,
    device="0",
    database=None,
    machine=None,
    record=None,
    ops=None,
    trust="verified",
    background=False,
    verify_s=0.0,
    worker=False,
    order="free",
):
    """Chooses what redtune opens GPUs with, from now on; what is left out has its usual value.

    device: where arrays of the host are reduced: "0", "1", ... or "sim", the simulated GPU.
    database: the tuning database, or a list of which the first is written; None: the user's.
    machine: the label that measurements are stored with.
    record: a file that notes which problems ran without a measurement of their own.
        "" or /dev/null: none, whatever $REDTUNE_RECORD says.
    ops: files with ops of your own, whose names redtune.reduce then takes.
    trust: how imported measurements serve: "verified", "all" or "none".
    background: compile a new problem's kernel in a thread, and run another one meanwhile that
        the kernel cache has: the default's, or any of the same op, dtypes, order and layout.
    verify_s: seconds that verifying imported measurements may take for one problem; 0: 0.5.
    worker: verify imported measurements in a process of its own.
    order: "fixed": everything that does not say its order is reduced in fixed order, and what has
        none is refused; "free": in the fastest one. $REDTUNE_ORDER overrides it.

    Plans that are there keep what they were made with. Raises ValueError and TypeError for settings
    that cannot be; a device or database that is not there is noticed by the first reduction.

    >>> redtune.configure(device="sim")
    """
    if not isinstance(trust, str) or trust not in _TRUST:
        raise ValueError(f"cannot configure trust={trust!r}: give one of {', '.join(_TRUST)}")
    if not isinstance(order, str) or order not in _ORDER:
        raise ValueError(f"cannot configure order={order!r}: give one of {', '.join(_ORDER)}")
    name = str(device)
    if name != "sim" and not (name.isascii() and name.isdecimal() and len(name) < 10):
        raise ValueError(f'cannot configure device={device!r}: give a GPU\'s number, or "sim"')
    if machine is not None:
        _checks.text(machine, "machine", 'a label, such as "a1"')
    command = _bundle.command() if worker else None
    record = None if record is None else _path(record, "record")
    files = joined(ops, "ops")
    if files:
        _core.ops_read(files)
        _functions.publish(vars(sys.modules[__package__]))
    database = joined(database, "database")
    _core.configure(
        name, database, machine, record, files, command, bool(background),
        _TRUST[trust], _checks.seconds(verify_s, "verify_s"), _ORDER[order],
    )  # fmt: skip
    of_command.update(
        db=database, ops=files, machine=machine, order="fixed" if order == "fixed" else None
    )
    globals()["device"] = name
