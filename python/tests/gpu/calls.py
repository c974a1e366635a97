"""Calls: the host's time of a call, beside that of a bare cuLaunchKernel. Needs torch and a GPU.

usage: calls.py FOLDER     builds launch.c into that folder
"""

import ctypes
import os
import statistics
import subprocess
import sys
import time

import torch

import redtune

BATCH = 200  # calls that the GPU's queue takes without making the host wait
ROUNDS = 60
CUDA = os.environ.get("CUDA_HOME", "/usr/local/cuda")


def launcher(folder):
    path = os.path.join(folder, "launch.so")
    source = os.path.join(os.path.dirname(os.path.abspath(__file__)), "launch.c")
    command = ["cc", "-O2", "-shared", "-fPIC", f"-I{CUDA}/include", source, "-o", path]
    command += [f"-L{CUDA}/lib64/stubs", "-lcuda"]
    subprocess.run(command, check=True)
    library = ctypes.CDLL(path)
    library.launch_time.restype = ctypes.c_double
    library.launch_time.argtypes = [ctypes.c_int, ctypes.c_void_p]
    if library.launch_open():
        sys.exit("cannot load the empty kernel")
    return library


def call_ns(call):
    """The host's time per call of a batch."""
    torch.cuda.synchronize()
    start = time.perf_counter_ns()
    for _ in range(BATCH):
        call()
    return (time.perf_counter_ns() - start) / BATCH


def measured(x):
    out = torch.empty((), device="cuda")
    rows = x.reshape(64, -1)
    y = torch.rand_like(x)
    plan = redtune.plan(x, op="sum")
    loose, strided = torch.empty, torch.empty_strided
    quick = torch._C._dynamo.guards._empty_strided_cuda  # which redtune.sum allocates with
    return {
        "nothing": lambda: None,
        "torch.empty": lambda: loose((), dtype=torch.float32, device=x.device),
        "torch.empty_strided": lambda: strided((), (), dtype=torch.float32, device=x.device),
        "torch.empty_like": lambda: torch.empty_like(out),
        "what takes least": lambda: quick((), (), torch.float32),
        "torch.sum": lambda: torch.sum(x),
        "torch.sum out": lambda: torch.sum(x, 0, out=out),
        "redtune.sum": lambda: redtune.sum(x),
        "redtune.sum out": lambda: redtune.sum(x, out=out),
        "redtune.sum axis": lambda: redtune.sum(rows, axis=1),
        "redtune.var": lambda: redtune.var(x, ddof=1),
        "redtune.mean_var": lambda: redtune.mean_var(x),
        "redtune.dot": lambda: redtune.dot(x, y),
        "plan(x)": lambda: plan(x),
        "plan(x, out)": lambda: plan(x, out=out),
        "plan.run": plan.run,
    }


def main(folder):
    x = torch.rand(1 << 14, device="cuda")
    library = launcher(folder)
    stream = torch.cuda.current_stream().cuda_stream
    calls = measured(x)
    times = {name: [] for name in ["bare cuLaunchKernel", *calls]}
    for call in calls.values():
        call()
    # In turns, so that a machine that slows down slows all of them down.
    for _ in range(ROUNDS):
        torch.cuda.synchronize()
        times["bare cuLaunchKernel"].append(library.launch_time(BATCH, stream))
        for name, call in calls.items():
            times[name].append(call_ns(call))
    bare = statistics.median(times["bare cuLaunchKernel"])
    for name, each in times.items():
        over = statistics.median(
            one - base for one, base in zip(each, times["bare cuLaunchKernel"])
        )
        ns = statistics.median(each)
        print(
            f"{name:20} {ns / 1e3:6.2f} us" + (f", {over / 1e3:+.2f} over it" if ns != bare else "")
        )


if __name__ == "__main__":
    main(sys.argv[1])
