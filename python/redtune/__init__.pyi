# The types of redtune's functions. Those of several results return named tuples.
from typing import Any, NamedTuple, Optional, Sequence, TypeVar, Union

from . import _tuning

Array = TypeVar("Array")
Axis = Union[None, int, Sequence[int]]

__version__: str

class Error(RuntimeError):
    status: str
    code: int

class Plan:
    config: str
    match: str
    def run(self) -> Any: ...
    def __call__(self, x: Any, y: Any = None, out: Any = None, stream: Any = None) -> Any: ...

def sum(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def prod(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def min(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def max(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def fmin(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def fmax(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def argmin(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def argmax(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def sumsq(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def norm2(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def sumabs(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def maxabs(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def mean(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def any(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def all(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def nonzeros(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def xor(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def nans(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def nonfinite(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def ptp(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def normp(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None, *, p: float = 2.0
) -> Array: ...
def var(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None, *, ddof: float = 0.0
) -> Array: ...
def std(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None, *, ddof: float = 0.0
) -> Array: ...
def logsumexp(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
class SlogprodResults(NamedTuple):
    sign: Any
    logabs: Any

def slogprod(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> SlogprodResults: ...
class MinAtResults(NamedTuple):
    min: Any
    index: Any

def min_at(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> MinAtResults: ...
class MaxAtResults(NamedTuple):
    max: Any
    index: Any

def max_at(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> MaxAtResults: ...
class MinmaxResults(NamedTuple):
    min: Any
    max: Any

def minmax(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> MinmaxResults: ...
class SumSumsqResults(NamedTuple):
    sum: Any
    sumsq: Any

def sum_sumsq(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> SumSumsqResults: ...
class MeanVarResults(NamedTuple):
    mean: Any
    var: Any

def mean_var(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None, *, ddof: float = 0.0
) -> MeanVarResults: ...
class SumNonfiniteResults(NamedTuple):
    sum: Any
    nonfinite: Any

def sum_nonfinite(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> SumNonfiniteResults: ...
def dot(
    x: Array, y: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def sqeuclidean(
    x: Array, y: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def euclidean(
    x: Array, y: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def cityblock(
    x: Array, y: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def chebyshev(
    x: Array, y: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def cosine(
    x: Array, y: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def wmean(
    x: Array, y: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def mismatches(
    x: Array, y: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None, *, tolerance: float = 0.0
) -> Array: ...
def mse(
    x: Array, y: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def bitwise_and(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def bitwise_or(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def bitwise_xor(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def count_nonzero(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def nanmax(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def nanmin(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def norm(
    x: Array, axis: Axis = None, keepdims: bool = False, out: Any = None, dtype: Any = None, stream: Any = None
) -> Array: ...
def reduce(
    x: Array, y: Optional[Array] = None, *, op: str, axis: Axis = None, keepdims: bool = False,
    out: Any = None, dtype: Any = None, stream: Any = None, **parameters: float
) -> Any: ...
def plan(
    x: Any, y: Any = None, *, op: str = "sum", axis: Axis = None, keepdims: bool = False,
    out: Any = None, dtype: Any = None, config: Optional[str] = None, **parameters: float
) -> Plan: ...
def configure(
    *, device: Union[int, str] = "0", database: Any = None, machine: Optional[str] = None,
    record: Any = None, ops: Any = None, trust: str = "verified", background: bool = False,
    verify_s: float = 0.0, worker: bool = False
) -> None: ...
def tune(
    op: Any = "sum", dtype: Any = None, size: Any = None, shape: Any = None, axis: Any = None, *,
    device: Any = None, effort: Optional[str] = None, budget: Optional[float] = None,
    again: bool = False, database: Any = None, ops: Any = None, quiet: bool = True
) -> _tuning.Winners: ...
def explain(
    op: str = "sum", dtype: str = "f32", count: Optional[int] = None, shape: Any = None,
    axis: Any = None, *, device: Any = None, gpu: Optional[str] = None, database: Any = None
) -> _tuning.Explanation: ...
def show(
    op: Any = None, dtype: Any = None, *, gpu: Optional[str] = None, shipped: bool = False,
    database: Any = None
) -> _tuning.Winners: ...
def report(
    *, gpu: Optional[str] = None, shipped: bool = False, database: Any = None
) -> _tuning.Page: ...
