"""What the rows of against_axis.py come to: the table as it grows, and a few lines for each op,
dtype and axis."""

import collections
import csv
import math
import statistics

Case = collections.namedtuple("Case", "op dtype axis rows cols")
Row = collections.namedtuple("Row", "case agree ns")  # ns: by contestant

# Contestants that are not held against redtune as peers are: what it took to read the bytes, and
# redtune itself, with the matrix taken as a whole array.
NO_PEERS = ("redtune", "read", "whole")
LARGE_BYTES, SMALL_BYTES = 16 << 20, 4 << 20
BEHIND = 0.97


def case_bytes(case):
    return case.rows * case.cols * (2 if case.dtype == "f16" else 4)


def best_peer(row):
    """Its name and time; the time is infinite where no peer ran."""
    peers = {name: ns for name, ns in row.ns.items() if name not in NO_PEERS}
    return min(peers.items(), key=lambda item: item[1], default=("none", math.inf))


def shape_of(row):
    return f"{row.case.rows} x {row.case.cols}"


def print_head():
    print(f"{'op':9} {'dtype':5} {'axis':>4} {'rows':>8} {'cols':>9} {'read us':>8} "
          f"{'redtune':>8} {'torch':>8} {'best peer':>9}  {'best/redtune':>12}  who")


def print_row(row):
    name, ns = best_peer(row)
    case, us = row.case, {who: each / 1e3 for who, each in row.ns.items()}
    print(f"{case.op:9} {case.dtype:5} {case.axis:4} {case.rows:8} {case.cols:9} "
          f"{us.get('read', math.nan):8.2f} {us['redtune']:8.2f} {us.get('torch', math.nan):8.2f} "
          f"{ns / 1e3:9.2f}  {ns / row.ns['redtune']:12.3f}  "
          f"{name}{'' if row.agree else '  RESULTS DIFFER'}", flush=True)


def ratios_line(title, ratios, end, word):
    """ratios: (ratio, place) of each shape; end: min or max."""
    mean = statistics.geometric_mean(ratio for ratio, _ in ratios)
    ratio, place = end(ratios)
    return f"  {title:28} {mean:6.3f}, {word} {ratio:.3f} ({place}), {len(ratios)} shapes"


def summary(group):
    """The lines on rows of one op, dtype and axis."""
    peers = [(best_peer(row)[1] / row.ns["redtune"], f"{shape_of(row)}, {best_peer(row)[0]}")
             for row in group if best_peer(row)[1] < math.inf]
    if peers:
        yield ratios_line("best peer / redtune", peers, min, "least")
        behind = sorted((ratio, place) for ratio, place in peers if ratio < BEHIND)
        if behind:
            yield f"  below {BEHIND}: " + "; ".join(f"{r:.3f} ({p})" for r, p in behind)
    names = dict.fromkeys(name for row in group for name in row.ns if name not in NO_PEERS)
    for name in names:
        yield ratios_line(f"{name} / redtune", [(row.ns[name] / row.ns["redtune"], shape_of(row))
                                                for row in group if name in row.ns], min, "least")
    large = [(row.ns["redtune"] / row.ns["read"], shape_of(row)) for row in group
             if "read" in row.ns and case_bytes(row.case) >= LARGE_BYTES]
    if large:
        yield ratios_line("redtune / read, from 16 MiB", large, max, "most")
    small = [(row.ns["redtune"] - row.ns["whole"], shape_of(row)) for row in group
             if "whole" in row.ns]
    if small:
        ns, place = max(small)
        yield (f"  {'beyond the whole array':28} {ns / 1e3:6.3f} us at most ({place}), up to "
               f"4 MiB, {len(small)} shapes")


def print_summaries(rows):
    groups = collections.defaultdict(list)
    for row in rows:
        groups[row.case[:3]].append(row)
    for (op, dtype, axis), group in groups.items():
        print(f"\n{op} of {dtype}, axis {axis}")
        for line in summary(group):
            print(line)


def report(rows, out):
    """Prints each row as it comes, and the summaries, after an interrupt, too; returns whether there
    are rows and all agree."""
    seen = []
    writer = csv.writer(out, lineterminator="\n") if out else None
    print_head()
    try:
        for row in rows:
            seen.append(row)
            print_row(row)
            if writer:
                writer.writerows([*row.case, who, f"{each:.1f}"] for who, each in row.ns.items())
                out.flush()
    finally:
        print_summaries(seen)
    return bool(seen) and all(row.agree for row in seen)
