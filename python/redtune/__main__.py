"""The redtune command that the package has with it: ``python -m redtune``."""

import os
import sys

from . import _bundle


def main():
    command = _bundle.command()
    os.execve(command, ["redtune", *sys.argv[1:]], _bundle.environment())


if __name__ == "__main__":
    main()
