"""Makes a tuning database of given measurements: facts.py DATABASE <LINES

The database is one of redtune's with nothing in it, or with rows to add to. A line names columns by
"name=value", what it does not name is as below; GPUs are named by one letter. A config that is given
is in place of what block and unroll say."""

import shlex
import sqlite3
import sys

GPUS = {
    "A": ("Test A100", 8, 0, 108, 41943040, 5120, 1215000),
    "B": ("Test B200", 10, 0, 132, 132644864, 6144, 3201000),
    "H": ("Test H100", 9, 0, 132, 52428800, 5120, 2619000),
    "L": ("Test H200", 9, 0, 132, 62914560, 6144, 3201000),
    "S": ("Test H100 part", 9, 0, 60, 26214400, 2560, 2619000),
}
USUAL = dict(op="sum", dtype="f32", result="f32", count=1048576, cache_state="cold", family="block",
             block=256, unroll=4, is_default=0, outcome="good", median_ns=3000.0, spread_ns=3.0,
             samples=31, place=None, cause=None, date=1700000000, gpu="H", machine="", driver=13000,
             nvrtc=13000, templates="0" * 32, kernel="0123456789abcdef", imported=0,
             outer=1, inner=1, outer_step=0, step=0, config=None, key_dtype="none", spread="unknown",
             keys=0)



def axes(count, outer, inner, outer_step, step):
    """The layout, and the kept and the reduced axes as a database has them."""
    step, outer_step = step or inner, outer_step or count * inner
    if inner == 1 and step == 1 and (outer == 1 or outer_step == count):
        return ("rows", str(outer), str(count)) if outer > 1 else ("whole", "", str(count))
    kept = [f"{outer}@{outer_step}"] * (outer > 1) + [f"{inner}@1"] * (inner > 1)
    return "columns" if inner > 1 or step > 1 else "rows", " ".join(kept), f"{count}@{step}"


def add(db, line):
    row = dict(USUAL)
    for word in shlex.split(line):
        name, value = word.split("=", 1)
        assert name in row, name
        row[name] = type(USUAL[name])(value) if USUAL[name] is not None else value
    if row["outcome"] != "good":
        row["median_ns"] = row["spread_ns"] = row["samples"] = None
    gpu = GPUS[row["gpu"]]
    origin = (row["machine"], row["driver"], row["nvrtc"], row["templates"])
    db.execute("INSERT OR IGNORE INTO gpu(name, major, minor, sm_count, l2_bytes, bus_bits,"
               " memory_khz) VALUES(?,?,?,?,?,?,?)", gpu)
    db.execute("INSERT OR IGNORE INTO origin(machine, driver_version, nvrtc_version, templates)"
               " VALUES(?,?,?,?)", origin)
    brought = None
    if row["imported"]:
        brought = db.execute("INSERT INTO import(source, date) VALUES('elsewhere.db', 0)").lastrowid
    layout, kept, reduced = axes(row["count"], row["outer"], row["inner"], row["outer_step"], row["step"])
    layout = "keyed" if row["keys"] else layout
    config = row["config"] or (f"block={row['block']},vec=4,unroll={row['unroll']},load=no_allocate,tail=shuffle,"
                               "finish=poll,per_sm=4")
    db.execute("INSERT INTO measurement(gpu, origin, mask, key_dtype, spread, greatest, median, keys, layout,"
               " ordering, kept, reduced, op, dtype, result, count, cache_state, family, config, kernel, is_default,"
               " outcome, median_ns, spread_ns, samples, place, cause, date, import)"
               " SELECT g.id, o.id, 'none', ?, ?, 0, 0, ?, ?, 'free', ?, ?, ?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?"
               " FROM gpu AS g, origin AS o WHERE g.name = ? AND (o.machine, o.driver_version, o.nvrtc_version, o.templates)"
               " = (?,?,?,?)",
               (row["key_dtype"], row["spread"], row["keys"], layout, kept, reduced, row["op"], row["dtype"], row["result"], row["count"], row["cache_state"],
                row["family"], config, row["kernel"], row["is_default"], row["outcome"], row["median_ns"],
                row["spread_ns"], row["samples"], row["place"], row["cause"], row["date"], brought,
                gpu[0]) + origin)


connection = sqlite3.connect(sys.argv[1])
with connection:
    for text in sys.stdin:
        if text.strip():
            add(connection, text)
connection.close()
