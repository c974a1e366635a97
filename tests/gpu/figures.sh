#!/usr/bin/env bash
# Measures what docs/benchmarks.md says of reductions along an axis and of ops of two inputs and of
# two results, from a build folder made anywhere:
# each step prints its figures, and a table of the steps comes last. Steps that need a tuned database
# take that of LOGS; where there is none, a default tune makes it. Logs go to the folder LOGS.
#
#   tune      a default tune, where LOGS has none
#   peers     makes the libraries of bench/axis_peers.cu, of each CCCL, unless BUILD has peers-*.so
#   race_f32, race_f16   sums at 21 shapes, both axes, beside torch, torch.compile, CuPy and CUB
#   ops       min, max, argmax, mean and norm2 of f32 at six of them
#   layouts   middle axes and pitches against packed columns and rows
#   recorded  a program's ten shapes, recorded and tuned
#   tune_ops  tunes the ops of the next three steps at their sizes, where this step is named; without,
#             they run by what was measured for others that move as many bytes
#   cublas    dot, sumabs, norm2 and argmaxabs of 2^10 to 2^28 f32, f64 and f16 beside cuBLAS and torch,
#             cold and on a stream
#   several   two results in one pass against one: 16, 64, 256 and 1024 MiB of f32
#   axis_ops2 mean_var, logsumexp and max_at of f32 at six shapes, both axes, beside torch and
#             torch.compile
#   orders    sums in fixed order against free ones, compensated and exact ones against plain ones
#   served    random shapes: the tune's choice against a search at those very shapes
#
# usage: tests/gpu/figures.sh BUILD LOGS [STEP...]   with these in the environment:
#   TUNED=PATH            a tuning database to begin with
#   CCCL=FOLDER           headers of a newer CCCL than the toolkit's (its include folder)
#   AXIS_OPTIONS="..."    more options of the races, such as "--axis 1"
#   CUBLAS_OPTIONS="..."  more options of cublas, such as "--dtype f32,f64"
#   SAMPLES=5 SECONDS_EACH=240       of a race, and of cublas
#   SHAPES=200 SEED=1 BUDGET_S=100 TIMING_S=80   of served: its searches have that time, and its timing
#   ELEMENTS_MAX=N        of served: of the largest shape (default: 2^25)
set -u
build=$(realpath "$1") logs=$(realpath -m "$2")
shift 2
here=$(dirname "$(realpath "$0")")
wanted=("$@")
. "$here/steps.sh"
bench=$here/../../bench
tuned=$XDG_DATA_HOME/redtune/tuning.db
mkdir -p "${tuned%/*}"
if [ -n "${TUNED:-}" ]; then cp "$TUNED" "$tuned"; fi

# figure NAME COMMAND...: a step whose output is shown: the end of it, where the sums are, is $tail_lines
# lines (50).
figure() {
    local log=$logs/$1.log most=${tail_lines:-50}
    is_wanted "$1" || return 0
    echo "== $1"
    step "$@"
    if [ "$(wc -l <"$log")" -gt $((most + 4)) ]; then
        head -n 3 "$log" | cut -c 1-180
        echo "..."
    else
        most=$((most + 4))
    fi
    tail -n $most "$log" | cut -c 1-400
    if [ -s "$logs/$1.notes" ]; then tail -n 8 "$logs/$1.notes" | cut -c 1-200; fi
}

is_any_wanted() {
    local name
    for name in "$@"; do is_wanted "$name" && return; done
    return 1
}
if [ ! -s "$tuned" ] && is_any_wanted tune race_f32 race_f16 ops layouts recorded tune_ops \
    cublas several axis_ops2 orders served; then
    wanted+=(${wanted[@]:+tune})
    limit_s=300 step tune "$redtune" --device "$device" --db "$tuned"
fi

make_peers() {
    local nvcc
    ls "$build"/peers-*.so 2>/dev/null && return
    nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
    local flags=(-shared -Xcompiler -fPIC -std=c++17 -O3 -arch=native "$bench/axis_peers.cu")
    within 240 "$nvcc" "${flags[@]}" -o "$logs/peers-toolkit.so" &
    local toolkit=$!
    if [ -n "${CCCL:-}" ]; then
        within 240 "$nvcc" -I "$CCCL" "${flags[@]}" -o "$logs/peers-cccl.so" || return
    fi
    wait $toolkit && ls "$logs"/peers-*.so
}
step peers make_peers

cubs=()
for library in "$build"/peers-*.so "$logs"/peers-*.so; do
    if [ -e "$library" ]; then cubs+=(--cub "$library"); fi
done

# race_along NAME OPTION...: the notes go to a file of their own. What is compiled, by torch.compile
# above all, is compiled by as many processes as there are cores, up to 16, before anything is timed.
race_along() {
    local name=$1 parts=$(nproc) part
    shift
    local race=(python3 "$bench/against_axis.py" --library "$build/libredtune.so" --db "$tuned"
        "${cubs[@]}" --compile "$@" ${AXIS_OPTIONS:-})
    if [ "$parts" -gt 16 ]; then parts=16; fi
    for ((part = 0; part < parts; part++)); do
        within 90 "${race[@]}" --prepare $part/$parts >"$logs/$name.prepare$part" 2>&1 &
    done
    wait
    within $((${SECONDS_EACH:-240} + 60)) "${race[@]}" --samples "${SAMPLES:-5}" \
        --seconds "${SECONDS_EACH:-240}" --csv "$logs/$name.csv" 2>"$logs/$name.notes"
}
for dtype in f32 f16; do
    figure race_$dtype race_along race_$dtype --dtype $dtype
