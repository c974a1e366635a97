"""Jax: reductions within programs of JAX's.

The arrays are the host's, and go to the simulated GPU; or a GPU's where there is one.
"""

import doctest
import math
import os
import unittest

import redtune

os.environ.setdefault("XLA_FLAGS", "--xla_force_host_platform_device_count=2")
try:
    import jax
    from jax import numpy as jnp
except ImportError:
    jax = None

# What has derivatives, and the same of JAX's own functions.
LIKE = {
    "sum": lambda x, axis: jnp.sum(x, axis),
    "mean": lambda x, axis: jnp.mean(x, axis),
    "max": lambda x, axis: jnp.max(x, axis),
    "min": lambda x, axis: jnp.min(x, axis),
    "var": lambda x, axis: jnp.var(x, axis),
    "std": lambda x, axis: jnp.std(x, axis),
    "sumsq": lambda x, axis: jnp.sum(x * x, axis),
    "norm2": lambda x, axis: jnp.sqrt(jnp.sum(x * x, axis)),
    "logsumexp": lambda x, axis: jax.nn.logsumexp(x, axis),
}
def segment(function):
    """One result of each key, as redtune has it; keys that are out of range have none."""
    return lambda x, keys, K: jnp.stack([function(x[keys == k], 0) for k in range(K)])


AXES = (None, 0, 1, 2, (0, 1), (0, 2), (1, 2))


