# redtune compare, on databases of given measurements.
here=$(realpath "${BASH_SOURCE%/*}")
. "$here/check.sh"
. "$here/facts.sh"

# Of five problems one is slower, one faster, one within its noise, and two are in one file only.
two_files() {
    [ ! -e a.db ] || return 0
    facts a.db <<'LINES'
templates=here date=1700000000 median_ns=20000 spread_ns=20
templates=here date=1700000000 op=max median_ns=20000 block=512
templates=here date=1700000000 dtype=i32 result=i64 median_ns=20000 spread_ns=4000
templates=here date=1700000000 cache_state=warm median_ns=900
LINES
    facts b.db <<'LINES'
templates=here date=1700200000 driver=13010 median_ns=24000 spread_ns=20
templates=here date=1700200000 op=max median_ns=16000 block=256
templates=here date=1700200000 dtype=i32 result=i64 median_ns=21500 spread_ns=4000
templates=here date=1700200000 count=4096 median_ns=900
LINES
}

what_is_slower_stands_first() {
    two_files
    run "$redtune" compare a.db b.db
    want_exit 1
    want_no_err
    want_out "                 A                          B
file             a.db                       b.db
GPU              Test H100                  Test H100
driver for CUDA  13.0                       13.0, 13.1
NVRTC            13.0                       13.0
templates        ${today:0:8} (this redtune's)  ${today:0:8} (this redtune's)
measured         2023-11-14                 2023-11-17
winners          4                          4

op   dtype  size  L2     A us   B us     time  noise          config
sum  f32      1M  cold  20.00  24.00  +20.0 %  5.0 %  slower  same
max  f32      1M  cold  20.00  16.00  -20.0 %  5.0 %  faster  other

problems in both: 3; slower: 1, faster: 1, within noise: 1
only in A: 1, only in B: 1"
    run "$redtune" compare a.db b.db --all -q
    want_in_out "+7.5 %"
    want_in_out "same    same"
    want_not_in_out "measured"
}

# Exit: 0 nothing slower, 1 something slower, 2 an error.
the_exit_status_is_for_scripts() {
    two_files
    printf 'no database' >notes.txt
    facts other.db <<<'templates=here count=77'
    while read -r wanted words; do
        run "$redtune" compare $words
        want_exit "$wanted"
        [ "$wanted" != 2 ] || { want_no_out; want_in_err "cannot "; want_one_line; }
    done <<'CASES'
0 a.db a.db
1 a.db b.db
0 a.db b.db --tolerance 25
0 a.db b.db --op max
1 b.db a.db --op max
2 a.db missing.db
2 a.db notes.txt
2 a.db other.db
2 a.db
2 a.db b.db a.db
2 a.db b.db --tolerance x
2 a.db b.db --gpu nothing
CASES
}

exports_are_compared_as_their_databases() {
    two_files
    "$redtune" export --db a.db -q -o a.jsonl
    "$redtune" export --db b.db -q -o b.json
    run "$redtune" compare a.db b.db --json
    sed 's/"[ab][.]db"/""/' stdout >wanted
    run_input a.jsonl env TMPDIR=. "$redtune" compare - b.json --json
    want_exit 1
    sed 's/"-"/""/; s/"b[.]json"/""/' stdout >got
    cmp -s got wanted || fail "other results: $(diff got wanted | head -5)"
    want_in_out '"change": "slower"'
    ! ls -d redtune-* 2>/dev/null || fail "a folder is left behind"
    cp a.db old.db
    python3 -c 'import sqlite3; db = sqlite3.connect("old.db")
db.execute("UPDATE origin SET templates = ?", ("0123456789abcdef" * 2,)); db.commit()'
    run "$redtune" compare old.db b.db
    want_exit 1
    want_in_out "01234567 "
}

# The GPU model tells problems apart where a file has several, and is named then.
gpu_models_are_told_apart() {
    facts many.db <<'LINES'
templates=here median_ns=20000
templates=here gpu=A median_ns=30000
LINES
    facts later.db <<'LINES'
templates=here median_ns=20000
templates=here gpu=A median_ns=40000
LINES
    facts h200.db <<<'templates=here gpu=L median_ns=12000'
    run "$redtune" compare many.db later.db
    want_exit 1
    want_in_out "
Test A100

op   dtype  size  L2     A us   B us     time  noise          config
sum  f32      1M  cold  30.00  40.00  +33.3 %  5.0 %  slower  same
"
    ! grep -q '^Test H100' stdout || fail "a heading without differences"
    # Of each model those that differ, the worst model first; with --all both models.
    run "$redtune" compare many.db later.db --all -q
    [ "$(grep '^Test' stdout | tr '\n' ' ')" = "Test A100 Test H100 " ] || fail "other headings"
    [ "$(grep -c '^sum  f32 ' stdout)" -eq 2 ] || fail "not two rows"
    run "$redtune" compare many.db later.db --gpu h100
    want_exit 0
    run "$redtune" compare later.db h200.db --gpu h
    want_exit 0
    want_in_out "GPU              Test H100                  Test H200"
    want_in_out "faster"
}

