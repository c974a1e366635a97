# What is measured is kept when the disk is full, the database becomes read-only or NVRTC vanishes in
# the middle of a tune: one clear line, and the same command goes on later.
. "${BASH_SOURCE%/*}/common.sh"

# started DATABASE: once something is measured; fails the fact if the tune ends before.
await_rows() {
    local process=$1 database=$2 waited=0
    until [ -s "$database" ] && [ "$("$query" "$database" "SELECT count(*) FROM measurement" \
        2>/dev/null || echo 0)" -gt 0 ]; do
        kill -0 "$process" 2>/dev/null && [ $((waited += 1)) -lt 1200 ] ||
            { fail "it measured nothing"; return 1; }
        sleep 0.02
    done
}

# want_told TEXT: it failed with one line of its own beside the progress.
want_told() {
    want_exit 1
    [ "$(grep -c '^redtune: cannot' stderr)" = 1 ] || fail "not one line"
    want_in_err "$1"
}

finish() {
    process=$1
    wait "$process"
    code=$? out=$(cat stdout) err=$(cat stderr)
}

# A file may grow to this size only: the disk is full.
a_full_disk_is_told() {
    ran="redtune on a full disk"
    (
        trap '' XFSZ
        ulimit -f 40
        exec "$redtune" --device 0 --db full.db --dtype f64 --size 64..1K --quiet
    ) >stdout 2>stderr
    code=$? out=$(cat stdout) err=$(cat stderr)
    want_told full.db
    : >before.txt
    want_sound full.db before.txt
    [ -s before.txt ] || fail "nothing was kept"
    ran="redtune, with space again"
    run "$redtune" --device 0 --db full.db --dtype f64 --size 64,128
    want_exit 0
    want_sound full.db before.txt
}

check_run a_full_disk_is_told
