#!/usr/bin/env python3
"""Prints what races left as the tables of docs/benchmarks.md: bench/against_cub --format csv, and where named
bench/against_axis.py --csv and bench/first_calls.py --csv.

usage: bench/table.py RESULTS.csv MODE       for each size and dtype the time of redtune's tuned plan in us, and CUB's
                                             over it; such as bench/results/h100-cub-3.6.csv apart
       bench/table.py --summary RESULTS.csv...    for each file and dtype the geometric mean and the least of CUB's time
                                             over redtune's, between other kernels and on a stream, and the share of
                                             the bus at the largest size
       bench/table.py --axis RESULTS.csv...    for each shape, dtype and axis redtune's time in us, the best other
                                             library's over it, and it over reading; and the means and least of each
                                             library's time over redtune's
       bench/table.py --first RESULTS.csv...   first calls, in ms, a column for each name in the files
"""
import csv
import math
import os
import sys
from collections import defaultdict

UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))
PEAK_GBPS = {"h100": 3352, "h200": 4814}  # of the bus, as `redtune tune` prints it


def size(count):
    unit, name = next((unit for unit in UNITS if count >= unit[0]), (1, "B"))
    return f"{count // unit} {name}"


def read(path, mode):
    """{dtype: {bytes: (redtune's us, CUB's over it)}}"""
    times = defaultdict(dict)
    with open(path, newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if row["mode"] == mode:
                tuned = float(row["tuned_ns"])
                times[row["dtype"]][int(row["bytes"])] = (tuned / 1000, float(row["cub_ns"]) / tuned)
    if not times:
        sys.exit(f"table.py: {path} has no times of mode {mode}")
    return times


def mean_and_least(of_dtype):
    ratios = {count: ratio for count, (_, ratio) in of_dtype.items()}
    least = min(ratios, key=ratios.get)
    return math.exp(sum(map(math.log, ratios.values())) / len(ratios)), ratios[least], size(least)


def print_table(times):
    dtypes = list(times)
    print("| input |", " | ".join(f"{dtype} us | CUB / redtune" for dtype in dtypes), "|")
    print("| --- |", " | ".join(["---"] * 2 * len(dtypes)), "|")
    for count in sorted({count for of in times.values() for count in of}):
        cells = ("%.2f | %.2f" % times[dtype][count] if count in times[dtype] else "- | -" for dtype in dtypes)
        print(f"| {size(count)} |", " | ".join(cells), "|")
    for dtype in dtypes:
        print("%s: geometric mean %.3f, least %.3f at %s" % (dtype, *mean_and_least(times[dtype])), file=sys.stderr)


def print_summary(paths):
    print("| GPU, CUB | dtype | between other kernels | least | stream | least | share of the bus |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for path in paths:
        gpu, _, version = os.path.basename(path).removesuffix(".csv").partition("-cub-")
        apart, stream = read(path, "apart"), read(path, "stream")
        name = f"{gpu.upper()}, {version}"
        for dtype in apart:
            largest = max(apart[dtype])
            share = largest / (10 * apart[dtype][largest][0] * PEAK_GBPS[gpu])
            cells = ["%.2f | %.2f (%s)" % mean_and_least(of[dtype]) for of in (apart, stream)]
            first = f"| {name} |" if name else "| |"
            print(first, dtype, "|", " | ".join(cells), f"| {share:.1f} % ({size(largest)}) |")
            name = ""


# ---- along an axis ----------------------------------------------------------------------------

AXES = {1: "rows", 0: "columns"}
PEERS = (("torch.compile", "compiled"), ("PyTorch", "torch"), ("CuPy", "cupy"), ("CUB", "cub"))
LARGE_BYTES = 16 << 20


def read_axis(paths):
    """{(dtype, axis): {(rows, columns): {contestant: ns}}} of sums"""
    races = defaultdict(lambda: defaultdict(dict))
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            for op, dtype, axis, rows, columns, who, ns in csv.reader(file):
                if op == "sum":
                    races[dtype, int(axis)][int(rows), int(columns)][who] = float(ns)
    return races


def best_of(times, name=None):
    """The fastest of the other libraries, or of that one's forms; infinite where it did not race."""
    others = [ns for who, ns in times.items()
              if who not in ("redtune", "read", "whole") and (name is None or who.split(" ")[0] == name)]
    return min(others, default=math.inf)


def ratio_cell(ratios, end=min):
    """ratios: {shape: ratio}"""
    if not ratios:
        return "-"
    place = end(ratios, key=ratios.get)
    mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
    return f"{mean:.2f}, {ratios[place]:.2f} ({place[0]} x {place[1]})"


def print_axis(races):
    keys = list(races)
    names = [f"{dtype} {AXES[axis]}" for dtype, axis in keys]
    print("| rows x columns |", " | ".join(names), "|")
    print("| --- |", " | ".join(["---"] * len(keys)), "|")
    for shape in races[keys[0]]:
        cells = []
        for key in keys:
            times = races[key].get(shape)
            cells.append("%.2f, %.2f, %.2f" % (times["redtune"] / 1e3, best_of(times) / times["redtune"],
                                               times["redtune"] / times["read"]) if times else "-")
        print(f"| {shape[0]} x {shape[1]} |", " | ".join(cells), "|")
    print("\n| other / redtune, geometric mean and least |", " | ".join(names), "|")
    print("| --- |", " | ".join(["---"] * len(keys)), "|")
    for title, name in (("best of all at each shape", None), *PEERS):
        cells = []
        for key in keys:
            ratios = {shape: best_of(times, name) / times["redtune"] for shape, times in races[key].items()}
            cells.append(ratio_cell({shape: ratio for shape, ratio in ratios.items() if ratio < math.inf}))
        print(f"| {title} |", " | ".join(cells), "|")
    cells = []
    for dtype, axis in keys:
        width = 2 if dtype == "f16" else 4
        cells.append(ratio_cell({shape: times["redtune"] / times["read"] for shape, times in races[dtype, axis].items()
                                 if shape[0] * shape[1] * width >= LARGE_BYTES}, max))
    print("| redtune / reading, from 16 MiB on: mean, most |", " | ".join(cells), "|")


# ---- first calls --------------------------------------------------------------------------------


def print_first(paths):
    times = defaultdict(dict)
    for path in paths:
        with open(path, newline="", encoding="utf-8") as file:
            for column, name, ms in csv.reader(file):
                times[name][column] = f"{float(ms):.0f}" if float(ms) >= 10 else f"{float(ms):.1f}"
    columns = list(next(iter(times.values())))
    print("| reduction |", " | ".join(columns), "|")
    print("| --- |", " | ".join(["---"] * len(columns)), "|")
    for name, of in times.items():
        print(f"| {name} |", " | ".join(of.get(column, "-") for column in columns), "|")


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "--axis":
        print_axis(read_axis(sys.argv[2:]))
    elif len(sys.argv) > 2 and sys.argv[1] == "--first":
        print_first(sys.argv[2:])
    elif len(sys.argv) > 2 and sys.argv[1] == "--summary":
        print_summary(sys.argv[2:])
    elif len(sys.argv) == 3:
        print_table(read(*sys.argv[1:]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
