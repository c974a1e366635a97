"""Guard: the ABI is the one on record, and keeps its own rule: abi.py ROOT CC [--accept]

libabigail's abidw and abidiff read what a compiled program relies on: functions, callbacks, enumerators,
and the sizes and members of structs. They read it from a library made of the public headers alone, in
which every function is empty. The record is tests/records/redtune.abi. A change that is meant goes on
record with --accept; docs/api.md says which changes a compiled program stands.
"""

import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile
from xml.etree import ElementTree

# Taken from the caller, and never to grow.
FROZEN = {"redtune_error", "redtune_team_id", "redtune_value"}

root, cc = sys.argv[1:3]
record = os.path.join(root, "tests/records/redtune.abi")
if not shutil.which("abidw") or not shutil.which("abidiff"):
    print("not run: there is no abidw; ./bootstrap test installs it (Debian's abigail-tools)")
    sys.exit(77)


def make_library(folder):
    """The headers with a body for each function, and a function for each enum, since some are passed as unsigned."""
    source, enums = "", []
    os.mkdir(folder + "/redtune")
    for path in sorted(glob.glob(root + "/include/redtune/*.h")):
        name = "redtune/" + os.path.basename(path)
        with open(path, encoding="utf-8") as file:
            text = file.read()
        enums += re.findall(r"^typedef enum (\w+)", text, flags=re.M)
        text = re.sub(r"^(REDTUNE_API[^;{]*\));", r"\1 { __builtin_trap(); }", text, flags=re.M)
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(text)
        source += f'#include "{name}"\n'
    source += "".join(f"void enum_{name}({name} value) {{ (void)value; }}\n" for name in enums)
    with open(folder + "/abi.c", "w", encoding="utf-8") as file:
        file.write(source)
    subprocess.run([cc, "-g", "-fPIC", "-shared", "-w", "-I.", "-o", "abi.so", "abi.c"], cwd=folder, check=True)


def find_closed(path):
    """The structs that a caller makes, or has filled, without reserved fields at their end."""
    tree = ElementTree.parse(path)
    types = {each.get("id"): each for each in tree.iter() if each.get("id")}

    def pointed_at(reference):
        found = types.get(reference.get("type-id"))
        if found is None or found.tag != "pointer-type-def":
            return None
        while found is not None and found.tag in ("pointer-type-def", "qualified-type-def", "typedef-decl"):
            found = types.get(found.get("type-id"))
        return found

    functions = list(tree.iter("function-decl"))
    assert len(functions) > 50, "abidw found too few functions"
    uses = [each for function in functions for each in function.findall("parameter")]
    uses += tree.iter("var-decl")
    for each in filter(lambda found: found is not None, map(pointed_at, uses)):
        members = each.findall("data-member")
        if members and members[-1].find("var-decl").get("name") != "reserved":
            yield each.get("name")


with tempfile.TemporaryDirectory() as folder:
    make_library(folder)
    public = ["--headers-dir", folder + "/redtune", "--drop-private-types"]
    plain = ["--no-corpus-path", "--no-comp-dir-path", "--no-show-locs", "--type-id-style", "hash"]
    now = folder + "/now.abi"
    subprocess.run(["abidw", *public, *plain, "--out-file", now, folder + "/abi.so"], check=True)
    closed = set(find_closed(now)) - FROZEN
    if closed:
        sys.exit(f"without reserved fields at the end, so that they can never grow: {sorted(closed)}")
    if "--accept" in sys.argv:
        shutil.copyfile(now, record)
    elif subprocess.run(["abidiff", "--harmless", "--no-architecture", record, now], check=False).returncode:
        sys.exit("the ABI is another than tests/records/redtune.abi says. If that is meant, see 'Compatibility' in "
                 "docs/api.md, then: python3 tests/guards/abi.py . cc --accept")
