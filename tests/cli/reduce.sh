# redtune reduce: the files it refuses, before it looks for a GPU.
. "${BASH_SOURCE%/*}/files.sh"
. "${BASH_SOURCE%/*}/check.sh"
export REDTUNE_CUDA_DRIVER=/nowhere/libcuda.so.1

# refuses "TEXT" ARGUMENT...
refuses() {
    local text=$1
    shift
    run "$redtune" reduce "$@"
    want_refused 1 "$text"
}

what_is_no_file_is_named() {
    refuses "cannot reduce no/such.npy: No such file or directory" no/such.npy
    refuses "cannot reduce .: Is a directory" .
}

unreadable_files_are_named() {
    integers 4 10 >secret
    chmod 0 secret
    [ -r secret ] && { skip "the superuser may read all"; return; }
    refuses "cannot reduce secret: Permission denied" secret --dtype i32
}

files_of_no_known_kind_ask_for_a_dtype() {
    integers 4 10 >raw
    : >empty
    refuses "cannot reduce raw: it is no .npy file; for raw elements give --dtype" raw
    refuses "cannot reduce empty: it is empty; for raw elements give --dtype" empty
}

bytes_over_are_counted() {
    integers 1 43 >raw
    refuses "its 43 bytes are 10 elements of f32 and 3 bytes over" raw --dtype f32
    refuses "its 43 bytes are 5 elements of i64 and 3 bytes over" raw --dtype i64
}

truncated_arrays_are_refused() {
    { npy "'<i4'" "(10,)"; integers 4 10; } >whole.npy
    head -c -1 whole.npy >short.npy
    refuses "truncated: 39 bytes of elements, where its .npy header promises 40" short.npy
    head -c 30 whole.npy >header.npy
    refuses "truncated: it ends within the .npy header" header.npy
    head -c 9 whole.npy >length.npy
    refuses "truncated: it ends within the .npy header's length" length.npy
}

arrays_that_go_on_are_refused() {
    { npy "'<i4'" "(10,)"; integers 4 11; } >long.npy
    refuses "it goes on after the array" long.npy
}

elements_that_are_no_numbers_are_refused() {
    npy "'<f16'" "(0,)" >longdouble.npy
    refuses "longdouble" longdouble.npy
    want_in_err "a.astype('f8')"
    npy "'|O'" "(0,)" >objects.npy
    refuses "Python objects" objects.npy
    npy "[('a', '<f4'), ('b', '<i4')]" "(0,)" >fields.npy
    refuses "structured" fields.npy
    npy "'<U5'" "(0,)" >text.npy
    refuses "no numbers" text.npy
    npy "'<c16'" "(0,)" >complex.npy
    refuses "its elements are NumPy's 'c16'; redtune reduces i8" complex.npy
}

bytes_without_a_dtype_ask_for_one() {
    npy "'<V2'" "(0,)" >bf16.npy
    npy "'<V1'" "(0,)" >e4m3.npy
    npy "'<f1'" "(0,)" >e5m2.npy
    refuses "NumPy's 'V2', as which it saves those of ml_dtypes; give --dtype bf16" bf16.npy
    refuses "give --dtype bf16" bf16.npy --dtype i16
    refuses "NumPy's 'V1' or 'f1', as which it saves" e5m2.npy
    refuses "give --dtype e4m3 or e5m2" e4m3.npy --dtype bf16
    refuses "give --dtype e4m3 or e5m2" e4m3.npy --dtype u8
    refuses "NumPy's 'V1' or 'f1': no integers, and no bools" e4m3.npy --dtype e4m3 --where e4m3.npy
}

damaged_headers_are_refused() {
    npy "'<f4'" "(3 4)" >broken.npy
    refuses ".npy header is damaged: expected ',' at byte 53" broken.npy
    npy "'<f4'" "(3,)" 7 >version.npy
    refuses "its .npy version is 7.0; redtune reads 1.0, 2.0 and 3.0" version.npy
}

another_dtype_than_the_headers_is_refused() {
    npy "'<f4'" "(0,)" >floats.npy
    refuses "its .npy header says f32, not f64; leave --dtype out" floats.npy --dtype f64
}

# NumPy gives floats of others.
truths_have_the_ops_that_fit_them() {
    { npy "'|b1'" "(3,)"; integers 1 3; } >truths.npy
    for op in norm2 sumsq ptp; do
        refuses "its elements are bool" truths.npy --op $op
    done
}

# refuses_usage "TEXT" ARGUMENT...
refuses_usage() {
    local text=$1
    shift
    run "$redtune" reduce "$@"
    want_refused 2 "$text"
}

