# redtune show, on databases of given measurements: which rows there are, in what order, and how
# they look.
here=$(realpath "${BASH_SOURCE%/*}")
. "$here/check.sh"
. "$here/facts.sh"

winners_stand_in_a_table_for_each_gpu() {
    facts two.db <<'LINES'
templates=here gpu=H median_ns=3000 is_default=1
templates=here gpu=H median_ns=2000 block=512 unroll=2
templates=here gpu=H cache_state=warm median_ns=1500.4 is_default=1
templates=here gpu=H dtype=f64 result=f64 count=1000 median_ns=900 block=64
templates=here gpu=A median_ns=4096 is_default=1
LINES
    run "$redtune" show --db two.db --gpu all
    want_exit 0
    want_no_err
    want_out "Test A100, compute capability 8.0, 108 SMs, L2 40 MiB, bus 1555 GB/s

op   dtype  size  L2      us    GB/s   gain    peak  family
    config
sum  f32      1M  cold  4.10  1024.0  1.00x  65.8 %  block
    block=256,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=poll,per_sm=4 (default)

Test H100, compute capability 9.0, 132 SMs, L2 50 MiB, bus 3352 GB/s

op   dtype  size  L2      us    GB/s   gain    peak  family
    config
sum  f32      1M  cold  2.00  2097.2  1.50x  62.6 %  block
    block=512,vec=4,unroll=2,load=no_allocate,tail=shuffle,finish=poll,per_sm=4
sum  f32      1M  warm  1.50  2795.5  1.00x       -  block
    block=256,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=poll,per_sm=4 (default)
sum  f64    1000  cold  0.90     8.9      -   0.3 %  block
    block=64,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=poll,per_sm=4"
    run "$redtune" show --db two.db --gpu h100 --dtype f64
    want_exit 0
    want_not_in_out A100
    want_not_in_out f32
    want_in_out "sum  f64    1000"
}

every_measurement_is_sorted_and_marked() {
    facts all.db <<'LINES'
templates=here median_ns=3000 is_default=1 place=7
templates=here median_ns=2500 block=512 samples=3
templates=here median_ns=2700 block=128 imported=1
templates=here block=1024 outcome=faulted cause="an illegal memory access"
templates=here block=32 outcome=wrong cause="gave 1, not 2"
templates=here count=2097152
templates=here op=max
LINES
    run "$redtune" show --all --op sum --dtype f32 --count 1M --db all.db
    want_exit 0
    want_no_err
    want_out "Test H100, compute capability 9.0, 132 SMs, L2 50 MiB, bus 3352 GB/s

op   dtype  size  L2      us    +-  samples   gain  rank  outcome  made
    config
sum  f32      1M  cold  2.50  0.00        3  1.20x     -  good     here
    block block=512,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=poll,per_sm=4
sum  f32      1M  cold  2.70  0.00       31  1.11x     -  winner   elsewhere
    block block=128,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=poll,per_sm=4
sum  f32      1M  cold  3.00  0.00       31  1.00x     7  good     here
    block block=256,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=poll,per_sm=4 (default)
sum  f32      1M  cold     -     -        -      -     -  faulted  here
    block block=1024,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=poll,per_sm=4: an illegal
    memory access
sum  f32      1M  cold     -     -        -      -     -  wrong    here
    block block=32,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=poll,per_sm=4: gave 1, not 2"
}

# The widest figures, and a machine and a folder with long names.
what_is_printed_fits_100_columns() {
    local long=$(printf 'f%.0s' {1..60})
    facts wide.db <<LINES
templates=here op=nonzeros result=u64 dtype=bf16 count=115292150460 median_ns=123456789 is_default=1
templates=here machine=$long op=nonzeros result=u64 dtype=bf16 count=115292150460 median_ns=120456789 imported=1
templates=here op=nonzeros result=u64 dtype=bf16 count=115292150460 block=64 outcome=uncompiled cause="$long $long"
LINES
    for command in "show" "show --all" "explain --op nonzeros --dtype bf16 --count 115292150460" \
        "doctor"; do
        # shellcheck disable=SC2086
        run "$redtune" $command --db wide.db
        [ -n "$out" ] || fail "nothing is printed"
        # A word that cannot be broken, such as a path, may be longer.
        [ "$(awk 'length > 100 && NF > 2' stdout)" = "" ] || fail "a line is longer than 100 columns"
    done
}

