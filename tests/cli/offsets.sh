# redtune reduce --offsets: a result of each segment of a file.
. "${BASH_SOURCE%/*}/files.sh"
. "${BASH_SOURCE%/*}/check.sh"

# offsets FILE DESCR BYTES NUMBER...: an .npy file of these.
offsets() {
    local file=$1 descr=$2 bytes=$3 number
    shift 3
    { npy "'$descr'" "($#,)"; for number; do little_endian $bytes $number; done; } >"$file"
}

# 0 to 99 as i32, in segments of 10, 0, 25 and 60 elements, after 2 and before 3 of none.
write_values() {
    { npy "'<i4'" "(100,)"; integers 4 100; } >values.npy
}

# want_values TEXT: the lines on stdout.
want_values() { [ "$out" = "$1" ] || fail "stdout is not $1"; }

offsets_of_32_and_64_bits_are_taken() {
    write_values
    for kind in '<i4 4' '<u4 4' '<i8 8' '<u8 8'; do
        offsets offsets.npy $kind 2 12 12 37 97
        run "$redtune" reduce values.npy --offsets offsets.npy -q
        want_exit 0
        want_values $'65\n0\n600\n3990'
    done
}

results_go_to_a_file_and_to_json() {
    write_values
    offsets offsets.npy '<i8' 8 0 50 100
    run "$redtune" reduce values.npy --offsets offsets.npy --op max -o most.npy
    want_exit 0
    run "$redtune" reduce most.npy
    want_values 148
    run "$redtune" reduce values.npy --offsets offsets.npy --json
    want_in_out '"layout": "ragged"'
    want_in_out '"outer": 2'
    want_in_out '"family": "ragged"'
    run "$redtune" reduce values.npy --offsets offsets.npy --op min_at
    want_values $'# min\n0\n50\n\n# index\n0\n0'
    run "$redtune" reduce values.npy --offsets offsets.npy -v
    want_in_err "2x50 i32 segments"
}

raw_elements_and_standard_input_do() {
    integers 4 100 >raw
    offsets offsets.npy '<i8' 8 0 50 100
    run "$redtune" reduce raw --dtype i32 --offsets offsets.npy
    want_values $'1225\n3725'
    run_input raw "$redtune" reduce - --dtype i32 --offsets offsets.npy
    want_values $'1225\n3725'
    offsets offsets.npy '<i8' 8 0 50 101
    run bash -c "cat raw | '$redtune' reduce - --dtype i32 --offsets offsets.npy"
    want_refused 2 "its input ends after 100 elements"
}

# Floats of many magnitudes: element i from 2^(i mod 24) on.
floats() {
    local i
    for ((i = 0; i < $1; i++)); do
        little_endian 4 $((0x3f800001 + (i * 7 % 24 << 23) + i * 65521))
    done
}

segments_in_fixed_order_have_the_bits_of_arrays() {
    local bounds=(1 1 8 41 141) i wanted=
    floats 150 >raw
    for i in 0 1 2 3; do
        dd if=raw of=one bs=4 skip=${bounds[i]} count=$((bounds[i + 1] - bounds[i])) status=none
        run "$redtune" reduce one --dtype f32 --order fixed
        wanted+=${wanted:+$'\n'}$out
    done
    offsets offsets.npy '<i8' 8 "${bounds[@]}"
    run "$redtune" reduce raw --dtype f32 --offsets offsets.npy --order fixed
    want_exit 0
    want_values "$wanted"
    run "$redtune" reduce raw --dtype f32 --offsets offsets.npy --order fixed --json
    want_in_out '"family": "ordered_segments"'
}

two_files_are_reduced_beside_each_other() {
    write_values
    { npy "'<i4'" "(100,)"; for ((i = 0; i < 100; i++)); do little_endian 4 2; done; } >twos.npy
    offsets offsets.npy '<i4' 4 2 12 12 37 97
    run "$redtune" reduce values.npy twos.npy --op dot --offsets offsets.npy -q
    want_exit 0
    want_values $'130\n0\n1200\n7980'
    run "$redtune" reduce values.npy twos.npy --op dot --offsets offsets.npy --json
    want_in_out '"family": "grouped"'
    { npy "'|b1'" "(100,)"; for ((i = 0; i < 100; i++)); do little_endian 1 $((1 - i % 2)); done; } >evens.npy
    run "$redtune" reduce values.npy twos.npy --op dot --offsets offsets.npy --where evens.npy -q
    want_values $'60\n0\n624\n4020'
    { npy "'|u1'" "(13,)"; for ((i = 0; i < 13; i++)); do little_endian 1 85; done; } >bits.npy
    run "$redtune" reduce values.npy twos.npy --op dot --offsets offsets.npy --where-bits bits.npy -q
    want_values $'60\n0\n624\n4020'
    { npy "'<i4'" "(10, 10)" 1 True; integers 4 100; } >turned.npy
    { npy "'<i4'" "(10, 10)"; integers 4 100; } >table.npy
    run "$redtune" reduce table.npy turned.npy --op dot --offsets offsets.npy
    want_refused 1 "one array is in Fortran order; save numpy.ascontiguousarray of it"
}

no_segments_have_no_results() {
    write_values
    offsets offsets.npy '<i4' 4 7
    run "$redtune" reduce values.npy --offsets offsets.npy
    want_exit 0
    want_values ""
}

# refuses TEXT ARGUMENT...
refuses() {
    local text=$1
    shift
    run "$redtune" reduce values.npy "$@"
    want_refused 1 "$text"
}

what_cannot_be_is_refused() {
    write_values
    offsets falling.npy '<i4' 4 0 50 40
    offsets below.npy '<i8' 8 -1 50
    offsets far.npy '<i8' 8 0 101
    offsets many.npy '<i4' 4 $(seq 0 66)
    { npy "'<f4'" "(2,)"; integers 4 2; } >floats.npy
    { npy "'<i4'" "(1, 2)"; integers 4 2; } >table.npy
    echo text >text
    refuses "segment 1 begins at 50 and ends at 40; they may not decrease" --offsets falling.npy
    refuses "number 0 is -1; they count elements from 0" --offsets below.npy
    refuses "the last segment ends at 101, and values.npy has 100 elements" --offsets far.npy
    refuses "it has 1 dimension of 2 f32; give one of 32 or 64 bit integers" --offsets floats.npy
    refuses "it has 2 dimensions" --offsets table.npy
    refuses "cannot read offsets from text: it is no .npy file" --offsets text
    refuses "No such file" --offsets missing.npy
    run "$redtune" reduce values.npy --offsets many.npy
    want_refused 2 "more than 64: write them to a file"
    run "$redtune" reduce values.npy --offsets far.npy --axis 0
    want_refused 2 "cannot use --axis with --offsets"
    offsets offsets.npy '<i8' 8 0 50
    { npy "'|b1'" "(99,)"; integers 1 99; } >bools.npy
    refuses "both must have the same shape" values.npy --op dot --offsets offsets.npy --where bools.npy
}

have_gpu || { echo "skipped: no GPU" >&2; exit 77; }
check_run offsets_of_32_and_64_bits_are_taken results_go_to_a_file_and_to_json \
    raw_elements_and_standard_input_do segments_in_fixed_order_have_the_bits_of_arrays \
    two_files_are_reduced_beside_each_other \
    no_segments_have_no_results what_cannot_be_is_refused
