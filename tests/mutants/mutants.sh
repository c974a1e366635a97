# Puts each mutant of the table into a copy of the templates, and runs the tests on the simulated
# GPU until one fails. Prints a line per mutant: killed, and by which fact, or survived.
#
# usage: mutants.sh TABLE TEMPLATES SWEEP [-o NAME]... [-p PART/PARTS] [-j JOBS] [-t] [-- PROGRAM...]
#   SWEEP    the program of tests/sweep, which tries the kernels that a mutant changes
#   -o NAME  this mutant only
#   -p I/N   part I, from 1 on, of N parts of the table
#   -j N     so many at a time
#   -t       the templates as they are have passed SWEEP and every PROGRAM, under the limits below;
#            SWEEP goes over the smaller set of kernels
#   PROGRAM  further tests, which those are put to that SWEEP lets pass
#
# The templates as they are must pass, and every text to replace must stand in its file once. Exit
# 0: all mutants are killed, but those whose entry says that they survive; 77: no simulated GPU.
set -u
export LC_ALL=C
table=$(realpath "$1") templates=$(realpath "$2") sweep=$(realpath "$3")
shift 3
only=" " part=1 parts=1 jobs=1 tested=
while [ $# -gt 0 ]; do
    case $1 in
    -o) only+="$2 " ;;
    -p) part=${2%/*} parts=${2#*/} ;;
    -j) jobs=$2 ;;
    -t)
        tested=1
        shift
        continue
        ;;
    *) break ;;
    esac
    shift 2
done
[ "${1:-}" != -- ] || shift
programs=("$@")
set=--whole
[ -z "$tested" ] || set=

folder=$(mktemp -d "${TMPDIR:-/tmp}/redtune-mutants.XXXXXX")
trap 'rm -rf "$folder"' EXIT
# A kernel that runs astray is stopped early; the longest that does not takes far fewer.
export REDTUNE_SIM_LIMIT=500000000 REDTUNE_SIM_IDLE=400000 REDTUNE_SIM_REPORT=stderr
# One fact that fails is enough.
export RDT_TEST_STOP=1
seconds_max=300

complaints=0
complain() {
    echo "mutants: $*" >&2
    complaints=$((complaints + 1))
}
die() {
    complain "$*"
    exit 1
}

# ---- reading the table ---------------------------------------------------------------------------

names=()
declare -A file why by survives old new

read_table() {
    local line name=
    while IFS= read -r line; do
        case $line in
        "mutant "*)
            name=${line#mutant }
            [ -z "${file[$name]+set}" ] || die "$name stands twice in $table"
            names+=("$name")
            file[$name]= why[$name]= by[$name]= survives[$name]= old[$name]= new[$name]=
            ;;
        "file "*) file[$name]=${line#file } ;;
        "why "*) why[$name]=${line#why } ;;
        "by "*) by[$name]=${line#by } ;;
        "survives "*) survives[$name]=${line#survives } ;;
        "- "*) old[$name]+=${old[$name]:+$'\n'}${line#- } ;;
        "+ "*) new[$name]+=${new[$name]:+$'\n'}${line#+ } ;;
        "" | "#"*) ;;
        *) die "cannot read '$line' in $table" ;;
        esac
    done <"$table"
}

