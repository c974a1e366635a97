# The command lines of README.md and docs/*.md, in their order, as a new user would paste them: in a
# fresh clone, with a home of its own, on the simulated GPU. None may fail.
#
# Usage: pages.sh SOURCE [LAUNCHER]
# LAUNCHER is the build's compiler launcher (ccache), if it has one. With RDT_TEST_ON_GPU=NAME in the
# environment it is README.md alone, on GPU 0, whose model has NAME in its name; the output is shown.
#
# A line is run if it stands in an indented block that begins with a command, or in `...` within the
# text and begins with redtune, cmake, ctest, cpack or ./bootstrap. A subcommand alone, outside of a
# table, is a name. adapt() lists the exceptions.
set -u
source=$1 launcher=${2:-}
git -C "$source" rev-parse >/dev/null 2>&1 || { echo "not run: no git repository" >&2; exit 77; }
folder=$(mktemp -d "${TMPDIR:-/tmp}/redtune-test.XXXXXX")
trap 'rm -rf "$folder"' EXIT
clone=$folder/redtune failures=0 count=0
mkdir -p "$clone/build" "$folder/home"
(cd "$source" && git ls-files -z --deduplicate | xargs -0 ls -d 2>/dev/null | tar -c -T - | tar -x -C "$clone")
# What ./bootstrap fetched once need not be fetched again.
for fetched in cuda tools; do
    [ ! -e "$source/build/$fetched" ] || ln -s "$source/build/$fetched" "$clone/build/$fetched"
done
if [ -n "$launcher" ]; then
    export CMAKE_C_COMPILER_LAUNCHER=$launcher CCACHE_BASEDIR=$clone CCACHE_NOHASHDIR=1
    export CCACHE_DIR=${CCACHE_DIR:-$("$launcher" -k cache_dir 2>/dev/null)}
fi
export HOME=$folder/home DESTDIR=$folder/installed
# Kernels are those of the suite: half of these are compiled for other tests, too.
if [ -n "${XDG_CACHE_HOME:-}" ]; then
    mkdir -p "$XDG_CACHE_HOME/redtune" "$HOME/.cache"
    ln -s "$XDG_CACHE_HOME/redtune" "$HOME/.cache/redtune"
fi
unset XDG_DATA_HOME XDG_CACHE_HOME REDTUNE_DB REDTUNE_SYSTEM_DB REDTUNE_TEMPLATES REDTUNE_SIM
sim=$clone/build/release/libredtune-sim.so
on_its_driver=REDTUNE_CUDA_DRIVER=${RDT_TEST_SIM:-$sim}
on_gpu=${RDT_TEST_ON_GPU:-}
cd "$clone" || exit 1
if [ -n "$on_gpu" ]; then
    pages=(README.md) least=15
