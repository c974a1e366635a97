#!/usr/bin/env python3
"""Draws a race as SVG. Needs matplotlib.

Of a race along an axis, as bench/against_axis.py --csv leaves it: the time of each contestant over that of reading
the bytes: a point for each shape, and the geometric mean. Of whole arrays, as bench/against_cub --format csv leaves them: CUB's time over redtune's,
for each size.

usage: bench/plot.py RESULTS.csv OUT.svg [--dtype f32] [--dark]
"""
import argparse
import csv
import math
import sys
from collections import defaultdict

import table

# What is drawn along an axis, and of which contestants of the race the fastest counts.
SERIES = (
    ("redtune", ("redtune",)),
    ("torch.compile", ("compiled",)),
    ("PyTorch", ("torch",)),
    ("CuPy", ("cupy",)),
    ("CUB", ("cub",)),
)
AXES = ((1, "sum of each row"), (0, "sum of each column"))
LIMIT = 12  # times above it stand at the edge

# Of the ground, the text, redtune and the others, on a light and on a dark page. A page may be light where its reader
# prefers dark ones, so that a figure brings its ground.
LIGHT = {"ground": "#ffffff", "ink": "#1f2328", "grid": "#d0d7de", "own": "#1a7f37", "peer": "#57606a"}
DARK = {"ground": "#0d1117", "ink": "#e6edf3", "grid": "#3d444d", "own": "#3fb950", "peer": "#9198a1"}

# Of whole arrays.
MODES = (("apart", "between other kernels"), ("stream", "on a stream, with the host's time"))
DTYPE_STYLES = (
    {"color": "#2da44e", "marker": "o"},
    {"color": "#e5534b", "marker": "s"},
    {"color": "#d9822b", "marker": "^"},
    {"color": "#539bf5", "marker": "D"},
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


def begin(colours):
    """matplotlib.pyplot, set to draw text and axes on the ground of these colours."""
    import matplotlib

    ink = colours["ink"]
    matplotlib.use("svg")
    matplotlib.rcParams.update({
        "svg.hashsalt": "redtune", "svg.fonttype": "none", "font.size": 8.5, "axes.edgecolor": ink,
        "text.color": ink, "axes.labelcolor": ink, "xtick.color": ink, "ytick.color": ink,
        "axes.spines.top": False, "axes.spines.right": False, "axes.facecolor": "none",
        "savefig.facecolor": colours["ground"],
    })
    from matplotlib import pyplot

    return pyplot


def save(figure, out):
    figure.savefig(out, metadata={"Date": None, "Creator": None})


def mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def draw_series(panel, y, ratios, colour):
    """A point for each shape, and their geometric mean in figures."""
    panel.plot([min(ratio, LIMIT) for ratio in ratios], [y] * len(ratios), "o", color=colour, markersize=4,
               alpha=0.45, markeredgewidth=0)
    x = min(mean(ratios), LIMIT)
    panel.plot([x], [y], "|", color=colour, markersize=13, markeredgewidth=2)
    panel.annotate(f"{mean(ratios):.2f}", (x, y), (0, 8), textcoords="offset points", ha="center", color=colour,
                   fontweight="bold")


def draw_axis(race, dtype, out, colours):
    """400 pixels wide, so that its text of 11 can be read on a telephone."""
    pyplot = begin(colours)
    figure, panels = pyplot.subplots(2, 1, figsize=(400 / 96, 440 / 96), sharex=True, layout="constrained")
    for panel, (axis, title) in zip(panels, AXES):
        for y, (label, names) in enumerate(SERIES):
            ratios = [over_reading(times, names) for times in race[axis].values()]
            ratios = [ratio for ratio in ratios if ratio]
            if ratios:
                draw_series(panel, y, ratios, colours["peer" if y else "own"])
            else:
                panel.annotate("does not have it", (1.05, y), va="center", color=colours["peer"])
        panel.axvline(1, color=colours["ink"], linewidth=0.8, linestyle=":")
        panel.grid(axis="x", color=colours["grid"], linewidth=0.6)
        panel.set_axisbelow(True)
        panel.set_ylim(len(SERIES) - 0.5, -0.7)
        panel.set_yticks(range(len(SERIES)), [label for label, _ in SERIES])
        panel.set_xscale("log")
        panel.set_xlim(0.6, LIMIT * 1.15)
        panel.set_xticks([], minor=True)
        panel.set_xticks([1, 2, 4, 8], ["1", "2", "4", "8"])
        panel.set_title(f"{dtype}, {title}", fontsize=8.5, loc="left")
    panels[1].set_xlabel("time over that of reading the bytes (less is better)")
    save(figure, out)


def draw_whole(path, out, colours):
    """Two panels one above the other, under their legend."""
    pyplot = begin(colours)
    figure, panels = pyplot.subplots(2, 1, figsize=(400 / 96, 440 / 96), sharex=True, layout="constrained")
    for panel, (mode, title) in zip(panels, MODES):
        times = table.read(path, mode)
        for dtype, style in zip(times, DTYPE_STYLES):
            sizes = sorted(times[dtype])
            panel.plot(sizes, [times[dtype][size][1] for size in sizes], label=dtype, markersize=3.5, linewidth=1.3,
                       **style)
        panel.set_xscale("log", base=2)
        panel.set_yscale("log")
        panel.axhline(1, color=colours["ink"], linewidth=0.8, linestyle=":")
        panel.grid(axis="y", color=colours["grid"], linewidth=0.6)
        panel.set_xticks(sizes[::4], [table.size(size) for size in sizes[::4]])
        panel.set_xticks([], minor=True)
        panel.set_yticks([1, 1.25, 1.5, 2, 2.5], ["1", "1.25", "1.5", "2", "2.5"])
        panel.set_yticks([], minor=True)
        panel.set_ylabel("CUB's time over redtune's")
        panel.set_title(title, fontsize=8.5, loc="left")
    panels[1].set_xlabel("bytes of the array")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, ncols=len(labels), loc="outside upper center")
    save(figure, out)


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    options.add_argument("results")
    options.add_argument("out")
    options.add_argument("--dtype", default="f32")
    options.add_argument("--dark", action="store_true", help="for pages of light text on a dark ground")
    given = options.parse_args()
    colours = DARK if given.dark else LIGHT
    with open(given.results, encoding="utf-8") as file:
        if "cub_ns" in file.readline():
            draw_whole(given.results, given.out, colours)
            return
    race = read_race(given.results, given.dtype)
    if not all(race[axis] for axis, _ in AXES):
        sys.exit(f"plot.py: {given.results} has no sums of {given.dtype} along both axes")
    draw_axis(race, given.dtype, given.out, colours)


if __name__ == "__main__":
    main()
