# Ops of the user's own: found, listed, computed, tuned; and files that are wrong in some way, each of
# which gets one line with the file, the line and the remedy, within two seconds.
#
# Usage: own_ops.sh REDTUNE
. "${BASH_SOURCE%/*}/files.sh"
. "${BASH_SOURCE%/*}/check.sh"
have_gpu || { echo "skipped: no GPU" >&2; exit 77; }
unset REDTUNE_OPS

cat >geomean.lua <<'END'
-- The geometric mean.
return {
    name = "geomean",
    formula = "exp(sum(log x[i]) / n)",
    dtypes = { "f32", "f64" },
    accumulator = "f64",
    identity = "0",
    map = "log((double)x)",
    combine = "a + b",
    finish = "exp(a / count)",
    examples = { { x = { 1, 2, 4 }, result = 2 } },
}
END
cat >rms.lua <<'END'
return {
    name = "rms",
    accumulator = { n = "u64", sum = "f64" },
    identity = { n = "0", sum = "0" },
    map = { n = "1", sum = "(double)x * x" },
    combine = { n = "a.n + b.n", sum = "a.sum + b.sum" },
    finish = "sqrt(a.sum / a.n)",
    result = "f64",
    examples = { { x = { 1, 7 }, result = 5 } },
}
END
{ npy "'<f4'" "(3,)"; printf '\0\0\200\77\0\0\0\100\0\0\200\100'; } >floats.npy # 1, 2, 4
{ npy "'<i4'" "(2,)"; printf '\1\0\0\0\7\0\0\0'; } >whole.npy

with() { run "$redtune" "$@" --ops geomean.lua:rms.lua; }

an_op_is_found_by_option_and_variable() {
    run "$redtune" emit --op geomean
    want_refused 2 "no such op; use sum, "
    with emit --op geomean
    want_exit 0
    want_in_out "redtune: the geomean of f32 into f64"
    REDTUNE_OPS=geomean.lua run "$redtune" emit --op geomean
    want_exit 0
    REDTUNE_OPS=none.lua run "$redtune" emit --op sum
    want_exit 0
    want_no_err
}

ops_are_listed() {
    with show ops
    want_exit 0
    out=$(tr -s ' ' <stdout) # whatever the columns' widths
    want_in_out "geomean 1 result - exp(sum(log x[i]) / n) (geomean.lua)"
    want_in_out "xor 1 result - x[0] ^ ... ^ x[n-1]"
    with show ops --json
    want_in_out '"file": "rms.lua"'
    run "$redtune" show ops --ops none.lua
    want_refused 1 "cannot read none.lua"
    run "$redtune" show opps
    want_refused 2 "write redtune show, or redtune show ops"
}

lines_lead_to_the_file() {
    with emit --op geomean --lines
    want_in_out '#line 8 "geomean.lua"'
    with emit --op geomean
    want_not_in_out "#line"
}

files_are_reduced() {
    with reduce floats.npy --device 0 --op geomean
    want_out 2
    with reduce whole.npy --device 0 --op rms
    want_out 5
    with reduce whole.npy --device 0 --op geomean
    want_refused 2 "it is for f32, f64 only"
}

# With the workers that a tune has.
an_op_is_tuned_and_kept() {
    with tune --device 0 --db mine.db --op geomean --dtype f32 --size 512 --effort quick
    want_exit 0
    want_in_out "geomean  f32"
    with explain --device 0 --db mine.db --op geomean --dtype f32 --count 512
    want_in_out "geomean of 512 f32"
    with verify --device 0 --db mine.db --sample 2
    want_exit 0
    want_in_err " tried: all hold"
}

# Another formula makes another kernel: what was measured is not of it.
a_changed_op_is_measured_anew() {
    sed 's/log((double)x)/log(1.0 * x)/' geomean.lua >changed.lua
    run "$redtune" show --db mine.db --all --ops changed.lua
    want_in_out "(other templates)"
    run "$redtune" tune --device 0 --db mine.db --ops changed.lua --op geomean --dtype f32 \
        --size 512 --effort quick
    want_in_err "1 problem, 0 of them measured before"
}

# The same name elsewhere is another op: what was planned for one is not run for the other.
ops_of_one_number_are_told_apart() {
    run "$redtune" reduce floats.npy --device 0 --ops geomean.lua --op geomean
    run "$redtune" reduce floats.npy --device 0 --ops rms.lua --op rms
    want_out 2.6457513110645907
}

