# Steps: what run.sh and figures.sh share: steps that are run one after the other, each within a limit,
# and the table of them. A script that includes it has build, logs and wanted (the steps to run; none:
# all).
export XDG_DATA_HOME=$logs/home XDG_CACHE_HOME=/tmp/redtune-gpu-cache
export REDTUNE_TEST_TEMPLATES=$here/../../templates
unset REDTUNE_DB REDTUNE_TEMPLATES
export REDTUNE_SYSTEM_DB=
PATH=$PATH:/usr/local/cuda/bin
redtune=$build/redtune
tests=$build/tests/gpu
device=${REDTUNE_TEST_DEVICE:-0}
table=()
failed=0
mkdir -p "$logs"

is_wanted() { [ "${#wanted[@]}" -eq 0 ] || [[ " ${wanted[*]} " == *" $1 "* ]]; }

# within SECONDS COMMAND...: fails with 124 when they are over, or those in $total_s since the script
# began. An interrupt lets a program sum up what it has.
within() {
    local seconds=$1 left=$((${total_s:-86400} - SECONDS))
    shift
    [ "$left" -gt 0 ] || return 124
    [ "$seconds" -lt "$left" ] || seconds=$left
    timeout -s INT -k 5 "$seconds" "$@"
}

# step NAME COMMAND...: runs it, unless steps were named and this is none of them, for $limit_s seconds
# (900) at most. A function has to see to its limit itself.
step() {
    local name=$1 start=$SECONDS
    shift
    is_wanted "$name" || return 0
    if [ "$(type -t "$1")" = function ]; then
        "$@" >"$logs/$name.log" 2>&1
    else
        within "${limit_s:-900}" "$@" >"$logs/$name.log" 2>&1
    fi
    add_row "$name" $? $((SECONDS - start)) "$(tail -n 1 "$logs/$name.log")"
}

# add_row NAME STATUS SECONDS LAST-LINE
add_row() {
    local last=${4:0:120}
    case $2 in
    0) table+=("$(printf '%-18s ok       %4d s  %s' "$1" "$3" "$last")") ;;
    77) table+=("$(printf '%-18s skipped  %4d s  %s' "$1" "$3" "$last")") ;;
    *) table+=("$(printf '%-18s FAILED   %4d s (rc %d: %s)' "$1" "$3" "$2" "$last")")
        failed=1 ;;
    esac
}

# A step that was stopped has printed what it had.
print_table() { printf '%s\n' "${table[@]}"; }