# Whole arrays, rows, columns, and the middle axis of an array.
shapes_are_told_apart() {
    local rows=$(config_of 1Kx4K 1) columns=$(config_of 4Kx1K 0)
    facts shapes.db <<LINES
templates=here count=4096 median_ns=2000
templates=here count=4096 outer=1024 family=rows config=$rows median_ns=8192 is_default=1
templates=here count=4096 outer=1024 outer_step=4100 family=rows config=$rows median_ns=8300
templates=here count=4096 inner=1024 family=columns config=$columns median_ns=9000
templates=here count=512 outer=64 inner=512 family=columns config=$columns median_ns=9500
LINES
    run "$redtune" show --db shapes.db
    want_exit 0
    # 4 M elements and 1 K results of 4 bytes in 8.192 us.
    [ "$(awk 'length > 100' stdout)" = "" ] || fail "a line is longer than 100 columns"
    out=$(tr -s ' ' <stdout)
    for row in "sum f32 4K cold 2.00 8.2 " "sum f32 1Kx4K axis 1 cold 8.19 2048.5 1.00x 61.1 % rows" \
        "sum f32 1Kx4K axis 1 pitch 4100 cold 8.30 " "sum f32 4Kx1K axis 0 cold 9.00 " \
        "sum f32 64x512x512 axis 1 cold 9.50 7077.9 "; do
        want_in_out "$row"
    done
    for command in show "export --format json"; do
        # shellcheck disable=SC2086
        count() { run "$redtune" $command --db shapes.db "${@:2}"; want_exit 0
            [ "$(grep -c ' 4K \|x\|"count"' stdout)" = "$1" ] || fail "not $1 rows"; }
        count 1 --count 4K
        count 1 --shape 4096
        count 2 --shape 1024x4096 --axis 1
        count 1 --shape 4Kx1K --axis 0
        count 1 --shape 64x512x512 --axis -2
        count 2 --axis 1
        count 2 --axis -2
        count 4 --axis 1,0
    done
    run "$redtune" show --db shapes.db --json --shape 1Kx4K --axis 1
    python3 - <<'PY' || fail "not the extents that were put in"
import json
names = "layout", "count", "outer", "inner", "outer_step", "step"
found = [[row[name] for name in names] for row in json.load(open("stdout"))["rows"]]
assert found == [["rows", 4096, 1024, 1, 4096, 1], ["rows", 4096, 1024, 1, 4100, 1]], found
PY
    run "$redtune" show --db shapes.db --axis 2
    want_refused 2 "cannot use --axis alone for other axes than 0, all columns, and 1, all rows"
    run "$redtune" show --db shapes.db --count 4K --axis 1
    want_refused 2 "cannot use --size with --axis"
    run "$redtune" verify --device sim --db shapes.db --count 4K --shape 4x4
    want_refused 2 "cannot use --size with --shape"
}

json_is_the_same_on_a_terminal() {
    facts terminal.db <<<"templates=here"
    run "$redtune" show --json --db terminal.db
    want_exit 0
    on_terminal seen "$redtune" show --json --db terminal.db || fail "it fails on a terminal"
    cmp -s stdout seen || fail "a terminal gets another text"
    python3 - <<'PY' || fail "not what was put in"
import json
row, = json.load(open("stdout"))["rows"]
assert (row["gpu"], row["count"], row["median_ns"], row["winner"]) == ("Test H100", 1048576, 3000, True)
assert row["sm_mhz"] is None and row["rank"] is None and row["default_ns"] == 0, row
PY
    run "$redtune" show --db terminal.db
    NO_COLOR=1 on_terminal seen "$redtune" show --db terminal.db || fail "it fails on a terminal"
    cmp -s <(tr -d ' \n' <stdout) <(tr -d ' \n' <seen) || fail "a terminal gets another table"
    [ -z "$(awk 'length > 80' seen)" ] || fail "a table is wider than its terminal"
}

nothing_is_said_so() {
    run "$redtune" show --db nothing.db
    want_exit 0
    want_no_out
    want_in_err "redtune --device 0"
    run "$redtune" show --db nothing.db -q
    want_exit 0
    want_no_err
    [ ! -e nothing.db ] || fail "reading made a file"
    run "$redtune" show --db nothing.db --op sums
    want_refused 2 sums
}

layers_lie_one_over_another() {
    facts mine.db <<<"templates=here median_ns=2000"
    facts theirs.db <<'LINES'
templates=here median_ns=1000 block=512
templates=here count=2097152
LINES
    run "$redtune" show --db mine.db:theirs.db --json
    want_exit 0
    want_in_out '"median_ns": 1000'
    want_in_out '"count": 2097152'
    REDTUNE_SYSTEM_DB=theirs.db run "$redtune" show --db mine.db --shipped --json
    want_in_out '"database": "theirs.db"'
}

unreadable_systems_are_named() {
    echo junk >system.db
    for command in "show --shipped" "explain --gpu H200 --count 1M"; do
        REDTUNE_SYSTEM_DB=system.db run "$redtune" $command --db nothing.db
        want_refused 1 "cannot open tuning database system.db"
    done
    facts mine.db <<<"templates=here"
    REDTUNE_SYSTEM_DB=system.db run "$redtune" show --db mine.db --shipped
    want_exit 0
}

check_run winners_stand_in_a_table_for_each_gpu every_measurement_is_sorted_and_marked \
    what_is_printed_fits_100_columns shapes_are_told_apart \
    json_is_the_same_on_a_terminal nothing_is_said_so layers_lie_one_over_another \
    unreadable_systems_are_named
