#!/usr/bin/env python3
"""Prints what bench/against_cub --format csv left as a table of docs/benchmarks.md: for each size and dtype the time of
redtune's tuned plan in us, and CUB's over it.

usage: bench/table.py RESULTS.csv MODE     such as bench/results/h100-cub-3.6.csv apart
"""
import csv
import math
import sys
from collections import defaultdict

UNITS = ((1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB"))


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
    return times


def print_table(times):
    dtypes = list(times)
    print("| input |", " | ".join(f"{dtype} us | CUB / redtune" for dtype in dtypes), "|")
    print("| --- |", " | ".join(["---"] * 2 * len(dtypes)), "|")
    for count in sorted({count for of in times.values() for count in of}):
        cells = ("%.2f | %.2f" % times[dtype][count] if count in times[dtype] else "- | -" for dtype in dtypes)
        print(f"| {size(count)} |", " | ".join(cells), "|")
    for dtype in dtypes:
        ratios = {count: ratio for count, (_, ratio) in times[dtype].items()}
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        least = min(ratios, key=ratios.get)
        print(f"{dtype}: geometric mean {mean:.3f}, least {ratios[least]:.3f} at {size(least)}", file=sys.stderr)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: bench/table.py RESULTS.csv MODE")
    times = read(*sys.argv[1:])
    if not times:
        sys.exit(f"table.py: {sys.argv[1]} has no times of mode {sys.argv[2]}")
    print_table(times)


if __name__ == "__main__":
    main()
