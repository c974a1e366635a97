# redtune ladder on the simulated GPU, and what it prints without one.
header=$(realpath "$2")
. "${BASH_SOURCE%/*}/check.sh"

steps="global modulo strided sequential neighbours first_add adjacent last_warp unrolled grid_stride
    shuffle vector one_launch poll"

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
    run "$redtune" ladder --show first_add --block 128
    want_in_out "constexpr u32 BLOCK = 128;"
}

a_step_is_shown_by_its_number() {
    for step in 0:global 3:sequential 3b:neighbours 4b:adjacent 11:poll; do
        run "$redtune" ladder --show "${step%:*}"
        want_exit 0
        want_in_out "// The ladder, step ${step%:*}: ${step#*:}."
    done
}

# What a GPU's tune has found, or the default where no GPU is known.
the_tuned_kernel_is_shown() {
    REDTUNE_CUDA_DRIVER=/nowhere run "$redtune" ladder --show tuned
    want_exit 0
    want_in_out 'redtune: the sum of f32 into f32, by the template "block"'
    want_in_err "the built-in default"
    local default=$out
    REDTUNE_CUDA_DRIVER=/nowhere run "$redtune" ladder --show 12 --quiet
    want_out "$default"
    want_no_err
    run "$redtune" ladder --show tuned --device sim
    want_in_err "the built-in default"
    run "$redtune" --device sim --dtype f64 --size 1K --effort quick --quiet
    run "$redtune" show --json --dtype f64 --gpu simulated
    local config
    config=$(python3 -c 'import json, sys
print(json.load(sys.stdin)["rows"][0]["config"].split(",threads_max")[0])' <stdout)
    run "$redtune" ladder --show tuned --device sim --dtype f64 --count 1K
    want_exit 0
    want_no_err
    want_in_out "block="
    [[ $config == *"$(grep -o 'block=[0-9]*,vec=[0-9]*' stdout | head -n 1)"* ]] ||
        fail "another config than the winner's: $config"
}

the_steps_are_run_in_order() {
    run "$redtune" ladder --device sim --count 10007
    want_exit 0
    want_no_err
    [ "$(sed -n 's/^ *[0-9][0-9b]* \([a-z_]*\)  *[0-9].*/\1/p' stdout | tr '\n' ' ')" = \
        "$(echo $steps tuned) " ] || fail "not all the steps in order"
    want_not_in_out "WRONG"
    want_in_out "no fence, no atomic operation"
    [ "$(grep -c '^    Sum: ' stdout)" -eq 15 ] || fail "not every step's sum"
    [ "$(grep '^    Sum: ' stdout | sort -u | wc -l)" -eq 1 ] || fail "the sums differ"
}

a_block_of_another_size_is_run() {
    run "$redtune" ladder --device sim --count 10007 --block 128 --json
    want_exit 0
    [ "$(grep -c 'block=128' stdout)" -ge 14 ] || fail "not blocks of 128 threads"
    run "$redtune" ladder --device sim --count 10007 --block 101
    want_exit 0
    want_in_out "2 strided"
    want_not_in_out "sequential "
    want_in_out "12 tuned"
}

# The text says nothing that is true of elements of 4 bytes or blocks of 256 threads only.
the_text_is_true_of_every_dtype_and_block() {
    for dtype in i32 i64 f32 f64; do
        run "$redtune" ladder --device sim --count 4K --block 128 --dtype $dtype
        want_exit 0
        want_not_in_out "WRONG"
        want_not_in_out "512 elements"
        want_not_in_out "a bank of its own"
        want_not_in_out "in the same word"
        want_not_in_out "last six"
        want_in_out "words of 8 bytes take two passes at best"
    done
}

# Every round of every tree, as one does it by hand.
a_trace_shows_every_round() {
    run "$redtune" ladder --trace 8
    want_exit 0
    want_no_err
    want_in_out "  sums       3   1   4   1   5   9   2   6"
    want_in_out "  s = 1      4   .   5   .  14   .   8   .   threads 0 2 4 6"
    want_in_out "  s = 1      4   .   5   .  14   .   8   .   threads 0 1 2 3"
    want_in_out "  s = 4      8  10   6   7   .   .   .   .   threads 0 1 2 3"
    want_in_out "  s = 4      4   5  14   8   .   .   .   .   threads 0 1 2 3"
    [ "$(grep -c ' 31   \.   \.   \.   \.   \.   \.   \.   thread 0$' stdout)" -eq 4 ] ||
        fail "not four trees that end in the sum"
    run "$redtune" ladder --trace 16 --show strided
    want_exit 0
    [ "$(wc -l <stdout)" -eq 7 ] || fail "not one tree"
    want_in_out "  s = 8     80   ."
    run "$redtune" ladder --trace 12
    want_refused 2 "cannot use --trace 12: give 2, 4, 8 or 16 numbers"
    run "$redtune" ladder --trace 8 --show poll
    want_refused 2 "cannot trace step 'poll': use modulo"
}

# Compiles what is in a folder, or some of it: PATH...
want_compiled() {
    local program
    for program in "$@"; do
        run nvcc -c -Xcompiler -Wall,-Wextra,-Werror --Werror all-warnings -o program.o "$program"
        want_exit 0
        want_no_err
        want_no_out
    done
}

programs_are_written() {
    run "$redtune" ladder --export programs --dtype f64
    want_exit 0
    want_in_err "nvcc -O3"
    want_out "$(ls -d programs/*)"
    [ "$(ls programs | sed 's/^[0-9b]*_\(.*\).cu$/\1/' | tr '\n' ' ')" = "$(echo $steps) " ] ||
        fail "not every step"
    for program in programs/*; do
        for part in "int main(" cudaMalloc cudaMemcpy "<<<blocks, BLOCK>>>" "sum == expected"; do
            grep -qF "$part" "$program" || fail "$program lacks $part"
        done
        [ -z "$(awk 'length > 110' "$program")" ] || fail "$program has lines too long to read"
    done
    run "$redtune" ladder --export odd --block 101 --dtype i32 --quiet
    want_exit 0
    want_no_err
    [ "$(ls odd | tr '\n' ' ')" = "00_global.cu 01_modulo.cu 02_strided.cu " ] ||
        fail "not the steps that take blocks of 101 threads"
    run "$redtune" ladder --export programs --one-block
    want_refused 2 "cannot make a program of the form for one block"
    run "$redtune" ladder --export nowhere/programs
    want_refused 1 "cannot make the folder nowhere/programs: No such file"
    : >taken
    run "$redtune" ladder --export taken
    want_refused 1 "taken/00_global.cu: Not a directory"
}

# All of them, for every dtype, are compiled and run where there is a GPU: tests/gpu/ladder.sh.
programs_compile_without_a_warning() {
    command -v nvcc >/dev/null || { skip "there is no nvcc"; return; }
    run "$redtune" ladder --export i32 --dtype i32 --quiet
    want_compiled i32/09_vector.cu
    run "$redtune" ladder --export odd --block 101 --quiet
    want_compiled odd/00_global.cu
}

json_has_the_counters() {
    run "$redtune" ladder --device sim --count 4K --dtype i32 --json
    want_exit 0
    want_no_err
    python3 - stdout <<'PY' || fail "not what it should be"
import json, sys
ladder = json.load(open(sys.argv[1]))
steps = {step["name"]: step for step in ladder["steps"]}
assert len(steps) == 15 and ladder["complete"] and all(s["right"] for s in ladder["steps"])
assert {s["sum"] for s in ladder["steps"]} == {steps["global"]["exact_sum"]}
conflicts = {n: s["counters"]["shared_wavefronts"] - s["counters"]["shared_requests"]
             for n, s in steps.items()}
assert conflicts["strided"] > 0
assert steps["neighbours"]["place"] == "3b" and steps["first_add"]["place"] == "4"
assert steps["global"]["place"] == "0" and steps["adjacent"]["place"] == "4b"
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
    want_refused 2 "cannot show step 'diagonal': the ladder has no step of that name or number; use global, modulo, strid"
    run "$redtune" ladder --show poll --one-block
    want_refused 2 "step=poll is about meeting other blocks, and form=one has none"
    run "$redtune" ladder --device sim --block 100
    want_refused 2 "with blocks of 100 threads: use 32, 64, 101, 128, 256, 512, 1024"
    run "$redtune" ladder --show sequential --block 101
    want_refused 2 "block=101 is no power of two, and step=sequential halves the block"
    run "$redtune" ladder --device sim --dtype f16
    want_refused 2 "cannot climb the ladder with dtype f16: use i32, i64, f32 or f64"
    run "$redtune" ladder --device sim --one-block --count 300
    want_refused 2 "form=one of step=global and block=256 takes 256 elements at most"
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
    grep -q "^    Sum: .*, and .* is right" stdout || fail "not the wrong sum"
}

check_run a_step_is_shown_without_a_gpu a_step_is_shown_by_its_number the_tuned_kernel_is_shown \
    the_steps_are_run_in_order a_block_of_another_size_is_run \
    the_text_is_true_of_every_dtype_and_block json_has_the_counters a_trace_shows_every_round \
    programs_are_written programs_compile_without_a_warning \
    one_block_has_the_steps_that_need_no_other what_there_is_not_is_refused a_wrong_sum_is_told
