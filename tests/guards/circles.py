"""Guard: files of one folder include each other in one direction: circles.py ROOT

A file here is a header with its source: "cache/header" is header.h, header.c and header_inside.h. A
folder that has circles is named below; no other may get one.
"""
import os
import re
import sys

root = sys.argv[1]
CIRCLES = {"include/redtune", "src/api/choosing", "src/base", "src/cli", "src/codegen", "src/compiler",
           "tuner/measure", "tuner/search"}


def unit(path):
    return re.sub(r"(_inside)?\.[ch]$", "", path)


includes, folders = {}, set()
for top in ("include", "src", "cache", "tuner", "sim"):
    for folder, _, names in os.walk(os.path.join(root, top)):
        here = os.path.relpath(folder, root)
        folders.add(here)
        for name in sorted(name for name in names if name.endswith((".c", ".h"))):
            with open(os.path.join(folder, name), encoding="utf-8") as file:
                found = re.findall(r'^#include "([^"]+)"', file.read(), re.MULTILINE)
            beside = [f"{here}/{os.path.basename(header)}" for header in found
                      if f"/{here}/".endswith(f"/{os.path.dirname(header)}/")]
            path = f"{here}/{name}"
            includes.setdefault(unit(path), set()).update({unit(each) for each in beside} - {unit(path)})


def reached(start):
    seen, left = set(), list(includes[start])
    while left:
        at = left.pop()
        if at not in seen:
            seen.add(at)
            left.extend(includes.get(at, ()))
    return seen


found = {}
for at in sorted(includes):
    if at in reached(at):
        found.setdefault(os.path.dirname(at), []).append(at)
faults = [f"a circle of includes: {', '.join(units)}" for folder, units in found.items()
          if folder not in CIRCLES]
faults += [f"{folder} has no circle any more" for folder in sorted(CIRCLES - set(found))]
if len(includes) < 200:
    faults.append(f"found {len(includes)} files only: is {root} the tree?")
if faults:
    sys.exit("\n".join(faults))
print(f"{len(includes)} files, and {len(CIRCLES)} of {len(folders)} folders with circles")
