"""Whether the structures that bench/redtune_library.py passes have the members of the headers, in
order and of the same kinds: bindings.py ROOT"""

import ctypes
import re
import sys

root = sys.argv[1]
sys.path.insert(0, root + "/bench")
import redtune_library as bindings

headers = "".join(open(f"{root}/include/redtune/{name}.h").read() for name in ("problem", "redtune"))
header = re.sub(r"/\*.*?\*/", "", headers, flags=re.S)
KINDS = {"int": ctypes.c_int, "long": ctypes.c_long, "double": ctypes.c_double,
         "uint64_t": ctypes.c_uint64, "uint32_t": ctypes.c_uint32,
         "char": ctypes.c_char, "const char *": ctypes.c_char_p, "redtune_axis": bindings.Axis}
COUNTS = {"REDTUNE_ARRAYS": 4, "REDTUNE_AXES_MAX": 8}


def members(name):
    body = re.search(r"typedef struct %s \{(.*?)\} %s;" % (name, name), header, re.S).group(1)
    # Of the names of one place the first.
    body = re.sub(r"union \{([^;]*;)[^}]*\}", r"\1", body)
    body = re.sub(r";\s*;", ";", body)
    for line in body.split(";")[:-1]:
        first, *others = " ".join(line.split()).split(", ")
        kind, member, count = re.match(r"(.*?)(\w+)(?:\[(\w+)\])?$", first).groups()
        kind, count = kind.strip(), COUNTS.get(count, count)
        others = [other.split("[")[0] for other in others]
        # What is no pointer and has no known kind is an enumeration.
        bound = KINDS.get(kind, ctypes.c_void_p if "*" in kind or count else ctypes.c_int)
        bound = bound * int(count) if count else bound
        yield member, bound
        for other in others:
            yield other, bound


for name, structure in (("redtune_error", bindings.Error), ("redtune_problem", bindings.Problem),
                        ("redtune_operands", bindings.Operands),
                        ("redtune_options", bindings.Options),
                        ("redtune_op_info", bindings.OpInfo),
                        ("redtune_device_info", bindings.DeviceInfo)):
    declared, bound = list(members(name)), structure._fields_
    assert declared == bound, f"{name} is {declared}, bound as {bound}"
