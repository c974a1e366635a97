#!/usr/bin/env bash
# Bakes the kernels that redtune comes with into a file of at most 4 MB once it is compressed: a default of
# each class of sums, means, maxima and norms of whole arrays, rows and columns in f32, f16 and bf16, and
# of segments in f32.
#
# Usage: kernels.sh COMMAND FILE [ARCHITECTURES]     COMMAND: the redtune command; needs NVRTC, and no GPU.
# Without ARCHITECTURES they are those of $RDT_BAKED_ARCHS, else all that redtune comes with kernels for.
set -euo pipefail
command=$1 file=$2 archs=${3:-${RDT_BAKED_ARCHS:-80,86,89,90,100,120}}
list=$(mktemp)
mkdir -p "$(dirname "$file")"
trap 'rm -f "$list"' EXIT

# A recording, which names problems in full: of the axes that a class's default is made for.
recorded() { printf '{"op":"%s","dtype":"%s",%s"kept":"%s","reduced":"%s","calls":1}\n' "$@"; }
{
    echo '{"redtune_recording":2}'
    for op in sum mean max norm2; do
        for dtype in f32 f16 bf16; do
            recorded $op $dtype '' '' 16777216
            recorded $op $dtype '' 4096 4096
            recorded $op $dtype '' 4096@1 4096@4096
        done
        recorded $op f32 '"layout":"ragged",' 4096 4096
    done
} >"$list"
# Nothing that this machine's user tuned or compiled has a say in it.
REDTUNE_SYSTEM_KERNELS='' "$command" bake --recorded "$list" --arch "$archs" --db /nowhere/tuning.db -q \
    -o "$file"
