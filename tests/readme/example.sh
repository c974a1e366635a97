# An example: sums right, for several counts, and says which configuration ran. Without a GPU it
# says so and exits with a failure.
#
# Usage: example.sh PROGRAM
set -u
program=$1
if [ ! -e /dev/nvidiactl ] && [ ! -e /dev/dxg ] &&
    [[ ${REDTUNE_CUDA_DRIVER:-} != *redtune-sim* ]]; then
    "$program" 1000 >/dev/null 2>&1 && { echo "FAILED: it succeeds without a GPU" >&2; exit 1; }
    echo "not run: no GPU" >&2
    exit 77
fi
for count in "" 1 1000 1048577; do
    out=$("$program" $count) || { echo "FAILED: $program $count: exit $?" >&2; exit 1; }
    [[ $out == *"config: "*"block="* ]] || { echo "FAILED: no config in: $out" >&2; exit 1; }
done
