# A template family in a folder of its own, beside redtune's: it is tuned, chosen, pinned and verified
# like that one, whichever stands first in the registry.
fixture=$(realpath "${BASH_SOURCE%/*}")/../fixtures/solo
. "${BASH_SOURCE%/*}/files.sh"
. "${BASH_SOURCE%/*}/check.sh"

# family_first NAME OTHER: redtune's templates and the folder's, in this order, and no database.
family_first() {
    mkdir -p templates
    cp -r "$fixture" templates/
    echo "return { \"$1\", \"$2\" }" >templates/registry.lua
    export REDTUNE_TEMPLATES=$folder/templates REDTUNE_DB=$folder/$1.db
}

# What the simulated GPU's clock says: one warp is enough for a few elements of f16, and nothing else
# is faster; more elements are a matter of loads in flight.
each_family_wins_where_it_is_faster() {
    for first in block solo; do
        family_first $first $([ $first = block ] && echo solo || echo block)
        run "$redtune" --size 16,256 --dtype f16 --effort quick
        want_exit 0
        grep -Eq '^sum  f16 +16 .* solo  ' stdout || fail "solo does not win at 16"
        grep -Eq '^sum  f16 +256 .* block  ' stdout || fail "block does not win at 256"
        run "$redtune" show --all --count 16
        want_in_out "block block=32,vec=4"
        run "$redtune" show --all --count 256
        want_in_out "solo block=64,walk=strided (default)"
    done
}

the_winner_of_either_family_serves() {
    family_first block solo
    for count in 16 256; do
        { npy "'<f2'" "($count,)"; integers 2 $count; } >f16.npy
        "$redtune" reduce f16.npy --json >tuned.json 2>stderr
        REDTUNE_CONFIG=block:block=128 "$redtune" reduce f16.npy --json >pinned.json 2>stderr
        ran="the sum of $count elements"
        out=$(cat tuned.json)
        want_in_out "\"family\": \"$([ $count = 16 ] && echo solo || echo block)\""
        want_in_out '"match": "exact"'
        [ "$(grep '"value"' tuned.json)" = "$(grep '"value"' pinned.json)" ] || fail "two sums"
    done
}

a_pin_names_either_family() {
    family_first block solo
    { npy "'<f4'" "(1000,)"; integers 4 1000; } >f32.npy
    for pin in solo:block=128 block:block=128; do
        run env REDTUNE_CONFIG=$pin "$redtune" reduce f32.npy --json
        want_in_out "\"family\": \"${pin%%:*}\""
        want_in_out '"config": "block=128,'
    done
    run env REDTUNE_CONFIG=alone:block=128 "$redtune" reduce f32.npy
    want_refused 2 "use block, solo"
}

an_op_that_one_family_has_is_served_by_it() {
    { npy "'<f4'" "(1000,)"; integers 4 1000; } >f32.npy
    for first in block solo; do
        family_first $first $([ $first = block ] && echo solo || echo block)
        run "$redtune" emit --op max
        want_in_out 'by the template "block"'
        run "$redtune" emit --op min
        want_in_out "by the template \"$first\""
        run "$redtune" reduce f32.npy --op max --json
        want_exit 0
        want_in_out '"family": "block"'
        run env REDTUNE_CONFIG=solo:block=32 "$redtune" reduce f32.npy --op max
        want_refused 1 "'solo': it does not serve max"
    done
}

what_was_measured_of_both_is_verified() {
    family_first block solo
    run "$redtune" verify --all --count 16 --json
    want_exit 0
    want_in_out '"family": "block"'
    want_in_out '"family": "solo"'
}

# Whichever stands first: the other one is tuned, and what is wrong is said.
a_family_that_does_not_render_or_load_is_left_out() {
    for first in block solo; do
        family_first $first $([ $first = block ] && echo solo || echo block)
        export REDTUNE_DB=$folder/broken.db
        echo '@{nothing}' >>templates/solo/kernel.cu
        run "$redtune" --size 16 --dtype f16 --effort quick --again
        want_exit 0
        want_in_err "leaves template solo out: cannot render template solo: solo/kernel.cu:"
        want_in_err "undefined name 'nothing'"
        want_in_out " block  "
        echo 'return nothing' >templates/solo/family.lua
        run "$redtune" --size 16 --dtype f16 --effort quick --again
        want_exit 0
        want_in_err "cannot load the templates: solo/family.lua:1: undefined name 'nothing'"
        want_in_out " block  "
    done
}

# A block that waits for others may leave them no room.
one_multiprocessor_has_blocks_that_wait_for_nobody() {
    unset REDTUNE_TEMPLATES
    export REDTUNE_DB=$folder/none.db REDTUNE_SIM_SMS=1
    { npy "'<f4'" "(2, 60000)"; head -c 480000 /dev/zero; } >f32.npy
    # Columns of two elements have a thread of a block for each, where they may wait at all.
    for how in "" "--order fixed" "--axis 1" "--axis 0 -o sums.npy"; do
        case $how in *"axis 0"*) pin=finish=poll,per_sm=1,width=128 ;; *) pin=finish=poll,per_sm=1 ;; esac
        run "$redtune" reduce f32.npy $how --json
        want_exit 0
        [ -n "$how" ] || want_in_out "finish=single"
        run env REDTUNE_CONFIG=$pin "$redtune" reduce f32.npy $how
        want_exit 1
        want_in_err "finish=poll, and the device has one multiprocessor: add finish=single,per_sm=1"
    done
    unset REDTUNE_SIM_SMS
}

have_gpu || { echo "skipped: no GPU" >&2; exit 77; }
check_run each_family_wins_where_it_is_faster the_winner_of_either_family_serves \
    a_pin_names_either_family an_op_that_one_family_has_is_served_by_it \
    what_was_measured_of_both_is_verified a_family_that_does_not_render_or_load_is_left_out \
    one_multiprocessor_has_blocks_that_wait_for_nobody
