"""Team: ranks on a thread each, on simulated GPUs, with a stand-in for NCCL between them.

What PyTorch's process groups hand round is in gpu/team.py, which torchrun starts.
"""

import doctest
import os
import sys
import threading
import types
import unittest

import numpy
import sim_memory

import redtune

SIZE = 2


def on_ranks(call):
    """What call(rank) returns on a thread for each rank; raises what the first of them raised."""
    results, errors = [None] * SIZE, [None] * SIZE

    def run(rank):
        try:
            results[rank] = call(rank)
        except Exception as error:
            errors[rank] = error

    threads = [threading.Thread(target=run, args=(rank,)) for rank in range(SIZE)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for error in filter(None, errors):
        raise error
    return results


class Alone(unittest.TestCase):
    def test_docstrings_are_true(self):
        names = {"numpy": numpy, "redtune": redtune}
        runner = doctest.DocTestRunner()
        for name in ("make_id", "explain", "share", "reduce"):
            text = getattr(redtune.Team, name).__doc__
            runner.run(doctest.DocTestParser().get_doctest(text, dict(names), name, None, None))
        self.assertEqual(runner.summarize(verbose=False).failed, 0)

    def test_a_team_is_of_one_thread_at_a_time(self):
        team, x = redtune.Team(size=1), sim_memory.asarray(numpy.ones(3, "f4"))
        team.reduce(x)
        begun, told = threading.Event(), threading.Event()

        class Slow(sim_memory.Array):
            def __dlpack_device__(self):
                begun.set()
                told.wait()
                return super().__dlpack_device__()

        slow = Slow(x.shape, x.dtype, x.memory)
        thread = threading.Thread(target=team.reduce, args=(slow,))
        thread.start()
        begun.wait()
        for call in (team.close, lambda: team.reduce(x)):
            with self.assertRaisesRegex(RuntimeError, "another thread is in a call of it"):
                call()
        told.set()
        thread.join()
        team.close()

    def test_a_team_of_one_reduces_as_without_it(self):
        team = redtune.Team(size=1)
        x = numpy.array([[3, -1, 2], [5, 4, -2]], "f4")
        on_gpu = sim_memory.asarray(x)
        self.assertEqual(team.reduce(on_gpu).numpy(), 11)
        self.assertEqual(team.reduce(on_gpu, axis=1).numpy().tolist(), [4, 7])
        out = sim_memory.empty((2,), "f8")
        self.assertEqual(team.reduce(on_gpu, axis=1, out=out).numpy().tolist(), [4, 7])
        self.assertEqual(team.reduce(on_gpu, op="max", axis=0, keepdims=True).shape, (1, 3))
        found = team.reduce(on_gpu, op="max_at", first=10)
        self.assertEqual((found.max.numpy(), found.index.numpy()), (5, 13))
        team.close()

    def test_wrong_calls_say_what_to_do(self):
        team = redtune.Team(size=1)
        x = sim_memory.asarray(numpy.ones(4, "f4"))
        for call, kind, words in (
            (lambda: redtune.Team(rank=1), TypeError, "give a process group, or id, rank and size"),
            (lambda: redtune.Team(size=2, rank=2), ValueError, "ranks count from 0"),
            (lambda: redtune.Team(size=2, rank=0), ValueError, "id is NULL"),
            (lambda: redtune.Team(size=2, id=b"short"), TypeError, "Team.make_id"),
            (lambda: team.reduce(numpy.ones(3)), ValueError, "an array of the host by a team"),
            (lambda: team.reduce(x, op="argmin"), ValueError, "say where x begins"),
            (lambda: team.reduce(x, order="fixed"), ValueError, "say where x begins"),
            (lambda: team.reduce(x, op="nothing"), ValueError, "nothing"),
            (lambda: team.reduce(x, op="sum", p=2), TypeError, "no parameter p"),
            (lambda: team.reduce(x, each=True), TypeError, "of a redtune.List"),
        ):
            with self.assertRaisesRegex(kind, words):
                call()
        team.close()
        with self.assertRaisesRegex(RuntimeError, "it is closed"):
            team.reduce(x)
        team.close()

    def test_a_team_needs_a_process_group(self):
        class Distributed(types.ModuleType):
            is_initialized = staticmethod(lambda: False)

        own = {name: sys.modules.get(name) for name in ("torch", "torch.distributed")}
        sys.modules["torch.distributed"] = Distributed("torch.distributed")
        sys.modules.setdefault("torch", types.ModuleType("torch"))
        sys.modules["torch"].distributed = sys.modules["torch.distributed"]
        try:
            with self.assertRaisesRegex(RuntimeError, "init_process_group"):
                redtune.Team()
        finally:
            for name, module in own.items():
                sys.modules.pop(name)
                if module:
                    sys.modules[name] = module
            if own["torch"]:
                own["torch"].distributed = own["torch.distributed"]


@unittest.skipUnless(
    "rdt-nccl" in os.environ.get("REDTUNE_NCCL", "")
    and int(os.environ.get("REDTUNE_SIM_DEVICES", 1)) >= SIZE,
    "there is no stand-in for NCCL, or one simulated GPU",
)
class Several(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        id = redtune.Team.make_id()
        # Connecting times runs, in which a simulated GPU cannot wait for another.
        cls.teams = on_ranks(
            lambda rank: redtune.Team(id=id, rank=rank, size=SIZE, device=rank, connect=False)
        )

    @classmethod
    def tearDownClass(cls):
        on_ranks(lambda rank: cls.teams[rank].close())

    def reduce(self, parts, within=None, **arguments):
        """What all ranks get, on the host, once it is the same on all; within: the elements of a
        result that have one index of the outermost reduced axis, None: all of a part."""
        sizes = [part.size if within is None else within * len(part) for part in parts]
        first = numpy.cumsum([0] + sizes)
        where = arguments.pop("where", [None] * len(parts))
        arrays = [sim_memory.asarray(part, device=rank) for rank, part in enumerate(parts)]
        second = arguments.pop("y", [None] * len(parts))

        def call(rank):
            got = self.teams[rank].reduce(
                arrays[rank], second[rank], first=int(first[rank]), where=where[rank], **arguments
            )
            return tuple(part.numpy() for part in (got if isinstance(got, tuple) else (got,)))

        results = on_ranks(call)
        for other in results[1:]:
            for own, its in zip(results[0], other):
                self.assertEqual(own.tobytes(), its.tobytes())
        return results[0]

    def test_all_ranks_get_the_result_of_all_parts(self):
        rng = numpy.random.default_rng(1)
        for counts in ((300, 500), (0, 70), (1, 0)):
            parts = [rng.integers(-50, 50, count).astype("f4") for count in counts]
            whole = numpy.concatenate(parts)
            (total,) = self.reduce(parts)
            self.assertEqual(total, whole.sum())
            most, index = self.reduce(parts, op="max_at")
            self.assertEqual((most, index), (whole.max(), whole.argmax()))
            (mean,) = self.reduce(parts, op="mean")
            self.assertAlmostEqual(float(mean), float(whole.mean()), places=4)

    def test_columns_have_a_part_of_their_rows_on_each_rank(self):
        parts = [numpy.arange(12, dtype="i4").reshape(4, 3), numpy.ones((2, 3), "i4")]
        (sums,) = self.reduce(parts, axis=0)
        self.assertEqual(sums.tolist(), numpy.concatenate(parts).sum(0).tolist())

    def test_masks_leave_out_elements_of_any_part(self):
        """A mean divides by the elements that are there on all ranks, whoever has none."""
        rng = numpy.random.default_rng(3)
        whole = rng.integers(-50, 50, (300, 4)).astype("f4")
        for gone in ([], [0], [0, 1]):
            mask = rng.random(whole.shape) < 0.6
            parts, masks = [whole[:120], whole[120:]], [mask[:120], mask[120:]]
            for rank in gone:
                masks[rank][:] = False
            shown = [numpy.where(m, x, numpy.nan).astype("f4") for x, m in zip(parts, masks)]
            for bits in (False, True):
                given = [m if not bits else numpy.packbits(m, bitorder="little") for m in masks]
                given = [sim_memory.asarray(m, device=rank) for rank, m in enumerate(given)]
                where = [redtune.bits(m) for m in given] if bits else given
                for op, axis in (("sum", None), ("mean", None), ("mean", 0), ("var", 0)):
                    (got,) = self.reduce(shown, op=op, axis=axis, where=where)
                    want = getattr(numpy, op)(whole, axis=axis, where=mask)
                    numpy.testing.assert_allclose(got, want, 1e-4, 1e-4, err_msg=f"{op} {gone}")
                (at,) = self.reduce(shown, op="argmax", where=where)
                want = -1 if not mask.any() else numpy.where(mask, whole, -99).argmax()
                self.assertEqual(at, want)

    def test_masks_leave_out_pairs_of_any_part(self):
        rng = numpy.random.default_rng(5)
        x, y = rng.integers(-9, 9, (2, 50, 4)).astype("f4")
        mask = rng.random(x.shape) < 0.6
        shown = numpy.where(mask, x, numpy.nan)
        for cut, axis in ((20, None), (20, 0), (0, None)):
            parts = [[each[:cut], each[cut:]] for each in (shown, y, mask)]
            beside, where = (
                [sim_memory.asarray(part, device=rank) for rank, part in enumerate(each)]
                for each in parts[1:]
            )
            (got,) = self.reduce(parts[0], op="dot", y=beside, axis=axis, where=where)
            want = (x * y).sum(axis, where=mask)
            numpy.testing.assert_allclose(got, want, 1e-6, err_msg=f"{cut}, {axis}")

    def test_lists_take_masks_of_each_array(self):
        lists = [redtune.List([sim_memory.asarray(numpy.arange(3.0), device=r)]) for r in (0, 1)]
        masks = [sim_memory.asarray(numpy.array([r, 1, 1], bool), device=r) for r in (0, 1)]
        for got in on_ranks(
            lambda r: self.teams[r].reduce(lists[r], op="mean", each=True, where=[masks[r]])
        ):
            self.assertEqual(got.numpy().tolist(), [6 / 5])
        masks[0] = None  # and to one result of all
        for got in on_ranks(lambda r: self.teams[r].reduce(lists[r], op="mean", where=[masks[r]])):
            self.assertEqual(got.numpy(), 6 / 6)
        with self.assertRaisesRegex(TypeError, "where=True: all ranks give a mask"):
            self.teams[0].reduce(sim_memory.asarray(numpy.ones(3)), where=True)

    def test_any_axes_have_a_part_of_the_outermost_on_each_rank(self):
        rng = numpy.random.default_rng(3)
        parts = [rng.integers(-50, 50, (n, 4, 5)).astype("f4") for n in (3, 2)]
        whole = numpy.concatenate(parts)
        (sums,) = self.reduce(parts, axis=(0, 2))
        self.assertEqual(sums.tolist(), whole.sum((0, 2)).tolist())
        most, index = self.reduce(parts, within=5, op="max_at", axis=(0, 2))
        rows = whole.transpose(1, 0, 2).reshape(4, -1)
        self.assertEqual(most.tolist(), rows.max(1).tolist())
        self.assertEqual(index.tolist(), rows.argmax(1).tolist())

    def test_shares_in_fixed_order_have_the_bits_of_one_gpu(self):
        whole = numpy.random.default_rng(2).normal(size=3000).astype("f4")
        shares = [team.share(len(whole), order="fixed") for team in self.teams]
        self.assertEqual(sum(count for _, count in shares), len(whole))
        parts = [whole[first : first + count] for first, count in shares]
        (several,) = self.reduce(parts, order="fixed")
        one = redtune.sum(sim_memory.asarray(whole), order="fixed").numpy()
        self.assertEqual(several.tobytes(), one.tobytes())

    def test_lists_of_all_ranks_have_one_result_or_one_for_each_place(self):
        parts = [[[3.0, 4.0], [12.0]], [[84.0], [1.0, 2.0, 2.0]]]
        lists = [
            redtune.List([sim_memory.asarray(numpy.array(part, "f4"), device=rank) for part in own])
            for rank, own in enumerate(parts)
        ]
        (norm,) = {
            float(got.numpy())
            for got in on_ranks(lambda rank: self.teams[rank].reduce(lists[rank], op="norm2"))
        }
        self.assertAlmostEqual(norm, (85**2 + 9) ** 0.5, places=4)
        for got in on_ranks(lambda rank: self.teams[rank].reduce(lists[rank], each=True)):
            self.assertEqual(got.numpy().tolist(), [7 + 84, 12 + 5])
        with self.assertRaisesRegex(TypeError, "of a list with y, axis"):
            self.teams[0].reduce(lists[0], axis=0)

    def test_an_array_of_another_gpu_is_refused(self):
        with self.assertRaisesRegex(ValueError, "GPU 1, and the team's rank is on GPU 0"):
            self.teams[0].reduce(sim_memory.asarray(numpy.ones(3, "f4"), device=1))

    def test_ways_and_ranks_are_told(self):
        self.assertEqual([team.rank for team in self.teams], list(range(SIZE)))
        self.assertEqual({team.way for team in self.teams}, {"NCCL"})
        self.assertEqual(self.teams[0].explain()["nccl"], "2.28.0")

    def test_a_failed_communicator_is_raised(self):
        team = self.teams[0]
        team.check()
        team.wait(limit=5)
        os.environ["RDT_TEST_NCCL_STATE"] = "6"
        os.putenv("RDT_TEST_NCCL_STATE", "6")
        try:
            with self.assertRaisesRegex(redtune.Error, "remote process exited"):
                team.check()
        finally:
            del os.environ["RDT_TEST_NCCL_STATE"]


if __name__ == "__main__":
    unittest.main()
