# CONTRIBUTING's op, added by its entry alone to a copy of the templates: emitted, tuned, reduced, verified.
#
# Usage: op.sh REDTUNE CONTRIBUTING TEMPLATES
. "${BASH_SOURCE%/*}/../cli/files.sh"
readme=$(realpath "$2") templates=$(realpath "$3")
. "${BASH_SOURCE%/*}/../cli/check.sh"
have_gpu || { echo "skipped: no GPU" >&2; exit 77; }
! grep -rq 'name = "sumcube"' "$templates/ops" || { echo "skipped: the op is in the tree" >&2; exit 77; }

# add FOLDER: a copy of the templates that has CONTRIBUTING's entry.
add() {
    cp -r "$templates" "$1" && chmod -R u+w "$1"
    sed -n '/^```lua$/,/^```$/p' "$readme" | grep -v '^```' >entry
    sed -i '$d' "$1/ops/sums.lua"
    { cat entry; echo '}'; } >>"$1/ops/sums.lua"
}

# with FOLDER COMMAND...: under those templates.
with() {
    local folder=$1
    shift
    REDTUNE_TEMPLATES=$PWD/$folder run "$redtune" "$@"
}

the_entry_stands_in_the_readme() {
    add mine
    [ -s entry ] || fail "CONTRIBUTING has no entry"
}

the_op_is_none_without_it() {
    run "$redtune" emit --op sumcube
    want_refused 2 "no such op; use sum, "
}

the_kernel_is_emitted() {
    with mine emit --op sumcube --dtype i16
    want_exit 0
    want_in_out "redtune: the sumcube of i16 into i64"
    want_in_out "// output[0] = x[0]^3 + ... + x[n-1]^3"
}

the_others_keep_their_kernels() {
    run "$redtune" emit --op norm2
    mv stdout norm2
    with mine emit --op norm2
    cmp -s stdout norm2 || fail "another kernel"
}

it_is_tuned() {
    with mine tune --device 0 --db mine.db --op sumcube --dtype i16 --size 512 --effort quick
    want_exit 0
    want_in_out "sumcube  i16"
    with mine show --db mine.db --op sumcube --json
    want_in_out '"op": "sumcube"'
    with mine explain --device 0 --db mine.db --op sumcube --dtype i16 --size 512
    want_in_out "sumcube of 512 i16"
}

it_is_verified() {
    with mine verify --device 0 --db mine.db --sample 2
    want_exit 0
    want_in_err " tried: all hold"
}

# Cubes of 0 to 99 sum to the square of 4950.
it_reduces_a_file() {
    integers 2 100 >numbers
    with mine reduce numbers --dtype i16 --device 0 --db mine.db --op sumcube
    want_exit 0
    want_out 24502500
    { npy "'<f4'" "(3,)"; printf '\0\0\0\100\0\0\0\0\0\0\100\300'; } >floats.npy
    with mine reduce floats.npy --device 0 --db mine.db --op sumcube
    want_out -19
}

# A row of an op that only other templates have is kept and marked, and is not in the way.
without_the_templates_its_rows_are_left_alone() {
    run "$redtune" show --db mine.db --json
    want_in_out '"op_absent": true'
    run "$redtune" tune --device 0 --db mine.db --op sum --dtype f64 --size 512 --effort quick --quiet
    want_exit 0
    with mine show --db mine.db --op sumcube
    want_in_out sumcube
}

# What only fast kernels use of an entry is wrong: the sum of elements in place of their cubes.
a_kernel_that_computes_something_else_is_found_wrong() {
    add wrong
    sed -i 's/^        end })$/        end, narrow = words.sum(t.dtype) })/' wrong/ops/sums.lua
    with wrong tune --device 0 --db wrong.db --op sumcube --dtype i16 --size 512 --effort quick
    [ "$code" != 0 ] || fail "it is tuned"
    want_in_err "wrong result: sumcube of "
}

a_broken_entry_is_named() {
    add broken
    sed -i 's/power = 3/power = "three"/' broken/ops/sums.lua
    with broken emit --op sumcube
    want_refused 1 "the power of sumcube must be a number"
}

check_run the_entry_stands_in_the_readme the_op_is_none_without_it the_kernel_is_emitted \
    the_others_keep_their_kernels it_is_tuned it_is_verified it_reduces_a_file \
    without_the_templates_its_rows_are_left_alone \
    a_kernel_that_computes_something_else_is_found_wrong a_broken_entry_is_named
