# What redtune verify finds: measurements that hold, that flatter, and that were of kernels which
# fault, give wrong results or do not end on this GPU.
suites_kernels=yes
. "${BASH_SOURCE%/*}/common.sh"
. "${BASH_SOURCE%/*}/plant.sh"
small=(--dtype f64 --size 512)
export REDTUNE_SIM_LIMIT=1T
# It takes two to three times as long as the default.
plain=block=32,vec=1,unroll=1,load=plain,tail=shared,finish=poll,per_sm=1

verify() { "$redtune" verify --device 0 --db "$@"; }
sql() { "$query" "$1" "$2" >/dev/null || fail "SQL: $2"; }
# The winner's config with a cold L2.
winner() { "$redtune" show --db "$1" --json | sed -n 's/.*"config": "\(.*\)".*/\1/p' | head -n 1; }

# add DATABASE CONFIG NS DATE: a measurement like the default's, but for these.
add() {
    sql "$1" "INSERT INTO measurement SELECT NULL, gpu, origin, op, dtype, result, layout, ordering,
        mask, key_dtype, spread, count, kept, reduced, greatest, median, keys, cache_state, family, '$2', NULL, 0, 'good', $3, 1.0,
        31, NULL, NULL, NULL, NULL, NULL, NULL, NULL, $4, NULL FROM measurement WHERE is_default LIMIT 1"
}

# Few measurements are enough here.
what_holds_is_left_alone() {
    run tune sound.db --effort quick --quiet
    sql sound.db "DELETE FROM measurement WHERE cache_state = 'warm' OR samples < 15"
    before=$(winner sound.db)
    run verify sound.db --all
    want_exit 0
    want_no_out
    want_in_err " tried: all hold"
    # One problem has one winner.
    run verify sound.db --sample 2
    want_exit 0
    want_in_err "1 of 1 tried"
    [ "$(winner sound.db)" = "$before" ] || fail "another wins now"
}

what_flatters_is_outvoted() {
    cp sound.db flattering.db
    # Three times, so that one measurement is not enough.
    for date in 1 2 3; do add flattering.db $plain 77.0 $date; done
    [ "$(winner flattering.db)" = $plain ] || fail "the flattered config does not win"
    cp flattering.db sampled.db
    run verify sampled.db --sample 1
    want_exit 1
    want_in_out "$plain"
    run verify flattering.db --all
    want_exit 1
    want_in_out "slower, out"
    want_in_out "$plain"
    want_in_err " 1 do not, of which 1 are out now"
    [ "$(winner flattering.db)" = "$(winner sound.db)" ] || fail "the flattered config still wins"
    run verify flattering.db --all --json
    want_exit 0
    want_in_out '"complete": true'
    want_not_in_out '"holds": false'
}

# slow COPY: the databases' times of a GPU that took a third of what this one does.
slow() {
    cp sound.db "$1"
    sql "$1" "UPDATE measurement SET median_ns = median_ns / 3, spread_ns = spread_ns / 3"
}

a_slower_gpu_is_no_fault_of_any_config() {
    slow slow.db
    rows slow.db >before.txt
    run verify slow.db --all --json
    want_exit 0
    want_in_out '"holds": true'
    want_not_in_out '"beside_now_ns": 0'
    want_in_err "held because what was timed beside them is slower as well: "
    rows slow.db | cmp -s - before.txt || fail "times of a slower GPU are stored"
}

# The default is held against the fastest other config.
a_slower_gpu_is_no_fault_of_the_default() {
    slow default.db
    sql default.db "DELETE FROM measurement WHERE NOT is_default"
    add default.db $plain 1200.0 1
    run verify default.db --sample 1 --json
    want_exit 0
    want_in_out "$(winner default.db)"
    want_not_in_out '"now_ns": 0'
    want_in_out '"beside_was_ns": 1200'
    want_in_out '"held_beside": 1'
}

