"""Torch install: PyTorch's own calls, run by redtune where they mean the same.

The dispatch key is the CPU's, whose tensors go to the simulated GPU in pieces; CUDA's where there
is a GPU. Skipped without PyTorch, or without a C++ compiler for the shim.
"""

import os
import random
import shutil
import time
import unittest
import unittest.mock
import warnings

import redtune

try:
    import torch
except ImportError:
    torch = None

SIMULATED = "sim" in os.environ.get("REDTUNE_CUDA_DRIVER", "")
GPU = torch is not None and torch.cuda.is_available() and not SIMULATED
DEVICE, KEY = ("cuda", "CUDA") if GPU else ("cpu", "CPU")
COMPILER = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
OPINFO_SAMPLES = int(os.environ.get("REDTUNE_TEST_OPINFO", "40"))
OPINFO = """sum mean nansum nanmean amax amin max min argmax argmin var std var_mean std_mean norm
    linalg.vector_norm logsumexp any all count_nonzero index_add scatter_add
    scatter_reduce""".split()

# A name of report()'s, what PyTorch is asked for, and whether redtune serves it of f32.
CALLS = (
    ("sum", lambda x: x.sum(), True),
    ("sum", lambda x: x.sum(0), True),
    ("sum", lambda x: x.sum((0, -1), keepdim=True), True),
    ("sum", lambda x: x.sum(1, dtype=torch.float64), False),
    ("mean", lambda x: x.mean(1), True),
    ("nansum", lambda x: x.nansum(1), True),
    ("amax", lambda x: x.amax(), True),
    ("amin", lambda x: x.amin(-1, keepdim=True), True),
    ("max", lambda x: x.max(), True),
    ("max", lambda x: x.max(1), True),
    ("min", lambda x: x.min(0), True),
    ("argmax", lambda x: x.argmax(), True),
    ("argmin", lambda x: x.argmin(1, keepdim=True), True),
    ("var", lambda x: x.var(1), True),
    ("var", lambda x: x.var(1, correction=40), False),
    ("std", lambda x: x.std(0, correction=0), True),
    ("var_mean", lambda x: torch.var_mean(x, 1), True),
    ("norm", lambda x: x.norm(), True),
    ("norm", lambda x: torch.linalg.vector_norm(x, 1, dim=1), True),
    ("norm", lambda x: torch.linalg.vector_norm(x, -float("inf"), dim=1), True),
    ("norm", lambda x: torch.linalg.vector_norm(x, 3, dim=1), False),
    ("logsumexp", lambda x: x.logsumexp(1), True),
    ("any", lambda x: x.any(), True),
    ("all", lambda x: x.all(1), True),
    ("count_nonzero", lambda x: x.count_nonzero(), True),
    ("sum", lambda x: x.float()[:8, :24].reshape(4, 8, 6).sum((0, 2)), True),
    ("sum", lambda x: x.float()[::2, ::2].sum(), True),
    ("sum", lambda x: x.float()[:, ::2].sum(0), True),
    ("amax", lambda x: x.float()[:1].expand(30, 40).amax(0), True),
    # What redtune leaves to PyTorch.
    ("sum", lambda x: x[:0].sum(0), False),
    ("amax", lambda x: x[:0].amax(1), False),
    ("sum", lambda x: x.sum((0, 0)), False),
    ("sum", lambda x: x.sum(2), False),
    ("sum", lambda x: x[0, 0].sum(), False),
    ("amax", lambda x: x.float()[:1, :1].expand(30, 40).amax(0), False),
)


