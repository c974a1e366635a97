"""Torch: tensors, and the ops that PyTorch differentiates and compiles.

They are on the host, and go to the simulated GPU in pieces; on a GPU where there is one.
"""

import doctest
import os
import random
import threading
import unittest

import redtune

try:
    import torch
except ImportError:
    torch = None

SIMULATED = "sim" in os.environ.get("REDTUNE_CUDA_DRIVER", "")
GPU = torch is not None and torch.cuda.is_available() and not SIMULATED
DEVICE = "cuda" if GPU else "cpu"
DIMS = (None, 0, 1, -1, (0, 1), (1, 2), (0, 1, 2))


@unittest.skipUnless(torch, "there is no PyTorch")
class Torch(unittest.TestCase):
    def tensor(self, *shape, seed=1, **keywords):
        numbers = torch.Generator().manual_seed(seed)
        x = torch.randn(*shape, generator=numbers, dtype=torch.float64)
        return x.to(DEVICE).requires_grad_(keywords.pop("requires_grad", False))

    def test_pytorchs_own_samples_have_its_results(self):
        """A few of those that torch_samples.py counts: none is refused."""
        try:
            import torch_samples
        except ImportError as error:  # expecttest
            self.skipTest(str(error))
        every = list(torch_samples.samples())
        random.Random(11).shuffle(every)
        _, reasons = torch_samples.run(every[: int(os.environ.get("REDTUNE_TEST_OPINFO", 60))])
        self.assertFalse(list(reasons))

    def test_results_are_torchs_on_the_same_device(self):
        for dtype in (torch.float16, torch.bfloat16, torch.float32, torch.float64, torch.int32):
            x = torch.arange(12, device=DEVICE).reshape(3, 4).to(dtype)
            for dim in (None, 0, 1):
                got = redtune.sum(x, dim)
                want = x.double().sum(dim) if dim is not None else x.double().sum()
                self.assertEqual(got.device.type, DEVICE)
                self.assertTrue(torch.equal(got.double(), want), (dtype, dim))
        for name in ("sum", "prod", "count_nonzero", "amax", "argmin"):  # of bytes int64, too
            bytes_ = torch.tensor([200, 100, 7], dtype=torch.uint8, device=DEVICE)
            got, want = getattr(redtune, name)(bytes_), getattr(torch, name)(bytes_)
            self.assertEqual((got.dtype, int(got)), (want.dtype, int(want)), name)
        from torch._subclasses.fake_tensor import FakeTensorMode

        with FakeTensorMode():
            got = redtune.torch.sum(torch.empty(3, dtype=torch.uint8))
        self.assertEqual(got.dtype, torch.int64)
        self.assertEqual(redtune.sum(x.to(torch.bfloat16)).dtype, torch.float32)
        self.assertEqual(
            redtune.sum(x.to(torch.bfloat16), dtype=torch.bfloat16).dtype, torch.bfloat16
        )
        self.assertEqual(redtune.any(x, 0).dtype, torch.bool)
        self.assertEqual(redtune.max_at(x, 0).index.dtype, torch.int64)

    def test_a_tensor_that_requires_gradients_is_refused(self):
        x = self.tensor(3, requires_grad=True)
        with self.assertRaisesRegex(RuntimeError, r"redtune\.torch"):
            redtune.sum(x)
        with torch.no_grad():
            self.assertTrue(torch.allclose(redtune.sum(x), x.sum()))

    def test_what_has_no_elements_in_memory_is_refused(self):
        ones = torch.ones(3, device=DEVICE)
        conjugate = torch.tensor([1 + 2j, 3 + 4j], device=DEVICE).conj().imag
        for tensor, kind, words in (
            (ones.to_sparse(), TypeError, "make it dense"),
            (ones.to("meta"), TypeError, "make it dense"),
            (conjugate, ValueError, "resolve_neg"),
            (conjugate[:1], ValueError, "resolve_neg"),
        ):
            with self.assertRaisesRegex(kind, words):
                redtune.sum(tensor)
        self.assertEqual(redtune.sum(conjugate.resolve_neg()), -6)

    def test_gradients_are_right(self):
        functions = redtune.torch
        for shape, dims in (((2, 3, 4), DIMS), ((5,), (None, 0))):
            for dim in dims:
                for keepdim in (False, True):
                    x = self.tensor(*shape, requires_grad=True)
                    y = self.tensor(*shape, seed=2, requires_grad=True)
                    for name in ("sum", "mean", "norm2", "var", "max", "min"):
                        call = getattr(functions, name)
                        with self.subTest(name=name, dim=dim, keepdim=keepdim):
                            self.assertTrue(
                                torch.autograd.gradcheck(lambda x: call(x, dim, keepdim), x)
                            )
                    with self.subTest(name="dot", dim=dim, keepdim=keepdim):
                        self.assertTrue(
                            torch.autograd.gradcheck(
                                lambda x, y: functions.dot(x, y, dim, keepdim), (x, y)
                            )
                        )

    def test_second_gradients_are_right(self):
        x = self.tensor(2, 3, requires_grad=True)
        for name in ("mean", "norm2", "var"):
            call = getattr(redtune.torch, name)
            self.assertTrue(torch.autograd.gradgradcheck(lambda x: call(x, 1), x), name)

    def test_results_are_torchs(self):
        x = self.tensor(2, 3, 4)
        for dim in (0, 2, (0, 1)):
            self.assertTrue(torch.allclose(redtune.torch.var(x, dim), x.var(dim)))
            self.assertTrue(torch.equal(redtune.torch.max(x, dim), x.amax(dim)))

    def test_what_is_no_tensor_is_told_so(self):
        for call in (redtune.torch.sum, redtune.torch.max, lambda x: redtune.torch.dot(x, x)):
            with self.assertRaisesRegex(TypeError, "list: it is no tensor of PyTorch's"):
                call([1.0])

    def test_half_precision_has_gradients_of_its_own(self):
        x = self.tensor(4, 8).to(torch.bfloat16).requires_grad_()
        redtune.torch.mean(x, 1).sum().backward()
        self.assertEqual(x.grad.dtype, torch.bfloat16)
        self.assertTrue(torch.all(x.grad == 1 / 8))

    def test_autocast_has_nothing_to_convert(self):
        x = self.tensor(4, 8).to(torch.bfloat16)
        with torch.autocast(DEVICE, dtype=torch.bfloat16):
            self.assertEqual(redtune.torch.sum(x.requires_grad_(), 1).dtype, torch.float32)

    def test_ops_pass_torchs_own_checks(self):
        x = self.tensor(3, 4, requires_grad=True)
        checks = ("test_schema", "test_autograd_registration", "test_faketensor")
        for op, more in (("sum", ()), ("max_at", ()), ("var", (1.0,))):
            torch.library.opcheck(
                getattr(torch.ops.redtune, op), (x, [1], False, *more), test_utils=checks
            )
        torch.library.opcheck(torch.ops.redtune.dot, (x, x, None, False), test_utils=checks)

    def test_a_compiled_function_calls_the_op(self):
        x = self.tensor(3, 4, requires_grad=True)
        compiled = torch.compile(
            lambda x: redtune.torch.sum(x * 2, 1) + 1, backend="aot_eager", fullgraph=True
        )
        compiled(x).sum().backward()
        self.assertTrue(torch.equal(x.grad, torch.full_like(x, 2)))

    def test_gradients_by_key_are_gathered(self):
        keys = torch.tensor([2, 0, -1, 2, 5, 2, 0, 7], device=DEVICE)
        for shape in ((8,), (8, 3), (8, 2, 2)):
            x = self.tensor(*shape, requires_grad=True)
            for op in ("sum", "mean", "max", "amin"):
                for kind in (torch.int64, torch.int32, torch.int8):
                    by = keys.to(kind)
                    call = lambda x: redtune.torch.by_key(x, by, 6, op)[[0, 2, 5]]
                    self.assertTrue(torch.autograd.gradcheck(call, x), (op, shape, kind))
            means = lambda x: redtune.torch.by_key(x**2, keys, 6, "mean")[[0, 2]]
            self.assertTrue(torch.autograd.gradgradcheck(means, x))
        x = torch.tensor([3.0, 3, 1], device=DEVICE).to(torch.bfloat16).requires_grad_()
        redtune.torch.by_key(x, torch.zeros_like(keys[:3]), op="max").sum().backward()
        self.assertEqual((x.grad.tolist(), x.grad.dtype), ([0.5, 0.5, 0], torch.bfloat16))
        empty = redtune.torch.by_key(x, torch.full_like(keys[:3], -1))
        self.assertEqual(torch.autograd.grad(empty.sum(), x)[0].tolist(), [0, 0, 0])
        torch.library.opcheck(torch.ops.redtune.by_key, (self.tensor(8), keys, 6, "sum"))

    def test_by_key_without_gradients_is_redtunes(self):
        x, keys = self.tensor(4, requires_grad=True), torch.tensor([0, 1, 1, 0], device=DEVICE)
        index = redtune.torch.by_key(x.detach(), keys, op="argmax")
        self.assertEqual(index.dtype, torch.int64)
        with self.assertRaisesRegex(TypeError, "cannot differentiate var, ddof by key: .*max, min"):
            redtune.torch.by_key(x, keys, 2, "var", ddof=1)
        with self.assertRaisesRegex(Exception, "without K, for which it waits: give K"):
            of_unknown = lambda x: redtune.torch.by_key(x, keys)
            torch.compile(of_unknown, backend="eager", fullgraph=True)(x)
        compiled = torch.compile(
            lambda x: redtune.torch.by_key(x * 2, keys, 2), backend="aot_eager", fullgraph=True
        )
        compiled(x).sum().backward()
        self.assertTrue(torch.equal(x.grad, torch.full_like(x, 2)))
        with self.assertRaisesRegex(RuntimeError, r"redtune\.torch"):
            redtune.by_key(x, keys, 2)

    def test_docstrings_are_true(self):
        functions = redtune.torch
        runner = doctest.DocTestRunner()
        names = {"redtune": redtune, "torch": torch}
        for name in functions.__all__:
            text = getattr(functions, name).__doc__
            runner.run(doctest.DocTestParser().get_doctest(text, dict(names), name, None, None))
        self.assertEqual(runner.summarize(verbose=False).failed, 0)


