"""Ending: programs that end while their threads reduce."""

import os
import subprocess
import sys
import unittest

BEGIN = """
import atexit, os, sys, threading, time, numpy
sys.path.insert(0, {folder!r})
import sim_memory, redtune
redtune.configure(device="sim")
host = numpy.ones(1000, "f4")
x = sim_memory.asarray(host.reshape(10, 100))
plan, both = redtune.plan(x, axis=1), redtune.List([x, x])
calls = [lambda: redtune.sum(host), lambda: redtune.sum(x), plan.run, lambda: plan(x), both.reduce]
for call in calls: call()
done = threading.Event()
def work(call):
    while True: call(); done.set()
def start(call): threading.Thread(target=work, args=(call,), daemon=True).start()
"""
SLOW = """
class Slow:  # its call is in Python when the program ends
    def __dlpack_device__(self): done.set(); time.sleep({seconds}); return 1, 0
    def __dlpack__(self, **_): raise SystemExit
"""


class Ending(unittest.TestCase):
    def said(self, text, code=0):
        text = BEGIN.format(folder=sys.path[0]) + text
        # What a thread that is left had allocated stays: the simulator reports it as a leak.
        ran = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True,
                             timeout=600, env=os.environ | {"REDTUNE_SIM_REPORT": ""})  # fmt: skip
        self.assertEqual((ran.returncode, ran.stderr), (code, ""))
        return ran.stdout

    def test_daemon_threads_end_with_the_program(self):
        for call in range(5):
            self.said(f"start(calls[{call}]); done.wait(); time.sleep(0.05)")
        self.said("for call in calls * 2: start(call)\ndone.wait(); time.sleep(0.2)")

    def test_calls_that_take_long_are_left(self):
        for seconds in (0.3, 30):
            said = self.said(SLOW.format(seconds=seconds) + "start(lambda: redtune.sum(Slow()))\n"
                             "done.wait(); atexit.register(lambda: print(time.time() - now < 9))\n"
                             "now = time.time()")  # fmt: skip
            self.assertEqual(said, "True\n")

    def test_the_main_thread_is_told(self):
        # What is registered before redtune is imported runs after it has closed.
        said = self.said("atexit._clear\natexit.unregister(redtune._core.close)\n"
                         "def late():\n"
                         "    print(redtune.sum(host))\n"
                         "    try: plan.run()\n"
                         "    except RuntimeError as error: print(error)\n"
                         "atexit.register(late); atexit.register(redtune._core.close)")  # fmt: skip
        self.assertEqual(said, "1000.0\ncannot run the plan: the program ends\n")

    def test_a_child_of_a_fork_ends_at_once(self):
        said = self.said("start(calls[1]); done.wait(); now = time.time()\n"
                         "if os.fork(): os.wait()\n"
                         "else:\n"
                         "    for call in calls:\n"
                         "        try: call()\n"
                         "        except RuntimeError as error: print('spawn' in str(error))\n"
                         "    del plan, both, calls, call\n"
                         "    print(time.time() - now < 5)")  # fmt: skip
        self.assertEqual(said, "True\n" * 6)


if __name__ == "__main__":
    unittest.main()
