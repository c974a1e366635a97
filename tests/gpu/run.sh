#!/usr/bin/env bash
# Runs everything that needs a GPU, from a build folder made anywhere (static dependencies), and ends
# with a table: a line per step, its result, its seconds and its last line. Logs go to the folder LOGS.
# figures.sh is for what is measured, not tested.
#
# usage: tests/gpu/run.sh BUILD LOGS [STEP...]
set -u
build=$(realpath "$1") logs=$(realpath -m "$2")
shift 2
here=$(dirname "$(realpath "$0")")
wanted=("$@")
. "$here/steps.sh"
rm -rf "$XDG_CACHE_HOME"

ptx=$here/../sim/data/kernels-nvrtc13-sm_90.ptx

# What takes long in the tests of many kernels is NVRTC, in one thread of a process.
parts=$(nproc)
[ "$parts" -le 16 ] || parts=16

# shared TEST [FACT...]: as many processes as there are parts share the test's kernels. Prints how many
# kernels each fact had.
shared() {
    local test=$1 name=${1##*test_gpu_} part rc=0 processes=()
    shift
    for ((part = 1; part <= parts; part++)); do
        RDT_TEST_PART=$part/$parts within "${limit_s:-300}" "$test" "$@" >"$logs/$name.part$part" 2>&1 &
        processes+=($!)
    done
    for process in "${processes[@]}"; do wait "$process" || rc=$?; done
    grep -h FAILED "$logs/$name".part*
    # "FACT: N of M kernels" and "FACT: N kernels"
    awk '/: [0-9]+ (of [0-9]+ )?kernels$/ { n[$1] += $2; of[$1] = $3 == "of" ? " of " $4 : "" }
         END { for (fact in n) printf "%s %d%s kernels; ", fact, n[fact], of[fact]; print "" }' \
        "$logs/$name".part*
    return $rc
}

step doctor "$redtune" doctor
for test in kernels floats results rows columns skewed thin short staged; do
    step $test shared "$tests/test_gpu_$test"
done
step random_segments shared "$tests/test_gpu_random_segments"
step segments_calls "$tests/test_gpu_segments_calls"
step accumulate "$tests/test_gpu_accumulate"
step ops "$tests/test_gpu_ops"
step rows_api "$tests/test_gpu_rows_api"
step columns_api "$tests/test_gpu_columns_api"
step api "$tests/test_gpu_api"
step graphs "$tests/test_gpu_graphs"
step captures "$tests/test_gpu_captures"
step graph_uses "$tests/test_gpu_graph_uses"
step overlap env RDT_TEST_OLD_NVRTC="$build/tests/fixtures/librdt-old-nvrtc.so" "$tests/test_gpu_overlap"
step runtime "$tests/test_gpu_runtime"
step scratch "$tests/test_gpu_scratch"
step start "$tests/test_gpu_start"
step trust "$build/tests/api/test_api_trust" "$redtune"
step large "$tests/test_gpu_large"
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
step evaluator env RDT_TEST_NVML="$build/tests/fixtures/librdt-nvml.so" "$tests/test_gpu_evaluator"
step evaluator_shapes "$tests/test_gpu_evaluator_shapes"
step evaluator_segments "$tests/test_gpu_evaluator_segments"
step shape_times "$tests/test_gpu_shape_times"
step host_cost "$tests/test_gpu_host_cost"
step first "$tests/test_gpu_first_result"
step sum "$build/examples/sum"
for example in ops argmax graph threads pin; do
    step $example "$build/examples/$example"
done
step sum_cudart "$build/examples/sum_cudart"
step torch python3 "$here/torch_client.py" "$build/libredtune.so"
step torch_axes python3 "$here/torch_axes.py" "$build/libredtune.so"
step npy python3 "$here/reduce_npy.py" "$redtune" 100000000
step cli bash "$here/../cli/gpu.sh" "$redtune"
step own_ops bash "$here/../cli/own_ops.sh" "$redtune"

# The covering sets of all families, and results that blocks share.
families=(kernels rows columns skewed thin short staged)
covering=(few blocks_share)

# Kernels are compiled before a tool looks on: it slows that down, too.
compile() {
    local family rc=0
    for family in "${families[@]}"; do
        shared "$tests/test_gpu_$family" "${covering[@]}" || rc=$?
    done
    return $rc
}

# sanitize: all tools and families side by side. Each has a minute, and does in it what it can; the
# last line says how many kernels that were, and how many errors.
sanitize() {
    local tool family rc=0 processes=()
    for tool in memcheck racecheck initcheck synccheck; do
        for family in "${families[@]}"; do
            RDT_TEST_SECONDS=50 within 80 compute-sanitizer --tool "$tool" --error-exitcode 9 \
                "$tests/test_gpu_$family" "${covering[@]}" >"$logs/$tool.$family" 2>&1 &
            processes+=($!)
        done
    done
    for process in "${processes[@]}"; do wait "$process" || rc=$?; done
    for tool in memcheck racecheck initcheck synccheck; do
        cat "${families[@]/#/$logs/$tool.}" # their logs
        awk -v tool="$tool" '/^few_.* kernels$/ { n += $2; m += $4 } /SUMMARY: [0-9]+ / { bad += $4 }
             END { printf "%s: %d of %d kernels, %d errors\n", tool, n, m, bad }' \
            "${families[@]/#/$logs/$tool.}" | tee -a "$logs/sanitized"
    done
    paste -sd ';' "$logs/sanitized"
    return $rc
}
! is_wanted sanitizers || wanted+=(${wanted:+compile})
rm -f "$logs/sanitized"
step compile compile
step sanitizers sanitize
print_table
exit $failed
