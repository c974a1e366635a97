"""What the rows of against_cublas.py come to: the table as it grows, and a line for each op, dtype
and mode."""

import collections
import csv
import math
import statistics

Row = collections.namedtuple("Row", "op dtype count bytes mode agree ns")  # ns: by contestant

LARGE_BYTES = 1 << 30  # from here on the bus's speed counts
BEHIND = 1.0
BEHIND_LINES = 12


def place(row):
    return f"2^{row.count.bit_length() - 1}" if row.count & (row.count - 1) == 0 else str(row.count)


def best_peer(row):
    """Its name and time; the time is infinite where no peer ran."""
    peers = [(ns, name) for name, ns in row.ns.items() if name != "redtune"]
    return min(peers, default=(math.inf, "none"))


def ratio(row, name=None):
    """A peer's time, or the best one's, over redtune's."""
    return (row.ns[name] if name else best_peer(row)[0]) / row.ns["redtune"]


def print_head():
    print(f"{'op':9} {'dtype':5} {'mode':6} {'count':>5} {'redtune us':>10} {'cublas':>9} "
          f"{'torch':>9} {'best/redtune':>12} {'GB/s':>6}")


def print_row(row):
    us = {name: f"{ns / 1e3:.2f}" for name, ns in row.ns.items()}
    print(f"{row.op:9} {row.dtype:5} {row.mode:6} {place(row):>5} {us['redtune']:>10} "
          f"{us.get('cublas', '-'):>9} {us.get('torch', '-'):>9} {ratio(row):12.3f} "
          f"{row.bytes / row.ns['redtune']:6.0f}{'' if row.agree else '  RESULTS DIFFER'}",
          flush=True)


def comes_to(rows, name=None):
    """'1.234, least 1.001 (2^20)', of one peer or of the best at each point."""
    ratios = [(ratio(row, name), place(row)) for row in rows if not name or name in row.ns]
    ratios = [each for each in ratios if each[0] < math.inf]
    if not ratios:
        return "-"
    least, where = min(ratios)
    mean = statistics.geometric_mean(each for each, _ in ratios)
    return f"{mean:6.3f}, {least:.3f} ({where})"


def ratio_lines(rows):
    groups = collections.defaultdict(list)
    for row in sorted(rows, key=lambda row: row.mode):
        groups[row.mode, row.op, row.dtype].append(row)
    for row in rows:
        groups[row.mode, "all", ""].append(row)
    yield (f"{'mode':6} {'op':9} {'dtype':5} {'points':>6}  {'cublas/redtune, least':26} "
           f"{'torch/redtune, least':26} best peer/redtune, least")
    for (mode, op, dtype), group in groups.items():
        yield (f"{mode:6} {op:9} {dtype:5} {len(group):6}  {comes_to(group, 'cublas'):26} "
               f"{comes_to(group, 'torch'):26} {comes_to(group)}")


def behind_lines(rows):
    behind = sorted((ratio(row), row) for row in rows if ratio(row) < BEHIND)
    yield f"below {BEHIND:.2f}: {len(behind)} of {len(rows)} points"
    for value, row in behind[:BEHIND_LINES]:
        yield (f"  {value:.3f} {row.mode} {row.op} {row.dtype} {place(row)}, {best_peer(row)[1]}, "
               f"redtune {row.ns['redtune'] / 1e3:.2f} us")


def bus_lines(rows, peak_gbps):
    """The share of the bus's peak, of cold calls on large inputs."""
    shares, lines = [], collections.defaultdict(list)
    for row in rows:
        if row.mode == "cold" and row.bytes >= LARGE_BYTES and peak_gbps:
            share = 100 * row.bytes / row.ns["redtune"] / peak_gbps
            shares.append((share, f"{row.op} {row.dtype} {place(row)}"))
            lines[row.op].append(f"{row.dtype} {place(row)} {share:.1f}")
    if shares:
        least, where = min(shares)
        yield (f"% of the bus ({peak_gbps:.0f} GB/s), cold, all inputs counted, from 1 GiB: "
               f"least {least:.1f} ({where})")
    for op, each in lines.items():
        yield f"  {op:9} {', '.join(each)}"


def report(rows, out, peak_gbps):
    """Prints each row as it comes, and what they come to, after an interrupt, too; returns whether
    there are rows and all agree."""
    seen = []
    writer = csv.writer(out, lineterminator="\n") if out else None
    print_head()
    try:
        for row in rows:
            seen.append(row)
            print_row(row)
            if writer:
                writer.writerows([*row[:5], who, f"{ns:.1f}"] for who, ns in row.ns.items())
                out.flush()
    finally:
        print()
        for lines in (bus_lines(seen, peak_gbps), behind_lines(seen), ratio_lines(seen)):
            for line in lines:
                print(line)
    return bool(seen) and all(row.agree for row in seen)
