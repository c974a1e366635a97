# Workers whose parent is killed go with it, also while they wait for a GPU that hangs.
. "${BASH_SOURCE%/*}/common.sh"
small=(--dtype f64 --size 512 --effort quick)
export REDTUNE_SIM_LIMIT=1T REDTUNE_SIM_IDLE=1T

# Ticks of the clock that the children of a process have used, in a line.
used() {
    local child
    for child in $(pgrep -P "$1"); do
        awk -v pid="$child" '{ sub(/.*\) /, ""); print pid ":" $12 + $13 }' "/proc/$child/stat"
    done 2>/dev/null | sort
}

# The one child that works while the others rest, three times in a row: it waits for its kernel.
hanging_child() {
    local waited=0 before now working last='' times=0
    before=$(used "$1")
    while [ $((waited += 1)) -lt 240 ]; do
        sleep 0.25
        now=$(used "$1")
        working=$(comm -13 <(echo "$before") <(echo "$now") | cut -d: -f1)
        before=$now
        [[ $working =~ ^[0-9]+$ ]] || { times=0 last=''; continue; }
        [ "$working" = "$last" ] && times=$((times + 1)) || times=1
        last=$working
        [ $times = 3 ] && { echo "$working"; return; }
    done
}

a_hanging_worker_goes_with_its_parent() {
    ran="redtune, killed" code=0
    mkdir templates && cp -r "${BASH_SOURCE%/*}/../../templates/." templates/
    # Every kernel hangs.
    sed -i '/^redtune_reduce(const element/,/^{/ s/^{$/{ while (count + 1) *(volatile u32 *)output = 0;/' \
        templates/block/kernel.cu
    export REDTUNE_TEMPLATES=$PWD/templates
    "$redtune" --device 0 --db orphans.db "${small[@]}" --limit 600 --quiet >/dev/null 2>stderr &
    local parent=$! worker
    worker=$(hanging_child $parent)
    [ -n "$worker" ] || fail "no worker hangs"
    kill -KILL $parent
    wait $parent 2>/dev/null
    ! workers_of_nobody || fail "a worker is left"
    [ -z "$worker" ] || kill -KILL "$worker" 2>/dev/null
}

check_run a_hanging_worker_goes_with_its_parent
