# The command on a GPU: tunes, reduces, and keeps what it measured when interrupted.
. "${BASH_SOURCE%/*}/files.sh"
. "${BASH_SOURCE%/*}/check.sh"
export REDTUNE_DB=$folder/tuning.db

# The simulated GPU takes its time: smaller sizes do for it.
least=1K most=16M sizes=1K,4K
if [[ ${REDTUNE_CUDA_DRIVER:-} == *redtune-sim* ]]; then least=256 most=64K sizes=256,1K; fi

tune_ends_with_a_table() {
    run "$redtune" --size $sizes --dtype i32,f32
    want_exit 0
    [ "$(grep -c '^sum ' stdout)" -eq 4 ] || fail "not four rows"
    [ "$(grep -c '^redtune: [1-4]/4 sum of ' stderr)" -eq 4 ] || fail "not four lines of progress"
    [ -e tuning.db ] || fail "no database"
}

tune_measures_nothing_twice() {
    run "$redtune" --size $sizes --dtype i32,f32
    want_exit 0
    want_in_err " 0 candidates measured"
}

quiet_tunes_in_silence() {
    run "$redtune" --size 1K --dtype f32 --quiet
    want_exit 0
    want_no_err
    want_in_out "sum  f32"
}

tune_writes_json() {
    run "$redtune" --size 1K --dtype f32 --json -q
    want_exit 0
    want_no_err
    want_in_out '"complete": true'
    want_in_out '"count": 1024'
    command -v python3 >/dev/null || return
    python3 -m json.tool stdout >/dev/null || fail "stdout is no JSON"
}

interrupts_keep_what_was_measured() {
    ran="redtune, interrupted"
    "$redtune" --db interrupted.db --dtype f32 --size $least..$most >stdout 2>stderr &
    local process=$! waited=0
    until grep -q '^redtune: 1/[0-9]* ' stderr || [ $((waited += 1)) -gt 600 ]; do sleep 0.1; done
    kill -INT $process
    wait $process
    code=$? out=$(cat stdout) err=$(cat stderr)
    want_exit 130
    want_in_err "interrupted; what was measured is kept in interrupted.db"
    run "$redtune" --db interrupted.db --dtype f32 --size $least
    want_exit 0
    want_in_err " 0 candidates measured"
}

no_such_device_is_named() {
    run "$redtune" --device 99
    want_refused 2 "99"
}

# Of two problems the time before is known: the default's, which is measured, and 10 ms.
tune_says_what_the_recorded_gain() {
    cat >runs.jsonl <<'LINES'
{"redtune_recording":1}
{"op":"sum","dtype":"f32","count":320,"calls":10,"ns":10000000,"match":"nearest size"}
{"op":"max","dtype":"f32","count":320,"calls":5,"ns":0,"match":"default"}
{"op":"min","dtype":"f32","count":320,"calls":5,"ns":0,"match":"like"}
LINES
    run "$redtune" --recorded runs.jsonl --effort quick
    want_exit 0
    [ "$(grep -c '^\(sum\|max\|min\) .* 320 ' stdout)" -eq 3 ] || fail "not three rows"
    want_in_err "recorded: 2 problems, 15 calls: 10.0"
    want_in_err "x as fast"
    want_in_err "recorded: 1 problem whose time before is not known"
    run "$redtune" --recorded runs.jsonl --effort quick --json
    want_exit 0
    python3 - <<'PY' || fail "not what the recorded gain"
import json
found = json.load(open("stdout"))
recorded = found["recorded"]
by_op = {result["op"]: result for result in found["results"]}
assert (recorded["problems"], recorded["calls"], recorded["unknown"]) == (2, 15, 1), recorded
assert abs(recorded["before_ns"] - 1e7 - 5 * by_op["max"]["default_ns"]) < 1, recorded
assert abs(recorded["now_ns"] - 10 * by_op["sum"]["median_ns"] - 5 * by_op["max"]["median_ns"]) < 1
PY
}

