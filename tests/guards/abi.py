"""Whether the ABI is the one on record, and keeps its own rule: abi.py ROOT CC [--accept]

The record, abi.txt beside this file, has what a compiled program relies on: each function and callback
as it is declared, each enumerator's value, each struct's size and its members' places. A change shows as a
difference. A change that is meant goes on record with --accept and is reviewed there; docs/api.md says
which changes a compiled program stands.
"""

import difflib
import glob
import os
import re
import subprocess
import sys
import tempfile

# Taken from the caller, and never to grow.
FROZEN = {"redtune_error", "redtune_team_id", "redtune_value"}

root, cc = sys.argv[1:3]
record = os.path.join(os.path.dirname(os.path.abspath(__file__)), "abi.txt")
names = sorted(glob.glob(root + "/include/redtune/*.h"))
text = "\n".join(open(name).read() for name in names)
text = re.sub(r"/\*.*?\*/", "", text, flags=re.S).replace("\\\n", "")
text = re.sub(r"^\s*#.*$", "", text, flags=re.M)


def plain(declaration):
    return " ".join(declaration.split())


def members(body):
    """(name, declaration) of each member, those of unions within it, too."""
    body = re.sub(r"union \{|\}", "", body)
    for line in filter(None, map(plain, body.split(";"))):
        callback = re.search(r"\(\*(\w+)\)", line)
        if callback:
            yield callback.group(1), line
            continue
        kind, declarators = re.match(r"((?:const |struct )*(?:unsigned char|\w+))(.*)", line).groups()
        for declarator in declarators.split(","):
            yield re.search(r"(\w+)(\[\w+\])?$", declarator).group(1), kind + " " + declarator.strip()


functions = sorted(plain(found) for found in re.findall(r"REDTUNE_API\s+([^;]*\));", text))
callbacks = sorted(plain(found) for found in re.findall(r"typedef ([^;{}]*_fn\([^;]*\));", text))
enums = sorted(re.findall(r"typedef enum (\w+) \{(.*?)\}", text, flags=re.S))
structs = sorted((name, kind, list(members(body))) for kind, name, body in
                 re.findall(r"typedef (struct|union) (\w+) \{(.*?)\} \w+;", text, flags=re.S))
assert len(functions) > 20 and len(structs) > 10 and len(enums) > 5, "the headers are read wrongly"


def program():
    yield "#include <stddef.h>\n#include <stdio.h>"
    yield from (f'#include "redtune/{os.path.basename(name)}"' for name in names)
    yield "int main(void) {"
    for name, body in enums:
        yield f'puts("\\nenum {name}");'
        for each in re.findall(r"\b(REDTUNE_\w+)", body):
            yield f'printf("%6d {each}\\n", (int){each});'
    for name, kind, inside in structs:
        yield f'printf("\\n{kind} {name}: %zu bytes\\n", sizeof({name}));'
        for member, declaration in inside:
            yield (f'printf("%6zu {declaration}: %zu\\n", offsetof({name}, {member}), '
                   f'sizeof((({name} *)0)->{member}));')
    yield "}"


with tempfile.TemporaryDirectory() as folder:
    with open(folder + "/abi.c", "w") as source:
        source.write("\n".join(program()))
    subprocess.run([cc, "-I", root + "/include", "-o", folder + "/abi", folder + "/abi.c"], check=True)
    layouts = subprocess.run([folder + "/abi"], check=True, capture_output=True, text=True).stdout
now = "\n".join(["functions", *functions, "", "callbacks", *callbacks, layouts])

# The rule: what a caller makes, or has filled, ends in reserved fields.
pointers = [re.sub(r"\(\*\w+\)\([^)]*\)", "", declaration) for declaration in
            functions + [declaration for _, _, inside in structs for _, declaration in inside]]
taken = {name for name, _, inside in structs if inside[-1][0] != "reserved"
         and any(re.search(rf"\b{name} ?\*", each) for each in pointers)}
if taken - FROZEN:
    sys.exit(f"without reserved fields at the end, so that they can never grow: {sorted(taken - FROZEN)}")

if "--accept" in sys.argv:
    open(record, "w").write(now)
elif open(record).read() != now:
    print(*difflib.unified_diff(open(record).read().splitlines(), now.splitlines(), "on record", "now",
                                lineterm="", n=1), sep="\n")
    sys.exit(f"the ABI is another than tests/guards/abi.txt says. If that is meant, see 'Compatibility' in "
             f"docs/api.md, then: python3 tests/guards/abi.py . cc --accept")
