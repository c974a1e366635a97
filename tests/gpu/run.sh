#!/usr/bin/env bash
# Runs everything that needs a GPU, from a build folder made anywhere (static dependencies), and ends
# with a table: a line per step, its result and its seconds. Logs go to the folder LOGS.
#
# usage: tests/gpu/run.sh BUILD LOGS [STEP...]
set -u
build=$(realpath "$1") logs=$(realpath "$2")
shift 2
here=$(dirname "$(realpath "$0")")
export XDG_DATA_HOME=$logs/home XDG_CACHE_HOME=/tmp/redtune-gpu-cache
unset REDTUNE_DB REDTUNE_TEMPLATES
redtune=$build/redtune
table=()
failed=0

# step NAME COMMAND...: runs it, unless steps were named and this is none of them.
step() {
    local name=$1 start=$SECONDS rc
    shift
    if [ "${#wanted[@]}" -gt 0 ] && [[ " ${wanted[*]} " != *" $name "* ]]; then return; fi
    "$@" >"$logs/$name.log" 2>&1
    rc=$?
    case $rc in
    0) table+=("$(printf '%-12s ok       %4d s' "$name" $((SECONDS - start)))") ;;
    77) table+=("$(printf '%-12s skipped  %4d s' "$name" $((SECONDS - start)))") ;;
    *) table+=("$(printf '%-12s FAILED   %4d s (rc %d: %s)' "$name" $((SECONDS - start)) $rc \
        "$(tail -n 1 "$logs/$name.log")")")
        failed=1 ;;
    esac
}
wanted=("$@")
rm -rf "$XDG_CACHE_HOME"

step doctor "$redtune" doctor
step kernels "$build/tests/gpu/test_gpu_kernels"
step api "$build/tests/gpu/test_gpu_api"
step tune "$redtune" --device 0
step again "$redtune" --device 0
step npy python3 "$here/reduce_npy.py" "$redtune" 100000000
step cli bash "$here/../cli/gpu.sh" "$redtune"
step sum "$build/examples/sum"
step sum_cudart "$build/examples/sum_cudart"
printf '%s\n' "${table[@]}"
exit $failed
