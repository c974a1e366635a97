# Reductions of two inputs whose steps differ, with masks of steps of their own, and into results with gaps are tuned,
# recorded, shown, chosen, exported and imported; a kernel that mistakes these steps, or takes what is absent, is
# found out.
templates=$(realpath "${BASH_SOURCE%/*}")/../../templates
. "${BASH_SOURCE%/*}/check.sh"

vector() {
    "$redtune" "$@" --device sim --op dot --dtype f32 --shape 64x128 --axis 1 --second-shape 128
}

tune_vector() {
    export REDTUNE_DB=$folder/beside.db
    [ -e "$REDTUNE_DB" ] || vector tune --effort quick --budget 1s >tuned 2>messages
}

rows_against_one_vector_are_tuned() {
    tune_vector
    run cat tuned messages
    want_in_out "128@1 of 64@128,0"
    want_in_out " 0 failed"
    run vector explain
    want_in_out "exact: measured"
    run "$redtune" show --gpu all --json
    want_in_out '"kept": "64@128,0"'
}

# Without the default beside it, so that how much the winner gained does not count.
it_serves_what_lies_alike() {
    tune_vector
    "$redtune" export --winners --format json -o winners.jsonl 2>/dev/null
    sed 's/"is_default":1/"is_default":0/' winners.jsonl >alone.jsonl
    export REDTUNE_DB=$folder/alone.db
    "$redtune" import alone.jsonl >/dev/null
    run "$redtune" explain --device sim --op dot --shape 60x128 --axis 1 --second-shape 1x128
    want_in_out "nearest size: measured"
    run "$redtune" explain --device sim --op dot --shape 64x128 --axis 1 --second-shape 64x1
    want_in_out "default: nothing near"
    run "$redtune" explain --device sim --op dot --shape 64x128 --axis 1 --second-shape 64x128
    want_in_out "64x128 f32 along axis 1"
}

they_go_to_another_database() {
    tune_vector
    bring_to other.db
    REDTUNE_DB=$folder/other.db run vector explain
    want_in_out "128@1 of 64@128,0"
    want_in_out "imported"
}

# tune_recorded LINE...: of a recording.
tune_recorded() {
    printf '%s\n' '{"redtune_recording":2}' "$@" >runs.jsonl
    run "$redtune" tune --device sim --effort quick --budget 1s --recorded runs.jsonl
    want_in_err " 0 failed"
}

what_is_recorded_is_tuned() {
    tune_vector
    tune_recorded '{"op":"dot","dtype":"f32","kept":"64@128,0","reduced":"128@1","calls":3}' \
        '{"op":"dot","dtype":"f32","kept":"8@-64,1","reduced":"64@1,0","calls":2}'
    want_in_out "64@1,0 of 8@-64,1"
    want_in_err "2 problems, 1 of them measured before"
}

masks_of_bits_are_recorded_tuned_and_go_to_another_database() {
    export REDTUNE_DB=$folder/masks.db
    tune_recorded '{"op":"sum","dtype":"f32","mask":"bits","kept":"64@128,,0","reduced":"128@1","calls":3}'
    want_in_out "128@1 of 64@128,,0 masked"
    run "$redtune" show --gpu all --json
    want_in_out '"mask": "bits"'
    bring_to masks_too.db
}

# Results two apart, and backwards in the other order, of an op of two.
results_with_gaps_are_recorded_tuned_and_go_to_another_database() {
    export REDTUNE_DB=$folder/gaps.db
    tune_recorded '{"op":"minmax","dtype":"f32","kept":"8@1600,,,-1 20@4,,,9","reduced":"33@100","calls":3}'
    want_in_out "33@100 of 8@1600,,,-1 20@4,,,9"
    bring_to gaps_too.db
}

# Every second column, from the last row to the first.
strides_are_named_tuned_and_go_to_another_database() {
    local columns="--device sim --shape 60x96 --axis 0 --strides -200,2"
    export REDTUNE_DB=$folder/strides.db
    # shellcheck disable=SC2086
    run "$redtune" tune $columns --dtype f32 --effort quick --budget 1s
    want_in_out "60@-200 of 96@2"
    want_in_err " 0 failed"
    # shellcheck disable=SC2086
    run "$redtune" explain $columns
    want_in_out "exact: measured"
    bring_to strides_too.db
    run "$redtune" explain --device sim --shape 60x96 --axis 0
    want_in_out "default: nothing near"
    run "$redtune" emit --shape 60x96 --axis 0 --strides -200,2
    want_in_out 'by the template "strided"'
    run "$redtune" explain --device sim --op dot --shape 6x9 --axis 1 --strides 20,2 --second-shape 9
    want_in_out "dot of f32 along 9@2,1 of 6@20,0"
    run "$redtune" explain --device sim --shape 6x9 --strides 0,1K --json
    want_in_out '"reduced": "6@0 9@1024"'
    run "$redtune" explain --device sim --shape 16384x4096 --axis 0 --strides 8192,2 --json
    want_in_out '"kept": "4096@2,,,1"'
}

