# The installed package: a program of a user's finds redtune by CMake and by pkg-config, shared and
# static, in C and in C++, and runs; the manual is sound; the Debian packages have it all; and two
# headers of CUDA's are all that the sources need.
#
# usage: package.sh BUILD SOURCE CMAKE CC CXX CUDA_H_DIR NVRTC_H_DIR
set -eu
build=$1 source=$2 cmake=$3 cc=$4 cxx=$5 cuda=$6 nvrtc=$7
folder=$(mktemp -d "${TMPDIR:-/tmp}/redtune-test.XXXXXX")
trap 'rm -rf "$folder"' EXIT
prefix=$folder/prefix failures=0
export XDG_CACHE_HOME=$folder/cache XDG_DATA_HOME=$folder/data
command -v make >/dev/null || export CMAKE_GENERATOR=Ninja # ./bootstrap installs one of the two

fail() {
    echo "FAILED: $*" >&2
    failures=$((failures + 1))
}
# quiet COMMAND...: its output only where it fails.
quiet() { "$@" >"$folder/log" 2>&1 || { cat "$folder/log" >&2; return 1; }; }

quiet "$cmake" --install "$build" --prefix "$prefix"
library=$(dirname "$(find "$prefix" -name libredtune.so)")

# ---- users' programs -----------------------------------------------------------------------
works() { [[ $("$@" 2>&1) == "block:block="*" bytes" ]] || fail "$1 does not work: $("$@" 2>&1)"; }

mkdir "$folder/project"
cp "$source/tests/package/project.cmake" "$folder/project/CMakeLists.txt"
cp "$source/tests/package/consumer.c" "$folder/project/consumer.c"
cp "$source/tests/package/consumer.c" "$folder/project/consumer.cpp"
awk '/^```c$/ {inside = 1; next} /^```$/ {inside = 0} inside' "$source/README.md" \
    >"$folder/project/readme.c"
awk '/^```cpp$/ {inside = 1; next} /^```$/ {inside = 0} inside' "$source/docs/api.md" \
    >"$folder/project/page.cpp"
cd "$folder/project"
if quiet "$cmake" -S . -B build -D CMAKE_PREFIX_PATH="$prefix" -D CMAKE_BUILD_TYPE=Release \
    -D CUDA_H_DIR="$cuda" -D CMAKE_C_COMPILER="$cc" -D CMAKE_CXX_COMPILER="$cxx" && quiet "$cmake" --build build; then
    for program in shared_c shared_cxx static_c; do works "build/$program"; done
    [ "$(build/sim_c)" = 524288 ] || fail "README's program does not run with redtune::sim"
    [ "$(build/sim_cxx)" = 3145728 ] || fail "docs/api.md's C++ program does not run with redtune::sim"
else
    fail "find_package does not serve"
fi

if command -v pkg-config >/dev/null; then
    export REDTUNE_SIM=$library/libredtune-sim.so
    export PKG_CONFIG_PATH=$library/pkgconfig
    eval "flags=($(pkg-config --cflags --libs redtune))"
    eval "static=($(pkg-config --static --cflags --libs redtune | sed 's/-lredtune/-l:libredtune.a/'))"
    { "$cc" consumer.c "${flags[@]}" -Wl,-rpath,"$library" -o pc_c && works ./pc_c; } || fail pkg-config, C
    { "$cxx" consumer.cpp "${flags[@]}" -Wl,-rpath,"$library" -o pc_cxx && works ./pc_cxx; } || fail pkg-config, C++
    { "$cc" consumer.c "${static[@]}" -o pc_static && works ./pc_static; } || fail pkg-config, static
    [ "$(pkg-config --modversion redtune)" = "$(sed -n 's/^#define REDTUNE_VERSION "\(.*\)"/\1/p' \
        "$source/include/redtune/redtune.h")" ] || fail "pkg-config tells another version"
fi
"$prefix/bin/redtune" doctor | grep -q templates || fail "the installed command does not run"

