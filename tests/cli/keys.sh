# redtune reduce --by: a result of each key of a file's elements.
. "${BASH_SOURCE%/*}/files.sh"
. "${BASH_SOURCE%/*}/check.sh"

# array FILE DESCR BYTES SHAPE NUMBER...: an .npy file of these.
array() {
    local file=$1 descr=$2 bytes=$3 shape=$4 number
    shift 4
    { npy "'$descr'" "$shape"; for number; do little_endian $bytes $number; done; } >"$file"
}

# 0 to 11 as i32; keys 2 0 2 5 -1 0 ...: of 0, 1 and 5 there are few, -1 and 9 are beyond.
write_arrays() {
    array values.npy '<i4' 4 '(12,)' 0 1 2 3 4 5 6 7 8 9 10 11
    array keys.npy '<i4' 4 '(12,)' 2 0 2 5 -1 0 2 2 2 9 0 5
}

want_values() { [ "$out" = "$1" ] || fail "stdout is not $1"; }

# reduces TEXT ARGUMENT...: of the values by the keys.
reduces() {
    local text=$1
    shift
    run "$redtune" reduce values.npy --by keys.npy -q "$@"
    want_exit 0
    want_values "$text"
}

keys_say_which_elements_belong_together() {
    write_arrays
    reduces $'16\n0\n23\n0\n0\n14' --keys 6
    reduces $'16\n0\n23\n0\n0\n14\n0\n0\n0\n9'
    reduces $'5.333333333333333\nnan\n4.6\nnan\nnan\n7' --op mean --keys 6
    reduces $'# max\n10\n-2147483648\n8\n\n# index\n10\n-1\n8' --op max_at --keys 3
}

keys_of_all_integers_are_taken() {
    write_arrays
    for kind in '|i1 1' '|u1 1' '<i2 2' '>u2 2' '<u4 4' '<i8 8' '<u8 8'; do
        if [[ $kind == '>'* ]]; then
            { npy "'>u2'" '(12,)'; printf '\0\2\0\0\0\2\0\5\0\7\0\0\0\2\0\2\0\2\0\11\0\0\0\5'; } >keys.npy
        else
            array keys.npy $kind '(12,)' 2 0 2 5 7 0 2 2 2 9 0 5
        fi
        reduces $'16\n0\n23\n0\n0\n14\n0\n4\n0\n9'
    done
}

rows_have_a_key_each() {
    array values.npy '<i4' 4 '(4, 3)' 0 1 2 3 4 5 6 7 8 9 10 11
    array keys.npy '<u1' 1 '(4,)' 1 0 1 0
    reduces $'12 14 16\n6 8 10'
    run "$redtune" reduce values.npy --by keys.npy -o sums.npy
    want_exit 0
    run "$redtune" reduce sums.npy --axis 0
    want_values $'18\n22\n26'
    tail -c 48 values.npy >raw
    run "$redtune" reduce raw --dtype i32 --shape 4x3 --by keys.npy --op max --json
    want_in_out '"keys": 2'
    want_in_out '"key_dtype": "u8"'
    want_in_out '"by": "keys.npy"'
    want_in_out '"layout": "keyed"'
    run "$redtune" reduce values.npy --by keys.npy -v
    want_in_err "of 4x3 i32 by 2 u8 keys"
}

raw_elements_and_standard_input_do() {
    write_arrays
    integers 4 12 >raw
    run "$redtune" reduce raw --dtype i32 --by keys.npy --keys 3
    want_values $'16\n0\n23'
    run bash -c "cat raw | '$redtune' reduce - --dtype i32 --by keys.npy --keys 3"
    want_values $'16\n0\n23'
    run bash -c "cat keys.npy | '$redtune' reduce values.npy --by - --keys 3"
    want_values $'16\n0\n23'
    run bash -c "cat raw raw | '$redtune' reduce - --dtype i32 --by keys.npy --keys 3"
    want_refused 2 "it has more elements than the problem, which has 12"
}

# refuses CODE TEXT ARGUMENT...
refuses() {
    local status=$1 text=$2
    shift 2
    run "$redtune" reduce values.npy "$@"
    want_refused $status "$text"
}

