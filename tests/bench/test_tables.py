"""The tables of docs/benchmarks.md are what bench/table.py makes of the races in bench/results."""

import os
import subprocess
import sys
import unittest

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
RESULTS = os.path.join(ROOT, "bench", "results")
RACES = [
    ["h100-cub-3.6.csv", "apart"],
    ["h200-cub-3.6.csv", "apart"],
    ["--summary", "h200-cub-3.6.csv", "h100-cub-3.6.csv"],
    ["--axis", "h100-axis.csv"],
    ["--axis", "h200-axis.csv"],
]


def printed(words):
    paths = [os.path.join(RESULTS, word) if word.endswith(".csv") else word for word in words]
    table = [sys.executable, os.path.join(ROOT, "bench", "table.py"), *paths]
    return subprocess.run(table, capture_output=True, text=True, check=True).stdout.splitlines()


class Tables(unittest.TestCase):
    def test_each_row_stands_on_the_page(self):
        with open(os.path.join(ROOT, "docs", "benchmarks.md"), encoding="utf-8") as file:
            page = set(file.read().splitlines())
        for words in RACES:
            rows = [row for row in printed(words) if row]
            self.assertGreater(len(rows), 9, words)
            for row in rows:
                self.assertIn(row, page, words)


if __name__ == "__main__":
    unittest.main()