# value WANTED ARGUMENT...: redtune reduce prints this value and nothing else.
value() {
    local wanted=$1
    shift
    run "$redtune" reduce "$@"
    want_exit 0
    want_no_err
    want_out "$wanted"
}

reduce_sums_files() {
    { npy "'<i4'" "(1000,)"; integers 4 1000; } >i32.npy
    { npy "'<i8'" "(10, 100)" 2 True; integers 8 1000; } >i64.npy
    npy "'<f4'" "(0, 3)" 3 >none.npy
    { npy "'<f8'" "()"; printf '\x9a\x99\x99\x99\x99\x99\xb9\x3f'; } >one.npy
    { npy "'<f4'" "(3,)"; printf '\0\0\x80\x3f\0\0\xc0\x7f\0\0\x80\x3f'; } >nan.npy
    value 499500 i32.npy
    value 499500 i64.npy
    value 0 none.npy
    value 0.1 one.npy
    value nan nan.npy
}

reduce_takes_bool_and_big_endian_arrays() {
    { npy "'|b1'" "(4,)"; printf '\1\0\1\1'; } >truths.npy
    value 3 truths.npy
    value 3 truths.npy --op nonzeros
    value 1 truths.npy --op any
    value 0 truths.npy --op all
    value 0.75 truths.npy --op mean
    { npy "'|b1'" "(4,)"; printf '\377\0\2\200'; } >odd.npy
    value 3 odd.npy
    value 1 odd.npy --op max
    value 0 odd.npy --op argmax
    { npy "'>f8'" "(2,)"; printf '\x3f\xb9\x99\x99\x99\x99\x99\x9a\0\0\0\0\0\0\0\0'; } >big.npy
    value 0.1 big.npy
    value 0 big.npy --op argmax
}

# Of 10,001 elements of f32, whose 40,004 bytes are no multiple of 16, too.
reduce_takes_what_fits_as_one_piece() {
    for count in 1 3 1023 10000 10001; do
        head -c $((4 * count)) /dev/zero >zeros
        run "$redtune" reduce zeros --dtype f32 --json
        want_in_out "\"count\": $count"
        want_in_out '"pieces": 1'
    done
}

reduce_sums_raw_elements() {
    integers 8 1000 >i64
    : >empty
    value 499500 i64 --dtype i64
    value 0 empty --dtype f64
}

# lines TEXT ARGUMENT...: redtune reduce prints these lines, with / for a line's end.
lines() {
    value "${1//\//$'\n'}" "${@:2}"
}

