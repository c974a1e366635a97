# The command's words: where they may stand, other names of options, dtypes and numbers, what redtune
# alone prints, and what a tune says of budgets, failures and dtypes that an op lacks.
here=$(realpath "${BASH_SOURCE%/*}")
. "$here/files.sh"
. "$here/check.sh"
. "$here/facts.sh"
command -v python3 >/dev/null || { echo "skipped: no python3" >&2; exit 77; }
export REDTUNE_DB=$folder/words.db

# same "WORDS" "OTHER WORDS": both do the same.
same() {
    run "$redtune" $1
    local first="$code|$out|$err"
    run "$redtune" $2
    [ "$code|$out|$err" = "$first" ] || fail "differs from redtune $1: $first"
}

# refuses "WORDS" "TEXT"
refuses() {
    run "$redtune" $1
    want_refused 2 "$2"
}

options_stand_before_a_command_too() {
    { npy "'<f4'" "(4,)"; head -c 16 /dev/zero; } >four.npy
    run "$redtune" --device sim reduce four.npy
    want_exit 0
    want_out 0
    same "reduce four.npy --device sim --op max -q" "--device=sim -q --op max reduce four.npy"
    same "emit --op max -h" "--help --op max emit"
    same "export --format json" "--format json export"
    refuses "--size 1K reduce four.npy" "'--size' is no option of redtune reduce"
    refuses "--sise 1K reduce" "'--sise' is no option of redtune tune; did you mean --size?"
    refuses "--device 0 reducex" "'reducex' is no command; did you mean reduce?"
    # An option's value is no command, and behind -- stands none.
    refuses "--op show --dtype f33" "cannot use op 'show'"
    refuses "--device sim -- show" "cannot use 'show': redtune tune takes only options"
}

redtune_alone_says_what_is_there() {
    run "$redtune"
    want_exit 0
    want_no_err
    want_in_out "none that redtune can use; redtune doctor says why"
    want_in_out "none yet at $REDTUNE_DB"
    want_in_out "redtune --device sim  "
    want_not_in_out "redtune tune "
    [ ! -e "$REDTUNE_DB" ] || fail "it made a database"
    facts words.db <<'LINES'
templates=here gpu=H median_ns=2000
templates=here gpu=H count=4096 median_ns=900
templates=here gpu=A median_ns=4096
LINES
    run "$redtune"
    want_in_out "Test A100: 1 winner"$'\n'
    want_in_out "Test H100: 2 winners"$'\n'
    [ "$(awk 'length > 100' stdout)" = "" ] || fail "a line is longer than 100 columns"
    # Any option tunes, as redtune tune does.
    same "tune" "tune --device 0"
    same "tune" "-q"
    want_refused 1 "the CUDA driver"
    rm words.db*
}

size_and_count_are_one() {
    facts words.db <<<"templates=here median_ns=2000"
    for command in show "show --all" "export --format json" explain report; do
        same "$command --size 1M" "$command --count 1M"
        want_exit 0
    done
    refuses "tune --count 1X" "cannot use --size: '1X' is no size"
    refuses "bake --count 4K --rows 4" "cannot use --size with --rows"
    refuses "explain --count 0" "cannot use --size '0'"
    for command in tune bake show export verify report explain emit ladder; do
        run "$redtune" "$command" --help
        want_in_out "--size SIZE"
        want_not_in_out "--count "
    done
    rm words.db*
}

dtypes_have_the_names_of_others() {
    while read -r name others; do
        for other in $others; do same "emit --dtype $name --op max" "emit --dtype $other --op max"; done
        want_exit 0
    done <<'NAMES'
f32 float32 fp32 single
f16 float16 fp16 half
f64 float64 fp64 double
bf16 bfloat16
i8 int8
u8 uint8
i64 int64
u16 uint16
NAMES
    refuses "emit --dtype float" "cannot use dtype 'float': NumPy reads it as f64, PyTorch as f32"
    refuses "tune --dtype f32,int" "cannot use dtype 'int': NumPy reads it as i64, PyTorch as i32"
    refuses "emit --dtype float31" "cannot use dtype 'float31': no such dtype; use i8"
}

numbers_are_written_in_many_ways() {
    facts words.db <<<"templates=here median_ns=2000"
    while read -r count others; do
        for other in $others; do same "explain --gpu H --size $count" "explain --gpu H --size $other"; done
        want_exit 0
    done <<'NUMBERS'
1024 1k 1K 1Ki 1ki 1.024e3
1000000 1e6 1E6 1.0e6
16777216 16M 16m 16Mi
1536 1.5K
NUMBERS
    for wrong in 1.5 1e-3 1.5e0 1.0001K 1KB 1e 1e99 .5K; do
        refuses "explain --size $wrong" "'$wrong': give a whole number of elements"
        refuses "tune --size $wrong" "'$wrong' is no size; give a whole number of elements"
    done
    same "explain --gpu H --shape 4kx1e3 --axis 1" "explain --gpu H --shape 4096x1000 --axis 1"
    want_exit 0
    same "explain --gpu H --segments 4kx1e3" "explain --gpu H --segments 4096x1000"
    want_exit 0
    rm words.db*
}