else
    pages=(README.md docs/*.md) least=30
    export REDTUNE_CUDA_DRIVER=$sim REDTUNE_SIM_CACHE=128K
fi

# lines PAGE: its command lines, continued ones in one.
lines() {
    awk '
    function inline_spans(text) {
        while (match(text, /`(redtune|cmake|ctest|cpack|\.\/bootstrap) [^`]*`/)) {
            found = substr(text, RSTART + 1, RLENGTH - 2)
            if ($0 ~ /^\|/ || found !~ /^redtune [a-z]+$/) print found
            text = substr(text, RSTART + RLENGTH)
        }
    }
    /^```/ { fenced = !fenced; next }
    fenced { next }
    /^    / {
        sub(/^    /, "")
        if (!inside) { inside = 1; commands = /^(redtune |cmake|cc|sqlite3|mkdir|cd|git|\.\/|build\/|bench\/|[A-Z_]+=)/ }
        if (commands) {
            line = line $0
            if (sub(/\\$/, "", line)) next
            print line
            line = ""
        }
        next
    }
    { inside = 0; inline_spans($0) }' "$1"
}

briefly="--effort quick --budget 3s"

# adapt LINE: what is run in its place; nothing: the line is left out.
adapt() {
    local line=$1
    case $line in
    "./bootstrap test"* | ctest* | cpack*) return ;;        # the suite, and what package.install runs
    "./bootstrap wheel"*) return ;;                         # fetches another compiler, and takes minutes
    nvcc*) return ;;                                        # needs the CUDA Toolkit and a GPU
    *fuzz*) return ;;                                       # needs clang and its fuzzer
    sqlite3*) command -v sqlite3 >/dev/null || return ;;
    esac
    line=${line//--gpu H100/--gpu ${on_gpu:-simulated}}
    line=${line//COMMAND/show}                              # a placeholder
    [ "$line" != "redtune bake" ] || line="redtune bake --dtype f32 --arch 90"     # six architectures take minutes
    [[ $line != "cmake "*" redtune-kernels" ]] || line="RDT_BAKED_ARCHS=90 $line"                 # likewise
    if [ -n "$on_gpu" ]; then
        # This one is for machines without a GPU.
        [ "$line" = "redtune --device sim" ] || printf '%s\n' "$line"
        return
    fi
    # All of the simulated GPU's problems, with fewer samples of the best: more take half a minute.
    [ "$line" != "redtune --device sim" ] || line="$line --effort quick"
    [[ $line != "./bootstrap tune"* ]] || line="./bootstrap tune --effort quick"
    line=${line//-lcuda /-lredtune-sim }                    # as README says for machines without a GPU
    line=${line//--device 0 --db measured.db/--device 0 --dtype f32 --size 512 --db measured.db}       # minutes
    line=${line//--op min,max,argmin,argmax --dtype f16,f32,i32/--op min --dtype f32 --size 512}      # likewise
    line=${line//--size 1K..1M --effort/--size 512 --effort} # minutes
    line=${line//--size 256M/--size 64K}                  # hours on the simulated GPU
    line=${line//--keys 1K,16K --size 16M/--op sum --dtype f32 --keys 16 --size 1K --spread one --effort quick --budget 1s}
    line=${line//--rows 4K..64K --cols 64..1K/--rows 4,8 --cols 64}   # likewise
    line=${line//16384x1024 --axis 1 --second-shape 1024/16x64 --axis 1 --second-shape 64 $briefly}   # likewise
    line=${line//16384x4096 --axis 0 --strides 8192,2/16x12 --axis 0 --strides 24,2 $briefly}         # likewise
    line=${line//65536x1000,1000000x103:3:100000000/4x8,6x10:3:20 $briefly} # likewise
    line=${line//--list sizes.txt/--list sizes.txt $briefly} # kernels of lists take NVRTC long
    # A team has two GPUs at least; the stand-in for NCCL belongs to the simulated driver beside it.
    [[ $line != "redtune explain "*"--device all"* ]] ||
        line="REDTUNE_SIM_DEVICES=2 REDTUNE_NCCL=${RDT_TEST_NCCL:-} $on_its_driver $line"
    [[ $line != build/release/examples/sum* ]] || line="build/release/examples/sum 10000"
    printf '%s\n' "$line"
}

# Files that the pages' lines read. What is imported is somebody else's measurements, else there would
# be nothing to undo.
prepare() {
    local database=$HOME/.local/share/redtune/tuning.db file=${1##* }
    [[ $1 != "redtune import "[^-]* ]] || {
        redtune --device 0 --db other.db --dtype u8 --size $((count + 1)) --effort quick --budget 1s -q
        redtune export --db other.db -o "$file"
    } >/dev/null 2>&1
    case $1 in
    *shard0.db*) cp "$database" shard0.db && cp "$database" shard1.db ;;
    "redtune compare "*) # of one database
        for file in $(sed 's/redtune compare \([^ ]*\) \([^ ]*\).*/\1 \2/' <<<"$1"); do
            [ -e "$file" ] || cp "$database" "$file"
        done
        ;;
    *"merge tuning.db"*) cp "$database" tuning.0.db && cp "$database" tuning.1.db ;;
    *"--list sizes.txt"*) printf '%s\n' 10 20 30 >sizes.txt ;;
    *"--offsets offsets.npy"*)
        . "$source/tests/cli/files.sh"
        { npy "'<i4'" "(10,)"; integers 4 10; } >values.npy
        { npy "'<i8'" "(4,)"; integers 8 4; } >offsets.npy
        ;;
    *"values.npy --by keys.npy"*)
        . "$source/tests/cli/files.sh"
        { npy "'<i4'" "(10,)"; integers 4 10; } | tee values.npy >keys.npy
        ;;
    *"--recorded runs.jsonl"*)
        printf '%s\n' '{"redtune_recording":1}' \
            '{"op":"sum","dtype":"f32","count":64,"outer":8,"calls":3}' >runs.jsonl
        ;;
    esac
    [[ $1 != *numbers.npy* ]] || {
        . "$source/tests/cli/files.sh"
        { npy "'<f4'" "(3,)"; printf '\0\0\200\77\0\0\0\100\0\0\200\100'; } >numbers.npy
    }
    [[ $1 != *mask.npy* ]] || { npy "'|b1'" "(3,)"; printf '\1\0\1'; } >mask.npy
    [[ $1 != *"A.npy B.npy"* ]] || {
        . "$source/tests/cli/files.sh"
        { npy "'<f4'" "(3,)"; printf '\0\0\200\77\0\0\0\100\0\0\200\100'; } | tee A.npy >B.npy
    }
    [[ $1 != *FILE.npy* ]] || { . "$source/tests/cli/files.sh"; { npy "'<i4'" "(2, 5)"; integers 4 10; } >FILE.npy; }
}

run() {
    local page=$1 line=$2 began=$SECONDS
    prepare "$line"
    count=$((count + 1))
    eval "$line" </dev/null >"$folder/log" 2>&1 || {
        echo "FAILED: $page: $line: exit $?" >&2
        tail -n 15 "$folder/log" >&2
        failures=$((failures + 1))
    }
    [ -z "$on_gpu" ] || { echo "\$ $line"; cat "$folder/log"; }
    if [[ $line == "cc "*" -o sum" ]]; then
        sum=$(env -u REDTUNE_CUDA_DRIVER ./sum)
        [ "$sum" = 524288 ] || { echo "FAILED: $page: its program gives '$sum'" >&2; failures=1; }
    fi
    echo "$((SECONDS - began)) s: $page: $line"
}

# A block of Lua that begins with a file's name is that file.
awk '/^```lua$/ {begins = 1; next} /^```$/ {name = ""} begins && /^-- [a-z_]+\.lua$/ {name = $2}
    {begins = 0} name {print >name}' docs/own-ops.md
awk '/^```c$/ {inside = 1; next} /^```$/ {inside = 0} inside' README.md >sum.c
export C_INCLUDE_PATH=${C_INCLUDE_PATH:-}:$(dirname "$(find -L build/cuda /usr/local/cuda \
    "${CUDA_PATH:-/nowhere}" /usr/include -maxdepth 4 -name cuda.h 2>/dev/null | head -n 1)")
for page in "${pages[@]}"; do
    while IFS= read -r written; do
        line=$(adapt "$written")
        [ -z "$line" ] || run "$page" "$line"
    done < <(lines "$page")
done
[ "$count" -ge "$least" ] || { echo "FAILED: only $count command lines found" >&2; failures=1; }
exit $((failures > 0))