# 0 to 23 as 2 x 3 x 4, and the same array in Fortran order.
reduce_goes_along_axes() {
    { npy "'<i4'" "(2, 3, 4)"; integers 4 24; } >c.npy
    { npy "'<i4'" "(2, 3, 4)" 1 True
      for ((last = 0; last < 4; last++)); do
          for ((middle = 0; middle < 3; middle++)); do
              for ((first = 0; first < 2; first++)); do
                  little_endian 4 $((12 * first + 4 * middle + last))
              done
          done
      done; } >f.npy
    for order in c f; do
        lines "12 14 16 18/20 22 24 26/28 30 32 34" $order.npy --axis 0
        lines "12 15 18 21/48 51 54 57" $order.npy --axis 1
        lines "6 22 38/54 70 86" $order.npy --axis -1
        lines "66/210" $order.npy --axis 1,2
        lines "60/66/72/78" $order.npy --axis 0,1
        lines "0 0 0 0/0 0 0 0" $order.npy --axis 1 --op argmin
        lines "5.5/17.5" $order.npy --axis 2,1 --op mean
        lines "276" $order.npy --axis 0,1,2
        lines "60/92/124" $order.npy --axis 0,2
        lines "10/11/12/13" $order.npy --axis 0,1 --op mean
        lines "23" $order.npy --op argmax
        lines "5/5/5/5" $order.npy --axis 0,1 --op argmax
        lines "276" $order.npy --order fixed
        lines "60 66 72 78" $order.npy --axis 0,1 --keepdims
        lines "12 15 18 21//48 51 54 57" $order.npy --axis 1 --keepdims
    done
    # The variable numbers a file in Fortran order as the option does.
    { npy "'<f4'" "(2, 2)" 1 True; printf '\0\0\200\77\0\0\0\100\0\0\100\100\0\0\200\100'; } >g.npy
    "$redtune" reduce g.npy --order fixed --json | grep '"config":' >asked
    REDTUNE_ORDER=fixed "$redtune" reduce g.npy --json | grep '"config":' >switched
    { [ -s asked ] && cmp asked switched; } || fail "REDTUNE_ORDER goes another way than --order"
    value 4324 c.npy f.npy --op dot # of files in either order
    lines "748/1356/2220" f.npy c.npy --op dot --axis 0,2
    { npy "'|b1'" "(2, 2)"; printf '\1\0\1\1'; } >truths.npy
    lines "1/1" truths.npy --axis 1 --op any
    lines "2 1" truths.npy --axis 0 --keepdims
    run "$redtune" reduce c.npy --axis 1 --json
    want_exit 0
    python3 - <<'PY' || fail "not the sums, with their shape"
import json
found = json.load(open("stdout"))
assert found["shape"] == [2, 4] and found["values"] == [12, 15, 18, 21, 48, 51, 54, 57], found
assert (found["layout"], found["count"], found["outer"], found["inner"]) == ("columns", 3, 2, 4), found
PY
}

# x is 0 ... 5, y 1 ... 6 in raw elements.
reduce_takes_two_files() {
    { npy "'<i4'" "(2, 3)"; integers 4 6; } >x.npy
    integers 4 7 | tail -c +5 >y
    { npy "'<i4'" "(2, 3)"; cat y; } >y.npy
    value 70 x.npy y.npy --op dot
    value 70 x.npy y --op dot --dtype i32
    lines "8/62" x.npy y.npy --op dot --axis 1
    value 6 x.npy y.npy --op mismatches
    value 0 x.npy y.npy --op mismatches --parameter tolerance=1
    "$redtune" reduce - y --op dot --dtype i32 <x.npy >stdout 2>stderr
    [ "$(cat stdout)" = 70 ] || fail "not 70 from standard input: $(cat stdout stderr)"
    run "$redtune" reduce x.npy y.npy --op dot --json
    want_in_out '"second_file": "y.npy"'
    want_in_out '"value": 70'
}

reduce_leaves_out_what_a_mask_does() {
    { npy "'<i4'" "(2, 3)"; integers 4 6; } >x.npy
    { npy "'|b1'" "(2, 3)"; printf '\0\1\377\0\0\2'; } >mask.npy
    { npy "'|b1'" "(3, 2)"; printf '\0\1\1\0\0\1'; } >turned.npy
    value 8 x.npy --where mask.npy
    value 5 x.npy --where mask.npy --op argmax
    lines "1.5/5" x.npy --where mask.npy --op mean --axis 1
    run "$redtune" reduce x.npy --where mask.npy --json
    want_in_out '"where": "mask.npy"'
    run "$redtune" reduce x.npy --where turned.npy
    want_refused 1 "both must have the same shape"
    run "$redtune" reduce x.npy --where x.npy
    want_refused 1 "its elements are i32; save a mask of bools"
    { npy "'<i4'" "(2, 3)"; for i in 1 1 1 1 1 1; do little_endian 4 $i; done; } >ones.npy
    value 30 x.npy x.npy --where mask.npy --op dot
    lines "0.5/16" x.npy ones.npy --where mask.npy --op mse --axis 1
    run "$redtune" reduce x.npy ones.npy --where mask.npy --op dot --json
    want_in_out '"second_file": "ones.npy"'
    want_in_out '"where": "mask.npy"'
    want_in_out '"value": 8'
    run "$redtune" reduce x.npy ones.npy --where turned.npy --op dot
    want_refused 1 "both must have the same shape"
    "$redtune" reduce - x.npy --where mask.npy --op dot <x.npy >stdout 2>stderr
    [ "$(cat stdout)" = 30 ] || fail "not 30 from standard input: $(cat stdout stderr)"
}