done
figure ops race_along ops --op min,max,argmax,mean,norm2 --dtype f32 --shape six

limit_s=120 figure layouts "$tests/axis_layouts" 1.10 "$tuned"

# tune_some OPTION...: for a quarter of SECONDS_EACH.
tune_some() {
    local seconds=$((${SECONDS_EACH:-240} / 4))
    within $((seconds + 60)) "$redtune" --device "$device" --db "$tuned" --budget ${seconds}s "$@"
}
tune_ops() {
    local six=33x33793,64x262144,1024x16384,16384x1024,65536x256,4194304x4 axis
    tune_some --op dot,sumabs,norm2 --dtype f32,f64,f16 --size 1K..256M || return
    tune_some --op minmax,mean_var,sum_sumsq,sum_nonfinite,min_at,max_at --dtype f32 \
        --size 4M,16M,64M,256M || return
    for axis in 1 0; do
        tune_some --op mean_var,logsumexp,max_at --dtype f32 --shape $six --axis $axis || return
    done
}
if [[ " ${wanted[*]} " == *" tune_ops "* ]]; then figure tune_ops tune_ops; fi
beside_cublas() {
    local seconds=${SECONDS_EACH:-240}
    within $((seconds + 60)) python3 "$bench/against_cublas.py" --library "$build/libredtune.so" \
        --db "$tuned" --samples "${SAMPLES:-5}" --seconds "$seconds" --csv "$logs/cublas.csv" \
        ${CUBLAS_OPTIONS:-} 2>"$logs/cublas.notes"
}
figure cublas beside_cublas
limit_s=120 figure several "$tests/several" 1.03 "$tuned"
figure axis_ops2 race_along axis_ops2 --op mean_var,logsumexp,max_at --dtype f32 --shape six

# orders.c's sums, tuned; what is in the database is not measured again.
beside_plain() {
    local six=1048576x64,1048576x16,65536x256,4096x4096,1024x1024,32x1024 dtype order axis accuracy
    for dtype in f32 f16; do
        for order in free fixed; do
            tune_some --dtype $dtype --size 1K..512M --order $order --effort quick || return
            tune_some --dtype $dtype --size 4871,155872,185364,741455 --order $order --effort quick || return
            for axis in 1 0; do
                tune_some --dtype $dtype --shape $six,262144x64 --axis $axis --order $order || return
            done
        done
        for accuracy in compensated exact; do
            tune_some --dtype $dtype --size 16M..512M --accuracy $accuracy || return
        done
    done
    within $((${SECONDS_EACH:-240} + 60)) "$tests/orders" "$tuned"
}
tail_lines=80 figure orders beside_plain

# From nothing, for the gain over the built-in default, and from the tune's database.
recorded() {
    within 120 bash "$here/recorded.sh" "$redtune" "$tests/ten_shapes" &&
        within 120 bash "$here/recorded.sh" "$redtune" "$tests/ten_shapes" "$tuned"
}
figure recorded recorded

# How many candidates it measured, or why it ended.
said_of_search() { grep 'candidates measured' "$logs/search.log" || tail -n 1 "$logs/search.log"; }

# Before they are timed, the plans are made by as many processes as there are cores, up to 16.
# A search at each of the random shapes, from a copy of what the tune found: one of the default effort,
# for up to half of the time, and then as many of all points, at random, as the rest allows.
serve() {
    local shapes=$logs/shapes.jsonl best=$logs/best.db budget=${BUDGET_S:-100} start=$SECONDS
    local timing=${TIMING_S:-80}
    local search=("$redtune" --device "$device" --recorded "$shapes" --db "$best" --jobs 6)
    python3 "$here/random_shapes.py" "${SHAPES:-200}" "${SEED:-1}" ${ELEMENTS_MAX:+"$ELEMENTS_MAX"} \
        >"$shapes" || return
    if [ -s "$tuned" ]; then cp "$tuned" "$best"; fi
    # What a search has measured when its time is over counts, too.
    within $((budget / 2 + 30)) "${search[@]}" --budget $((budget / 2))s >"$logs/search.log" 2>&1
    echo "0 default effort: $(said_of_search)"
    budget=$((budget - (SECONDS - start) > 10 ? budget - (SECONDS - start) : 10))
    within $((budget + 30)) "${search[@]}" --effort exhaustive --budget "${budget}s" \
        >"$logs/search.log" 2>&1
    echo "0 of all points: $(said_of_search)"
    local served=("$tests/served" "$tuned" "$best" "$shapes" 1.05) parts=$(nproc) part
    if [ "$parts" -gt 16 ]; then parts=16; fi
    for ((part = 1; part <= parts; part++)); do
        RDT_TEST_PART=$part/$parts RDT_TEST_SECONDS=60 within 90 "${served[@]}" \
            >"$logs/served.part$part" 2>&1 &
    done
    wait
    RDT_TEST_SECONDS=$timing within $((timing + 20)) "${served[@]}" | sort -n
}
set -o pipefail
tail_lines=9 figure served serve

echo
print_table
exit $failed
