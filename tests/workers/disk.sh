# What is measured is kept when the disk is full, the database becomes read-only or NVRTC vanishes in
# the middle of a tune: one clear line, and the same command goes on later.
#
# usage: disk.sh REDTUNE HEADER TEST_QUERY FAULTY_NVRTC
faulty=$(realpath "$4")
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

# begin COMMAND...: one that is disturbed as soon as something is measured.
begin() {
    "$@" >stdout 2>stderr &
    process=$!
    await_rows $process "$database"
}

# want_kept ENDED...: what was measured is there, it says nothing false, and the tune goes on.
want_kept() {
    [ "$("$query" "$database" "SELECT count(*) FROM measurement WHERE outcome <> 'good'")" = 0 ] ||
        fail "it recorded what no candidate has done"
    : >before.txt
    want_sound "$database" before.txt
    [ -s before.txt ] || fail "nothing was kept"
    ran="redtune, in order again"
    run "$redtune" --device 0 --db "$database" --dtype f64 --size 64,128
    want_exit 0
    want_sound "$database" before.txt
}

# Half of NVRTC is a file that it looks for when it compiles.
nvrtc_that_vanishes_is_told() {
    database=vanished.db ran="redtune without NVRTC's builtins"
    rm -f gone
    begin env REDTUNE_NVRTC="$faulty" RDT_TEST_NVRTC_FAILS=nvrtcCompileProgram \
        RDT_TEST_NVRTC_CODE=7 RDT_TEST_NVRTC_UNTIL="$folder/gone" XDG_CACHE_HOME="$folder/none" \
        "$redtune" --device 0 --db $database --dtype f64 --size 64..1K --quiet || return
    touch gone
    finish $process
    want_told "found no libnvrtc-builtins"
    want_kept
}

# To root every folder can be written, so it is nobody who tunes.
a_database_that_becomes_read_only_is_told() {
    database=$folder/open/kept.db ran="redtune with a folder that it may no more write in"
    local as=()
    mkdir -p open
    if [ "$(id -u)" = 0 ]; then
        as=(setpriv --reuid 65534 --regid 65534 --clear-groups)
        chmod 755 "$folder" && chown 65534 open
        "${as[@]}" "$redtune" --help >/dev/null 2>&1 || { echo "nobody cannot run redtune"; return; }
    fi
    begin "${as[@]}" env XDG_CACHE_HOME="$folder/open" XDG_DATA_HOME="$folder/open" \
        "$redtune" --device 0 --db "$database" --dtype f64 --size 64..1K --quiet || return
    chmod 555 open
    finish $process
    chmod 755 open
    want_told "$database"
    want_kept
}

check_run a_full_disk_is_told nvrtc_that_vanishes_is_told a_database_that_becomes_read_only_is_told
