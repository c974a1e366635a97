#!/usr/bin/env python3
"""Facts about the report of bench/against_cublas.py: what it says of rows that are made up."""

import contextlib
import io
import math
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)), "../../bench"))
from blas_report import Row, best_peer, report

GIB = 1 << 30
ROWS = [
    Row("dot", "f32", 1024, 8192, "cold", True,
        {"redtune": 1000.0, "cublas": 4000.0, "torch": 5000.0}),
    Row("dot", "f32", 1 << 27, GIB, "cold", True,
        {"redtune": 250000.0, "cublas": 240000.0, "torch": 500000.0}),
    Row("dot", "f32", 1 << 27, GIB, "stream", True, {"redtune": 260000.0, "cublas": 390000.0}),
    Row("norm2", "f16", 1 << 29, GIB, "cold", True, {"redtune": 230000.0}),
]


def printed(rows, out=None, peak_gbps=4800.0):
    with contextlib.redirect_stdout(io.StringIO()) as text:
        right = report(rows, out, peak_gbps)
    return right, text.getvalue()


def interrupted():
    yield ROWS[0]
    raise KeyboardInterrupt


def main():
    csv = io.StringIO()
    right, text = printed(ROWS, csv)
    assert right
    for line in (
            "cold   dot       f32        2   1.960, 0.960 (2^27)        3.162, 2.000 (2^27) ",
            "stream dot       f32        1   1.500, 1.500 (2^27)       - ",
            "cold   norm2     f16        1  -                          -  ",
            "cold   all                  3   1.960, 0.960 (2^27) ",
            "from 1 GiB: least 89.5 (dot f32 2^27)\n",
            "  dot       f32 2^27 89.5\n",
            "  norm2     f16 2^29 97.3\n",
            "below 1.00: 1 of 4 points\n  0.960 cold dot f32 2^27, cublas, redtune 250.00 us\n"):
        assert line in text, f"{line!r} is missing in\n{text}"
    assert best_peer(ROWS[3]) == (math.inf, "none")
    assert "dot,f32,1024,8192,cold,cublas,4000.0\n" in csv.getvalue()
    assert "of the bus" not in printed(ROWS, peak_gbps=0.0)[1]
    right, text = printed([ROWS[0]._replace(agree=False)])
    assert not right and "RESULTS DIFFER" in text
    assert not printed([])[0]
    # What there is comes to something, however it ends.
    with contextlib.redirect_stdout(io.StringIO()) as text:
        with contextlib.suppress(KeyboardInterrupt):
            report(interrupted(), None, 4800.0)
    assert "4.000, 4.000 (2^10)" in text.getvalue()


main()
