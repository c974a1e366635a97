#!/usr/bin/env bash
# The ladder on a GPU: every step right at every count, then the tables of docs/ladder.md.
#
# usage: ladder.sh REDTUNE TEST_GPU_LADDER
set -eu
"$2"
for count in 16M 256M; do
    echo
    "$1" ladder --device 0 --dtype f32 --count $count
done
for dtype in i32 f64; do
    echo
    "$1" ladder --device 0 --dtype $dtype --count 16M
done
