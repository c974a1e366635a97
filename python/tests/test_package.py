"""Package: importing it, its command, its examples, and what its functions say of themselves."""

import ast
import doctest
import importlib.util
import inspect
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

import numpy

import redtune
from redtune import _bundle

REPOSITORY = pathlib.Path(__file__).resolve().parents[2]


def run(*words, **environment):
    """What a Python that is given those words prints."""
    ran = subprocess.run(
        [sys.executable, *words], capture_output=True, text=True, env={**os.environ, **environment}
    )
    return ran.stdout + ran.stderr


class Package(unittest.TestCase):
    def test_importing_takes_less_than_30_ms(self):
        # Of the processor, and the least of several: other programs run on the machine meanwhile.
        # Without site, whose own packages take longer than redtune.
        def least_ms(text):
            times = []
            for _ in range(25):
                child = os.posix_spawn(sys.executable, [sys.executable, "-S", "-c", text], os.environ)
                _, status, usage = os.wait4(child, 0)
                self.assertEqual(status, 0)
                times.append((usage.ru_utime + usage.ru_stime) * 1e3)
            return min(times)

        self.assertLess(least_ms("import redtune") - least_ms("pass"), 30)

    def test_importing_needs_no_driver_and_no_numpy(self):
        text = "import redtune, sys; print('numpy' in sys.modules, len(redtune.__all__) > 40)"
        self.assertEqual(run("-c", text, REDTUNE_CUDA_DRIVER="/nowhere.so"), "False True\n")

    def test_nvrtc_of_a_wheel_is_found_without_loading_it(self):
        with tempfile.TemporaryDirectory() as folder:
            lib = pathlib.Path(folder, "nvidia", "cu99", "lib")
            lib.mkdir(parents=True)
            for name in ("libnvrtc.so.12", "libnvrtc.so.13", "libnvrtc-builtins.so.13.0"):
                (lib / name).touch()
            pathlib.Path(folder, "cuda").mkdir()
            text = "raise SystemExit('cuda.pathfinder loads what it finds')"
            pathlib.Path(folder, "cuda", "pathfinder.py").write_text(text)
            text = "import os, sys; sys.path.append(%r); from redtune import _bundle; " % folder
            text += "_bundle.find_nvrtc(); print(os.environ.get('REDTUNE_NVRTC'))"
            found = run("-c", text, REDTUNE_NVRTC="").strip()
            self.assertEqual(found, str(lib / "libnvrtc.so.13"))
            lib.rename(pathlib.Path(folder, "lib64"))  # a toolkit's, where libredtune looks itself
            for name in ("CUDA_HOME", "CUDA_PATH"):
                self.assertEqual(run("-c", text, **{"REDTUNE_NVRTC": "", name: folder}), "\n")

    def test_a_subinterpreter_is_refused(self):
        if sys.version_info >= (3, 13):
            self.skipTest("CPython refuses by itself")
        text = "import redtune, _xxsubinterpreters as sub\ninside = sub.create()\n"
        text += "try: sub.run_string(inside, 'import redtune')\n"
        text += "except sub.RunFailedError as error: print('in a subinterpreter' in str(error))"
        self.assertEqual(run("-c", text), "True\n")

    def test_a_missing_driver_is_told_with_the_remedy(self):
        text = "import redtune, numpy; redtune.sum(numpy.ones(3))"
        said = run("-c", text, REDTUNE_CUDA_DRIVER="/nowhere.so")
        self.assertIn("redtune.Error: cannot load the CUDA driver", said)
        self.assertIn("REDTUNE_CUDA_DRIVER", said)

    def test_ops_of_the_users_have_functions(self):
        ops = str(REPOSITORY / "examples" / "clip.lua")
        text = f"import redtune, numpy; redtune.configure(ops={ops!r}, device='sim')\n"
        text += "x = numpy.array([2, 0, 4], dtype='f4'); names = redtune._functions.names()\n"
        text += "own = [name for name in names if 'clip' in name]\n"
        text += "print(len(own) > 0, all(name in vars(redtune) for name in names))\n"
        text += "print(getattr(redtune, own[0])(x) == redtune.reduce(x, op=own[0]))"
        self.assertEqual(run("-c", text), "True True\nTrue\n")

    def test_modules_for_one_library_are_imported_when_they_are_asked(self):
        text = "import redtune, sys; from redtune import jax, torch\n"
        text += "print('torch' in sys.modules, 'jax' in sys.modules, hasattr(jax, '__path__'))\n"
        text += "print('__getattr__' in vars(redtune))"  # looking attributes up would take longer
        self.assertEqual(run("-c", text), "False False False\nFalse\n")

    @unittest.skipIf(sys.version_info < (3, 10), "this Python names no nearest attribute")
    def test_a_missing_name_is_answered_with_the_nearest(self):
        # By the interpreter, whose suggestion needs no __getattr__ and so costs no call anything.
        ran = subprocess.run(
            [sys.executable, "-c", "import redtune; redtune.sume"], capture_output=True, text=True
        )
        self.assertIn("Did you mean: 'sum'", ran.stderr)
        text = redtune._checks.missing("m", "argmaxx", ["sum", "argmax"])
        self.assertEqual(text, "module 'm' has no attribute 'argmaxx'; did you mean argmax?")

    def test_the_command_is_in_the_package(self):
        self.assertEqual(
            run("-m", "redtune", "--version").strip(), f"redtune {redtune.__version__}"
        )
        self.assertIn("NVRTC", run("-m", "redtune", "doctor"))
        shown = run("-m", "redtune", "show", "--shipped", "--gpu", "H200", "--op", "sum",
                    REDTUNE_SYSTEM_DB=os.path.join(_bundle._FOLDER, "shipped.db"))  # fmt: skip
        self.assertIn("H200", shown)

    def test_the_shipped_rows_are_found_beside_the_library(self):
        environment = {k: v for k, v in os.environ.items() if k != "REDTUNE_SYSTEM_DB"}
        text = (
            "import redtune; print(len(redtune.show('sum', 'f32', gpu='H200', shipped=True)) > 9)"
        )
        ran = subprocess.run(
            [sys.executable, "-c", text], capture_output=True, text=True, env=environment
        )
        self.assertEqual(ran.stdout, "True\n", ran.stderr)

    def test_docstrings_are_true(self):
        os.environ.pop("REDTUNE_SYSTEM_DB", None)  # of what is shipped, too
        finder, runner = doctest.DocTestParser(), doctest.DocTestRunner(
            optionflags=doctest.ELLIPSIS
        )
        names = {"numpy": numpy, "redtune": redtune}
        for name in redtune.__all__:
            text = getattr(redtune, name).__doc__
            self.assertTrue(text, name)
            runner.run(finder.get_doctest(text, dict(names), name, None, None))
        runner.run(finder.get_doctest(redtune.__doc__, dict(names), "redtune", None, None))
        self.assertEqual(runner.summarize(verbose=False).failed, 0)
        redtune.configure()

    def test_tables_and_reports_show_themselves_in_a_notebook(self):
        os.environ.pop("REDTUNE_SYSTEM_DB", None)  # of what is shipped
        winners = redtune.show("sum", "f32", gpu="H200", shipped=True)
        shown = winners._repr_html_()
        self.assertTrue(shown.startswith("<table><caption>NVIDIA H200</caption>"), shown[:80])
        self.assertEqual(shown.count("<tr>"), len(winners) + 1)
        self.assertEqual(len(repr(winners).splitlines()), len(winners) + 3)
        why = redtune.explain("sum", "f32", size=4096, gpu="H200")
        self.assertIn("<td>match</td>", why._repr_html_())
        self.assertIn("family", why)
        page = redtune.report(gpu="H200", shipped=True)
        self.assertRegex(page._repr_html_(), '^<iframe [^<>]*srcdoc="&lt;!DOCTYPE html&gt;')
        self.assertRegex(repr(page), "^<redtune report of [0-9]+ characters>$")

    def test_stubs_name_every_function(self):
        stubs = pathlib.Path(redtune.__file__).with_name("__init__.pyi").read_text()
        for name in redtune.__all__:
            self.assertRegex(stubs, rf"\n(class {name}[(:]|def {name}\(|{name}: )", name)
        for name in ("jax", "torch"):
            self.assertRegex(stubs, rf"from \. import .*\b{name} as {name}\b", name)

    def test_stubs_have_the_functions_arguments(self):
        stubs = pathlib.Path(redtune.__file__).with_name("__init__.pyi").read_text()
        compared, body = 0, ast.parse(stubs).body
        classes = [each for each in body if getattr(each, "name", "") in ("List", "Team")]
        pairs = [(each, redtune) for each in body]
        pairs += [(each, getattr(redtune, its.name)) for its in classes for each in its.body]
        for stub, owner in pairs:
            if not isinstance(stub, ast.FunctionDef) or stub.decorator_list:
                continue
            arguments = stub.args
            names = [each.arg for each in arguments.args + arguments.kwonlyargs]
            has = [
                each.name
                for each in inspect.signature(getattr(owner, stub.name)).parameters.values()
                if each.kind != each.VAR_KEYWORD
            ]
            self.assertEqual(names, has, stub.name)
            compared += 1
        self.assertGreater(compared, 12)


class Pages(unittest.TestCase):
    def test_the_pages_are_true(self):
        """The Python in README.md and docs/python.md that runs on the simulated GPU."""
        runner = doctest.DocTestRunner()
        for name in "README.md", "docs/python.md":
            page = (REPOSITORY / name).read_text()
            test = doctest.DocTestParser().get_doctest(page, {"redtune": redtune}, name, None, None)
            self.assertTrue(test.examples, name)
            runner.run(test)
        self.assertEqual(runner.summarize(verbose=False).failed, 0)
        redtune.configure()

    def test_examples_run_on_the_host(self):
        examples = REPOSITORY / "examples" / "python"
        for where in "--host", "--sim":
            said = run(str(examples / "column_statistics.py"), where)
            self.assertIn("mean   499.5000", said)
        if importlib.util.find_spec("torch"):
            self.assertIn("norm was", run(str(examples / "gradient_norm.py"), "--host"))
            if shutil.which(os.environ.get("CXX") or "c++"):
                said = run(str(examples / "transformer_step.py"), "--host")
                self.assertIn("a step took", said)
                self.assertEqual(said.count("the same bits in [2, 7, 32]"), 7, said)


if __name__ == "__main__":
    unittest.main()
