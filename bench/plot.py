#!/usr/bin/env python3
"""Draws a race along an axis, as bench/against_axis.py --csv leaves it, as SVG: the time of each contestant over
that of reading the bytes, for each shape. Needs matplotlib.

usage: bench/plot.py RESULTS.csv OUT.svg [--dtype f32]
"""
import argparse
import csv
import sys
from collections import defaultdict

# What is drawn, and of which contestants of the race the fastest counts.
SERIES = (
    ("redtune", ("redtune",), {"color": "#1b6f3a", "marker": "o", "linewidth": 2.2, "zorder": 5}),
    ("PyTorch", ("torch",), {"color": "#c0392b", "marker": "s"}),
    ("torch.compile", ("compiled",), {"color": "#d9822b", "marker": "^"}),
    ("CuPy, CUB: the fastest", ("cupy", "cub"), {"color": "#4a6fa5", "marker": "D"}),
)
AXES = ((1, "sum of each row"), (0, "sum of each column"))


def read_race(path, dtype):
    """{axis: {(rows, columns): {contestant: nanoseconds}}}"""
    race = defaultdict(lambda: defaultdict(dict))
    with open(path, newline="", encoding="utf-8") as file:
        for op, of, axis, rows, columns, contestant, ns in csv.reader(file):
            if (op, of) == ("sum", dtype):
                race[int(axis)][int(rows), int(columns)][contestant] = float(ns)
    return race


def over_reading(times, names):
    """The fastest of the contestants whose names begin so, over reading the bytes; None without any."""
    of = [ns for name, ns in times.items() if name.split(" ")[0] in names]
    return min(of) / times["read"] if of else None


def draw(race, dtype, out):
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "redtune", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
    for panel, (axis, title) in zip(panels, AXES):
        shapes = sorted(race[axis], key=lambda shape: shape[0] / shape[1])
        for label, names, style in SERIES:
            y = [over_reading(race[axis][shape], names) for shape in shapes]
            panel.plot(range(len(shapes)), y, label=label, markersize=3.5, **{"linewidth": 1.1, **style})
        panel.axhline(1, color="#888888", linewidth=0.8, linestyle=":")
        panel.set_yscale("log")
        panel.set_yticks([1, 2, 4, 8], ["1", "2", "4", "8"])
        panel.set_yticks([], minor=True)
        panel.set_ylim(0.65, 12)
        panel.set_xticks(range(len(shapes)), [f"{rows} x {columns}" for rows, columns in shapes],
                         rotation=90, fontsize=6.5)
        panel.set_title(f"{dtype}, {title}", fontsize=9)
        panel.grid(axis="y", color="#dddddd", linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("time over reading the bytes")
    figure.legend(*panels[0].get_legend_handles_labels(), frameon=False, fontsize=8, ncols=len(SERIES),
                  loc="outside upper center")
    figure.savefig(out, metadata={"Date": None, "Creator": None})


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("results")
    options.add_argument("out")
    options.add_argument("--dtype", default="f32")
    given = options.parse_args()
    race = read_race(given.results, given.dtype)
    if not all(race[axis] for axis, _ in AXES):
        sys.exit(f"plot.py: {given.results} has no sums of {given.dtype} along both axes")
    draw(race, given.dtype, given.out)


if __name__ == "__main__":
    main()
