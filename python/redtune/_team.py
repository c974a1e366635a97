"""Team: one reduction over the parts of an array that several processes hold, each on its GPU."""

import sys

from . import _checks, _core
from ._functions import List, _accuracy, _number, _order, _take


def _from_torch(group):
    """The rank and the size of a process group of torch.distributed, and what hands on an id."""
    import torch.distributed as distributed

    if not distributed.is_initialized():
        raise RuntimeError(
            "cannot make a team of a process group: call torch.distributed.init_process_group "
            "first, or give id, rank and size"
        )
    first = distributed.get_global_rank(group, 0) if group is not None else 0

    def hand_on(value):
        values = [value]
        distributed.broadcast_object_list(values, src=first, group=group)
        return values[0]

    return distributed.get_rank(group), distributed.get_world_size(group), hand_on


def _shared_id(rank, hand_on):
    """The id that rank 0 makes; where that fails, on all ranks."""
    made = None
    if rank == 0:
        try:
            made = _core.team_id()
        except Exception as error:
            made = str(error)
    made = hand_on(made)
    if isinstance(made, str):
        raise _core.Error(made)
    return made


def _current_device():
    torch = sys.modules.get("torch")
    return torch.cuda.current_device() if torch and torch.cuda.is_available() else 0


def _is_captured():
    torch = sys.modules.get("torch")
    return bool(torch and torch.cuda.is_available() and torch.cuda.is_current_stream_capturing())


