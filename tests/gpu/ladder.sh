#!/usr/bin/env bash
# The ladder on a GPU: every step right at every count, then the tables of docs/ladder.md, then every
# step as a program of its own, built by nvcc and run.
#
# usage: ladder.sh REDTUNE TEST_GPU_LADDER
set -eu
redtune=$1
"$2"
for count in 16M 256M; do
    echo
    "$redtune" ladder --device 0 --dtype f32 --count $count
done
for dtype in i32 f64; do
    echo
    "$redtune" ladder --device 0 --dtype $dtype --count 16M
done

nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
[ -x "$nvcc" ] || { echo "no nvcc: the programs are not run"; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# build FILE: warnings are errors.
build() {
    "$nvcc" -O3 -arch=native -Xcompiler -Wall,-Wextra,-Werror --Werror all-warnings -o "$1.run" "$1"
}
export -f build
export nvcc

# programs COUNTS OPTION...: builds every step that there is so, and has it sum so many elements.
programs() {
    local counts=$1 program count
    shift
    rm -rf "$folder/steps"
    "$redtune" ladder --export "$folder/steps" --quiet "$@"
    ls "$folder"/steps/*.cu | xargs -P 8 -I {} bash -c 'build {}'
    for program in "$folder"/steps/*.run; do
        for count in $counts; do "$program" "$count"; done
    done
}
echo
programs "1 101 70001 16777216" --dtype f32
programs "101 16777216" --dtype i32
programs "70001" --dtype f64
programs "70001" --dtype i64 --block 32
for dtype in f32 i32 i64 f64; do programs "101 70001" --dtype $dtype --block 101; done
