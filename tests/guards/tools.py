"""Guard: what other projects' tools check: spelling (codespell) and licences (reuse).

usage: tools.py ROOT TOOL     the tool is installed, or in build/guards, where ./bootstrap test puts it
"""
import os
import subprocess
import sys

COMMANDS = {"codespell": ["codespell_lib"], "reuse": ["reuse", "lint", "--lines"]}


def main(root, tool):
    path = [os.path.join(root, "build", "guards"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, path))}
    module, *words = COMMANDS[tool]
    if not os.path.exists(os.path.join(root, ".git")) or subprocess.call(
            [sys.executable, "-c", f"import {module}"], env=environment, stderr=subprocess.DEVNULL):
        print(f"not run: there is no {tool}, or no checkout")
        return 77
    if tool == "codespell":
        listed = subprocess.run(["git", "ls-files", "-z"], cwd=root, capture_output=True, check=True)
        words = [name for name in listed.stdout.decode().split("\0") if name]
    return subprocess.call([sys.executable, "-B", "-m", module, *words], cwd=root, env=environment)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
