# Reductions by key are tuned for keys of a spread or of any, shown, chosen, exported and imported; a
# kernel that counts wrongly is found out.
templates=$(realpath "${BASH_SOURCE%/*}")/../../templates
. "${BASH_SOURCE%/*}/files.sh"
. "${BASH_SOURCE%/*}/check.sh"

# take_templates NAME [FAULT]: redtune's in a folder of that name, with a space of a few thousand
# points.
take_templates() {
    export REDTUNE_TEMPLATES=$folder/$1
    mkdir -p "$1/keyed"
    cp "$templates/registry.lua" "$1"
    sed 's/values = { 0, 4, 8, 16, 32, 64 }/values = { 0 }/; s/values = { 0, 2, 4 }/values = { 0 }/
         s/values = { 1, 2, 4, 8, 16, 32 }/values = { 1, 8 }/' "$templates/keyed/family.lua" \
        >"$1/keyed/family.lua"
    sed "${2-}" "$templates/keyed/kernel.cu" >"$1/keyed/kernel.cu"
}

tune_keyed() {
    take_templates small
    export REDTUNE_DB=$folder/keyed.db
    [ ! -e "$REDTUNE_DB" ] || return 0
    "$redtune" --device sim --op sum --dtype f32 --effort quick --budget 1s \
        --keys 16 --size 1K >tuned 2>messages
    "$redtune" --device sim --op sum --dtype f32 --effort quick --budget 1s --keys 16 --size 1K --spread one \
        >>tuned 2>>messages
}

a_tune_takes_the_spread_that_is_said_or_unknown() {
    tune_keyed
    run grep -E '1K by 16 i32 keys +[0-9]' tuned
    want_exit 0
    run grep -E '1K by 16 i32 keys, one +[0-9]' tuned
    want_exit 0
    run cat messages
    want_in_out " 0 failed"
}

the_spread_that_is_said_serves() {
    tune_keyed
    run "$redtune" explain --device sim --keys 16 --size 1K --spread one
    want_in_out "exact: measured"
    run "$redtune" explain --device sim --keys 16 --size 1K
    want_in_out "exact: measured"
    run "$redtune" explain --device sim --keys 16 --size 1K --spread skewed
    want_in_out "default: nothing near"
    run "$redtune" explain --device sim --keys 16 --size 1K --key-dtype i64
    want_in_out "default: nothing near"
    run "$redtune" explain --device sim --keys 16K --size 1K --spread one
    want_in_out "default: nothing near"
}

# A kernel is compiled once for all problems of a class, whose tables take more and more shared memory.
one_tune_takes_more_and_more_keys() {
    take_templates small
    run "$redtune" --device sim --op sum --dtype f32 --effort quick --budget 1s --db more.db --keys 5,6 \
        --size 512 --spread one
    want_exit 0
    want_in_out "512 by 6 i32 keys, one"
    want_in_err " 0 failed"
}

they_go_to_another_database() {
    tune_keyed
    bring_to other.db
    run "$redtune" show --gpu all --db other.db --json
    want_in_out '"spread": "one"'
    want_in_out '"keys": 16'
}

# What is recorded does not say how its keys are spread, and is measured once it is tuned for all.
what_ran_is_recorded_and_tuned() {
    tune_keyed
    { npy "'<i4'" "(1024,)"; integers 4 1024; } >keys.npy
    { npy "'<f4'" "(1024,)"; integers 4 1024; } >values.npy
    REDTUNE_DB=$folder/none.db REDTUNE_RECORD=runs.jsonl run "$redtune" reduce values.npy --by keys.npy \
        --keys 16
    want_exit 0
    run cat runs.jsonl
    want_in_out '"key_dtype":"i32","spread":"unknown","keys":16'
    run "$redtune" --device sim --effort quick --budget 1s --recorded runs.jsonl
    want_in_out "1K by 16 i32 keys"
    want_in_err "1 problem, 1 of them measured before"
}

damaged_rows_are_refused() {
    tune_keyed
    "$redtune" export --format json -o rows.jsonl 2>/dev/null
    head -1 rows.jsonl >damaged.jsonl
    sed -n 2p rows.jsonl | sed 's/"keys":16/"keys":0/' >>damaged.jsonl
    sed -n 3p rows.jsonl | sed 's/"spread":"[a-z]*"/"spread":"wide"/' >>damaged.jsonl
    sed -n 4p rows.jsonl | sed 's/"key_dtype":"i32"/"key_dtype":"f32"/' >>damaged.jsonl
    sed -n 5p rows.jsonl | sed 's/"key_dtype":"i32"/"key_dtype":"none"/' >>damaged.jsonl
    run "$redtune" import --db damaged.db damaged.jsonl
    want_in_out "0 new"
    want_in_out "4 refused"
}

# The last key has no result.
a_wrong_kernel_is_found_out() {
    take_templates wrong 's/k < s\.keys;/k + 1 < s.keys;/'
    cmp -s "$templates/keyed/kernel.cu" wrong/keyed/kernel.cu && fail "nothing was planted"
    REDTUNE_DB=$folder/wrong.db run "$redtune" --device sim --op sum \
        --dtype f32 --effort quick --budget 1s --keys 16 --size 1K --spread uniform
    want_in_err "the first: wrong result: sum of 1 f32 by 1 keys of i32"
}

what_cannot_be_is_refused() {
    tune_keyed
    run "$redtune" --device sim --keys 16
    want_refused 2 "give the elements, such as --size 16M"
    run "$redtune" --device sim --size 1K --spread one
    want_refused 2 "give how many keys there are"
    run "$redtune" --device sim --keys 16 --size 1K --spread wide
    want_refused 2 "give uniform, skewed or one"
    run "$redtune" --device sim --keys 16 --size 1K --key-dtype f32
    want_refused 2 "give a dtype of integers"
    run "$redtune" --device sim --keys 16 --size 1K --order fixed
    want_refused 1 "which has one kernel"
}

have_gpu || { echo "skipped: no GPU" >&2; exit 77; }
check_run a_tune_takes_the_spread_that_is_said_or_unknown the_spread_that_is_said_serves \
    one_tune_takes_more_and_more_keys they_go_to_another_database what_ran_is_recorded_and_tuned \
    damaged_rows_are_refused a_wrong_kernel_is_found_out \
    what_cannot_be_is_refused
