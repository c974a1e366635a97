# The command line: its help, and what it says to a wrong one.
header=$(realpath "$2") # redtune.h
. "${BASH_SOURCE%/*}/check.sh"

help_lists_every_command() {
    run "$redtune" --help
    want_exit 0
    want_no_err
    for command in "tune " "reduce FILE" "emit " "doctor "; do want_in_out $'\n'"  $command"; done
    want_in_out "--version"
    [ "$(awk 'length > 100' stdout)" = "" ] || fail "a line is longer than 100 columns"
}

every_command_has_help() {
    for command in tune reduce emit doctor; do
        for option in --help -h; do
            run "$redtune" "$command" "$option"
            want_exit 0
            want_no_err
            want_in_out "Usage: redtune $command"
            want_in_out "--help"
            [ "$(awk 'length > 100' stdout)" = "" ] || fail "a line is longer than 100 columns"
        done
    done
}

help_lists_only_the_commands_own_options() {
    run "$redtune" emit --help
    want_in_out "--config"
    want_not_in_out "--device"
    want_not_in_out "--again"
    run "$redtune" tune --help
    want_in_out "--size"
    want_not_in_out "--config"
}

version_is_the_headers() {
    run "$redtune" --version
    want_exit 0
    want_out "redtune $(sed -n 's/^#define REDTUNE_VERSION "\(.*\)"/\1/p' "$header")"
}

# refuses "ARGUMENTS" "TEXT"
refuses() {
    run "$redtune" $1
    want_refused 2 "$2"
}

wrong_commands_are_named() {
    refuses "tnue" "'tnue' is no command; did you mean tune?"
    refuses "frobnicate" "'frobnicate' is no command; redtune --help lists them"
    run "$redtune" ""
    want_refused 2 "'' is no command"
}

wrong_ops_are_named() {
    refuses "show --op summ" "cannot use op 'summ': no such op; did you mean sum? redtune show ops lists them"
    refuses "show --op foo" "cannot use op 'foo': no such op; use sum, prod"
    refuses "show --op frobnicate" "cannot use op 'frobnicate': no such op; use sum, prod, "
}

wrong_options_are_named() {
    refuses "--sise 1K" "'--sise' is no option of redtune tune; did you mean --size?"
    refuses "explain --siz 5" "did you mean --size?"
    refuses "explain --acc exact" "did you mean --accuracy?"
    refuses "doctor --sizes" "'--sizes' is no option of redtune doctor; redtune doctor --help"
    refuses "--config block=256" "'--config' is no option of redtune tune"
    refuses "emit --device 0" "'--device' is no option of redtune emit"
    refuses "-x" "'-x' is no option"
    refuses "-qx" "'-qx' is no option"
    refuses "tune --version" "'--version' is no option"
    refuses "--json=yes" "--json=yes: it takes no value"
}

missing_values_are_named() {
    refuses "--size" "cannot use --size: its value is missing; write --size SIZES"
    refuses "--db --json" "cannot use --db: its value is missing"
    refuses "--db=" "cannot use --db ''"
    refuses "reduce" "no FILE is given; write redtune reduce FILE"
}

wrong_values_are_named() {
    refuses "--size 1X" "'1X' is no size; give a whole number of elements"
    refuses "--size 0" "'0' is no size"
    refuses "--size 8K..1K" "'8K..1K' runs backwards"
    refuses "--op sum,product" "'product'"
    refuses "--dtype f33" "'f33'"
    refuses "--dtype f32,,f64" "''"
    many=$(printf 'f32,%.0s' {1..32})f32
    refuses "--dtype $many" "cannot use --dtype '$many': too many names"
    refuses "--device -1" "'-1': give numbers such as 0"
    refuses "--device --json" "--device: its value is missing"
    refuses "--device=-1" "'-1': give numbers such as 0"
    refuses "--device 0,,1" "'0,,1': give numbers such as 0"
    refuses "--device sim,0" "'sim,0': give numbers such as 0"
    refuses "--device cuda:0" "'cuda:0': give numbers such as 0"
    refuses "ladder --device 0,1" "'0,1': give one device"
    refuses "reduce --device 0,x file" "'0,x': give numbers such as 0"
    refuses "--effort most" "'most': use quick, standard or exhaustive"
    refuses "--budget 0" "'0': give seconds"
    refuses "--limit 5d" "'5d': give seconds"
    refuses "--seed x" "'x': give a whole number"
    refuses "--shard 3/3" "parts count from 0"
    refuses "--shard 1" "'1': write a part and their number"
    refuses "emit --size 1kb" "'1kb': give a whole number of elements"
    refuses "emit --dtype f32,f64" "'f32,f64'"
}

