"""Libraries: how array libraries make arrays, which dtypes they have, and their current stream.

redtune._core asks once for each type of array. A library is looked for by the module that the type
comes from, so nothing is imported that the program has not.
"""

import sys

from . import _core

# By the numbers of redtune_dtype, with bool in the place of REDTUNE_DTYPE_NONE.
_NAMES = ("bool", *(long_name for _, long_name, _ in _core.dtypes()))


class Facts:
    """What is known of a type: see library.h."""

    def __init__(self, dtypes=(None,) * len(_NAMES), empty=None, stream=None):
        self.dtypes = dtypes
        self.empty = empty
        self.stream = stream
        self.quick_host = self.quick_gpu = None
        self.has_buffer = self.is_torch = self.scalars = False


def _torch_quick(torch):
    """What programs that torch.compile made allocate with: half of the time of torch.empty_like.

    PyTorch does not document it, so it is tried, and left alone where it is another one by now.
    """
    try:
        guards = torch._C._dynamo.guards
        host, gpu = guards._empty_strided_cpu, guards._empty_strided_cuda
        made = host((2, 3), (3, 1), torch.float16)
        right = made.shape == (2, 3) and made.stride() == (3, 1) and made.dtype == torch.float16
        return (host, gpu) if right and type(made) is torch.Tensor else (None, None)
    except Exception:
        return None, None


def _torch():
    torch = sys.modules["torch"]
    facts = Facts(tuple(getattr(torch, name, None) for name in _NAMES), torch.empty_strided)
    facts.stream = lambda x: torch.cuda.current_stream(x.device).cuda_stream
    facts.is_torch = True
    facts.quick_host, facts.quick_gpu = _torch_quick(torch)
    return facts


def _numpy_dtypes(numpy):
    """NumPy's dtypes; bfloat16 is there if ml_dtypes is."""
    found = []
    for name in _NAMES:
        try:
            found.append(numpy.dtype(name))
        except TypeError:
            found.append(None)
    return tuple(found)


def _numpy():
    numpy = sys.modules["numpy"]
    facts = Facts(_numpy_dtypes(numpy), lambda x, shape, dtype: numpy.empty(shape, dtype))
    facts.has_buffer = facts.scalars = True
    return facts


def _cupy():
    cupy = sys.modules["cupy"]

    def empty(x, shape, dtype):
        with x.device:
            return cupy.empty(shape, dtype)

    dtypes = _numpy_dtypes(sys.modules["numpy"])
    return Facts(dtypes, empty, lambda x: cupy.cuda.get_current_stream().ptr)


def _standard(x):
    """A library that follows the Python array API standard."""
    namespace = x.__array_namespace__()
    dtypes = tuple(getattr(namespace, name, None) for name in _NAMES)

    def empty(like, shape, dtype):
        return namespace.empty(shape, dtype=dtype, device=like.device)

    return Facts(dtypes, empty)


_LIBRARIES = {"torch": _torch, "numpy": _numpy, "cupy": _cupy}
_READ_ONLY = ("jax", "jaxlib")  # their arrays do not change, so no result can be written to one


def find(x):
    """What is known of arrays of x's type, or of the first of its bases that is known."""
    for base in type(x).__mro__:
        if base.__module__.split(".")[:2] == ["numpy", "ma"]:
            raise TypeError(
                "cannot reduce a masked array: fill it, as by x.filled(0), or give x.data and "
                "where=~numpy.ma.getmaskarray(x)"
            )
        name = base.__module__.partition(".")[0]
        if name in _LIBRARIES:
            return _LIBRARIES[name]()
        if name in _READ_ONLY:
            return Facts()
    if isinstance(x, type) or not hasattr(x, "__array_namespace__"):
        return Facts()
    return _standard(x)


def is_capturing(x):
    """Whether the current stream of x's library is captured into a graph."""
    name = type(x).__module__.partition(".")[0]
    if name == "torch":
        return x.is_cuda and sys.modules["torch"].cuda.is_current_stream_capturing()
    return name == "cupy" and sys.modules["cupy"].cuda.get_current_stream().is_capturing()
