# Common: what the tests of interrupted tunes share. They are given the redtune command, the header
# and the query program.
. "${BASH_SOURCE%/*}/../cli/check.sh"
query=$(realpath "$3")
# Compiling is disturbed, too, unless the test says that it disturbs none.
[ -n "${suites_kernels-}" ] || export XDG_CACHE_HOME=$folder/cache

have_gpu || { echo "skipped: no GPU" >&2; exit 77; }

# A tune of a second or two on the simulated GPU, the first time.
small=(--dtype f64 --size 64,96,128)

# tune DATABASE ARGUMENT...
tune() {
    local database=$1
    shift
    "$redtune" --device 0 --db "$database" "${small[@]}" "$@"
}

rows() { "$query" "$1" "SELECT id, cache_state, count, config, outcome, median_ns, samples
    FROM measurement ORDER BY id"; }

# Whether the database passes SQLite's check and has all rows of the file before it.
want_sound() {
    local database=$1 before=$2
    [ -e "$database" ] || return 0
    run "$query" "$database" "PRAGMA integrity_check"
    [ "$out" = ok ] || fail "the database is damaged"
    rows "$database" >now.txt || fail "the database cannot be read"
    head -n "$(wc -l <"$before")" now.txt | cmp -s - "$before" || fail "a committed result is lost"
    cp now.txt "$before"
}

# Whether there is a worker, of this command, whose tune has ended. One that was killed may take a
# moment to go.
workers_of_nobody() {
    local waited=0 process
    while [ $((waited += 1)) -lt 40 ]; do
        local found=0
        for process in $(pgrep -x redtune; pgrep -x exe); do
            [ "$(readlink "/proc/$process/exe")" = "$redtune" ] || continue
            grep -q worker "/proc/$process/cmdline" 2>/dev/null || continue
            [ "$(ps -o ppid= -p "$process" | tr -d ' ')" = 1 ] && found=1
        done
        [ $found = 1 ] || return 1
        sleep 0.05
    done
    return 0
}

# pause LOW HIGH: milliseconds, at random.
pause() {
    local ms=$(($1 + (RANDOM * 32768 + RANDOM) % ($2 - $1)))
    sleep "$((ms / 1000)).$(printf %03d $((ms % 1000)))"
}

winners() {
    tune "$1" --json --quiet 2>/dev/null | grep -v '"measured"\|"failed"\|"database"'
}
