# A tune that is killed at random moments loses nothing and ends like one that is not disturbed.
# The fourth argument is the number of kills, the fifth the seed.
. "${BASH_SOURCE%/*}/common.sh"
kills=$4 longest_ms=1500
RANDOM=$5
if [ "$kills" -lt 50 ]; then
    longest_ms=600
    small=(--dtype f64 --size 64,128 --effort quick)
fi

killed_tunes_lose_nothing() {
    ran="redtune, killed" code=0
    tune undisturbed.db --quiet >/dev/null 2>stderr || fail "the undisturbed tune failed"
    winners undisturbed.db >expected.json
    grep -q '"count": 128' expected.json || fail "the undisturbed tune has no winners"
    local done=0 finished=0 process ended
    : >before.txt
    while [ $done -lt "$kills" ]; do
        # Every other time kernels are to be compiled, too.
        [ $((finished % 2)) = 1 ] || export XDG_CACHE_HOME=$folder/cache.$finished
        "$redtune" --device 0 --db killed.db "${small[@]}" --quiet >/dev/null 2>stderr &
        process=$!
        pause 5 $longest_ms
        kill -KILL $process 2>/dev/null
        wait $process 2>/dev/null
        ended=$?
        [ $ended = 0 ] || [ $ended = 137 ] || { fail "a tune ended with $ended"; return; }
        want_sound killed.db before.txt
        [ $failed = 0 ] || return
        if [ $ended = 137 ]; then
            done=$((done + 1))
            continue
        fi
        winners killed.db >found.json
        cmp -s expected.json found.json || { fail "the winners differ"; return; }
        finished=$((finished + 1))
        rm -f killed.db
        : >before.txt
    done
    tune killed.db --quiet >/dev/null 2>stderr || fail "the last tune failed"
    want_sound killed.db before.txt
    winners killed.db >found.json
    cmp -s expected.json found.json || fail "the last winners differ"
    ! workers_of_nobody || fail "a worker is left"
    echo "$done kills, $((finished + 1)) tunes came to their end"
}

check_run killed_tunes_lose_nothing