no_file_is_read_from_a_pipe() {
    mkfifo pipe.lua
    run "$redtune" show ops --ops pipe.lua
    want_refused 1 "pipe.lua: it is a named pipe, not a regular file"
    REDTUNE_OPS=pipe.lua run "$redtune" reduce floats.npy --device 0 --op geomean
    want_refused 1 "pipe.lua: it is a named pipe, not a regular file"
    run "$redtune" show ops --ops .
    want_refused 1 "cannot read .: "
}

# The processor's time of all that ran so far, in ms: others may be busy here, too.
spent_ms() {
    times >spent
    awk -F '[ms]' 'NR == 2 { print int(60000 * ($1 + $3) + 1000 * ($2 + $4)) }' spent
}

# Two inputs; two results of an accumulator of 24 bytes; a parameter, which the examples give.
other_kinds_of_ops_are_checked_and_tuned() {
    cat >weighted.lua <<'END'
return {
    name = "weighted", inputs = 2, dtypes = { "f32" },
    accumulator = { sum = "f64", weight = "f64" },
    identity = { sum = "0", weight = "0" },
    map = { sum = "(double)y * log((double)x)", weight = "y" },
    combine = { sum = "a.sum + b.sum", weight = "a.weight + b.weight" },
    finish = "exp(a.sum / a.weight)",
    result = "f64",
    examples = { { x = { 1, 4 }, y = { 1, 1 }, result = 2 } },
}
END
    cat >mean_most.lua <<'END'
return {
    name = "mean_most", dtypes = { "f32" },
    accumulator = { most = "f32", n = "u64", sum = "f64" },
    identity = { most = "-1e30f", n = "0", sum = "0" },
    map = { most = "x", n = "1", sum = "x" },
    combine = { most = "fmaxf(a.most, b.most)", n = "a.n + b.n", sum = "a.sum + b.sum" },
    finish = { mean = "a.sum / a.n", most = "a.most" },
    result = { mean = "f64", most = "f32" },
    examples = { { x = { 3, 4, 8 }, result = { mean = 5, most = 8 } } },
}
END
    cat >above.lua <<'END'
return {
    name = "above", dtypes = { "f32" }, accumulator = "f64", identity = "0", combine = "a + b",
    parameters = { { name = "limit", usual = 2 } },
    map = "x > given.limit ? (double)x : 0",
    examples = { { x = { 3, 4, 1 }, result = 7 }, { x = { 3, 4 }, parameters = { limit = 3 }, result = 5 } },
}
END
    for op in weighted mean_most; do
        run "$redtune" tune --device 0 --db kinds.db --ops $op.lua --op $op --dtype f32 --size 512 \
            --effort quick
        want_exit 0
        want_in_out "$op"
    done
    run "$redtune" tune --device 0 --db kinds.db --ops above.lua --op above --dtype f32 --size 512
    want_exit 1
    want_in_err "above.lua:5: example 2 gives 4 and should give 5; correct"
    sed -i 's/result = { mean = 5, most = 8 }/result = { mean = 5, most = 4 }/' mean_most.lua
    run "$redtune" tune --device 0 --db kinds.db --ops mean_most.lua --op mean_most --dtype f32
    want_in_err "example 1 gives most 8 and should give 4"
}

# wrong NAME SED TEXT: the geometric mean with one change is refused, and nothing is stored.
wrong() {
    local began
    sed "$2" geomean.lua >"$1.lua"
    began=$(spent_ms)
    run "$redtune" tune --device 0 --db "$1.db" --ops "$1.lua" --op geomean --dtype f32 --size 512 \
        --effort quick --quiet
    [ $(($(spent_ms) - began)) -lt 2000 ] || fail "it takes $(($(spent_ms) - began)) ms"
    want_exit 1
    want_one_line
    want_in_err "$1.lua:$3"
    [[ $err == *";"* ]] || fail "no remedy"
    run "$redtune" show --db "$1.db" --all --json
    want_not_in_out '"op"'
}

