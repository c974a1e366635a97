#!/usr/bin/env python3
"""Prints what bench/against_cub --format csv left as the tables of docs/benchmarks.md.

usage: bench/table.py RESULTS.csv MODE       for each size and dtype the time of redtune's tuned plan in us, and CUB's
                                             over it; such as bench/results/h100-cub-3.6.csv apart
       bench/table.py --summary RESULTS.csv...    for each file and dtype the geometric mean and the least of CUB's time
                                             over redtune's, between other kernels and on a stream, and the share of
                                             the bus at the largest size
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
            print(f"| {name} | {dtype} |", " | ".join(cells), f"| {share:.1f} % ({size(largest)}) |")
            name = ""


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "--summary":
        print_summary(sys.argv[2:])
    elif len(sys.argv) == 3:
        print_table(read(*sys.argv[1:]))
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main()
