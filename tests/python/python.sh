# Builds the wheel of python/ around a build's library and command, installs it into a folder, and runs
# python/tests there. What it is built with lies in build/python, where ./bootstrap test puts it, or is
# installed; without it the test is skipped.
#
# Usage: python.sh SOURCE BUILD CMAKE [LAUNCHER]
set -eu
source=$1 build=$2 launcher=${4:-}
PATH=$PATH:$(dirname "$3")
export PYTHONPATH=$source/build/python PYTHONDONTWRITEBYTECODE=1

skip() {
    echo "not run: $*" >&2
    exit 77
}

command -v python3 >/dev/null || skip "there is no python3"
python3 -m pip --version >/dev/null 2>&1 || skip "python3 has no pip"
python3 -c 'import sys; sys.exit(sys.version_info < (3, 9))' || skip "python3 is older than 3.9"
python3 -c 'import os, sysconfig, sys
sys.exit(not os.path.exists(sysconfig.get_path("include") + "/Python.h"))' ||
    skip "python3 has no headers; install python3-dev"
python3 -c 'import nanobind, numpy, scikit_build_core' 2>/dev/null ||
    skip "nanobind, numpy or scikit-build-core is not installed; ./bootstrap test fetches them"

work=$build/tests/python/wheel
rm -rf "$work/wheels" "$work/site"
mkdir -p "$work"
export SKBUILD_BUILD_DIR=$work/build
export SKBUILD_CMAKE_DEFINE="REDTUNE_BUILD_DIR=$build;CMAKE_CXX_COMPILER_LAUNCHER=$launcher;CMAKE_CXX_FLAGS=-Werror;CMAKE_CXX_FLAGS_RELEASE=-O1 -DNDEBUG"
python3 -m pip wheel --disable-pip-version-check --no-build-isolation --no-deps --no-index \
    --wheel-dir "$work/wheels" "$source/python" >"$work/log" 2>&1 || {
    tail -n 60 "$work/log"
    exit 1
}
python3 -m pip install --disable-pip-version-check --no-deps --no-index --target "$work/site" \
    "$work"/wheels/redtune-*.whl
# It takes nothing of this system but what every distribution has, so that it has a manylinux name.
if grep -q 'REDTUNE_STATIC_DEPS:BOOL=ON' "$build/CMakeCache.txt" && python3 -c 'import auditwheel' 2>/dev/null; then
    python3 -m auditwheel show "$work"/wheels/redtune-*.whl >"$work/audit" 2>&1 || true
    tr '\n' ' ' <"$work/audit" | grep -q 'consistent with the following platform tag: "manylinux_' || {
        cat "$work/audit"
        exit 1
    }
fi
rm -rf "$work/data"
export PYTHONPATH=$work/site:$PYTHONPATH XDG_DATA_HOME=$work/data
"$work/site/bin/redtune" --version
cd "$work"
exec python3 -m unittest discover --start-directory "$source/python/tests"