reduce_leaves_out_what_bits_do() {
    { npy "'<i4'" "(2, 3)"; integers 4 6; } >x.npy
    printf '\042\377\377' >bits           # 1 and 5, from the lowest on
    printf '\377\020\021\377' >later      # the same from bit 11 on
    value 6 x.npy --where-bits bits
    value 6 x.npy --where-bits later --where-offset 11
    lines "1/5" x.npy --where-bits bits --op mean --axis 1
    { npy "'<i8'" "(3,)"; little_endian 8 1; little_endian 8 3; little_endian 8 6; } >offsets.npy
    lines "1/5" x.npy --where-bits bits --offsets offsets.npy
    run "$redtune" reduce x.npy --where-bits bits --where-offset 19
    want_refused 1 "cannot read the bits of bits: 1 of those that the elements need"
    run "$redtune" reduce x.npy --where-bits bits --where-offset 99
    want_refused 1 "6 of those"
    run "$redtune" reduce x.npy --where-bits bits --where bits
    want_refused 2 "together"
    { npy "'|b1'" "(2, 3)"; printf '\1\0\1\0\1\0'; } >bools.npy
    run "$redtune" reduce x.npy --where-bits bools.npy
    want_refused 1 "its elements are bool; use --where"
    run "$redtune" reduce x.npy --where-offset 3
    want_refused 2 "without --where-bits"
    run "$redtune" reduce x.npy --where-bits bits --device all
    want_out 6
}

reduce_names_several_results() {
    { npy "'<i4'" "(2, 3)"; integers 4 6; } >x.npy
    lines "min 0/max 5" x.npy --op minmax
    lines "mean 2.5/var 3.5" x.npy --op mean_var --parameter ddof=1
    lines "# min/0/3//# max/2/5" x.npy --op minmax --axis 1
    run "$redtune" reduce x.npy --op max_at --axis 1 -o max.npy -o at.npy
    want_exit 0
    want_no_out
    value 7 max.npy
    value 4 at.npy
    run "$redtune" reduce x.npy --op max_at --json
    python3 - <<'PY' || fail "not both results by name"
import json
found = json.load(open("stdout"))
assert found["results"] == {"max": {"value": 5, "dtype": "i32"}, "index": {"value": 5, "dtype": "i64"}}, found
PY
    run "$redtune" reduce x.npy --op minmax --axis 1 --json
    python3 - <<'PY' || fail "not both arrays by name"
import json
found = json.load(open("stdout"))
assert [found["results"][name]["values"] for name in ("min", "max")] == [[0, 3], [2, 5]], found
PY
}

reduce_writes_arrays_that_it_reads() {
    { npy "'<i4'" "(100, 7)"; integers 4 700; } >c.npy
    run "$redtune" reduce c.npy --axis 0 -o sums.npy
    want_exit 0
    want_no_out
    run "$redtune" reduce sums.npy
    want_out 244650
    "$redtune" reduce c.npy --axis 1 --op max -o - >piped.npy 2>stderr
    run "$redtune" reduce piped.npy --op argmax
    want_out 99
    run "$redtune" reduce c.npy -o whole.npy
    value 244650 whole.npy
    { npy "'|b1'" "(2, 2)"; printf '\1\0\0\0'; } >truths.npy
    "$redtune" reduce truths.npy --axis 1 --op max -o max.npy
    "$redtune" reduce c.npy --axis 1 --op all -o all.npy
    "$redtune" reduce truths.npy --axis 1 -o counts.npy
    python3 - <<'PY' || fail "not what NumPy would write"
import ast, struct
def read(name):
    data = open(name, "rb").read()
    size = struct.unpack("<H", data[8:10])[0]
    assert data[:8] == b"\x93NUMPY\1\0" and (10 + size) % 64 == 0 and data[9 + size:10 + size] == b"\n", name
    return ast.literal_eval(data[10:10 + size].decode()), data[10 + size:]
head, data = read("sums.npy")
assert head == {"descr": "<i8", "fortran_order": False, "shape": (7,)}, head
assert struct.unpack("<7q", data) == tuple(34650 + 100 * i for i in range(7))
head, data = read("whole.npy")
assert head["shape"] == () and len(data) == 8, head
head, data = read("piped.npy")
assert head == {"descr": "<i4", "fortran_order": False, "shape": (100,)}, head
assert read("max.npy")[0]["descr"] == read("all.npy")[0]["descr"] == "|b1"
assert read("max.npy")[1] == b"\1\0" and read("counts.npy")[0]["descr"] == "<u8"
PY
}