shapes_that_make_no_sense_are_named() {
    refuses "--size 1K --shape 4x4 --axis 1" "cannot use --size with --shape"
    refuses "--size 1K --rows 4 --cols 4 --axis 1" "cannot use --size with --rows"
    refuses "--size 1K --axis 1" "cannot use --size with --axis"
    refuses "--shape 4x4 --rows 4 --cols 4 --axis 1" "cannot use --shape with --rows"
    refuses "--rows 4 --axis 1" "cannot use --rows without --cols: a matrix has both"
    refuses "--cols 4 --axis 1" "cannot use --cols without --rows: a matrix has both"
    refuses "--rows 4 --cols 4" "without --axis: give --axis 1 to reduce each row"
    refuses "--rows 4 --cols 4 --axis 2" "with --axis of other axes: give --axis 1"
    refuses "--rows 4 --cols 4 --axis 0,1" "with --axis of other axes: give --axis 1"
    refuses "--rows 4.. --cols 4 --axis 1" "cannot use --rows: '4..' is no size"
    refuses "--axis 2" "cannot use --axis alone for other axes than 0"
    refuses "--axis 1,-1" "cannot use --axis alone for other axes than 0"
    refuses "--axis x" "cannot use --axis: 'x' names no axes"
    refuses "--shape 4x4,4xx4 --axis 1" "cannot use --shape: '4xx4' is no array"
    refuses "--shape 4x4 --axis 2" "it has 2 dimensions and no axis 2"
    refuses "--shape 4x4,4 --axis 1" "it has 1 dimensions and no axis 1"
    refuses "--shape 4x4 --axis 1,-1" "axis -1 is named twice"
}

recordings_name_the_problems() {
    echo '{"redtune_recording":1}' >empty
    for option in "--op sum" "--dtype f32" "--size 1K" "--shape 4x4" "--axis 1" "--rows 4"; do
        refuses "--recorded empty $option" "with --recorded: the recording names the problems"
    done
    run "$redtune" --recorded empty
    want_refused 1 "cannot take what empty recorded: it names no problem"
    run "$redtune" --recorded no/such
    want_refused 1 "no/such"
}

words_too_many_are_named() {
    refuses "tune 0" "cannot use '0': redtune tune takes only options"
    refuses "emit -- -x" "cannot use '-x'"
    refuses "reduce a b" "cannot use 'b': redtune reduce takes one FILE, and 'a' is it"
}

messages_do_not_steer_the_terminal() {
    run "$redtune" $'--\033[2J'
    want_refused 2 "--?[2J"
    run "$redtune" reduce $'no\nfile'
    want_refused 1 "no?file"
}

a_full_disk_is_noticed() {
    [ -c /dev/full ] || { skip "no /dev/full"; return; }
    ran="redtune emit >/dev/full"
    "$redtune" emit >/dev/full 2>stderr
    code=$?
    err=$(cat stderr)
    : >stdout
    want_refused 1 "cannot write the result: No space left on device"
    # Of more than is held back the first part fails before the end.
    ran="redtune show --shipped --gpu H200 >/dev/full"
    env -u REDTUNE_SYSTEM_DB "$redtune" show --shipped --gpu H200 >/dev/full 2>stderr
    code=$?
    err=$(cat stderr)
    want_refused 1 "cannot write the result: No space left on device"
}

check_run help_lists_every_command every_command_has_help \
    help_lists_only_the_commands_own_options version_is_the_headers wrong_commands_are_named \
    wrong_ops_are_named wrong_options_are_named missing_values_are_named wrong_values_are_named \
    shapes_that_make_no_sense_are_named recordings_name_the_problems \
    words_too_many_are_named messages_do_not_steer_the_terminal a_full_disk_is_noticed
