# Puts each mutant of the table into a copy of the templates, and runs the tests on the simulated
# GPU until one fails. Prints a line per mutant: killed, and by which fact, or survived.
#
# usage: mutants.sh TABLE TEMPLATES SWEEP [-o NAME]... [-p PART/PARTS] [-j JOBS] [-k FILE] [-w FILE]
#                   [-a] [-s] [-t] [-- PROGRAM...]
#   SWEEP    the program of tests/sweep, which tries the kernels that a mutant changes
#   -o NAME  this mutant only
#   -p I/N   part I, from 1 on, of N parts of the table
#   -j N     so many at a time
#   -a       those that survive are put to all programs, and not only to SWEEP and their own test
#   -k FILE  what killed each mutant last: NAME PROGRAM [FACT or --whole] [KERNEL/PARTS]. That is tried
#            first, and all else where it does not fail
#   -w FILE  writes such lines: those of the file of -k that still hold, and new ones
#   -s       SWEEP goes over the smaller set of kernels
#   -t       the templates as they are have passed SWEEP and every PROGRAM, under the limits below
#   PROGRAM  further tests, which those are put to that SWEEP lets pass
#
# The templates as they are must pass, and every text to replace must stand in its file once. Exit
# 0: all mutants are killed, but those whose entry says that they survive; 77: no simulated GPU.
set -u
export LC_ALL=C
table=$(realpath "$1") templates=$(realpath "$2") sweep=$(realpath "$3")
shift 3
only=" " part=1 parts=1 jobs=1 tested= all= killers= written= set=--whole
while [ $# -gt 0 ]; do
    case $1 in
    -o) only+="$2 " ;;
    -p) part=${2%/*} parts=${2#*/} ;;
    -j) jobs=$2 ;;
    -k) killers=$2 ;;
    -w) written=$2 ;;
    -a) all=1 ;;
    -s) set= ;;
    -t) tested=1 ;;
    *) break ;;
    esac
    if [[ $1 = -[ast] ]]; then shift; else shift 2; fi
done
[ "${1:-}" != -- ] || shift
programs=("$@")

folder=$(mktemp -d "${TMPDIR:-/tmp}/redtune-mutants.XXXXXX")
trap 'rm -rf "$folder"' EXIT
# A kernel that runs astray is stopped early; the longest that does not takes far fewer.
export REDTUNE_SIM_LIMIT=1000000000 REDTUNE_SIM_IDLE=4000000 REDTUNE_SIM_REPORT=stderr
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
declare -A file why by survives old new killer

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

read_killers() {
    local name rest
    [ -z "$killers" ] || while read -r name rest; do
        [ -z "$name" ] || [[ $name == "#"* ]] || killer[$name]=$rest
    done <"$killers"
}

# put FILE NAME: prints the file with the mutant's text in the place of the original's, which stands in
# it once; exit 1: it does not stand there, 2: more than once. (bash searches a text a hundred times
# slower.)
put() {
    RDT_OLD=${old[$2]} RDT_NEW=${new[$2]} awk '
        { text = text $0 "\n" }
        END {
            old = ENVIRON["RDT_OLD"]
            at = index(text, old)
            if (!at) exit 1
            rest = substr(text, at + length(old))
            if (index(rest, old)) exit 2
            printf "%s%s%s", substr(text, 1, at - 1), ENVIRON["RDT_NEW"], rest
        }' "$1"
}

# check_entry NAME: the text to replace stands in its file once.
check_entry() {
    local from="$templates/${file[$1]}"
    [ -f "$from" ] && [ -n "${why[$1]}" ] && [ -n "${old[$1]}" ] ||
        complain "$1: its file, its 'why' or its text is missing"
    put "$from" "$1" >/dev/null
    case $? in
    1) complain "$1: ${file[$1]} has no text '${old[$1]}'; bring it up to date" ;;
    2) complain "$1: ${file[$1]} has '${old[$1]}' more than once" ;;
    esac
}

# ---- running -------------------------------------------------------------------------------------

