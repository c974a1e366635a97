"""Jax: reductions within programs of JAX's.

The arrays are the host's, and go to the simulated GPU; or a GPU's where there is one.
"""

import doctest
import unittest

import redtune

try:
    import jax
except ImportError:
    jax = None


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

    def test_the_docstring_is_true(self):
        names = {"redtune": redtune, "jax": jax}
        text = redtune.jax.reduce.__doc__
        runner = doctest.DocTestRunner()
        runner.run(doctest.DocTestParser().get_doctest(text, names, "reduce", None, None))
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
