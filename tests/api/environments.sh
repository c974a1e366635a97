# Six broken environments: each is told in one clear line, and what works without the missing part
# works. On the simulated GPU.
#
# usage: environments.sh REDTUNE OLD_DRIVER STAND_IN_FOR_NVRTC
old_driver=$(realpath "$2") nvrtc=$(realpath "$3")
here=$(dirname "$(realpath "$0")")
. "$here/../cli/files.sh"
. "$here/../cli/check.sh"
sim=$REDTUNE_CUDA_DRIVER
npy_of_ten() { { npy "'<i4'" "(10,)"; integers 4 10; } >ten.npy; }
npy_of_ten
# The kernel for ten.npy is in the cache `warm`.
XDG_CACHE_HOME=$folder/warm "$redtune" reduce --quiet ten.npy >usual 2>/dev/null ||
    { echo "not run: $redtune reduce does not work here" >&2; exit 77; }
usual=$(cat usual)

want_usual() {
    want_exit 0
    want_out "$usual"
}
cold() { env XDG_CACHE_HOME="$folder/cold-$RANDOM" "$@"; }
warm() { env XDG_CACHE_HOME="$folder/warm" "$@"; }

without_a_driver() {
    run warm env REDTUNE_CUDA_DRIVER=/nowhere/libcuda.so.1 "$redtune" reduce ten.npy
    want_refused 1 "REDTUNE_CUDA_DRIVER"
    run warm env REDTUNE_CUDA_DRIVER=/nowhere/libcuda.so.1 "$redtune" emit
    want_exit 0
    want_in_out "redtune_reduce"
}

with_an_old_driver() {
    run warm env REDTUNE_CUDA_DRIVER="$old_driver" "$redtune" reduce ten.npy
    want_refused 1 "install a newer version"
    want_in_err "$old_driver"
    want_in_err "it has no cu"
    run env REDTUNE_CUDA_DRIVER="$old_driver" "$redtune" doctor
    want_exit 1
    want_in_out "install a newer version"
}

without_nvrtc() {
    run cold env REDTUNE_NVRTC=/nowhere/libnvrtc.so.13 "$redtune" reduce ten.npy
    want_refused 1 "/nowhere/libnvrtc.so.13"
    want_in_err "REDTUNE_NVRTC"
    run warm env REDTUNE_NVRTC=/nowhere/libnvrtc.so.13 "$redtune" reduce --quiet ten.npy
    want_usual
    want_no_err
}

without_nvrtcs_builtins() {
    local lines="nvrtc: error: failed to open libnvrtc-builtins.so.12.4."
    run cold env REDTUNE_NVRTC="$nvrtc" RDT_TEST_NVRTC_FAILS=nvrtcCompileProgram \
        RDT_TEST_NVRTC_LOG="$lines" "$redtune" reduce ten.npy
    want_refused 1 "found no libnvrtc-builtins.so.12.4"
    want_in_err "reinstall"
    run warm env REDTUNE_NVRTC="$nvrtc" RDT_TEST_NVRTC_FAILS=nvrtcCompileProgram \
        RDT_TEST_NVRTC_LOG="$lines" "$redtune" reduce --quiet ten.npy
    want_usual
    want_no_err
}

with_an_nvrtc_older_than_the_gpu() {
    run cold env REDTUNE_SIM_CAPABILITY=12.9 "$redtune" reduce --quiet ten.npy
    want_usual
    want_no_err
}

without_a_writable_cache() {
    run env XDG_CACHE_HOME=/proc/nowhere "$redtune" reduce --quiet ten.npy
    want_usual
    want_no_err
    run env XDG_CACHE_HOME=/proc/nowhere REDTUNE_LOG=warning "$redtune" reduce --quiet ten.npy
    want_usual
    want_one_line
    want_in_err "working without a kernel cache"
}

check_run without_a_driver with_an_old_driver without_nvrtc without_nvrtcs_builtins \
    with_an_nvrtc_older_than_the_gpu without_a_writable_cache
