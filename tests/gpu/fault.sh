#!/usr/bin/env bash
# A candidate that writes where there is no memory, on a real GPU: it is recorded with its cause, all
# others are measured, and the tune takes at most 5 s longer than one without it.
#
# usage: fault.sh REDTUNE TEST_QUERY
set -eu
redtune=$1 query=$2
. "$(dirname "$(realpath "$0")")/../workers/plant.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# tune NAME: every candidate, with nothing compiled before.
tune() {
    local start=$SECONDS
    XDG_CACHE_HOME=$folder/$1 "$redtune" --device 0 --dtype f64 --size 512 --effort exhaustive \
        --quiet --db "$folder/$1.db" >/dev/null
    echo $((SECONDS - start))
}

# ask NAME WHAT [WHERE]
ask() { "$query" "$folder/$1.db" "SELECT $2 FROM measurement ${3:+WHERE $3}"; }

sound_s=$(tune sound)
plant "$folder/templates" one
planted_s=$(tune planted)
candidates=$(ask sound "count(DISTINCT config)" "outcome = 'good'")
measured=$(ask planted "count(DISTINCT config)" "outcome = 'good'")
bad=$(ask planted "outcome || ': ' || config || ': ' || cause" "outcome <> 'good'")
echo "$candidates candidates in $sound_s s; with one planted: $measured in $planted_s s, and"
echo "$bad"
case $bad in
*$'\n'*) echo "more than one failed"; exit 1 ;;
"faulted: block=32,vec=1,unroll=1,"*"finish=single"*"illegal memory access"*) ;;
*) echo "the planted one is not recorded as such"; exit 1 ;;
esac
[ "$measured" -eq $((candidates - 1)) ] || { echo "another one was lost, too"; exit 1; }
[ $((planted_s - sound_s)) -le 5 ] || { echo "it cost more than 5 s"; exit 1; }
