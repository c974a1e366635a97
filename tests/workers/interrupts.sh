# Ctrl-C at random moments: the tune ends with 130, keeps what it has, and leaves no worker. The
# fourth argument is how many, the fifth the seed. Prints the longest time that one took to end.
. "${BASH_SOURCE%/*}/common.sh"
interrupts=$4 longest_ms=1500
RANDOM=$5
if [ "$interrupts" -lt 50 ]; then longest_ms=500; fi

now_ms() { echo $(($(date +%s%N) / 1000000)); }

interrupted_tunes_end_soon() {
    ran="redtune, interrupted" code=0
    local done=0 worst=0 process ended from took
    : >before.txt
    while [ $done -lt "$interrupts" ]; do
        "$redtune" --device 0 --db interrupted.db "${small[@]}" >stdout 2>stderr &
        process=$!
        pause 30 $longest_ms
        from=$(now_ms)
        kill -INT $process 2>/dev/null
        wait $process
        ended=$?
        took=$(($(now_ms) - from))
        if [ $ended = 0 ]; then
            rm -f interrupted.db
            : >before.txt
            continue
        fi
        done=$((done + 1))
        [ $ended = 130 ] || { fail "exit $ended"; return; }
        grep -q "interrupted; what was measured is kept in interrupted.db" stderr ||
            { fail "no message"; return; }
        [ $took -gt $worst ] && worst=$took
        [ $took -lt 5000 ] || { fail "it took $took ms"; return; }
        want_sound interrupted.db before.txt
        ! workers_of_nobody || { fail "a worker is left"; return; }
        [ $failed = 0 ] || return
    done
    echo "$done interrupts, $worst ms at most"
}

check_run interrupted_tunes_end_soon
