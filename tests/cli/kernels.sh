# A measurement counts as long as its kernel is the same: whatever else changes in the templates,
# nothing is measured again; and what alters a kernel makes its rows stale, and no others.
here=$(realpath "${BASH_SOURCE%/*}")
. "$here/check.sh"
templates=$folder/templates
shipped=$here/../../data/shipped.db

# fresh_templates: a copy of redtune's that is used from now on.
fresh_templates() {
    rm -rf "$templates"
    cp -r "$here/../../templates" "$templates"
    export REDTUNE_TEMPLATES=$templates
}

# A quick tune of two ops on the simulated GPU.
tune() {
    run "$redtune" --device sim --op sum,xor --dtype i32 --size 64 --effort quick --db mine.db \
        --machine here "$@"
}

# How many rows the database has of an op.
rows_of() {
    python3 -c 'import sqlite3, sys
print(sqlite3.connect("mine.db").execute(
    "SELECT count(*) FROM measurement WHERE op = ?", (sys.argv[1],)).fetchone()[0])' "$1"
}

# A comment, a doc, a table in another order, blanks: none of them is in a kernel.
change_no_kernel() {
    sed -i '1i -- A comment.' "$templates/ops.lua" "$templates/ops/sums.lua" "$templates/dtypes.lua"
    sed -i 's/formula = "x\[0\] ^ ... ^ x\[n-1\]"/formula = "exclusive or"/' "$templates/ops/bits.lua"
    sed -i '1i // A comment of the kernel.\n' "$templates/block/kernel.cu"
}

nothing_is_measured_again_for_a_comment() {
    fresh_templates
    tune
    want_exit 0
    local before="$(rows_of sum) $(rows_of xor)"
    change_no_kernel
    tune
    want_exit 0
    want_in_err " 0 candidates measured"
    [ "$(rows_of sum) $(rows_of xor)" = "$before" ] || fail "rows were added"
    run "$redtune" show --db mine.db --all --gpu sim
    want_not_in_out "other templates"
}

only_what_changed_is_measured_again() {
    fresh_templates
    rm -f mine.db
    tune
    local sums=$(rows_of sum) xors=$(rows_of xor)
    sed -i 's/return bitwise(t, "^", 0)/return bitwise(t, "^ 0 ^", 0)/' "$templates/ops/bits.lua"
    tune
    want_exit 0
    [ "$(rows_of sum)" = "$sums" ] || fail "sums were measured again"
    [ "$(rows_of xor)" -gt "$xors" ] || fail "what changed was not measured again"
    xors=$(rows_of xor)
    # As it was, the older ones count again.
    fresh_templates
    tune
    want_in_err " 0 candidates measured"
    [ "$(rows_of xor)" = "$xors" ] || fail "what is as it was is measured again"
}

# An altered launch is another measurement, though the source is the same.
an_altered_launch_is_measured_again() {
    fresh_templates
    local xors=$(rows_of xor)
    sed -i 's/math.min(c.per_sm \* d.sm_count, /math.min(2 * c.per_sm * d.sm_count, /' \
        "$templates/block/family.lua"
    tune
    want_exit 0
    [ "$(rows_of xor)" -gt "$xors" ] || fail "the altered launch was not measured"
}

# explain OP: of what redtune comes with.
explain() { run env REDTUNE_SYSTEM_DB="$shipped" "$redtune" explain --gpu H200 --op sum "$@"; }

shipped_rows_stay_valid() {
    fresh_templates
    change_no_kernel
    for dtype in f16 bf16 f32 f64 i8 i32 i64; do
        explain --dtype $dtype --count 1M
        want_exit 0
        want_in_out "match     exact"
        want_not_in_out differs
    done
    for dtype in f16 bf16 f32; do
        for axis in 0 1; do
            explain --dtype $dtype --shape 1024x1024 --axis $axis
            want_exit 0
            want_in_out "match     exact"
            want_not_in_out differs
        done
    done
    sed -i '$a __device__ int changed;' "$templates/columns/kernel.cu"
    explain --shape 1024x1024 --axis 0
    want_in_out differs
    explain --count 1M
    want_not_in_out differs
}

check_run nothing_is_measured_again_for_a_comment only_what_changed_is_measured_again \
    an_altered_launch_is_measured_again shipped_rows_stay_valid
