#!/usr/bin/env python3
"""Draws a race as SVG. Needs matplotlib.

Of a race along an axis, as bench/against_axis.py --csv leaves it: the time of each contestant over that of reading
the bytes, for each shape. Of whole arrays, as bench/against_cub --format csv leaves them: CUB's time over redtune's,
for each size.

usage: bench/plot.py RESULTS.csv OUT.svg [--dtype f32]
"""
import argparse
import csv
import sys
from collections import defaultdict

import table

# What is drawn, and of which contestants of the race the fastest counts.
SERIES = (
    ("redtune", ("redtune",), {"color": "#1b6f3a", "marker": "o", "linewidth": 2.2, "zorder": 5}),
    ("PyTorch", ("torch",), {"color": "#c0392b", "marker": "s"}),
    ("torch.compile", ("compiled",), {"color": "#d9822b", "marker": "^"}),
    ("CuPy, CUB: the fastest", ("cupy", "cub"), {"color": "#4a6fa5", "marker": "D"}),
)
AXES = ((1, "sum of each row"), (0, "sum of each column"))

# Of whole arrays.
MODES = (("apart", "between other kernels"), ("stream", "on a stream, with the host's time"))
DTYPE_STYLES = (
    {"color": "#1b6f3a", "marker": "o"},
    {"color": "#c0392b", "marker": "s"},
    {"color": "#d9822b", "marker": "^"},
    {"color": "#4a6fa5", "marker": "D"},
)


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


def make_panels(height):
    """A figure of two panels, and what saves it under their legend. White, since the text is black."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "redtune", "svg.fonttype": "none", "font.size": 9})
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, 2, figsize=(9, height), sharey=True, layout="constrained")
    for panel in panels:
        panel.set_yscale("log")
        panel.axhline(1, color="#888888", linewidth=0.8, linestyle=":")
        panel.grid(axis="y", color="#dddddd", linewidth=0.6)
        panel.spines[["top", "right"]].set_visible(False)

    def save(out):
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, frameon=False, fontsize=8, ncols=len(labels), loc="outside upper center")
        figure.savefig(out, metadata={"Date": None, "Creator": None})

    return panels, save


def draw_axis(race, dtype, out):
    panels, save = make_panels(3.8)
    for panel, (axis, title) in zip(panels, AXES):
        shapes = sorted(race[axis], key=lambda shape: shape[0] / shape[1])
        for label, names, style in SERIES:
            y = [over_reading(race[axis][shape], names) for shape in shapes]
            panel.plot(range(len(shapes)), y, label=label, markersize=3.5, **{"linewidth": 1.1, **style})
        panel.set_yticks([1, 2, 4, 8], ["1", "2", "4", "8"])
        panel.set_yticks([], minor=True)
        panel.set_ylim(0.65, 12)
        panel.set_xticks(range(len(shapes)), [f"{rows} x {columns}" for rows, columns in shapes],
                         rotation=90, fontsize=6.5)
        panel.set_title(f"{dtype}, {title}", fontsize=9)
    panels[0].set_ylabel("time over reading the bytes")
    save(out)


def draw_whole(path, out):
    panels, save = make_panels(3.2)
    for panel, (mode, title) in zip(panels, MODES):
        times = table.read(path, mode)
        for dtype, style in zip(times, DTYPE_STYLES):
            sizes = sorted(times[dtype])
            panel.plot(sizes, [times[dtype][size][1] for size in sizes], label=dtype, markersize=3.5, linewidth=1.3,
                       **style)
        panel.set_xscale("log", base=2)
        panel.set_xticks(sizes[::2], [table.size(size) for size in sizes[::2]], rotation=45, fontsize=7)
        panel.set_yticks([1, 1.25, 1.5, 2, 2.5], ["1", "1.25", "1.5", "2", "2.5"])
        panel.set_yticks([], minor=True)
        panel.set_title(title, fontsize=9)
    panels[0].set_ylabel("CUB's time over redtune's")
    save(out)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("results")
    options.add_argument("out")
    options.add_argument("--dtype", default="f32")
    given = options.parse_args()
    with open(given.results, encoding="utf-8") as file:
        if "cub_ns" in file.readline():
            draw_whole(given.results, given.out)
            return
    race = read_race(given.results, given.dtype)
    if not all(race[axis] for axis, _ in AXES):
        sys.exit(f"plot.py: {given.results} has no sums of {given.dtype} along both axes")
    draw_axis(race, given.dtype, given.out)


if __name__ == "__main__":
    main()
