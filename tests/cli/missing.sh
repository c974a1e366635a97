# What the command says where there is no driver: at once, in one line, with the remedy.
. "${BASH_SOURCE%/*}/files.sh"
. "${BASH_SOURCE%/*}/check.sh"
export REDTUNE_CUDA_DRIVER=/nowhere/libcuda.so.1

tune_names_the_driver_and_the_remedy() {
    SECONDS=0
    run "$redtune" --device 0
    want_refused 1 "libcuda.so.1"
    want_in_err "/nowhere/libcuda.so.1"
    want_in_err "REDTUNE_CUDA_DRIVER"
    [ "$SECONDS" -le 1 ] || fail "it took $SECONDS s"
}

tune_names_the_places_looked_in() {
    ran="redtune --device 0, without REDTUNE_CUDA_DRIVER"
    ldconfig -p 2>/dev/null | grep -q 'libcuda\.so\.1' && { skip "there is a driver"; return; }
    run env -u REDTUNE_CUDA_DRIVER "$redtune" --device 0
    want_refused 1 "libcuda.so.1"
    want_in_err "looked in the loader's path"
    want_in_err "REDTUNE_CUDA_DRIVER"
}

reduce_names_the_driver() {
    { npy "'<i4'" "(10,)"; integers 4 10; } >ten.npy
    run "$redtune" reduce ten.npy
    want_refused 1 "libcuda.so.1"
}

quiet_does_not_hide_errors() {
    run "$redtune" --quiet
    want_refused 1 "libcuda.so.1"
}

doctor_lists_what_is_missing() {
    run "$redtune" doctor
    want_exit 1
    want_no_err
    want_in_out "MISSING"
    want_in_out "libcuda.so.1"
    want_in_out "to do: "
    want_in_out "missing: the lines marked MISSING say what to do."
}

doctor_writes_json() {
    run "$redtune" doctor --json
    want_exit 1
    want_no_err
    want_in_out '"health": "missing"'
    want_not_in_out '"missing": 0'
    command -v python3 >/dev/null || return
    python3 -m json.tool stdout >/dev/null || fail "stdout is no JSON"
}

nothing_is_left_behind() {
    run "$redtune" --size 1K
    [ ! -e "$XDG_DATA_HOME/redtune/tuning.db" ] || fail "a database was made"
}

check_run tune_names_the_driver_and_the_remedy tune_names_the_places_looked_in \
    reduce_names_the_driver quiet_does_not_hide_errors doctor_lists_what_is_missing \
    doctor_writes_json nothing_is_left_behind
