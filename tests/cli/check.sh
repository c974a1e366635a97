# Check: the harness of the command's tests, as tests/check.h is for C. A script sources this, has
# one function per fact, and ends with: check_run FACT...
#
# Its first argument is the redtune command. run fills $out, $err and $code; a want that does not
# hold fails the fact. Exit 0 all held, 1 some did not, 77 all were skipped.
set -u
export LC_ALL=C
redtune=$(realpath "$1")
folder=$(mktemp -d "${TMPDIR:-/tmp}/redtune-test.XXXXXX")
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

# Nothing here may touch the user's databases, or depend on the user's settings.
unset REDTUNE_DB REDTUNE_TEMPLATES
export REDTUNE_SYSTEM_DB= REDTUNE_SYSTEM_KERNELS=
export XDG_DATA_HOME=$folder/data
# Kernels are those of the suite: many of them are compiled for other tests, too.
export XDG_CACHE_HOME=${XDG_CACHE_HOME:-$folder/cache}
# Most of a tune on the simulated GPU goes into flushing its cache.
export REDTUNE_SIM_CACHE=128K

# Runs a command.
run() {
    ran=$*
    "$@" >stdout 2>stderr </dev/null
    code=$?
    out=$(cat stdout)
    err=$(cat stderr)
}

# run_input FILE COMMAND...: the same with a file as standard input.
run_input() {
    local input=$1
    shift
    ran="$* <$input"
    "$@" >stdout 2>stderr <"$input"
    code=$?
    out=$(cat stdout)
    err=$(cat stderr)
}

fail() {
    echo "FAILED $fact: $ran: $1" >&2
    echo "  exit: $code" >&2
    sed 's/^/  stdout: /' stdout >&2
    sed 's/^/  stderr: /' stderr >&2
    failed=1
}

want_exit() { [ "$code" -eq "$1" ] || fail "exit $code, not $1"; }
want_out() { [ "$out" = "$1" ] || fail "stdout is not '$1'"; }
want_in_out() { [[ $out == *"$1"* ]] || fail "stdout lacks '$1'"; }
want_not_in_out() { [[ $out != *"$1"* ]] || fail "stdout has '$1'"; }
want_in_err() { [[ $err == *"$1"* ]] || fail "stderr lacks '$1'"; }
want_no_out() { [ ! -s stdout ] || fail "stdout is not empty"; }
want_no_err() { [ ! -s stderr ] || fail "stderr is not empty"; }
want_one_line() { [ "$(wc -l <stderr)" -eq 1 ] || fail "stderr is not one line"; }

# bring_to DATABASE: the rows of the one in use go to that one by an export, and none is refused.
bring_to() {
    run "$redtune" export --format json -o rows.jsonl
    want_exit 0
    run "$redtune" import --db "$1" rows.jsonl
    want_in_out " 0 refused"
}

# want_refused CODE TEXT: nothing on stdout, one line that has the text on stderr.
want_refused() {
    want_exit "$1"
    want_no_out
    want_one_line
    want_in_err "$2"
}

# A GPU, or the simulated one in the driver's place.
have_gpu() {
    [ -e /dev/nvidiactl ] || [ -e /dev/dxg ] || [[ ${REDTUNE_CUDA_DRIVER:-} == *redtune-sim* ]]
}
skip() {
    echo "skipped $fact: $1" >&2
    skipped=1
}

check_run() {
    local held=0 broken=0 passed_over=0
    ran="" code=0
    for fact in "$@"; do
        failed=0 skipped=0
        : >stdout
        : >stderr
        "$fact"
        if [ $failed = 1 ]; then
            broken=$((broken + 1))
        elif [ $skipped = 1 ]; then
            passed_over=$((passed_over + 1))
        else
            held=$((held + 1))
        fi
    done
    echo "$held held, $broken failed, $passed_over skipped"
    [ $broken = 0 ] || exit 1
    [ $held != 0 ] || exit 77
    exit 0
}
