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

doctor_finds_everything() {
    run "$redtune" doctor
    want_exit 0
    want_in_out "Everything that redtune needs is there."
    want_in_out "tuning.db"
}

have_gpu || { echo "skipped: no GPU" >&2; exit 77; }
check_run tune_ends_with_a_table tune_measures_nothing_twice quiet_tunes_in_silence \
    tune_writes_json interrupts_keep_what_was_measured no_such_device_is_named reduce_sums_files \
    reduce_takes_bool_and_big_endian_arrays reduce_takes_what_fits_as_one_piece \
    reduce_sums_raw_elements reduce_reads_standard_input reduce_refuses_a_pipe_that_ends_early \
    reduce_says_more_when_asked doctor_finds_everything
