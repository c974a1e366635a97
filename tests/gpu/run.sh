#!/usr/bin/env bash
# Runs everything that needs a GPU, from a build folder made anywhere (static dependencies), and ends
# with a table: a line per step, its result, its seconds and its last line. Logs go to the folder LOGS.
# figures.sh is for what is measured, not tested.
#
# usage: tests/gpu/run.sh BUILD LOGS [STEP...]   with this in the environment:
#   limit_s=N   what each step, and each part of a test, has at most (seconds)
#   total_s=N   what all of them have
#   RDT_TEST_CONFIG=finish=cluster   of the covering set of whole arrays: kernels with that in their config;
#               '!finish=cluster': without
set -u
build=$(realpath "$1") logs=$(realpath -m "$2")
shift 2
here=$(dirname "$(realpath "$0")")
wanted=("$@")
. "$here/steps.sh"
rm -rf "$XDG_CACHE_HOME"

ptx=$here/../records/sim/kernels-nvrtc13-sm_90.ptx

# The tests of many kernels. What takes long in them is NVRTC, in one thread of a process, so as many
# processes as there are parts share each of them.
shared=(ops segments grouped columns rows order order_segments kernels random_segments accuracy skewed thin results floats
    short staged teams teams_axes teams_strided masks strides)
# These time something, or mind what else the GPU does: nothing runs beside them.
alone=(evaluator evaluator_pairs evaluator_segments evaluator_shapes first_result host_cost judge large
    overlap runtime scratch shape_times start)
# These a script runs, as a step of its own.
scripted=(ladder)
cores=$(nproc)
parts=$((cores < 16 ? cores : 16))

# run_part LOGS TEST PART [FACT...]: leaves a log, with the status and the seconds in its last line.
run_part() {
    local log=$1.${3%/*} name=$2 part=$3 start=$SECONDS
    shift 3
    RDT_TEST_PART=$part within "${limit_s:-600}" "${under[@]}" "$tests/test_gpu_$name" "$@" >"$log" 2>&1
    echo "status $? $((SECONDS - start))" >>"$log"
}

# share TEST [FACT...]: starts all parts of a test, as many at once as there are cores; `wait` ends it.
# $under is what they run under, with a log of that name.
under=(env)
share() {
    local name=$1 log=$logs/${under[-1]}.$1 parts=$parts part
    shift
    [[ " ${shared[*]} " == *" $name "* ]] || parts=1
    rm -f "$log".[0-9]*
    for ((part = 1; part <= parts; part++)); do
        while [ "$(jobs -rp | wc -l)" -ge "$cores" ]; do wait -n; done
        run_part "$log" "$name" "$part/$parts" "$@" &
    done
}

# sum_up NAME LOG...: a row with the worst status and the most seconds of the parts, in which
# "FACT: N of M kernels" and "FACT: N kernels" are summed up, or the first failed fact is named.
sum_up() {
    local name=$1 status seconds last
    shift
    read -r status seconds < <(awk '$1 == "status" {
        logs++
        if ($2 == 77) skipped++
        else if ($2 > worst) worst = $2
        if ($3 > most) most = $3
    } END { print logs && skipped == logs ? 77 : worst + 0, most + 0 }' "$@")
    last=$(grep -h -e FAILED -e 'ERROR SUMMARY: [1-9]' "$@" | head -n 1)
    [ -n "$last" ] || last=$(awk '
        /: [0-9]+ (of [0-9]+ )?kernels$/ { n[$1] += $2; of[$1] = $3 == "of" ? " of " $4 : "" }
        /held, .* failed/ { held += $1 }
        END { for (fact in n) printf "%s %d%s kernels; ", fact, n[fact], of[fact]
              print held + 0 " facts held" }' "$@")
    add_row "$name" "$status" "$seconds" "$last"
}

step doctor "$redtune" doctor
# The one that takes longest in one process begins.
beside=()
for test in operands "${shared[@]}" $(cd "$tests" && ls test_gpu_* | sed 's/^test_gpu_//'); do
    [[ " ${alone[*]} ${scripted[*]} ${beside[*]-} " == *" $test "* ]] || ! is_wanted "$test" || beside+=("$test")
done
for test in "${beside[@]}"; do share "$test"; done
wait
for test in "${beside[@]}"; do sum_up "$test" "$logs/env.$test".[0-9]*; done
step barriers python3 "$here/barriers.py" "$XDG_CACHE_HOME/redtune/kernels.db"
export RDT_TEST_OLD_NVRTC=$build/tests/fixtures/librdt-old-nvrtc.so
export RDT_TEST_NVML=$build/tests/fixtures/librdt-nvml.so
for test in "${alone[@]}"; do
    step "$test" "$tests/test_gpu_$test"
done
step trust "$build/tests/api/test_api_trust" "$redtune"
step hardware "$build/tests/sim/sim-compare" libcuda.so.1 "$build/libredtune-sim.so" "$ptx"
step tune "$redtune" --device 0
step again "$redtune" --device 0
step fault bash "$here/fault.sh" "$redtune" "$build/tests/workers/test-query"
step ladder bash "$here/ladder.sh" "$redtune" "$tests/test_gpu_ladder"
# What the tune found against every distinct point of a few problems (a minute for each dtype), and
# against a second tune.
some=(--device 0 --dtype f16,f32,i8 --size 4K,64K)
tuned=$XDG_DATA_HOME/redtune/tuning.db
step exhaustive "$redtune" "${some[@]}" --effort exhaustive --db "$logs/exhaustive.db"
step winners "$tests/winners" "$tuned" "$logs/exhaustive.db" 1.01 1.03
step second "$redtune" --device 0 --db "$logs/second.db"
step agree "$tests/winners" "$tuned" "$logs/second.db" 1.01 1.03 0.97
step axis_speed "$tests/axis_speed"
step sum "$build/examples/sum"
for example in ops argmax graph threads pin; do
    step example_$example "$build/examples/$example"
done
step sum_cudart "$build/examples/sum_cudart"
step torch python3 "$here/torch_client.py" "$build/libredtune.so"
step torch_axes python3 "$here/torch_axes.py" "$build/libredtune.so"
step npy python3 "$here/reduce_npy.py" "$redtune" 100000000
step cli bash "$here/../cli/gpu.sh" "$redtune"
step own_ops bash "$here/../cli/own_ops.sh" "$redtune"

# The covering sets of all families, and results that blocks share, under the tools that watch every
# access. Kernels are compiled before a tool looks on: it slows that down, too.
sanitizers() {
    local families=(kernels rows columns skewed thin short staged segments grouped order order_segments
        accuracy random_segments)
    # few_... and blocks_share_... of the first nine, the covering sets of the others
    local covering=(few blocks_share kernels_have rows_ columns_ short_rows exact_sums_of_rows random
        long_segments)
    local parts=8 family tool
    for tool in "" memcheck racecheck initcheck synccheck; do
        under=(env)
        [ -z "$tool" ] || under=(compute-sanitizer --error-exitcode 9 --tool "$tool")
        # Block 0 of a cluster polls words in shared memory that say themselves whether they are there: to
        # racecheck the write and the read are a race.
        [ "$tool" != racecheck ] || under=(env 'RDT_TEST_CONFIG=!finish=cluster' "${under[@]}")
        for family in "${families[@]}"; do share "$family" "${covering[@]}"; done
        wait
        [ -z "$tool" ] || sum_up "$tool" "$logs/$tool".*
    done
}
! is_wanted sanitizers || sanitizers
print_table
exit $failed
