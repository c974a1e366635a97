# An example: runs, and finds its own results right; those that sum any number of elements do so for
# several, and say which configuration ran. Without a GPU it says so and exits with a failure.
#
# Usage: example.sh PROGRAM
set -u
program=$1
shift
if [ ! -e /dev/nvidiactl ] && [ ! -e /dev/dxg ] &&
    [[ ${REDTUNE_CUDA_DRIVER:-} != *redtune-sim* ]]; then
    out=$("$program" 1000 2>&1) && { echo "FAILED: it succeeds without a GPU" >&2; exit 1; }
    [[ $program == *sum_cudart || $out == *"needs an NVIDIA GPU"*"or the simulated GPU: "* ]] ||
        { echo "FAILED: without a GPU it says: $out" >&2; exit 1; }
    echo "not run: no GPU" >&2
    exit 77
fi
case $(basename "$program") in
sum*)
    for count in "" 1 1000 1048577; do
        out=$("$program" $count) || { echo "FAILED: $program $count: exit $?" >&2; exit 1; }
        [[ $out == *"config: "*"block="* ]] || { echo "FAILED: no config in: $out" >&2; exit 1; }
    done
    ;;
pin*)
    first=$("$program") || { echo "FAILED: $program: exit $?" >&2; exit 1; }
    again=$("$program" "${first%%$'\n'*}") || { echo "FAILED: $program: exit $?" >&2; exit 1; }
    [ "$first" = "$again" ] || { echo "FAILED: pinned, it prints $again, not $first" >&2; exit 1; }
    "$program" block=7 2>/dev/null && { echo "FAILED: it takes block=7" >&2; exit 1; }
    ;;
team*)
    [[ ${REDTUNE_CUDA_DRIVER:-} != *redtune-sim* ]] || set -- 20000
    out=$("$program" "$@") || { echo "FAILED: $program: exit $?" >&2; exit 1; }
    ;;
*)
    "$program" || { echo "FAILED: $program: exit $?" >&2; exit 1; }
    ;;
esac
exit 0
