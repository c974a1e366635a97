#!/usr/bin/env python3
"""Facts about the report of bench/against_axis.py: what its summary says of rows that are made up."""

import contextlib
import io
import math
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../bench"))
from axis_report import Case, Row, best_peer, report

ROWS = [
    Row(Case("sum", "f32", 1, 1024, 1024), True,
        {"redtune": 2000.0, "torch": 6000.0, "cub 3.6 fixed": 4000.0, "read": 1900.0,
         "whole": 1700.0}),
    Row(Case("sum", "f32", 1, 4096, 4096), True,
        {"redtune": 20000.0, "torch": 19000.0, "read": 16000.0}),
    Row(Case("max", "f16", 0, 2048, 2048), True, {"redtune": 5000.0, "read": 4000.0}),
]


def printed(rows, out=None):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        right = report(rows, out)
    return right, text.getvalue()


def interrupted():
    yield ROWS[0]
    raise KeyboardInterrupt


def main():
    csv = io.StringIO()
    right, text = printed(ROWS, csv)
    assert right
    for line in (
            "best peer / redtune           1.378, least 0.950 (4096 x 4096, torch), 2 shapes",
            "below 0.97: 0.950 (4096 x 4096, torch)\n",
            "torch / redtune               1.688, least 0.950 (4096 x 4096), 2 shapes",
            "cub 3.6 fixed / redtune       2.000, least 2.000 (1024 x 1024), 1 shapes",
            "redtune / read, from 16 MiB   1.250, most 1.250 (4096 x 4096), 1 shapes",
            "beyond the whole array        0.300 us at most (1024 x 1024), up to 4 MiB, 1 shapes"):
        assert line in text, f"{line!r} is missing in\n{text}"
    # Reading and the whole array are no peers, and without any there is no ratio.
    assert best_peer(ROWS[2]) == ("none", math.inf)
    assert "max of f16, axis 0\n" in text
    assert "sum,f32,1,1024,1024,whole,1700.0\n" in csv.getvalue()
    assert not printed([])[0] and not printed([ROWS[0]._replace(agree=False)])[0]
    # What there is comes to something, however it ends.
    with contextlib.redirect_stdout(io.StringIO()) as text:
        with contextlib.suppress(KeyboardInterrupt):
            report(interrupted(), None)
    assert "least 2.000 (1024 x 1024, cub 3.6 fixed)" in text.getvalue()


main()
