"""libredtune from Python, by ctypes: as much of redtune.h as the benchmarks call."""

import contextlib
import ctypes
import functools


class Error(ctypes.Structure):
    _fields_ = [("status", ctypes.c_int), ("code", ctypes.c_long), ("message", ctypes.c_char * 768)]


class Axis(ctypes.Structure):
    _fields_ = [("size", ctypes.c_uint64), ("step", ctypes.c_int64 * 4)]


class Problem(ctypes.Structure):
    _fields_ = [
        *((name, ctypes.c_int) for name in ("op", "dtype", "result", "order", "accuracy")),
        *((name, ctypes.c_uint32) for name in ("segmented", "kept_axes", "reduced_axes", "steps")),
        *((name, ctypes.c_int) for name in ("mask", "key_dtype", "spread")),
        *((name, ctypes.c_uint64) for name in ("keys", "uses", "greatest", "median")),
        ("config", ctypes.c_char_p),
        ("kept", Axis * 8),
        ("reduced", Axis * 8),
        ("reserved", ctypes.c_uint64 * 6),
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
        ("d_mask", ctypes.c_void_p),
        ("initial", ctypes.c_void_p),
        ("mask_first", ctypes.c_uint64),
        ("reserved", ctypes.c_uint64 * 1),
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
        ("order", ctypes.c_int),
        ("reserved", ctypes.c_uint64 * 5),
    ]


class OpInfo(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char_p),
        ("formula", ctypes.c_char_p),
        ("indexed", ctypes.c_int),
        ("bools", ctypes.c_int),
        ("inputs", ctypes.c_int),
        ("outputs", ctypes.c_int),
        ("parameters", ctypes.c_int),
        ("resumes", ctypes.c_int),
        ("output_name", ctypes.c_char_p * 2),
        ("parameter_name", ctypes.c_char_p * 2),
        ("parameter_usual", ctypes.c_double * 2),
        ("file", ctypes.c_char_p),
        ("reserved", ctypes.c_uint64 * 3),
    ]


class DeviceInfo(ctypes.Structure):
    _fields_ = [
        ("name", ctypes.c_char * 96),
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
        ("sm_count", ctypes.c_int),
        ("memory_bytes", ctypes.c_uint64),
        ("l2_bytes", ctypes.c_uint64),
        ("peak_gbps", ctypes.c_double),
        ("driver_version", ctypes.c_int),
        ("reserved", ctypes.c_uint64 * 4),
    ]


class Refused(Exception):
    """redtune refused, for the reason given."""


class Redtune:
    """libredtune on the CUDA context that is current."""

    def __init__(self, path, database):
        self.library = ctypes.CDLL(path)
        self.library.redtune_dtype_name.restype = ctypes.c_char_p
        for make in (self.library.redtune_problem_whole, self.library.redtune_problem_rows,
                     self.library.redtune_problem_columns):
            make.restype = Problem
        self.library.redtune_problem_operands.restype = Operands
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
        return self.library.redtune_problem_whole(self.find("op", op), self.find("dtype", dtype),
                                                  ctypes.c_uint64(count))

    def axis_problem(self, op, dtype, rows, cols, axis):
        """Of each row (axis 1) or each column (axis 0) of a packed matrix."""
        make = self.library.redtune_problem_rows if axis == 1 else self.library.redtune_problem_columns
        return make(self.find("op", op), self.find("dtype", dtype), ctypes.c_uint64(rows),
                    ctypes.c_uint64(cols))

    def result(self, problem):
        """The name of the result's dtype."""
        value = ctypes.c_int()
        self.call("redtune_problem_result", ctypes.byref(problem), ctypes.byref(value))
        return self.library.redtune_dtype_name(value).decode()

    def results(self, problem):
        """Those of all results, one or two."""
        values = (ctypes.c_int * 2)()
        self.call("redtune_problem_results", ctypes.byref(problem), values)
        return [self.library.redtune_dtype_name(value).decode() for value in values if value]

    def op_info(self, problem):
        info = OpInfo()
        self.call("redtune_op_get", problem.op, ctypes.byref(info))
        return info

    def device_info(self):
        info = DeviceInfo()
        self.library.redtune_device_get(self.handle, ctypes.byref(info))
        return info

    def prepare(self, problems):
        """Makes the kernels of all that can be, several at a time."""
        self.call("redtune_prepare", self.handle, (Problem * len(problems))(*problems),
                  ctypes.c_size_t(len(problems)))

    @contextlib.contextmanager
    def created(self, problem):
        """The address of a plan. What runs it queued must be done when the context ends."""
        plan = ctypes.c_void_p()
        self.call("redtune_plan_create", self.handle, ctypes.byref(problem), ctypes.byref(plan))
        try:
            yield plan.value
        finally:
            self.library.redtune_plan_destroy(plan)

    @contextlib.contextmanager
    def plan(self, problem, parameters=()):
        """A function of addresses on the GPU and a stream's handle, which queues the reduction:
        (in, out, stream), and the second input and the second result, of ops that have them. What
        it queued must be done when the context ends."""
        info = self.op_info(problem)
        is_plain = (info.inputs, info.outputs, info.parameters) == (1, 1, 0)
        with self.created(problem) as plan:
            if is_plain and not problem.kept_axes:
                yield self.whole(plan, problem)
            else:
                yield self.shaped(plan, problem, parameters)

    def whole(self, plan, problem):
        run, error = self.library.redtune_plan_reduce, Error()
        run.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint64, ctypes.c_void_p,
                        ctypes.c_void_p, ctypes.c_void_p]
        count, error_at = problem.reduced[0].size, ctypes.addressof(error)

        def reduce(d_in, d_out, stream):
            if run(plan, d_in, count, d_out, stream, error_at):
                raise Refused(error.message.decode())

        return reduce

    def operands(self, problem, parameters=()):
        """With the problem's extents; no parameters: the usual ones."""
        operands = self.library.redtune_problem_operands(ctypes.byref(problem))
        if parameters:
            values = (ctypes.c_double * len(parameters))(*parameters)
            operands.parameters = ctypes.addressof(values)
            operands.values = values  # lives as long
        return operands

    def shaped(self, plan, problem, parameters=()):
        run, error = self.library.redtune_plan_run, Error()
        run.argtypes = [ctypes.c_void_p] * 4
        operands = self.operands(problem, parameters)
        at, error_at = ctypes.addressof(operands), ctypes.addressof(error)

        def reduce(d_in, d_out, stream, d_second=None, d_out2=None):
            operands.d_in[0], operands.d_out[0] = d_in, d_out
            operands.d_in[1], operands.d_out[1] = d_second, d_out2
            if run(plan, at, stream, error_at):
                raise Refused(error.message.decode())

        return reduce

    def bind(self, plan, problem, d_in, d_out, stream):
        """A function without arguments that queues the reduction by the plan and returns its
        status: as little of it as can be is Python's. d_in, d_out: one address each, or two."""
        pointer, error = ctypes.c_void_p, ctypes.byref(Error())
        if problem.kept_axes or len(d_in) + len(d_out) > 2:
            operands = self.operands(problem)
            operands.d_in[:], operands.d_out[:] = [*d_in, None][:2], [*d_out, None][:2]
            return functools.partial(self.library["redtune_plan_run"], pointer(plan),
                                     ctypes.byref(operands), pointer(stream), error)
        return functools.partial(self.library["redtune_plan_reduce"], pointer(plan),
                                 pointer(d_in[0]), ctypes.c_uint64(problem.reduced[0].size),
                                 pointer(d_out[0]), pointer(stream), error)

    def close(self):
        self.library.redtune_close(self.handle)