an_op_goes_without_the_dtypes_that_it_lacks() {
    run "$redtune" --device sim --op nans --dtype f32,i32,i64 --size 64 --effort quick
    want_exit 0
    want_in_err "warning: nans of i32, i64 is left out"
    [ "$(grep -c "left out" stderr)" = 1 ] || fail "that is not said once"
    want_in_out "nans  f32"
    want_not_in_out " i32 "
    run "$redtune" --device sim --op nans --effort quick --dtype f32,i32 --shape 4x16 --axis 1
    want_exit 0
    want_in_err "warning: nans of i32 is left out"
    want_not_in_out " i32 "
    run "$redtune" bake --op nans --dtype f32,i32 --arch 90 --size 64 -o baked.db
    want_exit 0
    want_in_err "warning: nans of i32 is left out"
    refuses "--device sim --op nans --dtype i32,i64 --size 64" "cannot have the nans of i32"
    refuses "--device sim --op nans --dtype i32 --shape 4x16" "cannot have the nans of i32"
    rm words.db*
}

listings_are_for_other_programs_too() {
    facts words.db <<'LINES'
templates=here dtype=f16 result=f32 median_ns=1000
templates=here median_ns=2000
templates=here block=32 outcome=wrong cause="gave ""1"", not 2"
LINES
    run "$redtune" show
    [ "$(grep -o '^sum  *[a-z0-9]*' stdout)" = $'sum  f32\nsum  f16' ] || fail "f32 is not first"
    run "$redtune" show --all --csv
    want_exit 0
    want_no_err
    python3 -c 'import csv
rows = list(csv.DictReader(open("stdout")))
assert [row["dtype"] for row in rows] == ["f32", "f32", "f16"], rows
assert [row["median_ns"] for row in rows] == ["2000", "", "1000"], rows
assert rows[1]["outcome"] == "wrong" and None not in rows[1], rows
assert rows[0]["config"].startswith("block=") and rows[0]["count"] == "1048576", rows' 2>why ||
        fail "$(tail -n 1 why)"
    refuses "show --csv --json" "two formats"
    refuses "show ops --csv --json" "two formats"
    run "$redtune" show ops --csv
    want_exit 0
    python3 -c 'import csv
rows = {row["op"]: row for row in csv.DictReader(open("stdout"))}
assert rows["var"]["parameters"] == "ddof" and rows["dot"]["inputs"] == "2", rows["var"]
assert rows["max_at"]["results"] == "max, index" and len(rows) > 40, rows["max_at"]' 2>why ||
        fail "$(tail -n 1 why)"
    for name in a.jsonl a.json a.ndjson; do
        run "$redtune" export -o $name
        head -c 18 $name | grep -q '^{"redtune_tuning":' || fail "$name has no JSON lines"
    done
    run "$redtune" export --format sqlite -o a.jsonl
    head -c 6 a.jsonl | grep -q '^SQLite$' || fail "--format does not count"
    rm words.db*
}

# As head has it: by the signal, or where that is ignored, by its status.
a_closed_pipe_is_silent() {
    for ignored in "" "trap '' PIPE;"; do
        ran="redtune show ops | true, with '$ignored'"
        bash -c "$ignored (sleep 0.3; exec \"\$0\" show ops) 2>stderr | true; exit \${PIPESTATUS[0]}" \
            "$redtune" >stdout
        code=$?
        want_exit 141
        want_no_err
    done
}

a_tune_names_what_took_more_and_what_failed() {
    run "$redtune" --device sim --dtype f32 --size 64 --effort quick --budget 0.01 --db budget.db
    want_exit 0
    want_in_err "the budget of 0.01 s was exceeded by "
    mkdir templates && cp -r "$here/../fixtures/solo" templates/
    echo 'return { "block", "solo" }' >templates/registry.lua
    sed -i 's/\*output = @{op.finalize("a", "count")}/*output = 7/' templates/solo/kernel.cu
    run env REDTUNE_TEMPLATES=$folder/templates "$redtune" --device sim --dtype f32 --size 64 \
        --effort quick --db failed.db
    want_exit 0
    want_in_err "the first that failed: sum of 64 f32, solo block="
    want_in_err ": wrong: "
    run "$redtune" --device sim --dtype f32 --size 64 --effort quick --budget 1h --db failed.db
    [[ $err != *exceeded* && $err != *"the first that failed"* ]] || fail "nothing did"
}

explain_names_whose_answer_it_gives() {
    facts words.db <<<"templates=here median_ns=2000"
    run "$redtune" explain
    want_in_out "the GPU model of the latest row; --gpu names another one"
    run "$redtune" explain --gpu H100
    want_not_in_out "whose "
    run "$redtune" export --gpu nowhere
    want_refused 2 "no GPU has 'nowhere' in its name; the databases have Test H100"
    rm words.db*
}

check_run options_stand_before_a_command_too redtune_alone_says_what_is_there \
    size_and_count_are_one dtypes_have_the_names_of_others numbers_are_written_in_many_ways \
    an_op_goes_without_the_dtypes_that_it_lacks listings_are_for_other_programs_too \
    a_closed_pipe_is_silent a_tune_names_what_took_more_and_what_failed \
    explain_names_whose_answer_it_gives
