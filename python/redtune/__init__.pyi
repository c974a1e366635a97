# The types of redtune's functions. Those of several results return named tuples.
# fmt: off
from typing import (
    Any, Callable, Dict, NamedTuple, Optional, Protocol, Sequence, Tuple, TypeVar, Union
)

from . import _tuning
from . import jax as jax, linalg as linalg, torch as torch

Array = TypeVar("Array")
Axis = Union[None, int, Sequence[int]]
Order = Optional[str]
Accuracy = Optional[str]

__version__: str

class Error(RuntimeError):
    status: str
    code: int

class AxisError(ValueError, IndexError): ...

class bits:
    def __init__(self, buffer: Any, offset: int = 0) -> None: ...

class Plan:
    config: Optional[str]
    match: str
    def run(self) -> Any: ...
    def __call__(
        self, x: Any, y: Any = None, out: Any = None, stream: Any = None, where: Any = None
    ) -> Any: ...

class SlogprodResults(NamedTuple):
    sign: Any
    logabs: Any

class MinAtResults(NamedTuple):
    min: Any
    index: Any

class MaxAtResults(NamedTuple):
    max: Any
    index: Any

class MinmaxResults(NamedTuple):
    min: Any
    max: Any

class SumSumsqResults(NamedTuple):
    sum: Any
    sumsq: Any

class MeanVarResults(NamedTuple):
    mean: Any
    var: Any

class VarMeanResults(NamedTuple):
    var: Any
    mean: Any

class StdMeanResults(NamedTuple):
    std: Any
    mean: Any

class SumNonfiniteResults(NamedTuple):
    sum: Any
    nonfinite: Any

class _One(Protocol):
    def __call__(
        self, x: Array, axis: Axis = None, keepdims: bool = False,
        out: Any = None, dtype: Any = None, order: Order = None,
        accuracy: Accuracy = None, stream: Any = None, where: Any = None, initial: Any = None,
    ) -> Array: ...

class _OneP(Protocol):
    def __call__(
        self, x: Array, axis: Axis = None, keepdims: bool = False,
        out: Any = None, dtype: Any = None, order: Order = None,
        accuracy: Accuracy = None, stream: Any = None, where: Any = None, initial: Any = None,
        *, p: float = 2.0,
    ) -> Array: ...

class _OneDdof(Protocol):
    def __call__(
        self, x: Array, axis: Axis = None, keepdims: bool = False,
        out: Any = None, dtype: Any = None, order: Order = None,
        accuracy: Accuracy = None, stream: Any = None, where: Any = None, initial: Any = None,
        *, ddof: float = 0.0,
    ) -> Array: ...

class _Slogprod(Protocol):
    def __call__(
        self, x: Array, axis: Axis = None, keepdims: bool = False,
        out: Any = None, dtype: Any = None, order: Order = None,
        accuracy: Accuracy = None, stream: Any = None, where: Any = None, initial: Any = None,
    ) -> SlogprodResults: ...

class _MinAt(Protocol):
    def __call__(
        self, x: Array, axis: Axis = None, keepdims: bool = False,
        out: Any = None, dtype: Any = None, order: Order = None,
        accuracy: Accuracy = None, stream: Any = None, where: Any = None, initial: Any = None,
    ) -> MinAtResults: ...

class _MaxAt(Protocol):
    def __call__(
        self, x: Array, axis: Axis = None, keepdims: bool = False,
        out: Any = None, dtype: Any = None, order: Order = None,
        accuracy: Accuracy = None, stream: Any = None, where: Any = None, initial: Any = None,
    ) -> MaxAtResults: ...

class _Minmax(Protocol):
    def __call__(
        self, x: Array, axis: Axis = None, keepdims: bool = False,
        out: Any = None, dtype: Any = None, order: Order = None,
        accuracy: Accuracy = None, stream: Any = None, where: Any = None, initial: Any = None,
    ) -> MinmaxResults: ...

