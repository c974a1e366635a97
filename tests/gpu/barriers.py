#!/usr/bin/env python3
"""Looks through the machine code of a kernel cache for barriers that lanes of a warp may come to at different times.

NVRTC 13.0 takes the lanes of a warp for together behind a loop that each of them leaves by itself, and they are not
where it put a YIELD into the loop: the first lane that comes to a barrier counts for its whole warp. So between a
YIELD and a barrier must stand a WARPSYNC.

usage: barriers.py KERNELS.db     exit status: 0 none, 1 some, 77 there is no nvdisasm
"""
import concurrent.futures
import os
import shutil
import sqlite3
import subprocess
import sys
import tempfile


def unguarded(code):
    """How many barriers stand behind a YIELD without a WARPSYNC in between, in the order of addresses."""
    count, is_apart = 0, False
    for line in code.splitlines():
        if " YIELD " in line:
            is_apart = True
        elif " WARPSYNC" in line:
            is_apart = False
        elif " BAR.SYNC" in line and is_apart:
            count += 1
    return count


def disassemble(nvdisasm, cubin):
    """The text, or None and what nvdisasm said."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        run = subprocess.run([nvdisasm, "-c", file.name], capture_output=True, text=True, check=False)
        return (run.stdout, "") if run.returncode == 0 else (None, run.stderr.strip())


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: barriers.py KERNELS.db")
    nvdisasm = shutil.which("nvdisasm")
    if not nvdisasm:
        print("not run: there is no nvdisasm")
        return 77
    rows = sqlite3.connect(sys.argv[1]).execute("SELECT key, content FROM kernel WHERE ptx = 0").fetchall()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        codes = list(pool.map(lambda row: disassemble(nvdisasm, row[1]), rows))
    unread = [(key, said) for (key, _), (code, said) in zip(rows, codes) if code is None]
    read = [(key, code) for (key, _), (code, _) in zip(rows, codes) if code is not None]
    found = [(key, count) for key, code in read if (count := unguarded(code))]
    for key, said in unread[:3]:
        print(f"{key}: nvdisasm cannot read it: {said}")
    for key, count in found[:10]:
        print(f"{key}: {count} barriers behind a YIELD without a WARPSYNC")
    waiting = sum(" YIELD " in code for _, code in read)
    print(f"{len(found)} of {len(read)} kernels have such barriers, {waiting} have a YIELD; {len(unread)} were not read")
    return 1 if found or not read else 0


if __name__ == "__main__":
    sys.exit(main())