@unittest.skipUnless(GPU, "there is no PyTorch with a GPU")
class OnGpu(unittest.TestCase):
    def test_the_current_stream_is_used(self):
        x = torch.ones(1 << 20, device="cuda")
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            for i in range(20):
                y = x * i
                total = redtune.sum(y)
        stream.synchronize()
        self.assertEqual(float(total), 19 * 2**20)

    def test_calls_are_captured(self):
        x = torch.ones(4096, device="cuda")
        redtune.sum(x)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            total = redtune.sum(x)
        x.fill_(2)
        graph.replay()
        self.assertEqual(float(total), 8192)

    def test_keys_without_their_number_are_refused_in_a_capture(self):
        x, keys = torch.ones(4096, device="cuda"), torch.zeros(4096, dtype=torch.int64).cuda()
        redtune.by_key(x, keys)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            total = redtune.by_key(x, keys, 1)
            with self.assertRaisesRegex(RuntimeError, "within a capture: give K"):
                redtune.by_key(x, keys)
        graph.replay()
        self.assertEqual(total.tolist(), [4096])

    def test_a_captured_training_step_clips_its_gradients(self):
        torch.manual_seed(1)
        model = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.Linear(64, 3)).cuda()
        optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
        x = torch.randn(16, 64, device="cuda")

        def gradients():
            optimizer.zero_grad(set_to_none=False)
            model(x).square().mean().backward()

        def clip():
            norm = parts.reduce("norm2")
            torch._foreach_mul_([p.grad for p in model.parameters()], (0.5 / norm).clamp(max=1))
            return norm

        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            gradients()
            parts = redtune.List([p.grad for p in model.parameters()])
            for _ in range(3):
                gradients()
                clip()
        torch.cuda.current_stream().wait_stream(side)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            gradients()
            norm = clip()
            optimizer.step()
        for _ in range(3):
            gradients()  # of the weights that this replay begins with
            want = torch.linalg.vector_norm(
                torch.cat([p.grad.flatten() for p in model.parameters()])
            )
            graph.replay()
            self.assertTrue(torch.allclose(norm, want))
            clipped = torch.cat([p.grad.flatten() for p in model.parameters()])
            self.assertTrue(
                torch.allclose(torch.linalg.vector_norm(clipped), want.clamp(max=0.5), rtol=1e-4)
            )

    def test_a_compiled_training_step_is_the_eager_one(self):
        torch.manual_seed(1)
        model = torch.nn.Linear(64, 64).cuda()
        x = torch.randn(16, 64, device="cuda")

        def loss_of(x):
            mean = redtune.torch.mean(model(x), 1, keepdim=True)
            return redtune.torch.sum((model(x) - mean) ** 2)

        wanted = torch.autograd.grad(loss_of(x), model.parameters())
        found = torch.autograd.grad(torch.compile(loss_of)(x), model.parameters())
        for one, other in zip(found, wanted):
            self.assertTrue(torch.allclose(one, other, rtol=1e-3, atol=1e-3))

    def test_a_tensor_may_go_right_after_the_call(self):
        before = torch.cuda.memory_allocated()
        for i in range(100000):
            total = redtune.sum(torch.full((1000,), float(i % 7), device="cuda"))
        self.assertEqual(float(total), 1000 * ((100000 - 1) % 7))
        del total
        self.assertEqual(torch.cuda.memory_allocated(), before)

    def test_threads_call_at_once_on_streams_of_their_own(self):
        found = []

        def work(number):
            with torch.cuda.stream(torch.cuda.Stream()):
                x = torch.full((10000,), float(number), device="cuda")
                sums = [redtune.sum(x) for _ in range(200)]
                found.append(all(float(each) == number * 10000 for each in sums))

        threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(found, [True] * 8)

    def test_the_norm_of_a_list_is_captured(self):
        parts = [torch.randn(n, device="cuda") for n in (1000, 7, 300000)]
        arrays = redtune.List(parts)
        arrays.reduce("norm2")
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            norm = arrays.reduce("norm2")
        parts[0].mul_(3)
        graph.replay()
        self.assertTrue(torch.allclose(norm, torch.linalg.vector_norm(torch.cat(parts))))

    def test_segments_are_torchs(self):
        x = torch.rand(100000, device="cuda")
        cuts = torch.randint(0, 100000, (999,), device="cuda").sort().values
        offsets = torch.cat([cuts.new_zeros(1), cuts, cuts.new_full((1,), 100000)])
        want = torch.segment_reduce(x, "sum", offsets=offsets)
        self.assertTrue(torch.allclose(redtune.segments(x, offsets), want, rtol=1e-4))
        self.assertTrue(torch.allclose(redtune.segments(x, offsets.int()), want, rtol=1e-4))

    def test_the_fixed_order_has_the_same_bits_anywhere(self):
        x = torch.rand(1000003, device="cuda")
        elsewhere = torch.empty(1000004, device="cuda")[1:].copy_(x)
        sums = [redtune.sum(each, order="fixed") for each in (x, elsewhere)]
        self.assertTrue(torch.equal(*sums))
        self.assertTrue(torch.allclose(sums[0], x.sum()))

    def test_views_fold_without_a_copy(self):
        x = torch.rand(100, 64, device="cuda")
        for view, dim in ((x.t(), 0), (x[:, 5:40], 1), (x[::2], 0), (x.t(), 1)):
            self.assertTrue(torch.allclose(redtune.sum(view, dim), view.sum(dim)))


if __name__ == "__main__":
    unittest.main()