# That the mask is of bytes is another class.
masks_of_bytes_are_named_by_their_shape() {
    run "$redtune" explain --device sim --op dot --shape 64x128 --axis 1 --second-shape 128 --where-shape 64x1
    want_in_out "dot of f32 along 128@1,,0 of 64@128,0,1 masked"
    want_in_out "default: nothing near"
}

# wrong_tune FILE FAULT OPTION...
wrong_tune() {
    rm -rf wrong
    mkdir -p wrong/lib
    cp "$templates/registry.lua" wrong
    sed "$2" "$templates/lib/$1" >"wrong/lib/$1"
    cmp -s "$templates/lib/$1" "wrong/lib/$1" && fail "nothing was planted"
    REDTUNE_TEMPLATES=$folder/wrong REDTUNE_DB=$folder/wrong.db run "$redtune" tune --device sim \
        --dtype f32 --shape 64x128 --axis 1 --effort quick --budget 1s "${@:3}"
    want_in_err "the first: wrong result: "
}

# The steps of what is beside x are taken for those of x; absent elements count.
a_wrong_kernel_is_found_out() {
    wrong_tune strides.cu 's/p\.y += n \* a\.y/p.y += n * a.x/' --op dot --second-shape 128
    wrong_tune mask.lua 's/format(y, x, otherwise)/format(y, x, x)/' --op max --where-shape 128
}

what_cannot_be_is_refused() {
    run "$redtune" explain --device sim --op sum --shape 3x4 --second-shape 4
    want_refused 2 "it has one input; name an op of two, such as dot"
    run "$redtune" tune --device sim --shape 3x4 --second-shape 4
    want_refused 2 "name one of two inputs, such as dot"
    run "$redtune" explain --device sim --op dot --second-shape 4
    want_refused 2 "without --shape: name the array that the first input is"
    run "$redtune" tune --device sim --op dot --shape 3x4 --second-shape 3
    want_refused 2 "it does not broadcast to --shape; give the same sizes, or 1"
    run "$redtune" tune --device sim --op dot --shape 3x4 --second-shape 1x3x4
    want_refused 2 "it does not broadcast to --shape"
    run "$redtune" tune --device sim --op dot --shape 1x1x1x1x1x1x1x3x4 --second-shape 4
    want_refused 2 "beside an array of 9 axes: at most 8 are taken"
    run "$redtune" explain --device sim --strides 4,1
    want_refused 2 "cannot use --strides without --shape: name the array"
    run "$redtune" tune --device sim --shape 3x4 --strides 4
    want_refused 2 "--strides of 1 steps with --shape of 2 axes: give one step for each axis"
    run "$redtune" emit --shape 3x4 --strides 4,+1
    want_refused 2 "'4,+1' names no steps"
    run "$redtune" tune --device sim --keys 4 --shape 3x4 --axis 0 --strides 8,1
    want_refused 2 "cannot use --strides with --keys: by key arrays are packed"
    run "$redtune" tune --device sim --recorded runs.jsonl --strides 8
    want_refused 2 "the recording names the problems"
    run "$redtune" tune --device sim --op dot --keys 4 --shape 3x4 --axis 0 --second-shape 4
    want_refused 2 "by key all arrays have the elements of --shape"
    run "$redtune" tune --device sim --op sum --shape 3x4 --where-shape 5
    want_refused 2 "cannot use --where-shape 5: it does not broadcast to --shape"
    run "$redtune" tune --device sim --op sum --shape 3x4 --where-shape 3x4
    want_refused 1 "cannot tune with a mask, but for one with steps of its own"
    run "$redtune" tune --device sim --op sum --shape 3x4 --axis 0 --where-shape 3x1 --order fixed
    want_refused 1 "cannot tune with a mask in fixed order"
}

have_gpu || { echo "skipped: no GPU" >&2; exit 77; }
check_run rows_against_one_vector_are_tuned it_serves_what_lies_alike they_go_to_another_database \
    what_is_recorded_is_tuned masks_of_bits_are_recorded_tuned_and_go_to_another_database \
    results_with_gaps_are_recorded_tuned_and_go_to_another_database \
    strides_are_named_tuned_and_go_to_another_database masks_of_bytes_are_named_by_their_shape \
    a_wrong_kernel_is_found_out what_cannot_be_is_refused
