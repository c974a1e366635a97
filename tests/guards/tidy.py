"""Guard: clang-tidy finds nothing by the checks of .clang-tidy: tidy.py ROOT BUILD CLANG_TIDY"""
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

PRODUCT = ("src/", "cache/", "tuner/", "sim/", "examples/", "bench/")
PART = 16  # sources for each process

root, build, program = sys.argv[1:]
commands = os.path.join(build, "compile_commands.json")
if not os.path.exists(program) or not os.path.exists(commands):
    print("not run: there is no clang-tidy, or no compile_commands.json")
    sys.exit(77)
with open(commands, encoding="utf-8") as file:
    named = {os.path.relpath(each["file"], root) for each in json.load(file)}
sources = sorted(name for name in named if name.startswith(PRODUCT) and name.endswith(".c"))
assert len(sources) > 100, "the build names too few sources"


def check(part):
    return subprocess.run([program, "-p", build, "--quiet", *part], cwd=root, capture_output=True,
                          text=True, check=False)


with ThreadPoolExecutor(os.cpu_count()) as pool:
    parts = [sources[i:i + PART] for i in range(0, len(sources), PART)]
    runs = list(pool.map(check, parts))
sys.stdout.write("".join(run.stdout for run in runs))
sys.exit(any(run.returncode for run in runs))
