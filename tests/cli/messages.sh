# What the command says of what it did, and what it advises: each is true of that very run.
here=$(realpath "${BASH_SOURCE%/*}")
. "$here/files.sh"
. "$here/check.sh"
. "$here/facts.sh"
command -v python3 >/dev/null || { echo "skipped: no python3" >&2; exit 77; }

small=("$redtune" --device sim --dtype f32 --size 64 --effort quick --db small.db)

one_problem_is_no_problems() {
    run "${small[@]}"
    want_exit 0
    want_in_err "redtune: 1 problem, 0 of them measured before; "
    run "${small[@]}" --size 64,128
    want_in_err "redtune: 2 problems, "
}

a_budget_tells_what_it_left() {
    run "$redtune" --device sim --dtype f32 --size 64 --effort exhaustive --budget 0.1s --db all.db
    want_exit 0
    want_in_err "redtune: the budget was enough for "
    local least=$(sed -n 's/^redtune: the budget was enough for \([0-9]*\) of \([0-9]*\) .*/\1 \2/p' stderr)
    (( ${least% *} > 0 && ${least% *} < ${least#* } )) || fail "not some of them: $least"
    run "${small[@]}" --again
    grep -q "the budget" stderr && fail "there was none"
}

# Without shapes, --axis names the library's own: both axes of each, not both at once.
axes_alone_are_rows_and_then_columns() {
    run "$redtune" tune --device sim --dtype f32 --axis 1,0 --effort quick --budget 1s --db axes.db
    want_exit 0
    local of_axis=$(sed -n 's/^redtune: [1-6]\/6 sum of .* along axis \([01]\):.*/\1/p' stderr)
    [ "${of_axis//$'\n'/ }" = "1 1 1 0 0 0" ] || fail "not three rows and three columns"
}

help_is_a_command() {
    run "$redtune" --help
    cp stdout whole
    run "$redtune" help
    want_exit 0
    want_no_err
    cmp -s stdout whole || fail "it is not the text of --help"
    run "$redtune" export --help
    cp stdout whole
    run "$redtune" help export
    want_exit 0
    cmp -s stdout whole || fail "it is not the text of export --help"
    run "$redtune" help exprot
    want_refused 2 "'exprot' is no command; did you mean export?"
    run "$redtune" help export import
    want_refused 2 "cannot use 'import'"
}

every_command_may_be_quiet() {
    for command in tune reduce emit show ladder explain report export import merge undo compare \
        verify doctor; do
        run "$redtune" "$command" --help
        want_in_out "-q, --quiet"
    done
    run "$redtune" emit -q
    want_exit 0
    want_no_err
    run "$redtune" doctor -q
    want_no_err
}

negative_values_are_values() {
    for option in limit budget; do
        run "$redtune" --$option -1
        want_refused 2 "cannot use --$option '-1': give seconds"
    done
    run "$redtune" --seed -1
    want_refused 2 "cannot use --seed '-1': give a whole number"
    run "$redtune" --size -4K
    want_refused 2 "'-4K' is no size"
    run "$redtune" --size --json
    want_refused 2 "cannot use --size: its value is missing"
}

merge_names_the_database() {
    "${small[@]}" -q >/dev/null
    run "$redtune" merge all.db small.db
    want_exit 0
    want_in_out "redtune show --db all.db --gpu all lists them"
    run "$redtune" merge
    want_refused 2 "write redtune merge OUT IN..."
}

an_import_of_refused_rows_fails() {
    "${small[@]}" -q >/dev/null
    run "$redtune" export --db small.db --format json -o good.json
    sed 's/"median_ns": *[0-9.e+-]*/"median_ns": 0.001/' good.json >bad.json
    run "$redtune" import --db other.db bad.json
    want_exit 1
    want_in_out "measurements: 0 new, 0 there before, "
    want_in_err "refused"
    run "$redtune" import --db other.db bad.json good.json
    want_exit 0
    run "$redtune" import --db other.db bad.json --json
    want_exit 1
}

verify_says_what_would_help() {
    "${small[@]}" -q >/dev/null
    run "$redtune" verify --device sim --db small.db --op max
    want_exit 0
    want_in_err "redtune tune --device sim --op max measures"
    run "$redtune" verify --device sim --db small.db --op max --dtype i32 --count 4096
    want_in_err "redtune tune --device sim --op max --dtype i32 --size 4K measures"
    rm -f none.db
    run "$redtune" verify --device sim --db none.db
    want_in_err "redtune tune --device sim measures"
}

only_the_command_advises_its_options() {
    run env REDTUNE_CUDA_DRIVER=/nowhere/libcuda.so.1 "$redtune" --device 0
    want_refused 1 "or use the simulated GPU: --device sim"
    run env -u REDTUNE_CUDA_DRIVER LD_LIBRARY_PATH= "$redtune" doctor # it prints the library's words
    want_not_in_out "--device sim"
}

a_pinned_config_says_so() {
    { npy "'<i4'" "(10,)"; integers 4 10; } >ten.npy
    run env REDTUNE_CONFIG=block=64 "$redtune" reduce --device sim -v ten.npy
    want_exit 0
    want_in_err "block=64,vec=4,unroll=4,load=no_allocate,tail=shuffle,finish=single,per_sm=1, pinned"
    [[ $err != *"0 elements"* && $err != *" on "$'\n'* ]] || fail "it tells of where it was tuned"
}

wrong_settings_of_the_simulator_are_refused() {
    run env REDTUNE_SIM_CAPABILITY=7.0 "${small[@]}"
    want_exit 1
    want_no_out
    want_in_err "REDTUNE_SIM_CAPABILITY='7.0' cannot be used: it takes 9.0, 90 or sm_90, from 7.5 on"
    run env REDTUNE_SIM_SMS=none "${small[@]}"
    want_exit 1
    want_in_err "REDTUNE_SIM_SMS='none' cannot be used"
}

the_first_cause_is_told_where_nothing_is_right() {
    cp -r "$here/../../templates" broken
    sed -i 's/return @{op.map("x", "y")};/return @{op.map("x", "y")} + 1;/' broken/lib/take.cu
    run env REDTUNE_TEMPLATES="$folder/broken" \
        "$redtune" --device sim --dtype f32 --size 64 --effort quick --db wrong.db
    want_exit 1
    want_in_err "cannot tune sum of 64 f32: none of "
    want_in_err "; the first: "
    want_in_err "wrong result: "
    cp stderr first
    run env REDTUNE_TEMPLATES="$folder/broken" \
        "$redtune" --device sim --dtype f32 --size 64 --effort quick --db wrong.db
    cmp -s stderr first || fail "a second tune gives another cause"
}

check_run one_problem_is_no_problems a_budget_tells_what_it_left axes_alone_are_rows_and_then_columns help_is_a_command \
    every_command_may_be_quiet \
    negative_values_are_values merge_names_the_database an_import_of_refused_rows_fails \
    verify_says_what_would_help only_the_command_advises_its_options a_pinned_config_says_so \
    wrong_settings_of_the_simulator_are_refused the_first_cause_is_told_where_nothing_is_right