class _SumSumsq(Protocol):
    def __call__(
        self, x: Array, axis: Axis = None, keepdims: bool = False,
        out: Any = None, dtype: Any = None, order: Order = None,
        accuracy: Accuracy = None, stream: Any = None, where: Any = None, initial: Any = None,
    ) -> SumSumsqResults: ...

class _MeanVar(Protocol):
    def __call__(
        self, x: Array, axis: Axis = None, keepdims: bool = False,
        out: Any = None, dtype: Any = None, order: Order = None,
        accuracy: Accuracy = None, stream: Any = None, where: Any = None, initial: Any = None,
        *, ddof: float = 0.0,
    ) -> MeanVarResults: ...

class _SumNonfinite(Protocol):
    def __call__(
        self, x: Array, axis: Axis = None, keepdims: bool = False,
        out: Any = None, dtype: Any = None, order: Order = None,
        accuracy: Accuracy = None, stream: Any = None, where: Any = None, initial: Any = None,
    ) -> SumNonfiniteResults: ...

class _Two(Protocol):
    def __call__(
        self, x: Array, y: Array, axis: Axis = None, keepdims: bool = False,
        out: Any = None, dtype: Any = None, order: Order = None,
        accuracy: Accuracy = None, stream: Any = None, where: Any = None, initial: Any = None,
    ) -> Array: ...

class _TwoTolerance(Protocol):
    def __call__(
        self, x: Array, y: Array, axis: Axis = None, keepdims: bool = False,
        out: Any = None, dtype: Any = None, order: Order = None,
        accuracy: Accuracy = None, stream: Any = None, where: Any = None, initial: Any = None,
        *, tolerance: float = 0.0,
    ) -> Array: ...

sum: _One
prod: _One
min: _One
max: _One
fmin: _One
fmax: _One
argmin: _One
argmax: _One
argmaxabs: _One
minabs: _One
sumsq: _One
norm2: _One
sumabs: _One
maxabs: _One
mean: _One
any: _One
all: _One
nonzeros: _One
xor: _One
nans: _One
nonfinite: _One
ptp: _One
logsumexp: _One
bitwise_and: _One
bitwise_or: _One
bitwise_xor: _One
count_nonzero: _One
nanmax: _One
nanmin: _One
nansum: _One
nanprod: _One
nanmean: _One
nanargmin: _One
nanargmax: _One
nanvar: _OneDdof
nanstd: _OneDdof
amax: _One
amin: _One
nan_count: _One
normp: _OneP
var: _OneDdof
std: _OneDdof
slogprod: _Slogprod
min_at: _MinAt
max_at: _MaxAt
minmax: _Minmax
aminmax: _Minmax
sum_sumsq: _SumSumsq
mean_var: _MeanVar
sum_nonfinite: _SumNonfinite
dot: _Two
sqeuclidean: _Two
euclidean: _Two
cityblock: _Two
chebyshev: _Two
cosine: _Two
wmean: _Two
mse: _Two
mismatches: _TwoTolerance

class List:
    def __init__(self, arrays: Sequence[Any]) -> None: ...
    def __len__(self) -> int: ...
    def reduce(
        self, op: str = "sum", *, each: bool = False, out: Any = None, dtype: Any = None,
        order: Order = None, accuracy: Accuracy = None, stream: Any = None, where: Any = None,
        **parameters: float
    ) -> Any: ...

class Team:
    rank: int
    size: int
    device: int
    def __init__(
        self, group: Any = None, *, id: Optional[bytes] = None, rank: Optional[int] = None,
        size: Optional[int] = None, device: Optional[int] = None, wait: float = 30.0,
        results: Optional[int] = None, connect: bool = True
    ) -> None: ...
    @staticmethod
    def make_id() -> bytes: ...
    @property
    def way(self) -> str: ...
    def explain(self) -> Dict[str, Any]: ...
    def share(
        self, count: int, *, op: str = "sum", dtype: Any = "f32", order: Order = None
    ) -> Tuple[int, int]: ...
    def reduce(
        self, x: Any, y: Any = None, *, op: str = "sum", axis: Axis = None,
        keepdims: bool = False, out: Any = None, dtype: Any = None, order: Order = None,
        accuracy: Accuracy = None, stream: Any = None, first: Optional[int] = None,
        each: bool = False, where: Any = None, **parameters: float
    ) -> Any: ...
    def check(self) -> None: ...
    def wait(self, stream: int = 0, limit: float = 0.0) -> None: ...
    def close(self) -> None: ...

