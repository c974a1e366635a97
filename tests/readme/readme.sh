# The README's C example: builds as it stands there, and gives the sum that it promises.
#
# Usage: readme.sh README INCLUDE_DIR CUDA_INCLUDE_DIR LIBRARY_DIR LIBCUDA COMPILER [FLAG...]
# LIBCUDA is a file to link; empty: one is made up, since linking needs only its names.
set -eu
readme=$1 include=$2 cuda_include=$3 library=$4 libcuda=$5
shift 5
folder=$(mktemp -d "${TMPDIR:-/tmp}/redtune-test.XXXXXX")
trap 'rm -rf "$folder"' EXIT

awk '/^```c$/ {inside = 1; next} /^```$/ {inside = 0} inside' "$readme" >"$folder/sum.c"
[ -s "$folder/sum.c" ] || { echo "FAILED: $readme has no \`\`\`c block" >&2; exit 1; }
"$@" -Wall -Wextra -Werror -I"$include" -isystem "$cuda_include" -c "$folder/sum.c" \
    -o "$folder/sum.o"

if [ -z "$libcuda" ]; then
    nm -u "$folder/sum.o" | sed -n 's/.* \(cu[A-Z][A-Za-z0-9_]*\)$/int \1(void) { return 34; }/p' \
        >"$folder/stub.c"
    libcuda=$folder/libcuda.so
    "$@" -w -shared -fPIC -Wl,-soname,libcuda.so.1 "$folder/stub.c" -o "$libcuda"
fi
"$@" "$folder/sum.o" -L"$library" -lredtune "$libcuda" -Wl,-rpath,"$library" -o "$folder/sum"
echo "it builds"

if [ ! -e /dev/nvidiactl ] && [ ! -e /dev/dxg ] &&
    [[ ${REDTUNE_CUDA_DRIVER:-} != *redtune-sim* ]]; then
    echo "not run: no GPU" >&2
    exit 77
fi
wanted=$(sed -n 's|.*printf("%g\\n", sum); */\* \([0-9]*\) \*/|\1|p' "$folder/sum.c")
sum=$("$folder/sum")
[ -n "$wanted" ] && [ "$sum" = "$wanted" ] || {
    echo "FAILED: it printed '$sum', where the README says '$wanted'" >&2
    exit 1
}
