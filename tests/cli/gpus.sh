# The command on several GPUs: each reduces its part of a file, and a team of them is explained.
. "${BASH_SOURCE%/*}/files.sh"
. "${BASH_SOURCE%/*}/check.sh"
export REDTUNE_DB=$folder/tuning.db

# 5000 numbers: three parts of which each but the last is of whole chunks.
{ npy "'<i4'" "(5000,)"; integers 4 5000; } >numbers.npy
integers 4 5000 >numbers.raw

# wants VALUE ARGUMENT...: the same on one GPU and on several.
wants() {
    local value=$1 device
    shift
    for device in 0 all 1,0; do
        run "$redtune" reduce "$@" --device $device
        want_exit 0
        want_out "$value"
        want_no_err
    done
}

parts_give_the_result_of_the_whole() {
    wants 12497500 numbers.npy
    wants 4999 numbers.npy --op argmax
    wants 0 numbers.npy --op argmin
    wants 2499.5 numbers.npy --op mean
    wants 41654167500 numbers.npy numbers.npy --op dot
    wants "mean 2499.5"$'\n'"var 2083333.25" numbers.npy --op mean_var
    wants 12497500 numbers.raw --dtype i32
}

# Every 256th number is absent: those up to 4864, 48640 together.
a_mask_is_shared_as_its_elements_are() {
    { npy "'|b1'" "(5000,)"; integers 1 5000; } >mask.npy
    wants 12448860 numbers.npy --where mask.npy
    wants 1 numbers.npy --where mask.npy --op argmin
    wants 4980 numbers.npy --where mask.npy --op nonzeros
    wants 1483374 numbers.npy --where-bits numbers.raw
    wants 1476302 numbers.npy --where-bits numbers.raw --where-offset 13
    # Parts begin behind the bits that are read first.
    head -c 100000 /dev/zero | tr '\0' '\1' >ones.raw
    wants 17660 ones.raw --dtype u8 --where-bits numbers.raw --where-offset 5
    wants 41492293580 numbers.npy numbers.npy --op dot --where mask.npy
    wants 5049484948 numbers.npy numbers.npy --op dot --where-bits numbers.raw
    wants 5011009160 numbers.npy numbers.npy --op dot --where-bits numbers.raw --where-offset 13
    # Over those that are there, 4980.
    { npy "'<i4'" "(5000,)"; head -c 20000 /dev/zero; } >zeros.npy
    wants 8331785.859437751 numbers.npy zeros.npy --op mse --where mask.npy
}

parts_of_a_fixed_order_have_its_bits() {
    local one
    run "$redtune" reduce numbers.raw --dtype f32 --op norm2 --order fixed
    one=$out
    run "$redtune" reduce numbers.raw --dtype f32 --op norm2 --order fixed --device all
    want_exit 0
    want_out "$one"
    # The environment fixes it, and the shares, too; --order free is free all the same.
    export REDTUNE_ORDER=fixed
    run "$redtune" reduce numbers.raw --dtype f32 --op norm2 --device all
    want_exit 0
    want_out "$one"
    run "$redtune" reduce numbers.raw --dtype f32 --op norm2 --device all --json
    want_in_out '"family": "ordered"'
    run "$redtune" reduce numbers.raw --dtype f32 --op norm2 --device all --json --order free
    want_not_in_out '"family": "ordered'
    unset REDTUNE_ORDER
}

files_smaller_than_a_chunk_leave_gpus_idle() {
    { npy "'<i4'" "(3,)"; integers 4 3; } >few.npy
    wants 3 few.npy
    { npy "'<i4'" "(0,)"; } >none.npy
    wants 0 none.npy
}

pieces_are_counted_over_all() {
    run "$redtune" reduce numbers.npy --device all -v --json
    want_exit 0
    want_in_out '"pieces": 3'
    want_in_out '"count": 5000'
}

explain_says_how_a_team_sends() {
    run "$redtune" explain --op sum --device 1,0
    want_exit 0
    want_in_out "team of 2"
    want_in_out "messages go through "
    want_in_out "NCCL 2.28"
    run "$redtune" explain --op sum --device all --json
    want_exit 0
    want_in_out '"team_ranks": 3'
    want_in_out '"team_nccl_version": 22800'
    run "$redtune" explain --op sum --device 0
    want_exit 0
    want_not_in_out "team"
}

explain_says_why_there_is_no_team() {
    REDTUNE_NCCL=/nowhere/libnccl.so run "$redtune" explain --op sum --device all
    want_refused 1 "REDTUNE_NCCL=/nowhere/libnccl.so"
    REDTUNE_SIM_DEVICES=1 run "$redtune" explain --op sum --device all
    want_refused 2 "there is one GPU"
    run "$redtune" explain --op sum --device 1,1
    want_refused 2 "cannot use GPU 1 twice"
}

what_cannot_be_shared_is_refused() {
    run_input numbers.npy "$redtune" reduce - --device all
    want_refused 2 "cannot share standard input between GPUs"
    run "$redtune" reduce numbers.npy --axis 0 --device all
    want_refused 2 "GPUs share whole arrays"
    run "$redtune" reduce numbers.npy --device 0,0
    want_refused 2 "cannot use GPU 0 twice"
    run "$redtune" reduce numbers.npy --device 0,9
    want_refused 2 "cannot use device '9'"
    mkfifo pipe
    cat numbers.raw >pipe 2>/dev/null &
    run timeout 20 "$redtune" reduce pipe --dtype i32 --device all
    want_refused 1 "it is no file whose parts may be read by themselves"
}

check_run parts_give_the_result_of_the_whole a_mask_is_shared_as_its_elements_are parts_of_a_fixed_order_have_its_bits \
    files_smaller_than_a_chunk_leave_gpus_idle pieces_are_counted_over_all \
    explain_says_how_a_team_sends explain_says_why_there_is_no_team what_cannot_be_shared_is_refused
