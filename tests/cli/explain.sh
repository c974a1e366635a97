# redtune explain, on databases of given measurements: what the runtime would choose, and why.
here=$(realpath "${BASH_SOURCE%/*}")
. "$here/check.sh"
. "$here/facts.sh"

# explains DATABASE BLOCK MATCH OPTION...: a config with that block size, by that match.
explains() {
    run "$redtune" explain --db "$1" "${@:4}"
    want_exit 0
    want_no_err
    want_in_out "block=$2,"
    want_in_out "match     $3: "
}
# falls_back DATABASE OPTION...: the default, by no row.
falls_back() {
    run "$redtune" explain --db "$1" "${@:2}"
    want_exit 0
    want_in_out "match  default: "
    want_not_in_out measured\ 
}

the_winner_of_the_size_itself() {
    facts exact.db <<'LINES'
templates=here is_default=1 median_ns=3000 machine=lab
templates=here block=512 median_ns=2000 machine=lab
LINES
    run "$redtune" explain --db exact.db --op sum --dtype f32 --count 1M
    want_exit 0
    want_no_err
    want_out "sum of 1048576 f32 on Test H100
  whose     the GPU model of the latest row; --gpu names another one, --device 0 this machine's
  uses      block block=512,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=poll,per_sm=4
  match     exact: measured on this GPU model at this size
  time      2.00 us there, L2 cold, 1.50x as fast as the default's 3.00 us
  measured  2023-11-14 on Test H100 at size 1M, machine lab, CUDA 13.0, NVRTC 13.0
  in        exact.db"
    REDTUNE_CUDA_DRIVER=/nowhere run "$redtune" explain --db exact.db --json
    want_exit 0
    python3 - <<'PY' || fail "not what was put in"
import json
found = json.load(open("stdout"))
assert (found["match"], found["median_ns"], found["default_ns"]) == ("exact", 2000, 3000), found
assert (found["count"], found["measured_count"], found["machine"]) == (1 << 20, 1 << 20, "lab"), found
assert found["imported"] is False and found["templates_differ"] is False, found
PY
}

the_fixed_order_has_a_class_of_its_own() {
    facts order.db <<'LINES'
templates=here is_default=1 median_ns=3000
templates=here block=512 median_ns=2000
LINES
    run "$redtune" explain --db order.db --order fixed --op sum --dtype f32 --count 1M
    want_exit 0
    want_in_out "sum of 1048576 f32 in fixed order on Test H100"
    want_in_out "uses   ordered "
    want_in_out "match  default: "
    run "$redtune" explain --db order.db --order fixed --op sum --dtype f32 --count 1M --json
    want_in_out '"order": "fixed"'
    # Integers have the same bits in any order.
    run "$redtune" explain --db order.db --order fixed --op sum --dtype i32 --count 1M
    want_in_out "sum of 1048576 i32 on Test H100"
    run "$redtune" explain --db order.db --order best
    want_exit 2
    want_in_err "give free or fixed"
}

accuracies_have_classes_of_their_own() {
    facts accuracy.db <<'LINES'
templates=here block=512 median_ns=2000
LINES
    run "$redtune" explain --db accuracy.db --accuracy compensated --op sum --dtype f32 --count 1M
    want_exit 0
    want_in_out "compensated sum of 1048576 f32 on Test H100"
    want_in_out "match  default: "
    run "$redtune" explain --db accuracy.db --accuracy compensated --op sum --count 1M --json
    want_in_out '"accuracy": "compensated"'
    # Integers are exact by themselves.
    run "$redtune" explain --db accuracy.db --accuracy compensated --op sum --dtype i32 --count 1M
    want_in_out "sum of 1048576 i32 on Test H100"
    run "$redtune" explain --db accuracy.db --accuracy compensated --op prod
    want_exit 1
    want_in_err "that is for sum, sumsq, norm2, sumabs, mean, dot"
    run "$redtune" explain --db accuracy.db --accuracy compensated --order fixed
    want_exit 0
    want_in_out "compensated sum of 1048576 f32 in fixed order"
    run "$redtune" explain --db accuracy.db --accuracy best
    want_exit 2
    want_in_err "give plain, compensated or exact"
}

arrays_are_folded_along_their_axes() {
    facts shapes.db <<<"templates=here"
    run "$redtune" explain --db shapes.db --shape 4Kx4096 --axis 1 --dtype f16
    want_exit 0
    want_in_out "sum of 4096x4096 f16 along axis 1 on Test H100"
    want_in_out "uses   rows "
    run "$redtune" explain --db shapes.db --shape 64x512x100 --axis -2 --json
    want_exit 0
    python3 - <<'PY' || fail "not the columns of 64 matrices"
import json
found = json.load(open("stdout"))
assert found["layout"] == "columns", found
assert [found[name] for name in ("count", "outer", "inner", "outer_step", "step")] == \
    [512, 64, 100, 51200, 100], found
assert (found["kept"], found["reduced"]) == ("64@51200 100@1", "512@100"), found
PY
    run "$redtune" explain --db shapes.db --shape 64x1024
    want_exit 0
    want_in_out "sum of 65536 f32 on Test H100"
    run "$redtune" explain --db shapes.db --shape 64x512x512 --axis 0,2 --order fixed
    want_exit 0
    want_in_out "ordered_strided block="
    run "$redtune" explain --db shapes.db --shape 64x512x512 --axis 0,2
    want_exit 0
    want_in_out "sum of f32 along 64@262144 512@1 of 512@512 on Test H100"
    want_in_out "strided block="
    run "$redtune" explain --shape 64x512 --axis 2
    want_refused 2 "it has 2 dimensions and no axis 2"
    run "$redtune" explain --axis 1
    want_refused 2 "cannot use --axis without --shape"
    run "$redtune" explain --shape 64x512 --count 4
    want_refused 2 "cannot use --size with --shape"
    run "$redtune" explain --shape 64x512,4x4 --axis 1
    want_refused 2 "'64x512,4x4' is no array"
}

