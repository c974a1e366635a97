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
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        return subprocess.run([nvdisasm, "-c", file.name], capture_output=True, text=True, check=True).stdout


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
    found = [(key, count) for (key, _), code in zip(rows, codes) if (count := unguarded(code))]
    for key, count in found[:10]:
        print(f"{key}: {count} barriers behind a YIELD without a WARPSYNC")
    waiting = sum(" YIELD " in code for code in codes)
    print(f"{len(found)} of {len(rows)} kernels have such barriers, {waiting} have a YIELD")
    return 1 if found or not rows else 0


if __name__ == "__main__":
    sys.exit(main())
