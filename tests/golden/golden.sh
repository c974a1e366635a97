#!/usr/bin/env bash
# Compares rendered sources with those on record (tests/records/golden), so that a change of what is rendered is seen
# and read before it is committed: eight kernels as text, and hashes of kernels of all families.
#
# usage: golden.sh REDTUNE KERNEL_HASHES [--update]
set -u
redtune=$1 hashes=$2 update=${3:-}
records=$(dirname "$(realpath "$0")")/../records
failed=0
made=$(mktemp)
trap 'rm -f "$made"' EXIT

# compare FILE COMMAND...: the record of that name with what the command prints.
compare() {
    local record=$records/$1
    shift
    if ! "$@" >"$made"; then
        failed=1
    elif [ "$update" = --update ]; then
        cp "$made" "$record"
    elif ! diff -u "$record" "$made"; then
        echo "$record differs: if that is meant, run $0 $redtune $hashes --update" >&2
        failed=1
    fi
}

compare golden/sum_f32_poll.cu "$redtune" emit --op sum --dtype f32 \
    --config block=256,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=poll
compare golden/argmax_f16_poll.cu "$redtune" emit --op argmax --dtype f16 \
    --config block=256,vec=8,unroll=2,tail=shared,finish=poll
compare golden/exact_f32_poll.cu "$redtune" emit --op sum --accuracy exact --dtype f32 \
    --config block=256,vec=4,unroll=4,finish=poll
compare golden/rows_f32_single.cu "$redtune" emit --op sum --dtype f32 --shape 1048576x16 --axis 1 \
    --config rows:block=128,lanes=4,rows=4,vec=4,unroll=1,finish=single,per_sm=1
compare golden/columns_f32_poll.cu "$redtune" emit --op sum --dtype f32 --shape 1048576x16 --axis 0 \
    --config columns:block=256,width=4,vec=4,unroll=8,finish=poll,per_sm=4
compare golden/grouped_f32.cu "$redtune" emit --op sum --dtype f32 --segments 16384x4096 \
    --config grouped:block=128,lanes=32,vec=4,unroll=8,resident=8
compare golden/ordered_rows_f32.cu "$redtune" emit --order fixed --op sumsq --dtype f32 --shape 512x65536 \
    --axis 1 --config ordered_rows:block=128,lanes=32,unroll=8
compare golden/ladder_one_launch_f32.cu "$redtune" ladder --show one_launch --dtype f32
compare kernels.txt "$hashes"
exit $failed