a_wrong_file_gets_one_line() {
    wrong syntax 's/identity = /identity = = /' "7: unexpected symbol near '='; correct it there"
    wrong missing '/identity/d' '2: identity is missing; add identity = "..."'
    wrong associative 's/"a + b"/"a + b + 0.5 * fmin(a, b)"/' "9: combine is not associative: "
    wrong example 's/result = 2 /result = 3 /' "11: example 1 gives 2 and should give 3; correct"
    wrong endless '1s/.*/while true do end/' "1: it runs too long"
    wrong turning 's/map = "log(/functions = "__device__ double spin(double x) { for (;;) x += 1; return x; }",\n    map = "spin(/' \
        "8: a loop of its CUDA text goes on for more than 16384 turns; let it"
    wrong waiting 's/map = "log(/functions = "__device__ double spin(double x) { while (x == x); return x; }",\n    map = "spin(/' \
        "8: a loop of its CUDA text goes on for more than 16384 turns; let it"
    wrong cuda 's/log((double)x)/log((double)x/' '8: NVRTC says: expected a ")"; correct'
    wrong undefined 's/"log((double)x)"/logarithm/' "8: undefined name 'logarithm'; correct"
    wrong undefined_cuda 's/log(/logarithm(/' '8: NVRTC says: identifier "logarithm" is undefined'
    wrong type 's/identity = "0"/identity = 0/' "7: identity must be a text"
    wrong taken 's/"geomean"/"sum"/' "3: the name 'sum' is taken by the op of redtune itself; choose"
    wrong including 's/log(/\\n#include <\/proc\/self\/environ>\\nlog(/' "8: map has '#include'; leave it out"
    wrong dtype 's/"f64" }/"f65" }/' "5: unknown dtype 'f65'; use "
}

so_does_one_that_is_wrong_otherwise() {
    wrong neutral 's/identity = "0"/identity = "1"/' "7: identity is not neutral: "
    wrong commutative 's/"a + b"/"a + b + (a == 0 || b == 0 ? 0 : a)"/' "9: combine is not "
    wrong large 's/accumulator = "f64"/accumulator = { a = "f64", b = "f64", c = "f64", d = "f64", e = "i32" }/' \
        "6: accumulator has 40 bytes, and at most 32 are possible; take"
    wrong nowhere 's/log(/sqrt(-1.0 - /' "8: it gives no number for elements from 1 to 4; set"
}

# Without its file an op's measurements are kept, and marked. Nothing is computed with them.
an_absent_op_is_kept_and_marked() {
    run "$redtune" show --db mine.db
    out=$(tr -s ' \n' '  ' <stdout) # in one line, however wide the table is
    want_in_out geomean
    want_in_out "(its op is not here)"
    run "$redtune" show --db mine.db --all --json
    want_in_out '"op_absent": true'
    with show --db mine.db --all --json
    want_not_in_out '"op_absent": true'
    run "$redtune" verify --device 0 --db mine.db --all
    want_in_err "nothing"
    run "$redtune" explain --device 0 --db mine.db --op geomean
    want_refused 2 "no such op; use sum, "
    run "$redtune" tune --device 0 --db mine.db --dtype f64 --size 512 --effort quick --quiet
    want_exit 0
    run "$redtune" report --db mine.db -o page.html
    want_exit 0
}

an_absent_op_is_moved() {
    local format rows
    # Rows that are the same in everything are one.
    with export --db mine.db -o present.sqlite
    with merge present.db present.sqlite
    with show --db present.db --all --json
    rows=$(grep -c '"op": "geomean"' stdout)
    for format in sqlite json; do
        run "$redtune" export --db mine.db --format $format -o "absent.$format"
        want_exit 0
        run "$redtune" merge "merged.$format.db" "absent.$format"
        want_exit 0
        run "$redtune" show --db "merged.$format.db" --all --json
        [ "$(grep -c '"op": "geomean"' stdout)" = "$rows" ] || fail "not all $rows rows are there"
        run "$redtune" import --db "imported.$format.db" "absent.$format"
        want_in_err "its op is not here; name the file that has it, and import again"
        with import --db "imported.$format.db" "absent.$format"
        with show --db "imported.$format.db" --all --json
        [ "$(grep -c '"op": "geomean"' stdout)" = "$rows" ] || fail "not all $rows rows came"
    done
}

# No code travels in a database.
a_database_has_no_code() {
    run "$redtune" export --ops geomean.lua --db mine.db --format json
    want_exit 0
    want_not_in_out "log("
    if grep -q "log(" mine.db; then fail "the database has CUDA text"; fi
}

check_run an_op_is_found_by_option_and_variable ops_are_listed lines_lead_to_the_file \
    files_are_reduced an_op_is_tuned_and_kept a_changed_op_is_measured_anew \
    ops_of_one_number_are_told_apart no_file_is_read_from_a_pipe \
    other_kinds_of_ops_are_checked_and_tuned a_wrong_file_gets_one_line \
    so_does_one_that_is_wrong_otherwise an_absent_op_is_kept_and_marked an_absent_op_is_moved \
    a_database_has_no_code