# name_of PROGRAM: sweep, or the module that a test of tests/gpu is of.
name_of() {
    local name=${1##*/}
    printf '%s' "${name#test_gpu_}"
}

# run FOLDER LOG PROGRAM [ARGUMENT]...: puts the templates there to a program. Of a test's arguments I/N
# is the part of its kernels. Skipping is no failure, except by the sweep.
run() {
    local templates=$1 log=$2 program=$3 argument kernels=() status
    local -a arguments=()
    shift 3
    for argument in "$@"; do
        if [ "$program" = "$sweep" ] || [[ $argument != */* ]]; then
            arguments+=("$argument")
        else
            kernels=("RDT_TEST_PART=$argument")
        fi
    done
    env REDTUNE_TEMPLATES="$templates" "${kernels[@]}" timeout $seconds_max "$program" \
        "${arguments[@]}" >"$log" 2>&1
    status=$?
    [ $status != 77 ] || [ "$program" = "$sweep" ] || status=0
    return $status
}

# tests FOLDER LOG [OPTION FIRST [BRIEFLY]]: runs the tests on the templates there, that of this name
# first, until one fails, whose status it returns; `failed` is its name then. BRIEFLY leaves out those
# of other names.
tests() {
    local program status=0 own=() others=() option=()
    for program in "${programs[@]}"; do
        if [ "$(name_of "$program")" = "${4:-}" ]; then own+=("$program"); else others+=("$program"); fi
    done
    [ -z "${5:-}" ] || others=()
    for program in "${own[@]}" "$sweep" "${others[@]}"; do
        option=()
        [ "$program" != "$sweep" ] || option=($set ${3:-})
        run "$1" "$2" "$program" "${option[@]}"
        status=$?
        failed=$(name_of "$program")
        [ $status = 0 ] || break
    done
    return $status
}

# falls_alone FOLDER LOG PROGRAM [ARGUMENT]...: whether the program of that name finds the fault there.
# Exit 2 is about the arguments: a fact that has another name by now.
falls_alone() {
    local folder=$1 log=$2 name=$3 program status=0
    shift 3
    for program in "$sweep" "${programs[@]}"; do
        [ "$(name_of "$program")" = "$name" ] || continue
        run "$folder" "$log" "$program" "$@"
        status=$?
    done
    [ $status != 0 ] && [ $status != 2 ] && [ $status != 77 ]
}

# The fact that a log ends with: the first failure in it.
fact_of() {
    local fact
    fact=$(grep -m 1 FAILED "$1") || fact=$(tail -n 1 "$1")
    printf '%s' "${fact:0:200}"
}

# find_killer FOLDER LOG NAME: prints the least of the named program's run that finds the fault there,
# after one that left this log: one kernel of a fact, the fact, or all.
find_killer() {
    local log=$2 name=$3 fact= part whole=()
    part=$(sed -n 's/^alone: .*[ =]\([0-9/]*\)$/\1/p' "$log" | head -n 1)
    if [ "$name" = sweep ]; then
        whole=($set)
        [ -z "$part" ] || part="--part $part"
    else
        fact=$(sed -n 's/^FAILED \([a-z0-9_]*\) (.*/\1/p' "$log" | head -n 1)
        whole=($fact)
    fi
    if [ -n "$part" ] && falls_alone "$1" "$log.alone" "$name" "${whole[@]}" $part; then
        echo "$name" "${whole[@]}" "$part"
    elif [ -n "$fact" ] && falls_alone "$1" "$log.alone" "$name" "$fact"; then
        echo "$name" "$fact"
    else
        echo "$name" "${whole[@]}"
    fi
}

# try NAME: writes the verdict to a file of that name, and what killed it to another.
try() {
    local name=$1 copy=$folder/$1 log=$folder/$1.log start=$SECONDS status=1 failed= briefly= verdict
    cp -R "$templates" "$copy"
    put "$templates/${file[$name]}" "$name" >"$copy/${file[$name]}"
    if [ -n "${killer[$name]:-}" ] && falls_alone "$copy" "$log" ${killer[$name]}; then
        failed=${killer[$name]}
    else
        [ -n "$all" ] || briefly=${survives[$name]}
        tests "$copy" "$log" --changed "${by[$name]:-${file[$name]%%/*}}" "$briefly"
        status=$?
        [ $status = 0 ] || [ -z "$written" ] || failed=$(find_killer "$copy" "$log" "$failed")
    fi
    verdict="killed $((SECONDS - start)) s  $(fact_of "$log")"
    if [ $status = 0 ]; then
        verdict="SURVIVED: ${why[$name]}"
    else
        printf '%s %s\n' "$name" "$failed" >"$folder/$name.killer"
    fi
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

write_killers() {
    local name
    for name in "${wanted[@]}"; do cat "$folder/$name.killer" 2>/dev/null; done >"$written"
}

wanted=()
read_table
read_killers
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
# Kernels of all mutants would drive those of the suite out of its cache, and are worth nothing later. A
# few find there what their mutants leave as it is.
[ -z "$set" ] || export XDG_CACHE_HOME=$folder/cache
try_all
[ -z "$written" ] || write_killers
report