# As which NumPy saves the dtypes of ml_dtypes: 1, -2 and 0.5 of each.
reduce_reads_bytes_as_the_dtype_given() {
    local dtype
    { npy "'<V2'" "(3,)"; printf '\200\077\000\300\000\077'; } >bf16.npy
    { npy "'<V1'" "(3,)"; printf '\070\300\060'; } >e4m3.npy
    { npy "'<f1'" "(3,)"; printf '\074\300\070'; } >e5m2.npy
    for dtype in bf16 e4m3 e5m2; do
        run "$redtune" reduce $dtype.npy --dtype $dtype
        want_exit 0
        want_out -0.5
        run "$redtune" reduce $dtype.npy --dtype $dtype --axis 0 --op min
        want_exit 0
        want_out -2
    done
}

# NumPy has no bf16: its bits are the upper half of an f32's.
reduce_writes_bf16_as_f32() {
    { little_endian 2 $((0x3f80)); little_endian 2 $((0x4000)); } >raw
    run "$redtune" reduce raw --dtype bf16 --shape 2x1 --axis 1 --op max -o wide.npy
    want_exit 0
    run "$redtune" reduce wide.npy --op sumsq
    want_out 5
}

# Nor has it floats of 8 bits: 448 and 57344, the largest of each.
reduce_reads_floats_of_8_bits() {
    printf '\176\070\270' >raw
    run "$redtune" reduce raw --dtype e4m3
    want_out 448
    run "$redtune" reduce raw --dtype e4m3 --op min
    want_out -1
    printf '\173\074' >raw
    run "$redtune" reduce raw --dtype e5m2
    want_out 57345
}

reduce_reads_standard_input() {
    { npy "'<i4'" "(1000,)"; integers 4 1000; } >i32.npy
    run_input i32.npy "$redtune" reduce -
    want_out 499500
    ran="a pipe into redtune reduce -"
    out=$(tail -c 4000 i32.npy | "$redtune" reduce - --dtype i32 2>stderr)
    want_out 499500
}

reduce_refuses_a_pipe_that_ends_early() {
    { npy "'<i4'" "(1000,)"; integers 4 999; } >short.npy
    ran="a short pipe into redtune reduce -"
    cat short.npy | "$redtune" reduce - >stdout 2>stderr
    code=$? out=$(cat stdout) err=$(cat stderr)
    want_refused 1 "cannot reduce standard input: it is truncated"
}

reduce_says_more_when_asked() {
    { npy "'<f4'" "(1024,)"; integers 4 1024; } >f32.npy
    run "$redtune" reduce f32.npy -v
    want_exit 0
    want_in_err "sum of 1024 f32 in 1 piece"
    want_in_err "match: exact"
    run "$redtune" reduce f32.npy --json
    want_in_out '"match": "exact"'
    want_in_out '"count": 1024'
    { npy "'<f4'" "(1000,)"; integers 4 1000; } >near.npy
    run "$redtune" reduce near.npy -v
    want_in_err "match: nearest size"
    { npy "'<f4'" "(4,)"; integers 4 4; } >far.npy
    run "$redtune" reduce far.npy -v
    want_in_err "the built-in default"
}