# check_entry NAME: the text to replace stands in its file once.
check_entry() {
    local text rest from="$templates/${file[$1]}"
    [ -f "$from" ] && [ -n "${why[$1]}" ] && [ -n "${old[$1]}" ] ||
        complain "$1: its file, its 'why' or its text is missing"
    text=$(cat "$from")
    rest=${text#*"${old[$1]}"}
    if [ "$rest" = "$text" ]; then
        complain "$1: ${file[$1]} has no text '${old[$1]}'; bring it up to date"
    elif [ "${rest#*"${old[$1]}"}" != "$rest" ]; then
        complain "$1: ${file[$1]} has '${old[$1]}' more than once"
    fi
}

# ---- running -------------------------------------------------------------------------------------

# tests FOLDER LOG [OPTION FIRST]: runs the tests on the templates there, that of this name first, until
# one fails, whose status it returns.
tests() {
    local program status=0 own=() others=()
    for program in "${programs[@]}"; do
        if [ "${program##*_}" = "${4:-}" ]; then own+=("$program"); else others+=("$program"); fi
    done
    for program in "${own[@]}" "$sweep" "${others[@]}"; do
        if [ "$program" = "$sweep" ]; then
            REDTUNE_TEMPLATES=$1 timeout $seconds_max "$sweep" $set ${3:-} >"$2" 2>&1
        else
            REDTUNE_TEMPLATES=$1 timeout $seconds_max "$program" >"$2" 2>&1
        fi
        status=$?
        [ $status != 77 ] || [ "$program" = "$sweep" ] || status=0
        [ $status = 0 ] || break
    done
    return $status
}

# The fact that a log ends with: the first failure in it.
fact_of() {
    local fact
    fact=$(grep -m 1 FAILED "$1") || fact=$(tail -n 1 "$1")
    printf '%s' "${fact:0:200}"
}

# try NAME: writes the verdict to a file of that name.
try() {
    local name=$1 copy=$folder/$1 text start=$SECONDS status verdict
    cp -R "$templates" "$copy"
    text=$(cat "$templates/${file[$name]}")
    printf '%s\n' "${text%%"${old[$name]}"*}${new[$name]}${text#*"${old[$name]}"}" \
        >"$copy/${file[$name]}"
    tests "$copy" "$folder/$name.log" --changed "${by[$name]:-${file[$name]%%/*}}"
    status=$?
    verdict="killed $((SECONDS - start)) s  $(fact_of "$folder/$name.log")"
    [ $status != 0 ] || verdict="SURVIVED: ${why[$name]}"
    printf '%s\n' "$verdict" >"$folder/$name.verdict"
    rm -rf "$copy"
}

# Whether this mutant is asked for; `at` counts them.
is_wanted() {
    if [ "$only" != " " ]; then [[ $only == *" $1 "* ]]; else [ $((at % parts)) = $((part - 1)) ]; fi
}

try_all() {
    local name at=0 running=0
    for name in "${names[@]}"; do
        if is_wanted "$name"; then
            wanted+=("$name")
            if [ $running -ge "$jobs" ]; then
                wait -n
                running=$((running - 1))
            fi
            try "$name" &
            running=$((running + 1))
        fi
        at=$((at + 1))
    done
    wait
}

# ---- the report ----------------------------------------------------------------------------------

report() {
    local name verdict killed=0 kept=0 wrong=0
    for name in "${wanted[@]}"; do
        verdict=$(cat "$folder/$name.verdict")
        case $verdict in
        killed*)
            killed=$((killed + 1))
            if [ -n "${survives[$name]}" ]; then
                verdict+=" (its entry says that it survives: take that out)"
                wrong=$((wrong + 1))
            fi
            ;;
        *)
            kept=$((kept + 1))
            if [ -n "${survives[$name]}" ]; then
                verdict="survived, as it must: ${survives[$name]}"
            else
                wrong=$((wrong + 1))
            fi
            ;;
        esac
        printf '%-30s %s\n' "$name" "$verdict"
    done
    echo "$killed of ${#wanted[@]} mutants killed, $kept survived; $SECONDS s"
    [ $wrong = 0 ]
}

wanted=()
read_table
for name in "${names[@]}"; do check_entry "$name"; done
[ $complaints = 0 ] || exit 1
if [ -z "$tested" ]; then
    tests "$templates" "$folder/none.log"
    case $? in
    0) ;;
    77) cat "$folder/none.log" && exit 77 ;;
    *) die "the templates as they are do not pass: $(fact_of "$folder/none.log")" ;;
    esac
fi
# Kernels of mutants are worth nothing later.
export XDG_CACHE_HOME=$folder/cache
try_all
report
