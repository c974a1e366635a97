"""Notebook: tables, progress, and what is there for arrays of the host on the simulated GPU."""

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import unittest
import unittest.mock

import numpy

import redtune

COLUMNS = ["op", "dtype", "size", "L2", "us", "GB/s", "gain", "family", "config"]
X = numpy.arange(1000, dtype="f4")


class Notebook(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()  # what is tuned here serves no other test
        self.addCleanup(folder.cleanup)
        home = unittest.mock.patch.dict(os.environ, XDG_DATA_HOME=folder.name)
        home.start()
        self.addCleanup(home.stop)
        redtune.configure(device="sim")
        self.addCleanup(redtune.configure)

    def test_winners_are_tables_and_so_are_slices_of_them(self):
        said = []
        winners = redtune.tune(
            "sum", "f32", size=[256, 2048], effort="quick", again=True, progress=said.append
        )
        self.assertRegex(said[0], "1/2 sum of 256 f32: .* us")
        self.assertRegex(said[-1], "2 problems, .* candidates measured")
        rows = {"tune": winners, "slice": winners[1:], "show": redtune.show("sum", "f32")}
        for name, table in rows.items():
            title, _, columns, *lines = repr(table).splitlines()
            self.assertEqual(title, "redtune simulated GPU", name)
            self.assertEqual(columns.split(), COLUMNS, name)
            self.assertEqual(len(lines), len(table), name)
            self.assertIn(" 2K ", lines[-1] + lines[1 % len(lines)], name)
            html = table._repr_html_()
            self.assertIn("<td>2K</td><td>cold</td>", html, name)
            self.assertRegex(html, "<td>[0-9.]+x</td>", name)
        self.assertEqual(winners[0]["count"], 256)

    def test_progress_goes_to_pythons_stderr_unless_it_is_quiet(self):
        for quiet in False, True:
            with contextlib.redirect_stderr(io.StringIO()) as said:
                redtune.tune("sum", "f32", size=256, effort="quick", quiet=quiet)
            self.assertEqual("problem" in said.getvalue(), not quiet)

    def test_an_array_stands_for_its_dtype_and_its_size_or_shape(self):
        x = numpy.zeros((64, 32), "f2")
        self.assertEqual(redtune.explain("sum", x), redtune.explain("sum", "f16", size=2048))
        along = redtune.explain("max", x, axis=0)
        self.assertEqual(along, redtune.explain("max", "f16", shape=(64, 32), axis=0))
        self.assertEqual(redtune.explain("sum", x, size=7), redtune.explain("sum", "f16", size=7))
        self.assertNotEqual(along, redtune.explain("max", x, axis=1))
        crop = numpy.zeros((64, 40), "f2")[::-1, 4:36]
        for each in (x[::2].T, crop, numpy.broadcast_to(x[:1], (64, 32))):
            kept = "@".join(map(str, (each.shape[1], each.strides[1] // 2)))
            found = redtune.explain("max", each, axis=0)
            self.assertEqual((found["kept"] + ",")[: len(kept) + 1], kept + ",")
        self.assertEqual(redtune.explain("sum", x[:, ::2])["reduced"], "1024@2")
        named = redtune.explain("max", numpy.float16, shape=(64, 32), axis=0)
        self.assertEqual(along, named)
        for function in redtune.explain, redtune.tune:
            with self.assertRaisesRegex(TypeError, "name the op first"):
                function(x)

    def test_no_winners_name_the_next_step(self):
        self.assertIn("redtune.tune(", repr(redtune.show()))
        self.assertIn("redtune.tune(", redtune.show()._repr_html_())

    def test_explain_speaks_as_the_command_does(self):
        why = redtune.explain("sum", "f32", size=4096)
        self.assertRegex(repr(why), "^sum of 4096 f32 on redtune simulated GPU\n  uses  ")
        self.assertIn("<td>match</td>", why._repr_html_())
        self.assertEqual(why["count"], 4096)

    def test_settings_hold_for_the_command_too(self):
        here, other = (os.path.join(os.environ["XDG_DATA_HOME"], name) for name in ("a.db", "b.db"))
        redtune.configure(device="sim", database=here, machine="m1")
        redtune.tune("sum", "f32", size=256, effort="quick", quiet=True)
        redtune.configure(device="sim", database=[other, here])
        self.assertEqual({row["machine"] for row in redtune.show()}, {"m1"})
        self.assertEqual(redtune.explain("sum", "f32", count=256)["match"], "exact")
        self.assertIn("256", redtune.report())
        redtune.configure(device="sim", order="fixed")
        self.assertEqual(redtune.explain("sum", "f32", count=256)["family"], "ordered")
        why = redtune.explain("sum", "f32", count=256, order="free", database=[other, here])
        self.assertEqual(why["match"], "exact")
        self.assertEqual(len(redtune.show()), 0)

    def test_without_a_gpu_the_first_error_names_the_simulated_one(self):
        code = "import numpy, redtune\ntry: redtune.sum(numpy.ones(3))\nexcept redtune.Error as e: print(e)"
        env = {**os.environ, "REDTUNE_CUDA_DRIVER": "/nowhere"}
        said = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
        self.assertIn('redtune.configure(device="sim")', said.stdout, said.stderr)
        code = "import redtune; redtune.explain()"
        said = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
        self.assertIn('device="sim"', said.stderr)
        self.assertNotIn("use the simulated GPU: --device", said.stderr)

    def test_segments_of_numpy_arrays(self):
        for kind in "i4", "i8":
            offsets = numpy.array([0, 10, 10, 500, 1000], kind)
            parts = numpy.split(X, offsets[1:-1])
            found = redtune.segments(X, offsets)
            self.assertEqual(found.tolist(), [part.sum() for part in parts])
            found = redtune.segments(X, offsets, op="max_at", order="fixed")
            self.assertEqual(found.index.tolist(), [9, -1, 489, 499])
        out = numpy.zeros(2, "f8")
        redtune.segments(X[::-1].copy(), numpy.array([0, 1, 1000]), op="mean", dtype="f64", out=out)
        self.assertEqual(out.tolist(), [999.0, 499.0])
        self.assertEqual(redtune.segments(X, numpy.array([0])).shape, (0,))

    def test_lists_of_numpy_arrays(self):
        turned = X[:500].reshape(10, 50).T
        parts = [X, turned, numpy.zeros(0, "f4"), X[::-1]]
        arrays = redtune.List(parts)
        self.assertEqual(arrays.reduce("sum"), sum(part.sum() for part in parts))
        self.assertEqual(arrays.reduce("argmin", each=True).tolist(), [0, 0, -1, 999])
        self.assertEqual(arrays.reduce("argmax"), 999)
        found = arrays.reduce("mean_var", each=True, order="fixed")
        self.assertEqual(found.mean[:2].tolist(), [499.5, 249.5])
        flat = numpy.concatenate([part.ravel() for part in parts])
        places = arrays.reduce("argmax", each=True)
        self.assertEqual(places[1], turned.ravel().argmax())
        self.assertEqual(arrays.reduce("max_at").index, flat.argmax())
        parts[0][3] = 5000  # elements may change
        self.assertEqual(arrays.reduce("argmax"), 3)
        parts[0][3] = 3
        flags = redtune.List([numpy.array([True, False]), numpy.array([True])])
        self.assertEqual(flags.reduce("all", each=True).tolist(), [False, True])

    def test_what_the_host_cannot_is_refused(self):
        wrong = [
            (lambda: redtune.segments(X, X[:2].astype("i4"), X[:2].astype("i4")), "without end"),
            (lambda: redtune.segments(X, numpy.array([0, -1])), "number 1 is -1"),
            (lambda: redtune.segments(X, numpy.array([0, 5, 2, 9])), "segment"),
            (lambda: redtune.segments(X, numpy.array([0, 5000])), "ends after 1000"),
            (lambda: redtune.segments(X.reshape(2, 500), numpy.array([0, 2])), "one axis"),
        ]
        for call, word in wrong:
            with self.assertRaisesRegex(ValueError, word):
                call()


if __name__ == "__main__":
    unittest.main()