def var_mean(
    x: Array, axis: Axis = None, keepdims: bool = False, dtype: Any = None, where: Any = None, *,
    ddof: float = 1
) -> VarMeanResults: ...
def std_mean(
    x: Array, axis: Axis = None, keepdims: bool = False, dtype: Any = None, where: Any = None, *,
    ddof: float = 1
) -> StdMeanResults: ...
def vecdot(
    x: Array, y: Array, axis: int = -1, keepdims: bool = False, *, out: Any = None,
    dtype: Any = None, **more: Any
) -> Array: ...
def average(
    x: Array, axis: Axis = None, weights: Optional[Array] = None, *, keepdims: bool = False,
    out: Any = None, dtype: Any = None, **more: Any
) -> Array: ...
def norm(
    x: Array, ord: Union[None, float, str] = 2, axis: Axis = None, keepdims: bool = False, *,
    out: Any = None, dtype: Any = None, **more: Any
) -> Array: ...
def reduce(
    x: Array, y: Optional[Array] = None, *, op: str, axis: Axis = None, keepdims: bool = False,
    out: Any = None, dtype: Any = None, order: Order = None, accuracy: Accuracy = None,
    stream: Any = None, where: Any = None,
    initial: Any = None, **parameters: float
) -> Any: ...
def plan(
    x: Any, y: Any = None, *, op: str = "sum", axis: Axis = None, keepdims: bool = False,
    out: Any = None, dtype: Any = None, order: Order = None, accuracy: Accuracy = None,
    config: Optional[str] = None, where: Any = None, initial: Any = None, **parameters: float
) -> Plan: ...
def segments(
    x: Array, begin: Any, end: Any = None, *, op: str = "sum", y: Any = None, out: Any = None,
    dtype: Any = None, order: Order = None, accuracy: Accuracy = None,
    longest: Optional[int] = None, stream: Any = None,
    where: Any = None, **parameters: float
) -> Any: ...
def by_key(
    x: Array, keys: Any, K: Optional[int] = None, op: str = "sum", *, y: Optional[Array] = None,
    out: Any = None, dtype: Any = None, order: Order = None, accuracy: Accuracy = None,
    skipped: Any = None, spread: Optional[str] = None, stream: Any = None, where: Any = None,
    initial: Any = None, **parameters: float
) -> Any: ...
def configure(
    *, device: Union[int, str] = "0", database: Any = None, machine: Optional[str] = None,
    record: Any = None, ops: Any = None, trust: str = "verified", background: bool = False,
    verify_s: float = 0.0, worker: bool = False, order: str = "free"
) -> None: ...
def tune(
    op: Any = "sum", dtype: Any = None, size: Any = None, shape: Any = None, axis: Any = None, *,
    order: Order = None, accuracy: Accuracy = None, device: Any = None,
    effort: Optional[str] = None, budget: Optional[float] = None, again: bool = False,
    database: Any = None, ops: Any = None, quiet: bool = False,
    progress: Optional[Callable[[str], Any]] = None, count: Any = None, y: Any = None,
    where: Any = None
) -> _tuning.Winners: ...
def explain(
    op: str = "sum", dtype: Any = "f32", size: Any = None, shape: Any = None,
    axis: Any = None, *, order: Order = None, accuracy: Accuracy = None, device: Any = None,
    gpu: Optional[str] = None, database: Any = None, ops: Any = None, count: Any = None,
    y: Any = None, where: Any = None
) -> _tuning.Explanation: ...
def show(
    op: Any = None, dtype: Any = None, *, gpu: Optional[str] = None, shipped: bool = False,
    database: Any = None
) -> _tuning.Winners: ...
def report(
    *, gpu: Optional[str] = None, shipped: bool = False, database: Any = None
) -> _tuning.Page: ...
