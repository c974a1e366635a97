"""Torch scatter: PyTorch's index_add, scatter_add and scatter_reduce, run by redtune where they mean
the same. As test_torch_install, whose dispatch key it has.
"""

import itertools
import unittest

import redtune

from test_torch_install import COMPILER, DEVICE, GPU, KEY, outcome, torch, wait

ROWS, KEYS = 3200, 6


def inputs(dtype, width, seed):
    """out, keys and x; the last key has no elements."""
    numbers = torch.Generator().manual_seed(seed)
    draw = lambda *shape: (20 * torch.randn(*shape, generator=numbers)).to(dtype).to(DEVICE)
    keys = torch.randint(KEYS - 1, (ROWS,), generator=numbers).to(DEVICE)
    return draw(KEYS, *width), keys, draw(ROWS, *width)


def by_row(keys, x):
    """As many keys as x has elements, those of a row repeated."""
    return keys.view(-1, *[1] * (x.dim() - 1)).expand(x.shape)


@unittest.skipUnless(torch and COMPILER, "there is no PyTorch, or no C++ compiler")
class TorchScatter(unittest.TestCase):
    def setUp(self):
        redtune.configure(device="0" if GPU else "sim")

    def tearDown(self):
        redtune.torch.uninstall()

    def install(self, **keywords):
        redtune.torch.install(_key=KEY, at_least=0, **keywords)
        redtune.torch.report(reset=True)

    def served(self, call):
        """What the call answers with once its kernel is there, and its counts by op."""
        outcome(lambda _: call(), None)
        wait()
        redtune.torch.report(reset=True)
        return outcome(lambda _: call(), None), redtune.torch.report()

    def test_rows_and_elements_are_served(self):
        dtypes = torch.float32, torch.float64, torch.int64, torch.int32
        for dtype, width in itertools.product(dtypes, ((), (1,), (5,), (2, 3))):
            out, keys, x = inputs(dtype, width, 3)
            calls = [
                ("index_add", lambda: out.index_add(0, keys, x)),
                ("index_add", lambda: out.clone().index_add_(-out.dim(), keys.int(), x)),
                ("scatter_add", lambda: out.scatter_add(0, by_row(keys, x), x)),
                ("scatter_add", lambda: out.clone().scatter_add_(0, by_row(keys, x), x)),
            ]
            for kind, itself in itertools.product(("sum", "amax", "amin", "mean"), (True, False)):
                if kind == "mean" and not dtype.is_floating_point:
                    continue
                call = lambda kind=kind, itself=itself: out.scatter_reduce(
                    0, by_row(keys, x), x, kind, include_self=itself
                )
                calls.append(("scatter_reduce", call))
            want = [call() for _, call in calls]
            self.install()
            for (name, call), theirs in zip(calls, want):
                (got,), its = self.served(call)
                self.assertEqual(its[name], {"served": 1, "left": {}}, (name, dtype, width))
                torch.testing.assert_close(got, theirs, rtol=1e-4, atol=1e-3)
            redtune.torch.uninstall()

    def test_what_redtune_has_no_kernel_for_is_left_and_counted(self):
        out, keys, x = inputs(torch.float32, (5,), 4)
        long = x.long()
        every = torch.randint(KEYS, x.shape, device=DEVICE)
        form = "no axes, no elements, or no plain tensor"
        parameter = "order of a norm, correction, alpha or reduce"
        calls = (
            ("index_add", parameter, lambda: out.index_add(0, keys, x, alpha=2)),
            ("index_add", form, lambda: x[:5].index_add(1, keys[:5] % 5, x[:5])),
            ("index_add", form, lambda: x.T.contiguous().T.index_add(0, keys, x)),
            ("index_add", form, lambda: out.index_add(0, keys[:0], x[:0])),
            ("index_add", form, lambda: out.index_add(0, keys[::2], x[: ROWS // 2])),
            ("index_add", "dtypes", lambda: out.to(torch.int16).index_add(0, keys, x.to(torch.int16))),
            ("scatter_add", form, lambda: out.scatter_add(0, every, x)),
            ("scatter_add", form, lambda: out.scatter_add(0, every.T.contiguous().T, x)),
            ("scatter_add", form, lambda: out.scatter_add(1, every[:KEYS] % 5, x[:KEYS])),
            ("scatter_add", form, lambda: out.scatter_add(0, by_row(keys, x)[:, :3], x)),
            ("scatter_reduce", parameter, lambda: out.scatter_reduce(0, by_row(keys, x), x, "prod")),
            ("scatter_reduce", parameter,
             lambda: out.long().scatter_reduce(0, by_row(keys, long), long, "mean")),
        )  # fmt: skip
        want = [call() for _, _, call in calls]
        self.install()
        for (name, reason, call), theirs in zip(calls, want):
            (got,), its = self.served(call)
            self.assertEqual(its[name], {"served": 0, "left": {reason: 1}}, (name, reason))
            torch.testing.assert_close(got, theirs, rtol=1e-4, atol=1e-3)

    def test_fixed_order_gives_a_key_the_same_bits_among_others(self):
        redtune.configure(device="0" if GPU else "sim", order="fixed")
        self.install()
        out, keys, x = inputs(torch.float32, (3,), 5)
        for kind in ("sum", "mean"):
            among = out.scatter_reduce(0, by_row(keys, x), x, kind)[2]
            some = x[keys == 2]
            none = torch.zeros(len(some), dtype=torch.int64, device=DEVICE)
            alone = out[2:3].scatter_reduce(0, by_row(none, some), some, kind)[0]
            self.assertTrue(torch.equal(among, alone), kind)
        self.assertEqual(redtune.torch.report()["scatter_reduce"], {"served": 4, "left": {}})
        # Nor are PyTorch's additions counted, by which a mean's rows are.
        self.assertNotIn("scatter_add", redtune.torch.report())

    def test_gradients_are_pytorchs(self):
        out, keys, x = inputs(torch.float32, (4,), 6)

        def gradients():
            ours, its = (each.clone().requires_grad_() for each in (out, x))
            ours.index_add(0, keys, its).square().sum().backward()
            return ours.grad, its.grad

        want = gradients()
        self.install()
        got, its = self.served(gradients)
        self.assertEqual(its["index_add"]["left"], {})
        for mine, theirs in zip(got, want):
            torch.testing.assert_close(mine, theirs, rtol=1e-4, atol=1e-3)


if __name__ == "__main__":
    unittest.main()
