# redtune ladder on the simulated GPU, and what it prints without one.
header=$(realpath "$2")
. "${BASH_SOURCE%/*}/check.sh"

steps="modulo strided sequential neighbours first_add last_warp unrolled grid_stride shuffle vector
    one_launch poll"

a_step_is_shown_without_a_gpu() {
    for step in $steps; do
        REDTUNE_CUDA_DRIVER=/nowhere run "$redtune" ladder --show "$step"
        want_exit 0
        want_no_err
        want_in_out ": $step."
        want_in_out "redtune_reduce(const float *input"
    done
    run "$redtune" ladder --show strided --dtype f64
    want_in_out "redtune_reduce(const double *input"
    run "$redtune" ladder --show strided --dtype i32 --one-block
    want_in_out "i64 *total)"
}

the_steps_are_run_in_order() {
    run "$redtune" ladder --device sim --count 10007
    want_exit 0
    want_no_err
    [ "$(sed -n 's/^ *[0-9][0-9b]* \([a-z_]*\)  *[0-9].*/\1/p' stdout | tr '\n' ' ')" = \
        "$(echo $steps tuned) " ] || fail "not all the steps in order"
    want_not_in_out "WRONG"
    want_in_out "no fence, no atomic operation"
}

json_has_the_counters() {
    run "$redtune" ladder --device sim --count 4K --dtype i32 --json
    want_exit 0
    want_no_err
    python3 - stdout <<'PY' || fail "not what it should be"
import json, sys
ladder = json.load(open(sys.argv[1]))
steps = {step["name"]: step for step in ladder["steps"]}
assert len(steps) == 13 and ladder["complete"] and all(s["right"] for s in ladder["steps"])
conflicts = {n: s["counters"]["shared_wavefronts"] - s["counters"]["shared_requests"]
             for n, s in steps.items()}
assert conflicts["strided"] > 0
assert steps["neighbours"]["place"] == "3b" and steps["first_add"]["place"] == "4"
assert "median_ns" not in steps["modulo"]
PY
}

one_block_has_the_steps_that_need_no_other() {
    run "$redtune" ladder --device sim --one-block --count 100
    want_exit 0
    want_in_out "vector"
    want_not_in_out "one_launch"
    want_not_in_out "tuned"
}

what_there_is_not_is_refused() {
    run "$redtune" ladder --show diagonal
    want_refused 2 "cannot show step 'diagonal': the ladder has none of that name; use modulo, strid"
    run "$redtune" ladder --show poll --one-block
    want_refused 2 "step=poll is about meeting other blocks, and form=one has none"
    run "$redtune" ladder --device sim --dtype f16
    want_refused 2 "cannot climb the ladder with dtype f16: use i32, i64, f32 or f64"
    run "$redtune" ladder --device sim --one-block --count 300
    want_refused 2 "form=one of step=modulo and block=256 takes 256 elements at most"
    run "$redtune" ladder --device sim --count 16T
    want_refused 2 "elements: the GPU's free memory has room for"
}

# A wrong kernel is told from a right one, and the exit code says so.
a_wrong_sum_is_told() {
    cp -R "$(dirname "$header")/../../templates" wrong
    sed -i 's/s > 0; s \/= 2/s > 1; s \/= 2/' wrong/ladder/kernel.cu
    REDTUNE_TEMPLATES=$PWD/wrong run "$redtune" ladder --device sim --count 1000
    want_exit 1
    want_in_out "WRONG"
    want_in_err "cannot trust step sequential: its sum is wrong"
}

check_run a_step_is_shown_without_a_gpu the_steps_are_run_in_order json_has_the_counters \
    one_block_has_the_steps_that_need_no_other what_there_is_not_is_refused a_wrong_sum_is_told
