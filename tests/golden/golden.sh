#!/usr/bin/env bash
# Compares rendered sources with those kept here, so that a change of what is rendered is seen and
# read before it is committed.
#
# usage: golden.sh REDTUNE [--update]
set -u
redtune=$1 update=${2:-}
here=$(dirname "$(realpath "$0")")
shipped=$here/../../data/shipped.db
failed=0
made=$(mktemp)
trap 'rm -f "$made"' EXIT

# compare NAME ARGUMENT...: the kept source of that name with what the command prints.
compare() {
    local name=$1
    shift
    if ! "$redtune" "$@" >"$made"; then
        failed=1
    elif [ "$update" = --update ]; then
        cp "$made" "$here/$name.cu"
    elif ! diff -u "$here/$name.cu" "$made"; then
        echo "$name.cu differs: if that is meant, run $0 $redtune --update" >&2
        failed=1
    fi
}

# file, op, dtype, config
while read -r name op dtype config; do
    compare "$name" emit --op "$op" --dtype "$dtype" --config "$config"
done <<'LIST'
sum_f32_poll       sum    f32  block=256,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=poll
sum_i32_ticket     sum    i32  block=128,vec=1,unroll=1,load=plain,tail=shared,finish=ticket
sum_f64_two_pass   sum    f64  block=64,vec=2,unroll=2,load=streaming,tail=shuffle,finish=two_pass
sum_f32_single     sum    f32  block=256,vec=4,unroll=4,tail=shuffle,finish=single,per_sm=1
sum_i8_single      sum    i8   block=32,vec=16,unroll=1,tail=shuffle,finish=single,per_sm=1
argmax_f16_poll    argmax f16  block=256,vec=8,unroll=2,tail=shared,finish=poll
mean_bf16_two_pass mean   bf16 block=512,vec=2,unroll=1,tail=shuffle,finish=two_pass
LIST
# On a GPU that has clusters, as the shipped database knows one.
compare sum_f32_cluster emit --gpu h200 --db "$shipped" --op sum --dtype f32 \
    --config block=128,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=cluster,per_sm=1
compare minmax_f64_cluster emit --gpu h200 --db "$shipped" --op minmax --dtype f64 \
    --config block=64,vec=2,unroll=2,load=plain,tail=shuffle,finish=cluster,per_sm=1
compare compensated_f32_poll emit --op dot --accuracy compensated --dtype f32 \
    --config block=256,vec=4,unroll=4,finish=poll
compare exact_f32_ticket emit --op sum --accuracy exact --dtype f32 \
    --config block=256,vec=4,unroll=4,finish=ticket

# file, op, dtype, shape and axis, config
while read -r name op dtype shape axis config; do
    compare "$name" emit --op "$op" --dtype "$dtype" --shape "$shape" --axis "$axis" --config "$config"
done <<'LIST'
rows_f32_single     sum    f32  1048576x16 1 rows:block=128,lanes=4,rows=4,vec=4,unroll=1,finish=single,per_sm=1
rows_f16_poll       mean   f16  8x2097152  1 rows:block=512,lanes=512,rows=1,vec=8,unroll=4,finish=poll,per_sm=2
columns_f32_poll    sum    f32  1048576x16 0 columns:block=256,width=4,vec=4,unroll=8,finish=poll,per_sm=4
columns_i8_ticket   argmax i8   4096x5120  0 columns:block=128,width=8,vec=4,unroll=2,load=plain,finish=ticket,per_sm=8
columns_f16_single  max    f16  8x2097152  0 columns:block=256,width=256,vec=8,unroll=8,finish=single,per_sm=1
skewed_f16_ticket   sum    f16  2048x50257 0 skewed:block=256,width=32,vec=8,unroll=4,finish=ticket,per_sm=2
thin_f16            mean   f16  1x16777216 0 thin:block=256,vec=8,strips=4
short_f16           max_at f16  4194304x4  1 short:block=256,row=4,vec=8,unroll=4,load=plain
short_f32           var    f32  4194304x4  1 short:block=128,row=4,vec=4,unroll=2,load=no_allocate
staged_f32          sum    f32  1000003x3  1 staged:block=256,rows=4,room=16
LIST

# file, op, dtype, config, in fixed order
while read -r name op dtype config; do
    compare "$name" emit --order fixed --op "$op" --dtype "$dtype" --config "$config"
done <<'LIST'
ordered_f32_poll   sum    f32  block=256,lanes=32,chunks=2,unroll=4,resident=1536,finish=poll,per_sm=8
ordered_f16_ticket dot    f16  block=64,lanes=32,chunks=1,unroll=8,resident=1024,finish=ticket,per_sm=2
ordered_f64_single var    f64  block=128,lanes=32,chunks=1,unroll=2,resident=512,finish=single,per_sm=1
ordered_f16_groups sum    f16  block=256,lanes=128,chunks=1,unroll=2,resident=1024,finish=poll,per_sm=1
LIST

# file, op, dtype, shape and axis, config, in fixed order
while read -r name op dtype shape axis config; do
    compare "$name" emit --order fixed --op "$op" --dtype "$dtype" --shape "$shape" --axis "$axis" \
        --config "$config"
done <<'LIST'
ordered_rows_f16    mean  f16 65536x64   1 ordered_rows:block=128,lanes=8,unroll=2
ordered_rows_f32    sumsq f32 512x65536  1 ordered_rows:block=256,lanes=128,unroll=8
ordered_columns_f16 mean  f16 64x8192    0 ordered_columns:block=128,width=128,vec=8,unroll=8,finish=single,per_sm=1
ordered_columns_f32 dot   f32 1048576x16 0 ordered_columns:block=256,width=4,vec=4,unroll=8,finish=poll,per_sm=4
LIST

compare ordered_segments_f16 emit --order fixed --op sum_sumsq --dtype f16 --segments 4096x1000 \
    --config ordered_segments:block=256,chunks=2,unroll=4,resident=2
compare grouped_f32 emit --op sum --dtype f32 --segments 16384x4096 \
    --config grouped:block=128,lanes=32,vec=4,unroll=8,resident=8
compare grouped_f16 emit --op sum --dtype f16 --segments 4194304x16 \
    --config grouped:block=128,lanes=1,segments=2,vec=4,unroll=2,resident=16
compare tiled_f32 emit --op sum --dtype f32 --segments 4194304x16 \
    --config tiled:block=128,vec=4,unroll=4,resident=8

# file, step, dtype
while read -r name step dtype; do
    compare "$name" ladder --show "$step" --dtype "$dtype"
done <<'LIST'
ladder_global_i32     global     i32
ladder_modulo_f32     modulo     f32
ladder_adjacent_f64   adjacent   f64
ladder_unrolled_f32   unrolled   f32
ladder_vector_i32     vector     i32
ladder_one_launch_f32 one_launch f32
ladder_poll_f64       poll       f64
LIST
exit $failed
