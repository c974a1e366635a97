"""Host_plan: a plan of arrays of the host, which go to the GPU in pieces at each run."""


def _layout(x):
    strides = getattr(x, "strides", None)
    if strides is None:
        strides = getattr(x, "stride", ())
    return tuple(x.shape), tuple(strides() if callable(strides) else strides), str(x.dtype)


def _mask(where):
    return None if where is True else where


class HostPlan:
    """What redtune.plan makes of arrays of the host: run() and calls, as redtune.Plan has them.

    config is None: each piece has its own; match is "host". Its kernels are compiled here.
    """

    config, match = None, "host"

    def __init__(self, reduce, x, y, out, where):
        self._reduce, self._x, self._y = reduce, x, y
        self._where = _mask(where)
        self._like = _layout(x), None if y is None else _layout(y)
        self._reduce(x, y, out=out, where=where)
        self._given = out

    def __repr__(self):
        (shape, _, dtype), _ = self._like
        return f"<redtune plan of {dtype} {shape} on the host>"

    def run(self):
        """Reduces the same arrays again."""
        return self(self._x, self._y, self._given, where=self._where)

    def __call__(self, x, y=None, out=None, stream=None, where=None):
        """Reduces other arrays of the same shape, strides and dtype, with a mask if the plan has
        one."""
        where = _mask(where)
        if (where is None) != (self._where is None):
            raise TypeError(
                "cannot run the plan without where: it was made with a mask; give one, or make a "
                "plan without"
                if where is None
                else "cannot run the plan with where: it was made with none; make a plan for a mask"
            )
        if (_layout(x), None if y is None else _layout(y)) != self._like:
            raise ValueError(
                f"cannot run the plan on x of {x.dtype} {tuple(x.shape)}: its shape, strides or "
                "dtype is another than the plan's; make a plan for it"
            )
        return self._reduce(x, y, out=out, stream=stream, where=where)