# Also those of another GPU: the file is the one that a simulated one writes.
a_systems_database_that_is_none_is_named() {
    { npy "'<i4'" "(6,)"; integers 4 6; } >six.npy
    echo "text in place of a database" >text.db
    REDTUNE_SYSTEM_DB=text.db run "$redtune" reduce six.npy
    want_exit 0
    want_in_err "cannot open tuning database text.db: it is not an SQLite file"
    want_in_err "REDTUNE_SYSTEM_DB"
}

# Nor does one of the user's, who did not name it; the log of the command is on stderr.
a_damaged_database_stops_no_reduction() {
    { npy "'<i4'" "(6,)"; integers 4 6; } >six.npy
    mkdir -p spoilt/redtune
    echo "text in place of a database" >spoilt/redtune/tuning.db
    run env -u REDTUNE_DB XDG_DATA_HOME="$PWD/spoilt" "$redtune" reduce six.npy
    want_exit 0
    want_one_line
    want_in_err "warning: cannot open tuning database $PWD/spoilt/redtune/tuning.db: it is not an SQLite file"
    want_in_err "redtune doctor --repair --db $PWD/spoilt/redtune/tuning.db"
    REDTUNE_DB=$PWD/spoilt/redtune/tuning.db run "$redtune" reduce six.npy
    want_exit 0
    want_one_line
}

bits_are_written_and_compared() {
    run "$redtune" verify --bits fleet.bits
    want_exit 0
    [ "$(grep -c . fleet.bits)" = 16 ] || fail "not a line for each of 16 problems"
    grep -qx "sum f32 100003 43aceb7a" fleet.bits || fail "not the bits of docs/order.md"
    run "$redtune" verify --bits fleet.bits
    want_exit 0
    want_in_err "16 of 16 results have the bits of fleet.bits"
    sed -i "s/^sum f32 100003 4/sum f32 100003 5/" fleet.bits
    run "$redtune" verify --bits fleet.bits
    want_exit 1
    want_in_out "here  sum f32 100003 43aceb7a"
    want_in_out "there sum f32 100003 53aceb7a"
    run "$redtune" verify --bits none/fleet.bits
    want_refused 1 "cannot write none/fleet.bits: No such file or directory"
    sed -i 5q fleet.bits
    run "$redtune" verify --bits fleet.bits
    want_refused 1 "fleet.bits: its line 6 has no bits of 'sum f32 100003'"
    run "$redtune" verify --bits .
    want_refused 1 "cannot compare with .: Is a directory"
}

doctor_finds_everything() {
    run "$redtune" doctor
    want_exit 0
    want_in_out "Everything that redtune needs is there."
    want_in_out "tuning.db"
}

have_gpu || { echo "skipped: no GPU" >&2; exit 77; }
check_run tune_ends_with_a_table tune_measures_nothing_twice tune_says_what_the_recorded_gain \
    quiet_tunes_in_silence tune_writes_json interrupts_keep_what_was_measured \
    no_such_device_is_named reduce_sums_files reduce_takes_bool_and_big_endian_arrays \
    reduce_takes_what_fits_as_one_piece reduce_sums_raw_elements reduce_goes_along_axes \
    reduce_takes_two_files reduce_leaves_out_what_a_mask_does reduce_leaves_out_what_bits_do \
    reduce_names_several_results \
    reduce_writes_arrays_that_it_reads reduce_writes_bf16_as_f32 reduce_reads_floats_of_8_bits \
    reduce_reads_bytes_as_the_dtype_given \
    reduce_reads_standard_input \
    reduce_refuses_a_pipe_that_ends_early reduce_says_more_when_asked \
    a_systems_database_that_is_none_is_named a_damaged_database_stops_no_reduction \
    bits_are_written_and_compared doctor_finds_everything