@unittest.skipUnless(jax, "there is no JAX")
class Jax(unittest.TestCase):
    def setUp(self):
        self.x = jax.numpy.arange(24, dtype="float32").reshape(2, 3, 4)

    def test_results_are_jaxs(self):
        for axis in (None, 0, 1, 2, -1, (0, 1), (1, 2)):
            for keepdims in (False, True):
                got = redtune.jax.sum(self.x, axis=axis, keepdims=keepdims)
                want = self.x.sum(axis, keepdims=keepdims)
                self.assertEqual(got.shape, want.shape)
                self.assertTrue(jax.numpy.array_equal(got, want), axis)
        self.assertTrue(jnp.array_equal(redtune.jax.sum(self.x, axis=()), self.x))
        self.assertEqual(redtune.jax.any(self.x, axis=0).dtype, "bool")
        self.assertEqual(redtune.jax.max(self.x.astype("bfloat16")).dtype, "bfloat16")

    def test_compiled_programs_call_it(self):
        @jax.jit
        def normalise(x):
            mean, var = redtune.jax.mean_var(x, axis=(1, 2), keepdims=True, ddof=1)
            return (x - mean) / var**0.5, redtune.jax.dot(x, x + 1)

        scaled, product = normalise(self.x)
        want = (self.x - self.x.mean((1, 2), keepdims=True)) / self.x.std(
            (1, 2), keepdims=True, ddof=1
        )
        self.assertTrue(jax.numpy.allclose(scaled, want))
        self.assertEqual(float(product), float((self.x * (self.x + 1)).sum()))

    def each(self, axes=AXES):
        """Each function with its like, a name, and how to weight its results."""
        y = jnp.sin(jnp.arange(24.0)).reshape(2, 3, 4)
        for name, like in LIKE.items():
            for axis in axes if name != "sum" else AXES:
                mine = lambda x, name=name, axis=axis: getattr(redtune.jax, name)(x, axis=axis)
                its = lambda x, like=like, axis=axis: like(x, axis)
                weights = jnp.cos(jnp.arange(its(y).size, dtype="float32")).reshape(its(y).shape)
                yield name, axis, y, mine, its, weights

    def assert_close(self, got, want, message):
        self.assertEqual(got.shape, want.shape, message)
        self.assertTrue(jnp.allclose(got, want, 1e-4, 5e-5, True), f"{message}: {got} is not {want}")

    def test_gradients_are_those_of_jax(self):
        for name, axis, y, mine, its, weights in self.each((None, (0, 2))):
            loss = lambda x, f: (f(x) * weights).sum()
            want = jax.grad(loss)(y, its)
            for how in (jax.grad, lambda f: jax.jit(jax.grad(f), static_argnums=1)):
                self.assert_close(how(loss)(y, mine), want, (name, axis))
            primal, tangent = jax.jvp(mine, (y,), (jnp.cos(3 * y),))
            self.assert_close(primal, its(y), (name, axis))
            self.assert_close(tangent, jax.jvp(its, (y,), (jnp.cos(3 * y),))[1], (name, axis))
        x, y = self.x, self.x[::-1] + 1
        want = jax.grad(lambda x, y: (x * y).sum(), (0, 1))(x, y)
        for got, each in zip(jax.grad(redtune.jax.dot, (0, 1))(x, y), want):
            self.assert_close(got, each, "dot")
        half = jax.grad(lambda x: redtune.jax.sum(x * x))(x.astype("float16"))
        self.assertEqual(half.dtype, "float16")
        means = jax.grad(lambda x: redtune.jax.mean_var(x, ddof=1).var)(x)
        self.assert_close(means, jax.grad(lambda x: jnp.var(x, ddof=1))(x), "mean_var")

    def test_second_derivatives_are_those_of_jax(self):
        for name in ("sum", "mean", "var", "std", "sumsq", "norm2", "logsumexp"):
            mine = lambda x: getattr(redtune.jax, name)(x, axis=1).prod()
            its = lambda x: LIKE[name](x, 1).prod()
            x = jnp.sin(jnp.arange(6.0)).reshape(2, 3)
            self.assert_close(jax.hessian(mine)(x), jax.hessian(its)(x), name)

    def test_ties_and_zeros_have_gradients(self):
        x = jnp.array([3.0, 1, 3, 2])
        self.assert_close(jax.grad(redtune.jax.max)(x), jnp.array([0.5, 0, 0.5, 0]), "max")
        self.assert_close(jax.grad(redtune.jax.norm2)(0 * x), 0 * x, "norm2")

    def test_a_batch_may_lie_anywhere(self):
        for name, axis, y, mine, its, weights in self.each([(0, 2)]):
            batch = jnp.stack([y, 2 * y, y + 1, y - 1, -y])
            want = jnp.stack([its(each) for each in batch])
            for place in range(4):
                moved = jnp.moveaxis(batch, 0, place)
                self.assert_close(jax.vmap(mine, place)(moved), want, (name, axis, place))
            loss = lambda x, f: (f(x) * weights).sum()
            got = jax.jit(jax.vmap(lambda x: jax.grad(loss)(x, mine), 3))(moved)
            want = jax.vmap(lambda x: jax.grad(loss)(x, its))(batch)
            self.assert_close(got, want, (name, axis, "gradient"))

    def test_batches_of_two_arrays_of_scalars_and_of_batches(self):
        x = self.x
        got = jax.vmap(redtune.jax.dot, (None, 1))(x[:, 0], x)
        self.assert_close(got, jnp.einsum("ik,ijk->j", x[:, 0], x), "one of two")
        got = jax.vmap(redtune.jax.dot, (2, 0))(x, jnp.moveaxis(x, 2, 0) + 1)
        self.assert_close(got, (x * (x + 1)).sum((0, 1)), "two places")
        self.assert_close(jax.vmap(redtune.jax.sum)(x[0, 0]), x[0, 0], "scalars")
        got = jax.vmap(jax.vmap(redtune.jax.mean_var, 1), 1)(x)
        self.assert_close(got.var, x.var(0), "batches of batches")
        got = jax.vmap(lambda x: redtune.jax.any(x > 11, axis=0))(x)
        self.assertEqual(got.tolist(), (x > 11).any(1).tolist())

    def keyed(self):
        keys = jnp.array([2, 0, 1, 2, -1, 2, 0, 7, 1], "int32")
        for shape in ((9,), (9, 2, 2)):
            yield keys, jnp.sin(jnp.arange(9.0 * math.prod(shape[1:]))).reshape(shape)

    def test_reductions_by_key_and_their_derivatives(self):
        for keys, x in self.keyed():
            for name, like in LIKE.items():
                mine = lambda x: redtune.jax.by_key(x, keys, 3, name)
                its = lambda x: segment(like)(x, keys, 3)
                weights = jnp.cos(jnp.arange(3)).reshape(3, *[1] * (x.ndim - 1))
                weighted = lambda x, f: (f(x) * weights).sum()
                self.assert_close(jax.jit(mine)(x), its(x), name)
                want = jax.grad(weighted)(x, its)
                self.assert_close(jax.grad(weighted)(x, mine), want, (name, "gradient"))
                tangent = jax.jvp(mine, (x,), (jnp.cos(3 * x),))[1]
                self.assert_close(tangent, jax.jvp(its, (x,), (jnp.cos(3 * x),))[1], name)
        padded = jnp.array([1.0, 3.0, jnp.nan, 200.0]), jnp.array([0, 0, -1, 7])
        for name in ("sumsq", "norm2", "var", "std", "logsumexp", "mean"):
            given = lambda x: redtune.jax.by_key(x, padded[1], 1, name)[0]
            whole = jax.grad(lambda x: segment(LIKE[name])(x, padded[1][:2], 1)[0])(padded[0][:2])
            wanted = jnp.concatenate([whole, jnp.zeros(2)])
            self.assert_close(jax.grad(given)(padded[0]), wanted, (name, "out of range"))
        square = lambda x: redtune.jax.by_key(x**2, keys, 5, "mean")[:3].prod()
        wanted = lambda x: segment(LIKE["mean"])(x**2, keys, 3).prod()
        x = jnp.sin(jnp.arange(9.0))
        self.assert_close(jax.hessian(square)(x), jax.hessian(wanted)(x), "second")
        self.assertEqual(redtune.jax.by_key(x, keys.astype("int8")).shape, (8,))
        self.assertEqual(redtune.jax.by_key(x, keys - 9).shape, (0,))

    def test_batches_by_key(self):
        for keys, x in self.keyed():
            batch = jnp.stack([x, 2 * x, -x, x + 1])
            all_keys = jnp.stack([keys, keys[::-1], keys + 1, keys * 0]).astype("uint8")
            for name in ("sum", "mean", "max", "logsumexp"):
                run = lambda x, keys: redtune.jax.by_key(x, keys, 3, name)
                for place in range(x.ndim + 1):
                    got = jax.vmap(run, (place, None))(jnp.moveaxis(batch, 0, place), keys)
                    self.assert_close(got, jnp.stack([run(each, keys) for each in batch]), name)
                want = jnp.stack([run(*each) for each in zip(batch, all_keys)])
                got = jax.jit(jax.vmap(run, (-1, 1)))(jnp.moveaxis(batch, 0, -1), all_keys.T)
                self.assert_close(got, want, (name, "keys"))
                want = jnp.stack([run(x, each) for each in all_keys])
                self.assert_close(jax.vmap(run, (None, 0))(x, all_keys), want, (name, "alone"))
            loss = lambda x, keys: redtune.jax.by_key(x, keys, 3, "mean")[0].sum()
            want = jnp.stack([jax.grad(loss)(*each) for each in zip(batch, all_keys)])
            self.assert_close(jax.vmap(jax.grad(loss))(batch, all_keys), want, "gradient")
        with jax.enable_x64(True):
            run = lambda x, keys: redtune.jax.by_key(x, keys, 4, "max_at").index
            want = [run(*each).tolist() for each in zip(batch, all_keys)]
            self.assertEqual(jax.vmap(run)(batch, all_keys).tolist(), want)

    def test_wrong_calls_by_key_say_so(self):
        x, keys = jnp.ones(4), jnp.zeros(4, "int32")
        by_key = redtune.jax.by_key
        for call, kind, text in (
            (lambda: jax.jit(by_key)(x, keys), ValueError, "within a compiled program: give K"),
            (lambda: by_key(x, x, 2), TypeError, "keys of float32: give integers"),
            (lambda: by_key(x, keys[:3], 2), ValueError, "as long as x's first one"),
            (lambda: by_key(x, keys, 2, "dot"), TypeError, "it has two inputs"),
            (lambda: by_key(x, keys, -1), ValueError, "K=-1"),
            (lambda: by_key(x, keys, 2, spread="wide"), ValueError, "spread='wide'"),
            (lambda: jax.vjp(lambda x: by_key(x, keys, 1, "prod"), x), TypeError, "differentiate"),
        ):  # fmt: skip
            with self.assertRaisesRegex(kind, text):
                call()

    def test_what_has_no_gradient_says_so(self):
        with self.assertRaisesRegex(TypeError, "cannot differentiate prod: .*norm2"):
            jax.grad(redtune.jax.prod)(self.x)
        counted = lambda x: redtune.jax.sum(x) * redtune.jax.any(x)
        self.assert_close(jax.grad(counted)(self.x), jnp.ones_like(self.x), "of no real result")

    def test_an_array_of_several_devices_is_refused(self):
        if jax.device_count() < 2:
            self.skipTest("there is one device")
        mesh = jax.make_mesh((2,), ("x",))
        spec = jax.sharding.PartitionSpec("x")
        x = jax.device_put(self.x, jax.sharding.NamedSharding(mesh, spec))
        by_key = lambda x: redtune.jax.by_key(x, jnp.zeros(2, "int32"), 1)
        for run in (redtune.jax.sum, jax.jit(redtune.jax.sum), by_key):
            with self.assertRaisesRegex(ValueError, "on 2 devices: .*shard_map"):
                run(x)
        part = lambda x: redtune.jax.sum(x, axis=(1, 2))
        got = jax.jit(jax.shard_map(part, mesh=mesh, in_specs=spec, out_specs=spec))(x)
        self.assert_close(jnp.asarray(got.tolist()), self.x.sum((1, 2)), "parts")

    def test_a_batch_has_the_bits_of_its_parts_where_the_order_is_fixed(self):
        redtune.configure(device="sim", order="fixed")
        self.addCleanup(redtune.configure, device="sim")
        x = jax.random.normal(jax.random.key(1), (7, 1000)) * 100
        for function in (redtune.jax.sum, redtune.jax.norm2, redtune.jax.logsumexp):
            got = jax.vmap(function)(x)
            self.assertEqual(got.tolist(), [float(function(each)) for each in x])

    def test_the_docstring_is_true(self):
        names = {"redtune": redtune, "jax": jax}
        runner = doctest.DocTestRunner()
        for function in (redtune.jax.reduce, redtune.jax.by_key):
            text = function.__doc__
            runner.run(doctest.DocTestParser().get_doctest(text, names, "jax", None, None))
        self.assertEqual(runner.summarize(verbose=False).failed, 0)

    def test_wrong_calls_say_so(self):
        with self.assertRaisesRegex(ValueError, "no axis 3|axis 3"):
            redtune.jax.sum(self.x, axis=3)
        with self.assertRaisesRegex(TypeError, "jax_enable_x64"):
            redtune.jax.argmax(self.x)
        with self.assertRaisesRegex(TypeError, "complex64"):
            redtune.jax.sum(self.x + 1j)
        with self.assertRaises(AttributeError):
            redtune.jax.suum
        with self.assertRaisesRegex(TypeError, "give the result's array as out"):
            redtune.sum(self.x)


if __name__ == "__main__":
    unittest.main()
