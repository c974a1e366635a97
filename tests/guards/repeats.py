"""Guard: what stands in several families stands once.

usage: repeats.py ROOT

Counts the lines of families that stand word for word in another family, too: without blanks around
them and comments, of 12 letters and more, and no line that is a call of a piece or of a module, a
barrier or what each family's interface demands. What several families have in common is a piece in
templates/lib/, which one line includes, or a function of lib/shape.lua or lib/limits.lua.
"""
import collections
import itertools
import pathlib
import re
import sys

# By the ending of a family's files: how many of a hundred lines may be repeated, and which do not count.
BOUNDS = {
    ".lua": (12, r"local \w+ = require|function family\.|family\.\w+ = |return family$|params\.\w+,$|local shape = "),
    ".cu": (11, r"//@\s*(include\b|takes |local .*require\b)|#pragma|#include|__sync|__threadfence|const u32 lane = "),
}
LETTERS_MIN = 12
COMMENTS = {".cu": r"(?<!:)//(?!@).*|//@ *--.*", ".lua": r"--.*"}


def lines_of(folder, ending, skipped):
    """The lines that count, each as often as it stands there."""
    found = collections.Counter()
    for path in sorted(folder.glob("*" + ending)):
        for line in path.read_text(encoding="utf-8").splitlines():
            text = re.sub(COMMENTS[ending], "", line).strip()
            if sum(map(str.isalpha, text)) >= LETTERS_MIN and not re.match(skipped, text):
                found[text] += 1
    return found


def main(root):
    templates = pathlib.Path(root) / "templates"
    names = re.findall(r'"(\w+)"', (templates / "registry.lua").read_text(encoding="utf-8"))
    failed = False
    for ending, (bound, skipped) in BOUNDS.items():
        lines = {name: lines_of(templates / name, ending, skipped) for name in names}
        holders = collections.defaultdict(list)
        for name in names:
            for text in lines[name]:
                holders[text].append(name)
        total = sum(sum(found.values()) for found in lines.values())
        repeated = sum(lines[name][text] for text, by in holders.items() if len(by) > 1 for name in by)
        pairs = collections.Counter(
            pair for by in holders.values() for pair in itertools.combinations(by, 2))
        print(f"{ending}: {repeated} of {total} lines of {len(names)} families, "
              f"{100 * repeated / total:.1f} %, stand in several; at most {bound} % may")
        if 100 * repeated <= bound * total:
            continue
        failed = True
        for (one, other), count in pairs.most_common(5):
            print(f"  {one} and {other}: {count}, such as")
            for text in [text for text, by in holders.items() if {one, other} <= set(by)][:4]:
                print(f"    {text}")
    return failed


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