what_flatters_the_default_is_outvoted() {
    cp sound.db default.db
    sql default.db "UPDATE measurement SET median_ns = 300 WHERE is_default"
    before=$(winner default.db)
    run verify default.db --sample 1
    want_exit 1
    want_in_out "$before"
    [ "$(winner default.db)" = "$(winner sound.db)" ] || fail "the default still wins"
}

what_is_slower_than_the_default_on_a_slower_gpu_is_out() {
    slow behind.db
    add behind.db $plain 57.0 1
    run verify behind.db --sample 1
    want_exit 1
    want_in_out "slower, out"
    want_in_out "$plain"
    want_in_out "beside it "
    [ "$(winner behind.db)" = "$(winner sound.db)" ] || fail "the flattered config still wins"
}

# These templates are other ones than those of the measurements.
what_fails_is_out() {
    cp sound.db faults.db
    plant "$folder/planted"
    for unroll in 1 2 4 8; do
        add faults.db block=32,vec=1,unroll=$unroll,load=no_allocate,tail=shuffle,finish=single,per_sm=1 \
            99.0 1
    done
    run verify faults.db --all --limit 2
    want_exit 1
    want_in_err " 4 do not, of which 4 are out now"
    [ "$(grep -c 'faulted, out' stdout)" = 3 ] || fail "not three faults"
    [ "$(grep -c 'hung, out' stdout)" = 1 ] || fail "not one that hung"
    run verify faults.db --all
    want_exit 0
}

# A fault of redtune's own may have been the cause, and be mended by now.
what_another_build_found_wrong_is_tried_again() {
    cp sound.db blamed.db
    before=$(winner blamed.db)
    sql blamed.db "UPDATE measurement SET outcome = 'wrong', median_ns = NULL, spread_ns = NULL,
        samples = NULL, cause = 'it is 3 (build 0123456789ab)' WHERE config = '$before'"
    [ "$(winner blamed.db)" != "$before" ] || fail "a wrong config wins"
    run tune blamed.db --effort exhaustive --quiet
    want_exit 0
    good=$("$query" blamed.db "SELECT count(*) FROM measurement
        WHERE config = '$before' AND outcome = 'good' AND cache_state = 'cold'")
    [ "$good" -gt 0 ] || fail "the winner of before was not tried again"
}

# The clock ran ahead when that other file was written.
what_another_file_dates_ahead_is_out() {
    cp sound.db own.db
    cp sound.db ahead.db
    plant "$folder/planted"
    add ahead.db block=32,vec=1,unroll=1,load=no_allocate,tail=shuffle,finish=single,per_sm=1 \
        99.0 4102444800
    run verify own.db:ahead.db --all --limit 2
    want_exit 1
    want_in_out "faulted, out  block=32,vec=1,unroll=1,"
    run verify own.db:ahead.db --all
    want_exit 0
}

filters_are_those_of_show() {
    run verify sound.db --all --op max
    want_exit 0
    want_in_err "nothing of this is known of this GPU model"
    run verify sound.db --all --dtype f64 --count 512 --json
    want_in_out '"count": 512'
    run verify sound.db --all --count 513 --json
    want_in_out '"standing": 0'
}

what_is_asked_wrongly_is_refused() {
    run verify sound.db --all --sample 3
    want_refused 2 "cannot use --sample with --all"
    run verify sound.db --sample 0
    want_refused 2 "cannot use --sample '0'"
    run verify sound.db --sample some
    want_refused 2 "cannot use --sample 'some'"
    run verify /proc/nowhere/tuning.db
    want_refused 1 "/proc/nowhere/tuning.db"
}

check_run what_holds_is_left_alone what_flatters_is_outvoted \
    a_slower_gpu_is_no_fault_of_any_config a_slower_gpu_is_no_fault_of_the_default \
    what_flatters_the_default_is_outvoted \
    what_is_slower_than_the_default_on_a_slower_gpu_is_out \
    what_another_build_found_wrong_is_tried_again filters_are_those_of_show \
    what_is_asked_wrongly_is_refused what_fails_is_out what_another_file_dates_ahead_is_out
