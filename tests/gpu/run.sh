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

step doctor "$redtune" doctor
step kernels "$tests/test_gpu_kernels"
step floats "$tests/test_gpu_floats"
step accumulate "$tests/test_gpu_accumulate"
step ops "$tests/test_gpu_ops"
step staged "$tests/test_gpu_staged"
step skewed "$tests/test_gpu_skewed"
step thin "$tests/test_gpu_thin"
for layout in rows columns; do
    step $layout "$tests/test_gpu_$layout"
    step ${layout}_api "$tests/test_gpu_${layout}_api"
done
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

# sanitize TOOL: the covering sets of all families, and results that blocks share, side by side. Each
# has a minute, and does in it what it can; the last line says how many kernels that were.
sanitize() {
    local tool=$1 family rc=0 processes=()
    for family in kernels rows columns staged; do
        RDT_TEST_SECONDS=50 within 80 compute-sanitizer --tool "$tool" --error-exitcode 9 \
            "$tests/test_gpu_$family" few blocks_share >"$logs/$tool.$family" 2>&1 &
        processes+=($!)
    done
    for process in "${processes[@]}"; do wait "$process" || rc=$?; done
    local found=("$logs/$tool".{kernels,rows,columns,staged})
    cat "${found[@]}"
    echo "$(sed -n 's/^few_.*: \(.* kernels\)$/\1/p' "${found[@]}" | paste -sd ,); errors:" \
        "$(sed -n 's/^=* [A-Z]* *SUMMARY: \([0-9]*\) .*/\1/p' "${found[@]}" | paste -sd ' ')"
    return $rc
}
for tool in memcheck racecheck initcheck synccheck; do
    step $tool sanitize $tool
done
print_table
exit $failed