what_cannot_be_is_refused() {
    write_arrays
    echo before >out.npy
    array few.npy '<i4' 4 '(2,)' 0 1
    array floats.npy '<f4' 4 '(12,)' 0 0 0 0 0 0 0 0 0 0 0 0
    array table.npy '<i4' 4 '(3, 4)' 0 0 0 0 0 0 0 0 0 0 0 0
    array bools.npy '|b1' 1 '(12,)' 0 0 0 0 0 0 0 0 0 0 0 0
    array below.npy '<i4' 4 '(12,)' $(seq -12 -1)
    array far.npy '<u8' 8 '(12,)' -1 0 0 0 0 0 0 0 0 0 0 0
    array few_bools.npy '|b1' 1 '(2,)' 0 0
    echo text >text
    refuses 1 "values.npy by key: it has 12 elements, and few.npy has 2 keys" --by few.npy -o out.npy
    refuses 1 "it has 1 dimension of f32; give one of integers" --by floats.npy
    refuses 1 "it has 2 dimensions of i32; give one of integers" --by table.npy
    refuses 1 "it has 1 dimension of bool; give one of integers" --by bools.npy
    refuses 1 "below.npy: no key is 0 or more; give the number of keys by --keys" --by below.npy
    refuses 2 "cannot reduce by 18446744073709551615 keys" --by far.npy
    refuses 1 "cannot read keys from text: it is no .npy file" --by text
    refuses 1 "No such file" --by missing.npy
    refuses 2 "cannot print 65 results" --by keys.npy --keys 65
    refuses 2 "cannot use --axis with --by" --by keys.npy --axis 0
    refuses 1 "both must have the same shape" --by few.npy --where few_bools.npy
    refuses 2 "cannot use --keys without --by" --keys 3
    refuses 2 "cannot use --keys '0'" --by keys.npy --keys 0
    refuses 1 "one has i32 12, the other i32 2" few.npy --op dot --by keys.npy
    refuses 2 "it has two inputs; write redtune reduce FILE FILE" --op dot --by keys.npy
    run bash -c "cat keys.npy | '$redtune' reduce values.npy --by -"
    want_refused 2 "cannot find the greatest key of standard input: it is read once only"
    [ "$(cat out.npy)" = before ] || fail "out.npy was touched"
    { npy "'<i4'" '(2, 6)' 1 True; integers 4 12; } >values.npy
    refuses 1 "it is in Fortran order" --by few.npy
}

# Keys of absent elements make no results, but those of files with none count.
masks_leave_elements_out() {
    write_arrays
    array mask.npy '|b1' 1 '(12,)' 1 0 1 1 1 1 0 0 1 1 1 0
    reduces $'15\n0\n10\n0\n0\n3' --where mask.npy --keys 6
    reduces $'7.5\nnan\n3.3333333333333335' --op mean --where mask.npy --keys 3
    printf '\x3d\x07' >bits
    reduces $'15\n0\n10\n0\n0\n3' --where-bits bits --keys 6
    run "$redtune" reduce values.npy --by keys.npy --keys 3 --where mask.npy --json
    want_in_out '"by": "keys.npy"'
    want_in_out '"where": "mask.npy"'
    array values.npy '<i4' 4 '(3, 2)' 1 2 3 4 5 6
    array keys.npy '<u1' 1 '(3,)' 0 0 1
    array mask.npy '|b1' 1 '(3, 2)' 1 0 1 1 0 1
    reduces $'4 4\n0 6' --where mask.npy
}

two_files_have_keys_together() {
    write_arrays
    array others.npy '<i4' 4 '(12,)' 1 1 1 2 1 1 1 1 1 1 -3 1
    reduces $'-24\n0\n23\n0\n0\n17' others.npy --op dot --keys 6
    array mask.npy '|b1' 1 '(12,)' 1 0 1 1 1 1 0 0 1 1 1 0
    printf '\x3d\x07' >bits
    reduces $'-25\n0\n10\n0\n0\n6' others.npy --op dot --keys 6 --where mask.npy
    reduces $'-25\n0\n10\n0\n0\n6' others.npy --op dot --keys 6 --where-bits bits
    run "$redtune" reduce values.npy others.npy --op dot --by keys.npy --keys 3 --json
    want_in_out '"by": "keys.npy"'
    want_in_out '"second_file": "others.npy"'
}

have_gpu || { echo "skipped: no GPU" >&2; exit 77; }
check_run keys_say_which_elements_belong_together keys_of_all_integers_are_taken \
    rows_have_a_key_each masks_leave_elements_out two_files_have_keys_together raw_elements_and_standard_input_do what_cannot_be_is_refused