def outcome(call, x):
    """The results, or the type of the error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = call(x)
        except (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError) as error:
            return type(error)
    return found if isinstance(found, tuple) else (found,)


def dispatcher():
    return [torch._C._dispatch_dump(f"aten::{op}") for op in redtune._core.torch_ops]


def wait():
    while redtune.torch.report().pending:
        time.sleep(0.01)


def random_matrix(rows=12, columns=40, seed=3):
    numbers = torch.Generator().manual_seed(seed)
    return torch.randn(rows, columns, generator=numbers, dtype=torch.float64).to(DEVICE)


@unittest.skipUnless(torch and COMPILER, "there is no PyTorch, or no C++ compiler")
class TorchInstall(unittest.TestCase):
    def setUp(self):
        redtune.configure(device="0" if GPU else "sim")

    def tearDown(self):
        redtune.torch.uninstall()
        torch.use_deterministic_algorithms(False)

    def install(self, **keywords):
        installed = redtune.torch.install(_key=KEY, **keywords)
        redtune.torch.report(reset=True)
        return installed

    def check(self, got, want, label):
        if isinstance(want, type) or isinstance(got, type):
            return self.assertIs(got, want, label)
        for mine, theirs in zip(got, want):
            self.assertEqual((mine.dtype, mine.shape), (theirs.dtype, theirs.shape), label)
            self.assertEqual(mine.stride(), theirs.stride(), label)
            with self.subTest(label):
                torch.testing.assert_close(mine, theirs, equal_nan=True)

    def test_calls_are_served_once_their_kernels_are_there(self):
        names = "float32", "float16", "bfloat16", "float64", "int32", "bool"
        tensors = [(10 * random_matrix()).to(getattr(torch, name)) for name in names]
        before = [[outcome(call, x) for _, call, _ in CALLS] for x in tensors]
        self.install()
        for x in tensors:
            for _, call, _ in CALLS:
                outcome(call, x)
        wait()
        for x, all_wanted in zip(tensors, before):
            for (name, call, is_served), want in zip(CALLS, all_wanted):
                redtune.torch.report(reset=True)
                self.check(outcome(call, x), want, (name, x.dtype, want))
                its = redtune.torch.report()[name]
                if x.dtype == torch.float32:
                    self.assertEqual(its["served"] > 0, is_served, (name, its, want))

    def test_the_first_call_is_pytorchs_and_waits_for_nothing(self):
        x = random_matrix(7, 129).float()
        want = x.logsumexp(1)
        self.install(ops="logsumexp")
        self.assertTrue(torch.equal(x.logsumexp(1), want))
        its = redtune.torch.report()
        left = {"its kernel was being made": 1}
        self.assertEqual(its, {"logsumexp": {"served": 0, "left": left}})
        self.assertIn("logsumexp", str(its))

    def test_the_ops_that_a_left_call_is_made_of_are_not_asked_for(self):
        x = random_matrix(7, 129).float()
        self.install(at_least=2**40)
        x.logsumexp(1)
        self.assertEqual(list(redtune.torch.report()), ["logsumexp"])

    def test_the_dispatcher_is_as_before_and_nobody_is_warned(self):
        before = dispatcher()
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with self.install():
                self.assertNotEqual(dispatcher(), before)
                with self.assertRaisesRegex(RuntimeError, "uninstall"):
                    redtune.torch.install(_key=KEY)
        self.assertEqual(dispatcher(), before)
        self.install(ops=["sum"])
        redtune.torch.uninstall()
        redtune.torch.uninstall()
        self.assertEqual(dispatcher(), before)

    def test_what_cannot_be_installed_is_refused_by_name(self):
        for keywords, words in (
            ({"ops": ["sum", "median"]}, "cannot install 'median': give some of sum"),
            ({"at_least": -1}, "at_least=-1"),
            ({"at_least": {"sum": 1.5}}, "cannot install sum with at_least=1.5"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                self.install(**keywords)

    def test_small_tensors_are_left_from_at_least_on(self):
        self.install(ops=["sum", "amax"], at_least={"sum": 4 * 480, "amax": 4 * 480 + 1})
        torch.use_deterministic_algorithms(True)
        x = random_matrix().float()
        x.sum(), x.amax()
        its = redtune.torch.report()
        self.assertEqual(its["sum"], {"served": 1, "left": {}})
        self.assertEqual(its["amax"], {"served": 0, "left": {"smaller than at_least": 1}})

    def test_what_pytorch_is_as_fast_at_is_left(self):
        x = torch.linspace(1, 2, 2**16, device=DEVICE)
        self.install(ops=["sum", "mean", "norm"])
        torch.use_deterministic_algorithms(True)
        x.mean(), x.norm(), x.sum(), x.view(256, 256).mean(1), x[: 2**15].mean(), x.half().norm()
        slower = {"PyTorch's was measured to be as fast": 1}
        self.assertEqual(
            redtune.torch.report(),
            {
                "sum": {"served": 1, "left": {}},
                "mean": {"served": 2, "left": slower},
                "norm": {"served": 1, "left": slower},
            },
        )

    def test_what_was_saved_is_measured(self):
        x = random_matrix().float()
        with self.install(ops=["sum", "max", "norm"]):
            torch.use_deterministic_algorithms(True)
            calls = [lambda: x.sum(1), lambda: x.sum(0), lambda: x.max(), lambda: x.half().max(1)]
            for call in (*calls, *calls):
                call()
            its = redtune.torch.report(saved=True)
            self.assertEqual(its.kinds, 4)
            served = {name: each["served"] for name, each in its.items()}
            self.assertEqual(served, {"sum": 4, "max": 4})
            self.assertNotEqual(its["sum"]["saved_ms"], 0)
            self.assertRegex(str(its), r"saved ms(.|\n)*saved .* ms, from the times of 4 kinds")
            self.assertEqual(redtune.torch.report(reset=True)["sum"], {"served": 4, "left": {}})
        with self.assertRaisesRegex(RuntimeError, "ask before uninstall"):
            redtune.torch.report(saved=True)

    def test_thresholds_may_be_measured(self):
        times = lambda shim, device, kinds: {each: (1.0, 1.0 + (each[1][3] < 20)) for each in kinds}
        with unittest.mock.patch("redtune._torch_measure.race", times):
            self.install(ops=["sum", "amax"], at_least="measured")
        torch.use_deterministic_algorithms(True)
        x = torch.ones(2**18, device=DEVICE)
        x[1:].sum(), x.sum()
        its = redtune.torch.report()["sum"]
        self.assertEqual(its, {"served": 1, "left": {"smaller than at_least": 1}})

    def test_deterministic_mode_has_one_kernel_from_the_first_call_on(self):
        x = random_matrix(9, 257).float()
        self.install(ops="sum")
        torch.use_deterministic_algorithms(True)
        first = x.sum(1)
        wait()
        self.assertTrue(torch.equal(x.sum(1), first))
        self.assertEqual(redtune.torch.report()["sum"], {"served": 2, "left": {}})

    def test_forms_with_out_are_served_where_it_fits(self):
        x = random_matrix().float()
        like = lambda dtype, *shape: torch.full(shape, 7, dtype=dtype, device=DEVICE)
        real, long, bools = torch.float32, torch.int64, torch.bool
        # Resized, with gaps, overlapping, of another dtype.
        others = (lambda y: like(real, 5), lambda y: like(real, 12, 2)[:, 0], lambda y: y[:, 0],
                  lambda y: like(long, 12))  # fmt: skip
        into = lambda out: outcome(lambda y: torch.amax(y, 1, out=out(y)), x.clone())
        theirs = [into(out) for out in others]
        self.install()
        torch.use_deterministic_algorithms(True)
        fits = (
            ("sum", lambda o: torch.sum(x, 1, out=o), like(real, 12), x.sum(1)),
            ("mean", lambda o: torch.mean(x, 1, True, out=o), like(real, 12, 1), x.mean(1, True)),
            ("nansum", lambda o: torch.nansum(x, 0, out=o), like(real, 40), x.nansum(0)),
            ("amax", lambda o: torch.amax(x, 0, out=o), like(real, 40), x.amax(0)),
            ("argmin", lambda o: torch.argmin(x, 1, out=o), like(long, 12), x.argmin(1)),
            ("std", lambda o: torch.std(x, 1, out=o), like(real, 12), x.std(1)),
            ("norm", lambda o: torch.linalg.vector_norm(x, out=o), like(real), x.norm()),
            ("logsumexp", lambda o: torch.logsumexp(x, 1, out=o), like(real, 12), x.logsumexp(1)),
            ("any", lambda o: torch.any(x, 1, out=o), like(bools, 12), x.any(1)),
            ("all", lambda o: torch.all(x, out=o), like(bools), x.all()),
        )
        for name, call, out, want in fits:
            redtune.torch.report(reset=True)
            self.assertIs(call(out), out, name)
            self.assertEqual(redtune.torch.report(), {name: {"served": 1, "left": {}}})
            torch.testing.assert_close(out, want)
        wide = like(torch.float64, 12)  # which is then the dtype of the sum
        torch.testing.assert_close(torch.sum(x, 1, out=wide), x.double().sum(1))
        for number, out in enumerate(others):
            self.check(into(out), theirs[number], number)

    def test_fixed_order_gives_a_row_the_same_bits_in_each_batch(self):
        redtune.configure(device="0" if GPU else "sim", order="fixed")
        self.install(at_least=2**20)  # which a batch must not decide by
        x = random_matrix(32, 1000).float()
        for call in (
            lambda x: x.sum(1), lambda x: x.mean(1), lambda x: x.norm(dim=1),
            lambda x: x.logsumexp(1), lambda x: x.var(1),
        ):  # fmt: skip
            alone = call(x[:1])
            for rows in (2, 7, 32):
                self.assertTrue(torch.equal(call(x[:rows])[:1], alone))
        served = redtune.torch.report()
        for name in ("sum", "mean", "norm", "logsumexp", "var"):  # torch.equal asks for all, too
            self.assertEqual(served[name]["left"], {})

    def test_gradients_vmap_and_views_are_pytorchs(self):
        x = random_matrix().float()
        conjugate = torch.complex(x, x).conj().imag  # negated by a bit

        def gradient(x):
            x = x.clone().requires_grad_()
            (x.norm() + x.var(1).sum() + x.logsumexp(0).mean() + x.max(1).values.sum()).backward()
            return x.grad

        def vmapped(x):
            return torch.vmap(lambda row: row.sum() + row.amax())(x)

        flat = torch.cat([random_matrix(1, 1003)[0].float() for _ in range(3)])

        def flattened(x):
            """Parameters are slices of one, as FSDP's are, at any element."""
            whole = flat.clone().requires_grad_()
            one, other = whole[7:487].view(12, 40), whole[487:].split((1, 1001, 1520))[1]
            (one.norm(dim=1).sum() + one.var(0).sum() + other.norm() * other.amax()).backward()
            return whole.grad, torch.linalg.vector_norm(whole.grad[3:]), whole.grad[5:485].sum()

        calls = (gradient, vmapped, flattened, lambda x: x.T.sum(1), lambda x: x[:, 3:].mean(1),
                 lambda x: x.expand(3, 12, 40).sum(0), lambda x: conjugate.sum())  # fmt: skip
        want = [call(x) for call in calls]
        self.install()
        torch.use_deterministic_algorithms(True)
        for i, call in enumerate(calls):
            torch.testing.assert_close(call(x), want[i])
        self.assertGreater(redtune.torch.report()["norm"]["served"], 0)

    def test_pytorchs_own_samples_have_the_same_results(self):
        try:
            from torch.testing._internal.common_methods_invocations import op_db
        except ImportError as error:
            self.skipTest(str(error))
        samples = []
        for info in op_db:
            for dtype in (torch.float32, torch.float16, torch.int64, torch.bool):
                if info.name not in OPINFO or dtype not in info.supported_dtypes(DEVICE):
                    continue
                torch.manual_seed(5)
                of = info.sample_inputs(DEVICE, dtype, requires_grad=False)
                samples += [(info, each) for each in of]
        random.Random(7).shuffle(samples)
        torch.use_deterministic_algorithms(True, warn_only=True)  # served from the first call on
        for info, sample in samples[:OPINFO_SAMPLES]:

            def call(x):
                return info.op(x, *sample.args, **sample.kwargs)

            want = outcome(call, sample.input)
            with redtune.torch.install(_key=KEY):
                got = outcome(call, sample.input)
            self.check(got, want, (info.name, sample))


if __name__ == "__main__":
    unittest.main()
