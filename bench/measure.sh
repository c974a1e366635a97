#!/usr/bin/env bash
# Measures what README.md and docs/benchmarks.md state of a GPU, by the configurations that redtune
# comes with, from a folder made on a machine without one. Each step leaves its results in OUT, from
# which bench/table.py and bench/plot.py make the tables and figures.
#
#   whole      sums of whole arrays beside CUB: whole-VERSION.csv of each CUB there is
#   race_f32, race_f16   sums along both axes beside PyTorch, torch.compile, CuPy and CUB
#   segments   sums of segments beside CUB
#   lists      the norm2 of thousands of arrays
#   keys       sums by key over reading
#   first      first calls from Python, in a process without caches and in one after it
#   host       the host's time of a call from C and from Python
#
# usage: bench/measure.sh --make FOLDER [CCCL...]    makes FOLDER, by nvcc, build/release and $PYTHON,
#            from 3.12 on; CCCL: include folders of CCCLs, else the toolkit's
#        FOLDER/bench/measure.sh FOLDER OUT [STEP...]    on the machine with the GPU
set -u
repository=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
bench=$repository/bench

# ---- making the folder -------------------------------------------------------------------------

cccl_version() {
    awk '/^#define CUB_VERSION/ { print int($3 / 100000) "." int($3 / 100) % 1000 }' "$1/cub/version.cuh"
}

make_folder() {
    set -e
    local folder release=$repository/build/release nvcc version cccl program
    nvcc=$(command -v nvcc || echo /usr/local/cuda/bin/nvcc)
    mkdir -p "$1"
    folder=$(realpath "$1")
    shift
    local flags=(-std=c++17 -O3 -arch=sm_90 "-I$repository" "-I$repository/src" "-I$repository/include")
    mkdir -p "$folder/objects"
    (cd "$folder/objects" && cc -c -O2 -I"$repository" -I"$repository/src" -I"$repository/include" \
        "-I$(dirname "$nvcc")/../include" "$bench"/*.c)
    # Sums of the dtypes that are measured, alone: all of CUB's take ten minutes to compile.
    grep -v '{"i\(8\|16\|64\)"' "$bench/cub_sum.cu" >"$folder/objects/cub_sums.cu"
    {
        echo '#include "bench/cub.h"'
        for program in sum_fixed min max argmin argmax; do
            echo "const bench_cub_call bench_cub_$program[] = {{nullptr, nullptr, nullptr}};"
        done
    } >"$folder/objects/others.cu"
    for cccl in "${@:-$(dirname "$nvcc")/../include/cccl}"; do
        version=$(cccl_version "$cccl")
        "$nvcc" -shared -Xcompiler -fPIC "${flags[@]}" "-I$cccl" "$bench/axis_peers.cu" \
            -o "$folder/peers-$version.so" &
        (cd "$folder/objects" && "$nvcc" -c "${flags[@]}" "-I$cccl" ./*.cu "$bench"/{device,floor_kernels}.cu)
        "$nvcc" "$folder"/objects/*.o "$release/libredtune.a" \
            "$(cc -print-file-name=liblua5.4.a)" "$(cc -print-file-name=libsqlite3.a)" -ldl -lm -lpthread \
            -o "$folder/against_cub-$version"
        wait $!
    done
    rm -r "$folder/objects"
    cp "$release"/{redtune,libredtune.so.0,libredtune-sim.so,shipped.db} \
        "$release"/tests/gpu/{keys_speed,test_gpu_host_cost} "$folder"
    for program in segments lists; do
        "$nvcc" "${flags[@]}" "-I$cccl" -o "$folder/$program" \
            "$bench/$program.cu" "$folder/libredtune.so.0" -Xlinker "-rpath=\$ORIGIN"
    done
    SKBUILD_CMAKE_DEFINE=REDTUNE_BUILD_DIR=$release "${PYTHON:-python3}" -m pip install -q --no-deps \
        --upgrade --target "$folder/python" "$repository/python"
    strip "$folder"/{redtune,keys_speed,test_gpu_host_cost,libredtune.so.0,libredtune-sim.so}
    # What is run from there, for a machine that has nothing else.
    (cd "$repository" && cp --parents bench/*.py bench/measure.sh tests/gpu/steps.sh \
        python/tests/gpu/{calls.py,launch.c} "$folder")
    du -sh "$folder"
}
if [ "${1:-}" = --make ]; then
    shift
    make_folder "$@"
    exit
fi

# ---- measuring ---------------------------------------------------------------------------------

build=$(realpath "$1") logs=$(realpath -m "$2")
shift 2
wanted=("$@")
mkdir -p "$logs"
logs=$(realpath "$logs")
here=$repository/tests/gpu
. "$here/steps.sh"
unset REDTUNE_SYSTEM_DB REDTUNE_TEST_TEMPLATES # redtune's own rows count
export XDG_CACHE_HOME=/tmp/redtune-measured PYTHONPATH=$build/python

{
    date -u +%F
    nvidia-smi --query-gpu=name,driver_version,clocks.max.sm,power.limit --format=csv,noheader
    nvcc --version | tail -n 2
    python3 -c 'import torch, cupy; print("PyTorch", torch.__version__, "CuPy", cupy.__version__)'
} >"$logs/gpu.txt" 2>&1

# CUB of each version, the newest first.
whole() {
    local program version status=0
    for program in $(ls "$build"/against_cub-* | sort -rV); do
        version=${program##*-}
        within 150 "$program" --op sum --dtype f32,f64,f16,i32 --bytes 4K..4G --apart --stream \
            --samples 15 --format csv ${WHOLE_OPTIONS:-} >"$logs/whole-$version.csv" || status=1
    done
    return $status
}
step whole whole

# What is compiled, by torch.compile above all, is compiled by 16 processes before anything is timed.
race() {
    local dtype=$1 parts=$(($(nproc) < 16 ? $(nproc) : 16)) part library peers=()
    for library in $(ls "$build"/peers-*.so | sort -rV | head -n 1); do peers+=(--cub "$library"); done
    local race=(python3 "$bench/against_axis.py" --library "$build/libredtune.so.0" "${peers[@]}"
        --compile --dtype "$dtype" ${AXIS_OPTIONS:-})
    for ((part = 0; part < parts; part++)); do
        within 70 "${race[@]}" --prepare $part/$parts >"$logs/race_$dtype.prepare$part" 2>&1 &
    done
    wait
    within 110 "${race[@]}" --samples 5 --seconds 100 --csv "$logs/axis-$dtype.csv"
}
step race_f32 race f32
limit_s=80 step segments "$build/segments"
limit_s=30 step lists "$build/lists"
limit_s=60 step keys "$build/keys_speed"

first() {
    local folder
    folder=$(mktemp -d)
    for which in first later; do
        XDG_CACHE_HOME=$folder CUDA_CACHE_DISABLE=1 within 60 \
            python3 "$bench/first_calls.py" $which ${FIRST_OPTIONS:-} --csv "$logs/$which-calls.csv" || return
    done
}
step first first

host() {
    within 60 "$build/test_gpu_host_cost"
    within 60 python3 "$repository/python/tests/gpu/calls.py" /tmp
}
step host host
step race_f16 race f16
rm -f "$logs"/*.prepare*
print_table | tee "$logs/steps.txt"
exit $failed
