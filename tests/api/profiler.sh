# What an attached profiler sees: a range around each compile and each run, one within no other.
#
# usage: profiler.sh REDTUNE PROFILER
profiler=$(realpath "$2")
here=$(dirname "$(realpath "$0")")
. "$here/../cli/files.sh"
. "$here/../cli/check.sh"
export XDG_CACHE_HOME=$folder/cache # to compile into
{ npy "'<i4'" "(10,)"; integers 4 10; } >ten.npy

ranges_around_compiling_and_running() {
    run env NVTX_INJECTION64_PATH="$profiler" RDT_TEST_RANGES="$folder/ranges" \
        "$redtune" reduce --quiet ten.npy
    want_exit 0
    [ "$(sort -u ranges | tr '\n' ,)" = "end,redtune compile,redtune run," ] ||
        fail "the ranges are: $(tr '\n' , <ranges)"
    [ "$(grep -c end ranges)" = "$(grep -vc end ranges)" ] || fail "ranges do not end"
    awk '$0 == "end" { if (!open) exit 1; open = 0; next } open { exit 1 } { open = 1 }' ranges ||
        fail "ranges lie within each other"
}

check_run ranges_around_compiling_and_running
