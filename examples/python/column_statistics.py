"""Mean, standard deviation, least and greatest of each column of a table, with CuPy or NumPy.

usage: column_statistics.py [--host | --sim]     --host: of NumPy's array, which goes to the GPU in pieces
                                                 --sim: to the simulated GPU
"""

import sys

import redtune


def describe(table):
    """The statistics of the columns as a dictionary of arrays, in two passes over the table."""
    mean, var = redtune.mean_var(table, axis=0, ddof=1)
    least, greatest = redtune.minmax(table, axis=0)
    return {"mean": mean, "std": var**0.5, "min": least, "max": greatest}


def main(library):
    rows = library.arange(1000, dtype=library.float32).reshape(-1, 1)
    table = library.concatenate([rows, library.sin(rows), 0 * rows + 3], axis=1)
    for name, values in describe(table).items():
        print(name.ljust(4), " ".join(f"{float(value):10.4f}" for value in values))


if __name__ == "__main__":
    if "--sim" in sys.argv:
        redtune.configure(device="sim")
    if {"--host", "--sim"} & set(sys.argv):
        import numpy as library
    else:
        try:
            import cupy as library
        except ImportError:
            sys.exit("there is no CuPy: install it, or give --host for NumPy, --sim without a GPU")
    main(library)