class Team:
    """A rank of a team: processes with a GPU each, whose arrays are parts of one.

    group: a process group of torch.distributed, of any backend; None: its default one. All its
    ranks make the team, whose NCCL communicator is its own: the group hands round the id of it.
    id, rank, size: without torch.distributed, what Team.make_id gave on one rank, which hands it to
    the others in its own way, such as mpi4py's bcast; this rank's number, and how many there are.
    device: the number of this rank's GPU; None: torch's current one, else 0.
    wait: seconds that a run waits for other ranks where messages go through peer memory.
    results: the most results of a run that go by messages; None: 4096. More are NCCL's to reduce,
        where the op is one of its own (docs/teams.md).
    connect: ranks of one host send through each other's memory where that is measured to be faster.

    Making it waits for all ranks. Runs of a team count among the collective calls of the process:
    all ranks make the same ones in the same sequence, and on one stream they follow one another.
    One thread at a time runs a team, and closes it when none does.
    Raises redtune.Error where NCCL is not found or refuses, RuntimeError without a process group.

    >>> team = redtune.Team(size=1)                 # a team of one needs no NCCL
    >>> team.rank, team.size, team.way
    (0, 1, 'alone')
    >>> team.close()

    In a program that torchrun starts, with a part of a great array on each GPU:

    >>> torch.distributed.init_process_group("nccl")     # doctest: +SKIP
    >>> team = redtune.Team()                            # doctest: +SKIP
    >>> norm = team.reduce(part, op="norm2")             # doctest: +SKIP
    >>> first, count = team.share(10**9)                 # doctest: +SKIP
    >>> place = team.reduce(part, op="argmax", first=first)  # doctest: +SKIP
    """

    def __init__(
        self, group=None, *, id=None, rank=None, size=None, device=None, wait=30.0, results=None,
        connect=True,
    ):  # fmt: skip
        if group is None and size is not None:
            rank = rank or 0
        elif id is not None or rank is not None or size is not None:
            raise TypeError("cannot make a team: give a process group, or id, rank and size")
        else:
            rank, size, hand_on = _from_torch(group)
            id = _shared_id(rank, hand_on) if size > 1 else None
        device = _current_device() if device is None else device
        device, rank, size = (
            _checks.whole(value, name, 2**31 - 1)
            for value, name in ((device, "device"), (rank, "rank"), (size, "size"))
        )
        results = 0 if results is None else _checks.whole(results, "results")
        wait = _checks.seconds(wait, "wait")
        self._own = _core.make_team(device, id, size, rank, wait, results)
        self.rank, self.size, self.device = rank, size, device
        if connect and size > 1:
            self._own.connect()

    @staticmethod
    def make_id():
        """The 128 bytes that the ranks of a team must have in common; one rank makes them.

        >>> id = redtune.Team.make_id()              # doctest: +SKIP
        """
        return _core.team_id()

    @property
    def way(self):
        """How messages of one result go: "peer memory", "NCCL", or "alone" in a team of one."""
        _, _, _, by_peers, _, _ = self._own.info()
        return "alone" if self.size == 1 else "peer memory" if by_peers else "NCCL"

    def explain(self):
        """What was measured of both ways: a dict with way, nccl, nccl_us and peers_us.

        The times are of a run on a stream, and None where there is none: a team of one, or GPUs
        that do not reach each other's memory.

        >>> redtune.Team(size=1).explain()
        {'way': 'alone', 'nccl': None, 'nccl_us': None, 'peers_us': None}
        """
        _, _, version, _, nccl_ns, peers_ns = self._own.info()
        major, rest = divmod(version, 10000)
        return {
            "way": self.way,
            "nccl": f"{major}.{rest // 100}.{rest % 100}" if version else None,
            "nccl_us": nccl_ns / 1e3 or None,
            "peers_us": peers_ns / 1e3 or None,
        }

    def share(self, count, *, op="sum", dtype="f32", order=None):
        """Where this rank's part of `count` elements begins, and how many it has: even shares.

        Parts are whole chunks of 4 KiB; in fixed order a power of two of them, so that some ranks
        may have none.

        >>> redtune.Team(size=1).share(1000)
        (0, 1000)
        """
        number, _, _ = _take(op, {})
        count = _checks.whole(count, "count")
        return self._own.share(count, number, _number(dtype), _order(order))

    def reduce(
        self, x, y=None, *, op="sum", axis=None, keepdims=False, out=None, dtype=None, order=None,
        accuracy=None, stream=None, first=None, each=False, where=None, **parameters,
    ):  # fmt: skip
        """Reduces the parts of all ranks to one result, which each rank gets, with the same bits.

        x, and y for ops of two inputs: this rank's part, on its GPU; parts may have any length
        along the reduced axes, also none. first: where the part begins in the whole, in elements
        of a result, row-major along the reduced axes: needed for argmin and the like, which count from there, and in fixed order, where parts are
        those of share. where: a mask of this rank's part; all ranks give one, or none does. x may
        be a redtune.List, such as of this rank's part of all gradients; with each all ranks list as
        many arrays, and there is a result for each place. The other arguments, and what is raised,
        are as for redtune.reduce.

        Asynchronous, on the library's current stream. It may be captured once it has run.

        >>> team.reduce(gpu_array, op="max_at", first=0).index   # doctest: +SKIP
        """
        number, values, kind = _take(op, parameters)
        order = _order(order)
        if where is True:
            raise TypeError(
                f"cannot compute {op} by a team with where=True: all ranks give a mask, or none "
                "does; give an array of bools"
            )
        _, _, _, outputs, _ = _core.op_facts(number)
        fixed = order == _order("fixed")
        if first is None and (fixed or op.startswith("arg") or "index" in outputs):
            raise ValueError(
                f"cannot compute {op} by a team without first: say where x begins in the whole"
            )
        first = 0 if first is None else _checks.whole(first, "first")
        if isinstance(x, List):
            if y is not None or axis is not None or keepdims or fixed:
                raise TypeError(f"cannot compute {op} of a list with y, axis, keepdims or order")
            found = self._own.reduce_list(
                x._own, number, bool(each), out, _number(dtype), order, _accuracy(accuracy), stream,
                values, where, first, not _is_captured(),
            )  # fmt: skip
            return kind(*found) if kind else found
        if each:
            raise TypeError("cannot take each: it is of a redtune.List")
        found = self._own.reduce(
            number, x, y, axis, bool(keepdims), out, _number(dtype), order, _accuracy(accuracy),
            stream, values, where, first, not _is_captured(),
        )  # fmt: skip
        return kind(*found) if kind else found

    def check(self):
        """Raises redtune.Error if another rank has failed since; waits for nothing."""
        self._own.check()

    def wait(self, stream=0, limit=0.0):
        """Waits for the stream, as reduce takes it, and raises redtune.Error where a rank is lost.

        limit: seconds, after which it counts as lost, too; 0: none. Between GPUs of one host the
        end of a process shows by the limit alone.
        """
        self._own.wait(stream, _checks.seconds(limit, "limit"))

    def close(self):
        """Ends the team, on all ranks; no run may be under way, except after a rank was lost."""
        self._own.close()