# ---- the rows it comes with ----------------------------------------------------------------
# The prefix is not the one that it was built for.
found=$(env -u REDTUNE_SYSTEM_DB "$prefix/bin/redtune" explain --gpu H200 --dtype f32 --count 1M)
[[ $found == *"match     exact"*/share/redtune/shipped.db* ]] || fail "its rows serve nobody: $found"

# The Dockerfile copies what is installed.
for file in $(sed -n 's/^ *COPY --from=build \([^ ]*\) .*/\1/p' "$source/docs/deploy.md"); do
    [ -e "$prefix/${file#/usr/}" ] || [ -e "$library/${file##*/}" ] || fail "docs/deploy.md copies $file, which is not installed"
done

# ---- the library ---------------------------------------------------------------------------
readelf -d "$library/libredtune.so" | grep -q 'SONAME.*libredtune\.so\.0' || fail "no SONAME"
readelf -d pc_c | grep -q 'NEEDED.*libredtune\.so\.0' || fail "programs need another name"

grep -qx "version: $("$prefix/bin/redtune" --version | sed 's/redtune //')" "$source/CITATION.cff" ||
    fail "CITATION.cff has another version than the command"

# ---- its parts -------------------------------------------------------------------------------
# The bill names what the library says itself that it has.
bill=$prefix/share/doc/redtune/redtune.spdx.json
cat >"$folder/bill.py" <<'PYTHON'
import json, sys
bill, library = json.load(open(sys.argv[1])), open(sys.argv[2], "rb").read()
version = {each["name"]: each["versionInfo"] for each in bill["packages"]}
links = {each["relatedSpdxElement"]: each["relationshipType"] for each in bill["relationships"]}
# Lua's string has no third number.
for part, text in ("lua", "Lua " + version["lua"].rpartition(".")[0]), ("sqlite", version["sqlite"]):
    is_static = text.encode() in library
    if links[f"SPDXRef-{part}"] != ("STATIC_LINK" if is_static else "DYNAMIC_LINK"):
        sys.exit(f"{part} {version[part]} is {'' if is_static else 'not '}in the library")
PYTHON
! command -v python3 >/dev/null || python3 "$folder/bill.py" "$bill" "$library/libredtune.so" ||
    fail "the bill of materials is not true of the library"

