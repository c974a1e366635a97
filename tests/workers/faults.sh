# Candidates that fault, trap or never end cost themselves and nothing else.
. "${BASH_SOURCE%/*}/common.sh"
. "${BASH_SOURCE%/*}/plant.sh"
small=(--dtype f64 --size 512)
# What never ends is for the tune to find out, and not for the simulated GPU.
export REDTUNE_SIM_LIMIT=1T

count() { "$query" faults.db "SELECT count(DISTINCT config) FROM measurement WHERE $1"; }

# bad UNROLL OUTCOME CAUSE: how that planted candidate is recorded.
bad() {
    local row
    row=$("$query" faults.db "SELECT outcome, cause FROM measurement
        WHERE config LIKE 'block=32,vec=1,unroll=$1,%finish=single,%'")
    [[ $row == "$2|"*"$3"* ]] || fail "unroll=$1 is '$row'"
}

every_fault_is_recorded_and_costs_nothing_else() {
    plant "$folder/planted"
    run tune faults.db --effort exhaustive --limit 4
    want_exit 0
    bad 1 faulted "illegal memory access"
    bad 2 faulted "misaligned address"
    bad 4 hung "did not end within 4 s"
    bad 8 faulted "launch failure"
    [ "$(count "outcome <> 'good'")" = 4 ] || fail "$(count "outcome <> 'good'") candidates are bad"
    [ "$(count "outcome = 'good'")" -ge 40 ] || fail "only $(count "outcome = 'good'") are measured"
    want_in_err " 4 failed"
}

known_faults_are_not_met_again() {
    run tune faults.db --effort exhaustive --limit 4
    want_exit 0
    want_in_err " 0 candidates measured, 0 failed"
}

check_run every_fault_is_recorded_and_costs_nothing_else known_faults_are_not_met_again
