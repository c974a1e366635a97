#!/usr/bin/env bash
# A recorded run: a program reduces ten shapes and leaves a recording, `redtune tune --recorded` tunes
# those, and the program runs again: each shape must now be served by its own measurement. Prints the
# times before and after, and what the tune says that it gained. DATABASE, if given, is what the program
# has before, in a copy; else nothing.
#
# usage: recorded.sh REDTUNE TEN_SHAPES [DATABASE]   with REDTUNE_TEST_DEVICE as for the tests, or 0,
# and EFFORT: the tune's, or standard
set -eu
redtune=$1 program=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export REDTUNE_DB=$folder/tuning.db
if [ -n "${3:-}" ]; then cp "$3" "$REDTUNE_DB"; fi

REDTUNE_RECORD=$folder/runs.jsonl "$program" >"$folder/before"
recorded=$(grep -c '"op"' "$folder/runs.jsonl")
"$redtune" --device "${REDTUNE_TEST_DEVICE:-0}" --recorded "$folder/runs.jsonl" \
    --effort "${EFFORT:-standard}" >"$folder/table" 2>"$folder/said" || { cat "$folder/said"; exit 1; }
"$program" exact >"$folder/after" || failed=1

paste "$folder/before" "$folder/after" | awk -F '\t' '
    { printf "%9.2f us (%s) %9.2f us (%s) %6.2fx  %s  %s\n", $1, $2, $5, $6, $1 / $5, $3, $8
      sum += log($1 / $5); if ($6 == "exact") exact++ }
    END { printf "%d shapes, %d served exactly, %.2f times as fast in the geometric mean\n",
              NR, exact, exp(sum / NR) }'
echo "$recorded problems were recorded"
sed -n 's/^redtune: \(recorded: .*\)/\1/p' "$folder/said"
exit "${failed:-0}"