# ---- what the headers name --------------------------------------------------------------------
for page in $(grep -oh 'docs/[a-z-]*\.md' "$prefix"/include/redtune/*.h | sort -u); do
    [ -s "$prefix/share/doc/redtune/${page#docs/}" ] || fail "the headers name $page, which is not installed"
done
[ -s "$prefix/share/doc/redtune/examples/sum.c" ] || fail "the examples are not installed"

# ---- the manual ----------------------------------------------------------------------------
for page in 1 3; do
    file=$prefix/share/man/man$page/redtune.$page
    [ -s "$file" ] || { fail "there is no redtune($page)"; continue; }
    ! command -v groff >/dev/null || [ -z "$(groff -man -ww -z -Tutf8 "$file" 2>&1)" ] ||
        fail "redtune($page) is not clean: $(groff -man -ww -z -Tutf8 "$file" 2>&1 | head -3)"
done
for name in $(sed -n 's/^REDTUNE_API .*[ *]\(redtune_[a-z_]*\)(.*/\1/p' \
    "$source"/include/redtune/*.h); do
    grep -q "$name(" "$prefix/share/man/man3/redtune.3" || fail "redtune(3) lacks $name"
done
for option in $("$prefix/bin/redtune" tune --help | grep -o -- '--[a-z-]*' | sort -u); do
    grep -q -- "${option//-/\\\\-}" "$prefix/share/man/man1/redtune.1" ||
        fail "redtune(1) lacks $option"
done

# completes WANTED INDEX WORD...: what bash offers in place of the word at that index.
completes() {
    local wanted=$1 index=$2 got
    shift 2
    got=$(bash -c "source '$prefix/share/bash-completion/completions/redtune'
        compopt() { :; }
        COMP_WORDS=(\"\$@\"); COMP_CWORD=$index; _redtune; echo \"\${COMPREPLY[*]}\"" bash "$@")
    [ "$got" = "$wanted" ] || fail "completion of '$*' gives '$got', not '$wanted'"
}
completes --family 2 redtune emit --f
completes doctor 1 redtune doc
completes 'mean mean_var' 3 redtune reduce --op mea
completes 'sum,mean sum,mean_var' 2 redtune --op sum,mea
completes mean_var 3 redtune --op = mean_
completes 'free fixed' 3 redtune explain --order f
completes compensated 3 redtune tune --accuracy c
completes bf16 3 redtune tune --dtype b
completes 'e4m3 e5m2' 3 redtune tune --dtype e
completes columns 3 redtune emit --family c
completes '' 3 redtune reduce --db x
completes --keepdims 4 redtune --device sim reduce --keep
completes 'reduce report' 3 redtune --device sim re
completes compare 1 redtune com
completes --tolerance 4 redtune compare a b --to
! command -v zsh >/dev/null || zsh -n "$prefix/share/zsh/site-functions/_redtune" ||
    fail "zsh cannot read its completion"
if command -v fish >/dev/null; then
    file=$prefix/share/fish/vendor_completions.d/redtune.fish
    got=$(fish -c "source $file; complete -C 'redtune --op sum,mea'" | cut -f 1 | tr '\n' ' ')
    [ "$got" = 'sum,mean sum,mean_var ' ] || fail "fish completes 'redtune --op sum,mea' by '$got'"
fi

# ---- CUDA's two headers --------------------------------------------------------------------
mkdir "$folder/headers"
cp "$cuda/cuda.h" "$nvrtc/nvrtc.h" "$folder/headers"
for file in "$source"/src/gpu/*.c "$source"/src/compiler/*.c "$source"/sim/driver/*.c; do
    "$cc" -std=gnu11 -D_GNU_SOURCE -fsyntax-only -I"$source/include" -I"$source/src" -I"$source" \
        -I"$source/sim" -isystem "$folder/headers" "$file" || fail "$file needs more than two headers"
done

# ---- the Debian packages -------------------------------------------------------------------
# has PACKAGE FILE...: the package has them, by the ends of their names.
has() {
    local package=$1 listing
    shift
    listing=$(dpkg-deb -c "$folder/deb/$package"_*.deb)
    for file; do grep -q "usr/.*$file" <<<"$listing" || fail "the package $package lacks $file"; done
    grep -q "usr/share/doc/$package/copyright" <<<"$listing" || fail "the package $package has no licence"
    dpkg-deb -x "$folder/deb/$package"_*.deb "$folder/system"
}
if command -v dpkg-deb >/dev/null && command -v cpack >/dev/null; then
    mkdir "$folder/deb"
    if quiet cpack --config "$build/CPackConfig.cmake" -G DEB -B "$folder/deb"; then
        has libredtune0 lib.*/libredtune.so.0 redtune/shipped.db
        has libredtune-dev lib.*/libredtune.so lib.*/libredtune.a include/redtune/redtune.h man3/redtune.3.gz \
            cmake/redtune/redtune-config.cmake pkgconfig/redtune.pc doc/libredtune-dev/changelog.gz
        has redtune bin/redtune lib.*/libredtune-sim.so man1/redtune.1.gz completions/redtune
        dpkg-deb -I "$folder"/deb/libredtune0_*.deb | grep -q shlibs ||
            fail "the Debian package says of no library what needs it"
        [ "$(dpkg-deb -c "$folder"/deb/libredtune0_*.deb | grep -c '/bin/\|/include/\|/man/')" = 0 ] ||
            fail "the library's package has what programs do not need to run"
        for package in redtune libredtune-dev; do
            dpkg-deb -f "$folder/deb/$package"_*.deb Depends | grep -q 'libredtune0 (= ' ||
                fail "the package $package does not need the library"
        done
        [ "$("$folder/system/usr/bin/redtune" --version)" = "$("$prefix/bin/redtune" --version)" ] ||
            fail "the packages' command does not run"
    else
        fail "cpack fails"
    fi
fi
exit $((failures > 0))
