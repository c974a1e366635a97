"""Tuned reductions of the arrays that people have: PyTorch's, CuPy's, NumPy's, any with DLPack.

>>> import numpy, redtune
>>> x = numpy.arange(12, dtype="f4").reshape(3, 4)
>>> redtune.sum(x, axis=1)
array([ 6., 22., 38.], dtype=float32)

There is a function for each op of ``redtune show ops``, such as sum, max, argmax, mean, norm2, dot
and mean_var. Each takes an array, or two, and returns the result as an array of the same library on
the same device, computed on that library's current stream.

reduce computes an op by its name, plan prepares a reduction that is run often, configure chooses
the device and the tuning database, and tune, explain, show and report are the command's. Team
reduces the parts of an array that several processes hold, each on its GPU.
redtune.torch has functions that PyTorch differentiates, redtune.jax those for programs of JAX, and
redtune.linalg norms by the names of other libraries.
"""

import atexit as _atexit
import importlib as _importlib
import os as _os

from . import _core, _functions, linalg
from ._bits import bits
from ._core import AxisError, Error, Plan, __version__
from ._functions import List, by_key, plan, reduce, segments
from ._settings import configure
from ._team import Team
from ._tuning import explain, report, show, tune

if not _core.is_main_interpreter():
    raise ImportError("cannot import redtune in a subinterpreter: its state is the process's")
_atexit.register(_core.close)
_os.register_at_fork(after_in_child=_core.note_fork)

__all__ = ["AxisError", "Error", "List", "Plan", "Team", "bits", "by_key", "configure", "explain"]
__all__ += ["plan", "reduce", "report", "segments", "show", "tune"]
__all__ += _functions.names()


_functions.publish(globals())


# The package has no __getattr__: CPython looks attributes up faster in modules without one.
class _Later(type(_os)):
    """A module that is imported when it is first asked for something."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(f"module '{self.__name__}' is not imported yet")
        found = getattr(_importlib.import_module(self.__name__), name)
        setattr(self, name, found)
        return found


torch = _Later("redtune.torch")  # which imports PyTorch
jax = _Later("redtune.jax")