the_nearest_size_on_a_log_scale() {
    facts sizes.db <<'LINES'
templates=here count=1048576 block=128
templates=here count=4194304 block=512
LINES
    explains sizes.db 128 "nearest size" --count 2000000
    explains sizes.db 512 "nearest size" --count 2200000
    explains sizes.db 128 "nearest size" --count 600000
    explains sizes.db 512 "nearest size" --count 60M
    falls_back sizes.db --count 1000
    falls_back sizes.db --count 1G
    falls_back sizes.db --op argmax --count 1M
    falls_back sizes.db --dtype f64 --count 1M
}

# Another op whose kernels move the same bytes: f32 in, and accumulators of 4 bytes.
a_class_alike() {
    facts alike.db <<'LINES'
templates=here count=1048576 block=128
templates=here count=4194304 block=512
templates=here count=16777216 op=min block=64
LINES
    explains alike.db 128 like --op max --count 1M
    want_in_out "on Test H100, sum of f32 at size 1M"
    run "$redtune" explain --db alike.db --op max --count 16M --json
    python3 - <<'PY' || fail "not the class it comes from"
import json
found = json.load(open("stdout"))
assert (found["match"], found["measured_op"], found["measured_dtype"]) == ("like", "min", "f32"), found
PY
    explains alike.db 512 like --op max --count 3M
    explains alike.db 64 like --op max --count 16M
    explains alike.db 64 "nearest size" --op min --count 2M
    falls_back alike.db --op argmax --count 1M
    falls_back alike.db --op max --dtype f16 --count 1M
}

a_measured_crossover_is_where_it_changes() {
    facts crossover.db <<'LINES'
templates=here count=1048576 block=128
templates=here count=1700000 block=128
templates=here count=1800000 block=64
templates=here count=2097152 block=64
LINES
    explains crossover.db 128 "nearest size" --count 1740000
    explains crossover.db 64 "nearest size" --count 1760000
}

the_nearest_gpu() {
    facts gpus.db <<'LINES'
templates=here gpu=A block=32
templates=here gpu=H block=128
templates=here gpu=S block=64
templates=here gpu=B block=1024
templates=here gpu=L op=argmax result=i64 block=256
LINES
    # Its own architecture goes before the same bandwidth and multiprocessors.
    explains gpus.db 128 "nearest GPU" --gpu H200 --count 1M
    want_in_out "on Test H100 at size 1M"
    explains gpus.db 32 exact --gpu A100 --count 1M
    facts far.db <<'LINES'
templates=here gpu=A block=32
templates=here gpu=L op=argmax result=i64 block=256
LINES
    explains far.db 32 "nearest GPU" --gpu H200 --count 1M
    # A part of half the size does at half the size what the whole does.
    facts part.db <<'LINES'
templates=here gpu=H count=1048576 block=128
templates=here gpu=H count=2097152 block=512
templates=here gpu=S op=argmax result=i64
LINES
    explains part.db 512 "nearest GPU" --gpu part --count 1M
}

what_came_from_elsewhere_is_said_so() {
    facts mixed.db <<'LINES'
templates=here block=128 median_ns=2000 imported=1
templates=here is_default=1 median_ns=3000
LINES
    explains mixed.db 128 exact --count 1M
    want_in_out ", imported,"
    facts other.db <<<"templates=0123456789abcdef0123456789abcdef block=128"
    explains other.db 128 exact --count 1M
    want_in_out "the templates have changed since"
    # A config that the templates have no more serves nobody.
    facts gone.db <<<"templates=0123456789abcdef0123456789abcdef block=100"
    falls_back gone.db --count 1M
}

another_compiler_is_said_so() {
    facts old.db <<<"templates=here nvrtc=11020 driver=11020"
    explains old.db 256 exact --count 1M
    want_in_out "measured  2023-11-14 on Test H100 at size 1M, CUDA 11.2, NVRTC 11.2"
    want_in_out "NVRTC is now"
    want_in_out "redtune --again"
}

a_database_of_the_system_counts() {
    facts mine.db <<<"templates=here is_default=1 median_ns=3000"
    facts system.db <<<"templates=here block=512 median_ns=2000"
    REDTUNE_SYSTEM_DB=system.db explains mine.db 512 exact --count 1M
    want_in_out "in        system.db"
    explains mine.db 256 exact --count 1M
}

a_question_without_an_answer() {
    facts two.db <<'LINES'
templates=here gpu=A
templates=here gpu=H
LINES
    run "$redtune" explain --db two.db --gpu test
    want_refused 2 "cannot explain: 'test' may be Test A100, Test H100; give the whole name of one"
    run "$redtune" explain --db two.db --gpu all
    want_refused 2 "cannot explain for all GPUs at once: name one"
    run "$redtune" explain --db two.db --gpu V100
    want_refused 2 "cannot explain: no GPU has 'V100' in its name"
    run "$redtune" explain --db two.db --gpu H100 --device sim
    want_refused 2 "cannot use --gpu with --device"
    run "$redtune" explain --db none.db
    want_refused 2 "cannot explain: nothing is measured in none.db yet"
}

check_run the_winner_of_the_size_itself the_fixed_order_has_a_class_of_its_own \
    accuracies_have_classes_of_their_own arrays_are_folded_along_their_axes \
    the_nearest_size_on_a_log_scale a_class_alike a_measured_crossover_is_where_it_changes \
    the_nearest_gpu what_came_from_elsewhere_is_said_so \
    another_compiler_is_said_so a_database_of_the_system_counts a_question_without_an_answer
