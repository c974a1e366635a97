# redtune emit --counters: what a kernel does, counted on the simulated GPU.
. "${BASH_SOURCE%/*}/check.sh"

# count NAME: the number in that row.
count() { sed -n "s/^ *$1  *\([0-9.]*\).*/\1/p" stdout; }

counters_are_printed_alone() {
    run "$redtune" emit --op sum --dtype f32 --count 1M --counters
    want_exit 0
    want_no_err
    want_in_out "sum of 1048576 f32, once, on the redtune simulated GPU"
    want_in_out "block="
    want_not_in_out "__global__"
    [ "$(count launches)" = 1 ] || fail "not one launch"
    # 4 MiB in transactions of 32 bytes, and a few for what the blocks hand over.
    [ "$(count transactions)" -ge 131072 ] || fail "fewer transactions than the input has"
    [ "$(count transactions)" -le 133000 ] || fail "the loads do not coalesce"
}

# A matrix of 64 x 1000 f32 is 8000 transactions, whichever axis is reduced.
counters_are_of_all_rows_and_columns() {
    for axis in 0 1; do
        run "$redtune" emit --shape 64x1000 --axis $axis --counters
        want_exit 0
        want_in_out "sum of 64x1000 f32 along axis $axis, once, on the redtune simulated GPU"
        [ "$(count transactions)" -ge 8000 ] || fail "fewer transactions than the matrix has"
        [ "$(count transactions)" -le 9000 ] || fail "the loads do not coalesce"
    done
}

# So is an array of 16 x 8 x 500, around the axis that stays.
counters_are_of_any_axes() {
    run "$redtune" emit --shape 16x8x500 --axis 0,2 --counters
    want_exit 0
    want_in_out "sum of f32 along 16@4000 500@1 of 8@500, once, on the redtune simulated GPU"
    [ "$(count transactions)" -ge 8000 ] || fail "fewer transactions than the array has"
    [ "$(count transactions)" -le 9000 ] || fail "the loads do not coalesce"
}

counters_follow_the_config() {
    run "$redtune" emit --count 64K --counters --config finish=poll
    want_exit 0
    [ "$(count launches)" = 1 ] || fail "not one launch"
    [ "$(count atomics)" = 0 ] || fail "atomics, and the blocks meet by words"
    run "$redtune" emit --count 64K --counters --config tail=shared
    want_exit 0
    [ "$(count 'shared memory')" -gt 20 ] || fail "no shared memory"
}

counters_are_the_same_every_time() {
    run "$redtune" emit --dtype i8 --op max --count 100000 --counters
    want_exit 0
    cp stdout first
    run "$redtune" emit --dtype i8 --op max --count 100000 --counters
    cmp -s stdout first || fail "the second time gave others"
}

a_missing_simulator_is_named() {
    REDTUNE_SIM=/nowhere/libredtune-sim.so run "$redtune" emit --counters
    want_refused 1 "/nowhere/libredtune-sim.so"
}

check_run counters_are_printed_alone counters_are_of_all_rows_and_columns counters_are_of_any_axes \
    counters_follow_the_config counters_are_the_same_every_time \
    a_missing_simulator_is_named