axes_that_are_not_there_are_named() {
    { npy "'<i4'" "(2, 3)"; integers 4 6; } >matrix.npy
    { npy "'<i4'" "(3,)"; integers 4 3; } >list.npy
    integers 4 6 >raw
    refuses_usage "cannot use --axis 2: the array has 2 dimensions" matrix.npy --axis 2
    refuses_usage "cannot use --axis -2: the array has 1 dimension" list.npy --axis -2
    refuses_usage "axis 1 is named twice" matrix.npy --axis 1,-1
    refuses_usage "its .npy header has the array; leave --shape out" matrix.npy --shape 2x3
    refuses_usage "raw elements have none; give their array" raw --dtype i32 --axis 0
    refuses_usage "the array has 8 elements, the file 6 of i32" raw --dtype i32 --shape 2x4 --axis 0
    { npy "'<i4'" "(2, 0)"; } >none.npy
    refuses "there are no results" none.npy --axis 0
}

more_results_than_are_read_ask_for_a_file() {
    { npy "'|u1'" "(65, 2)"; integers 1 130; } >many.npy
    refuses_usage "cannot print 65 results, more than 64: write them to a file with -o" \
        many.npy --axis 1
    refuses_usage "both go to standard output" many.npy --axis 1 -o - --json
}

files_and_inputs_are_as_many() {
    { npy "'<i4'" "(2, 3)"; integers 4 6; } >matrix.npy
    refuses_usage "it has two inputs; write redtune reduce FILE FILE --op dot" matrix.npy --op dot
    refuses_usage "takes one FILE, and 'matrix.npy' is it: sum has one input" matrix.npy matrix.npy
    refuses_usage "cannot use 'c': redtune reduce takes two files for dot" a b c --op dot
    refuses_usage "cannot read two inputs from standard input" - - --op dot
}

files_of_two_inputs_are_alike() {
    { npy "'<i4'" "(2, 3)"; integers 4 6; } >matrix.npy
    { npy "'<i4'" "(3, 2)"; integers 4 6; } >other.npy
    { npy "'<i8'" "(2, 3)"; integers 8 6; } >wide.npy
    { npy "'<i4'" "(2, 3)" 1 True; integers 4 6; } >fortran.npy
    integers 4 6 >six
    integers 4 5 >raw
    refuses "one has i32 2x3, the other i32 3x2; both must have the same shape and dtype" \
        matrix.npy other.npy --op dot
    refuses "one has i32 2x3, the other i64 2x3" matrix.npy wide.npy --op dot
    refuses "one has i32 2x3, the other i32 5 elements" matrix.npy raw --dtype i32 --op dot
    refuses "one array is in Fortran order" six fortran.npy --dtype i32 --op dot
}

parameters_are_those_of_the_op() {
    { npy "'<i4'" "(2, 3)"; integers 4 6; } >matrix.npy
    refuses_usage "sum has no parameters" matrix.npy --parameter ddof=1
    refuses_usage "var has no parameter 'p'; it has ddof" matrix.npy --op var --parameter p=1
    for wrong in ddof ddof= =1 ddof=one "ddof=1 " "ddof= 1"; do
        refuses_usage "give a name and a number, such as ddof=1" matrix.npy --parameter "$wrong"
    done
}

each_result_has_a_file() {
    { npy "'<i4'" "(2, 3)"; integers 4 6; } >matrix.npy
    refuses_usage "name a file for mean and then one for var" \
        matrix.npy --op mean_var --axis 0 -o mean.npy
    refuses_usage "cannot write two results to a.npy" matrix.npy --op mean_var -o a.npy -o a.npy
    refuses_usage "sum has one result; name one file" matrix.npy --axis 0 -o a.npy -o b.npy
    refuses_usage "no op has more than two results" matrix.npy -o a -o b -o c
}

check_run what_is_no_file_is_named unreadable_files_are_named \
    files_of_no_known_kind_ask_for_a_dtype bytes_over_are_counted truncated_arrays_are_refused \
    arrays_that_go_on_are_refused elements_that_are_no_numbers_are_refused \
    bytes_without_a_dtype_ask_for_one damaged_headers_are_refused another_dtype_than_the_headers_is_refused \
    truths_have_the_ops_that_fit_them axes_that_are_not_there_are_named \
    more_results_than_are_read_ask_for_a_file files_and_inputs_are_as_many \
    files_of_two_inputs_are_alike parameters_are_those_of_the_op each_result_has_a_file
