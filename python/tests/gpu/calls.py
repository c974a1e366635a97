"""Calls: the host's time of a call, beside that of a bare cuLaunchKernel. Needs torch and a GPU.

usage: calls.py FOLDER [CALL...]     builds launch.c into that folder; the calls: all
"""

import ctypes
import os
import statistics
import subprocess
import sys
import time

import torch

import redtune

BATCH = 100  # calls that the GPU's queue takes without making the host wait
ROUNDS = 120
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


def main(folder, *wanted):
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    x = torch.rand(1 << 14, device="cuda")
    library = launcher(folder)
    stream = torch.cuda.current_stream().cuda_stream
    calls = {name: call for name, call in measured(x).items() if not wanted or name in wanted}
    bare, times, over = [], {name: [] for name in calls}, {name: [] for name in calls}
    for call in calls.values():
        call()
    # Each next to a bare launch, so that a machine that slows down slows both down.
    for _ in range(ROUNDS):
        for name, call in calls.items():
            torch.cuda.synchronize()
            bare.append(library.launch_time(BATCH, stream))
            times[name].append(call_ns(call))
            over[name].append(times[name][-1] - bare[-1])
    print(f"{'bare cuLaunchKernel':20} {statistics.median(bare) / 1e3:6.2f} us")
    for name, each in times.items():
        quarters = statistics.quantiles(over[name])
        print(
            f"{name:20} {statistics.median(each) / 1e3:6.2f} us, "
            f"{quarters[1] / 1e3:+.2f} over it ({quarters[0] / 1e3:+.2f} to {quarters[2] / 1e3:+.2f})"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
