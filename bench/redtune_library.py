"""libredtune from Python, by ctypes: as much of redtune.h as the benchmarks call."""

import contextlib
import ctypes


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("code", ctypes.c_long), ("message", ctypes.c_char * 768)]


class Problem(ctypes.Structure):
    _fields_ = [
        ("op", ctypes.c_int),
        ("dtype", ctypes.c_int),
        ("result", ctypes.c_int),
        ("count", ctypes.c_uint64),
        ("config", ctypes.c_char_p),
        ("outer", ctypes.c_uint64),
        ("inner", ctypes.c_uint64),
        ("outer_step", ctypes.c_uint64),
        ("step", ctypes.c_uint64),
        ("order", ctypes.c_int),
        ("uses", ctypes.c_uint64),
        ("reserved", ctypes.c_uint64 * 2),
    ]


class Operands(ctypes.Structure):
    _fields_ = [
        ("d_in", ctypes.c_void_p * 2),
        ("d_out", ctypes.c_void_p * 2),
        ("count", ctypes.c_uint64),
        ("workspace", ctypes.c_void_p),
        ("outer", ctypes.c_uint64),
        ("inner", ctypes.c_uint64),
        ("outer_step", ctypes.c_uint64),
        ("step", ctypes.c_uint64),
        ("parameters", ctypes.c_void_p),
        ("d_parameters", ctypes.c_void_p),
        ("d_count", ctypes.c_void_p),
        ("accumulate", ctypes.c_uint64),
        ("reserved", ctypes.c_uint64 * 4),
    ]


class Options(ctypes.Structure):
    _fields_ = [
        ("device", ctypes.c_char_p),
        ("database", ctypes.c_char_p),
        ("log", ctypes.c_void_p),
        ("log_user", ctypes.c_void_p),
        ("log_level", ctypes.c_int),
        ("machine", ctypes.c_char_p),
        ("background", ctypes.c_int),
        ("trust", ctypes.c_int),
        ("verify_s", ctypes.c_double),
        ("worker", ctypes.c_char_p),
        ("record", ctypes.c_char_p),
        ("ops", ctypes.c_char_p),
        ("reserved", ctypes.c_uint64 * 6),
    ]


class Refused(Exception):
    """redtune refused, for the reason given."""


class Redtune:
    """libredtune on the CUDA context that is current."""

    def __init__(self, path, database):
        self.library = ctypes.CDLL(path)
        self.library.redtune_dtype_name.restype = ctypes.c_char_p
        options = Options(database=database.encode() if database else None)
        self.handle = ctypes.c_void_p()
        self.call("redtune_open", ctypes.byref(options), ctypes.byref(self.handle))

    def call(self, name, *arguments):
        error = Error()
        if getattr(self.library, name)(*arguments, ctypes.byref(error)):
            raise Refused(error.message.decode())

    def find(self, kind, name):
        value = ctypes.c_int()
        self.call(f"redtune_{kind}_find", name.encode(), ctypes.byref(value))
        return value.value

    def problem(self, op, dtype, count):
        return Problem(op=self.find("op", op), dtype=self.find("dtype", dtype), count=count)

    def axis_problem(self, op, dtype, rows, cols, axis):
        """Of each row (axis 1) or each column (axis 0) of a packed matrix."""
        problem = self.problem(op, dtype, cols if axis == 1 else rows)
        if axis == 1:
            problem.outer = rows
        else:
            problem.inner = cols
        return problem

    def result(self, problem):
        """The name of the result's dtype."""
        value = ctypes.c_int()
        self.call("redtune_problem_result", ctypes.byref(problem), ctypes.byref(value))
        return self.library.redtune_dtype_name(value).decode()

    @contextlib.contextmanager
    def plan(self, problem):
        """A function (in, out, stream) of addresses on the GPU and a stream's handle, which queues
        the reduction. What it queued must be done when the context ends."""
        plan = ctypes.c_void_p()
        self.call("redtune_plan_create", self.handle, ctypes.byref(problem), ctypes.byref(plan))
        is_whole = not problem.outer and not problem.inner
        try:
            yield (self.whole if is_whole else self.shaped)(plan.value, problem)
        finally:
            self.library.redtune_plan_destroy(plan)

    def whole(self, plan, problem):
        run, error = self.library.redtune_plan_reduce, Error()
        run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p,
                        ctypes.c_void_p, ctypes.c_void_p]
        count, error_at = problem.count, ctypes.addressof(error)

        def reduce(d_in, d_out, stream):
            if run(plan, d_in, count, d_out, stream, error_at):
                raise Refused(error.message.decode())

        return reduce

    def shaped(self, plan, problem):
        run, error = self.library.redtune_plan_run, Error()
        run.argtypes = [ctypes.c_void_p] * 4
        operands = Operands(count=problem.count, outer=problem.outer, inner=problem.inner,
                            outer_step=problem.outer_step, step=problem.step)
        at, error_at = ctypes.addressof(operands), ctypes.addressof(error)

        def reduce(d_in, d_out, stream):
            operands.d_in[0], operands.d_out[0] = d_in, d_out
            if run(plan, at, stream, error_at):
                raise Refused(error.message.decode())

        return reduce

    def close(self):
        self.library.redtune_close(self.handle)