# What does not fit beside each other stands one below the other, and no line has more than 100 columns.
wide_sides_are_below_each_other() {
    local name
    name=$(printf 'n%.0s' {1..60}).db
    facts "$name" <<<'templates=here gpu=A median_ns=30000'
    run "$redtune" compare "$name" "$name"
    want_exit 0
    [ "$(grep -c "^file  *$name\$" stdout)" -eq 2 ] || fail "not two lines with the file"
    ! grep -q '.\{101\}' stdout || fail "a line is too wide"
}

# Sums by different keys are different problems, though all else is the same.
keys_are_part_of_the_problem() {
    facts few.db <<<'templates=here key_dtype=i32 spread=uniform keys=256 family=keyed median_ns=20000'
    facts many_keys.db <<<'templates=here key_dtype=i32 spread=uniform keys=4096 family=keyed median_ns=40000'
    run "$redtune" compare few.db few.db
    want_exit 0
    run "$redtune" compare few.db many_keys.db
    want_exit 2
    want_in_err "no problem has a winner in both"
}

# The same pairs on the page of a report, which stays one file that a browser reads.
a_report_shows_the_same() {
    two_files
    cp a.db 'a<i>&.db'
    run "$redtune" report --db b.db --against 'a<i>&.db' -o page.html
    want_exit 0
    want_no_err
    python3 - page.html <<'PY' || fail "the page shows something else"
import sys, xml.etree.ElementTree as tree
root = tree.parse(sys.argv[1])
names = {"h": "http://www.w3.org/1999/xhtml"}
section = root.find(".//h:section[@id='against']", names)
def text(element): return " ".join("".join(element.itertext()).replace("\u202f", "").split())
def rows(table): return [[text(cell) for cell in row] for row in table.findall("./h:tbody/h:tr", names)]
sides, differences = [rows(table) for table in section.findall(".//h:table", names)]
assert ["measured", "2023-11-14", "2023-11-17"] in sides, sides
assert ["GPU", "Test H100", "Test H100"] in sides, sides
assert ["driver's CUDA", "13.0", "13.0, 13.1"] in sides, sides
assert [row[:7] for row in differences] == [
    ["sum of f32", "1M", "+20.0 %", "slower", "20.0", "24.0", "5.0 %"],
    ["max of f32", "1M", "-20.0 %", "faster", "20.0", "16.0", "5.0 %"]], differences
assert [row[8].split(":")[0] for row in differences] == ["the same", "block"], differences
said = text(section.find(".//h:p", names))
assert "Of 3 problems" in said and "1 take longer now and 1 less long" in said, said
assert "Only before: 1; only now: 1." in said, said
assert root.find(".//h:a[@href='#against']", names) is not None
assert "a<i>&.db" in text(section.find(".//h:h2", names))
PY
    "$redtune" export --db a.db -q -o a.jsonl
    run "$redtune" report --db b.db --against a.jsonl --tolerance 25
    want_exit 0
    want_in_out "0 take longer now and 0 less long"
    run "$redtune" report --db b.db
    want_exit 0
    want_not_in_out "less long"
    while IFS='|' read -r code words wanted; do
        run "$redtune" report --db b.db $words
        want_exit "$code"
        want_no_out
        want_in_err "$wanted"
        want_one_line
    done <<'CASES'
1|--against missing.db|missing.db
2|--against a.db --json|redtune compare --json
2|--against a.db --csv|--against with --csv
2|--tolerance 5|--tolerance without --against
2|--against few.db|no problem has a winner in both
CASES
}

a_report_tells_gpu_models_apart() {
    run "$redtune" report --db later.db --gpu h100 --against many.db
    want_exit 0
    want_in_out "0 take longer now"
    run "$redtune" report --db later.db --against many.db
    want_exit 0
    want_in_out "<td>Test A100</td><th>sum of f32</th>"
    run "$redtune" report --db h200.db --against many.db --gpu "test h"
    want_exit 0
    want_in_out "-40.0 %"
}

check_run what_is_slower_stands_first the_exit_status_is_for_scripts \
    exports_are_compared_as_their_databases gpu_models_are_told_apart wide_sides_are_below_each_other \
    keys_are_part_of_the_problem a_report_shows_the_same a_report_tells_gpu_models_apart
