# Which GPU show, explain, report and export are about: on a machine with given GPUs, over a user's
# database of given GPUs and one that redtune comes with.
gpus=$(realpath "$2") # a driver whose devices $TEST_GPUS names
here=$(realpath "${BASH_SOURCE%/*}")
. "$here/check.sh"
. "$here/facts.sh"
. "$here/files.sh"

# on GPUS COMMAND...: runs it on a machine with these GPUs; "-": with none.
on() {
    local letters=$1
    shift
    if [ "$letters" = - ]; then
        run env REDTUNE_CUDA_DRIVER=/nowhere "$@"
    else
        run env REDTUNE_CUDA_DRIVER="$gpus" TEST_GPUS="$letters" "$@"
    fi
}

databases() {
    # What redtune comes with: an H200, of which the user may have rows, too.
    facts shipped.db <<'LINES'
templates=here gpu=L median_ns=1000 block=128 date=1600000000
templates=here gpu=L count=2097152 median_ns=1900 block=128 date=1600000000
LINES
    facts a100.db <<<"templates=here gpu=A date=1700000000"
    facts h100.db <<<"templates=here gpu=H date=1700000000"
    facts both.db <<'LINES'
templates=here gpu=A block=128 date=1700000000
templates=here gpu=H block=64 date=1700000001
LINES
    facts imported.db <<<"templates=here gpu=A imported=1 date=1700000000"
    facts h200.db <<<"templates=here gpu=L median_ns=3000 is_default=1"
    export REDTUNE_SYSTEM_DB=shipped.db
}

# all_are_about GPU MACHINE DATABASE OPTION...: all four are about that GPU and no other.
all_are_about() {
    local gpu=$1 machine=$2 database=$3 other
    shift 3
    on "$machine" "$redtune" explain --db "$database" "$@"
    want_exit 0
    want_in_out "sum of 1048576 f32 on $gpu"$'\n'
    lists_about "$gpu" "$machine" "$database" "$@"
}
lists_about() {
    local gpu=$1 machine=$2 database=$3 other
    shift 3
    on "$machine" "$redtune" show --db "$database" "$@"
    want_exit 0
    [[ $out == "$gpu, compute"* ]] || fail "it is not about $gpu first"
    for other in "Test A100" "Test H100" "Test H200"; do
        [ "$other" = "$gpu" ] || want_not_in_out "$other,"
    done
    on "$machine" "$redtune" report --db "$database" "$@"
    want_exit 0
    want_in_out "<h1>$gpu</h1>"
    case " $* " in *" --gpu "* | *" --shipped "*) return ;; esac
    on "$machine" "$redtune" export --winners --format json --db "$database" "$@"
    want_exit 0
    [ "$(grep -o '"gpu":"[^"]*"' stdout | sort -u)" = "\"gpu\":\"$gpu\"" ] || fail "not $gpu's"
}

the_gpu_of_this_machine() {
    all_are_about "Test H100" H both.db
    all_are_about "Test A100" A both.db
    all_are_about "Test A100" AH both.db
    all_are_about "Test H100" HA both.db
    lists_about "Test H100" LH both.db
    # Nobody tuned device 0: a program there gets what is nearest, and the rows are the other's.
    on LH "$redtune" explain --db both.db
    want_in_out "on Test H200"$'\n'
}

without_one_the_last_that_was_measured() {
    all_are_about "Test H100" - both.db
    all_are_about "Test A100" - a100.db
    all_are_about "Test A100" - imported.db
    # Nor is there a row of this machine's.
    lists_about "Test H100" L both.db
}

# A program on an H100 gets the nearest GPU's; the user sees that it is another's.
explain_goes_by_the_gpu_that_programs_run_on() {
    on H "$redtune" explain --db none.db
    want_exit 0
    want_in_out "sum of 1048576 f32 on Test H100"$'\n'
    want_in_out "nearest GPU"
    want_in_out "on Test H200 at size 1M"
    on H "$redtune" explain --db imported.db
    want_in_out "sum of 1048576 f32 on Test H100"$'\n'
    on HA "$redtune" explain --db a100.db --device 1
    want_in_out "sum of 1048576 f32 on Test A100"$'\n'
    on HA "$redtune" explain --db a100.db --device 2
    want_refused 2 "there are 2 GPUs; use 0 to 1"
}

what_was_imported_is_shown_where_nothing_else_is() {
    lists_about "Test A100" H imported.db
    on H "$redtune" show --db imported.db --all
    want_in_out elsewhere
}

# Also where it is of the same model as the user's.
shipped_rows_appear_when_they_are_asked_for() {
    on L "$redtune" show --db h200.db
    want_in_out "sum  f32      1M"
    want_not_in_out " 2M "
    want_in_out block=256
    on L "$redtune" show --db h200.db --shipped
    want_in_out " 2M "
    on L "$redtune" show --db h200.db --all --shipped
    want_in_out shipped
    want_in_out here
    on L "$redtune" show --db h200.db --all --gpu h200
    want_in_out shipped
    all_are_about "Test H200" H both.db --shipped
    all_are_about "Test H200" - none.db --shipped
    all_are_about "Test H200" - h100.db --gpu h200
    on H "$redtune" show --db h100.db --shipped --json
    want_in_out '"shipped": true'
}

nothing_is_said_plainly() {
    for machine in - H; do
        on $machine "$redtune" show --db none.db
        want_exit 0
        want_no_out
        want_in_err "nothing is measured in none.db yet"
        want_in_err --shipped
        on $machine "$redtune" report --db none.db
        want_refused 2 "nothing is measured in none.db yet"
        want_in_err --shipped
        on $machine "$redtune" export --winners --db none.db --format json
        want_refused 1 "no measurement is there for this"
    done
    on - "$redtune" explain --db none.db
    want_refused 2 "nothing is measured in none.db yet"
    want_in_err --shipped
}

# The whole name goes before a longer one, in any case; a part must be of one name only.
names_are_given_in_part() {
    facts names.db <<'LINES'
templates=here gpu=H date=1700000000
templates=here gpu=S date=1700000009
templates=here gpu=A date=1700000005
LINES
    for machine in - S; do
        for name in "Test H100" "test h100"; do
            all_are_about "Test H100" $machine names.db --gpu "$name"
        done
        all_are_about "Test H100 part" $machine names.db --gpu "0 PART"
        all_are_about "Test A100" $machine names.db --gpu a1
        for command in show explain report "export --format json"; do
            # shellcheck disable=SC2086
            on $machine "$redtune" $command --db names.db --gpu h100
            want_refused 2 "'h100' may be Test H100, Test H100 part"
            on $machine "$redtune" $command --db names.db --gpu V100
            want_refused 2 "no GPU has 'V100' in its name"
            want_in_err "Test A100"
        done
    done
}

all_of_them_when_asked_for() {
    on H "$redtune" show --db both.db --gpu all
    want_in_out "Test A100, "
    want_in_out "Test H100, "
    want_not_in_out "Test H200"
    on H "$redtune" show --db both.db --gpu all --shipped
    want_in_out "Test H200, "
    on H "$redtune" export --db both.db --format json
    [ "$(wc -l <stdout)" -eq 3 ] || fail "not all of the user's rows"
    # Whoever is shown one is told of the others.
    on H "$redtune" show --db both.db
    want_in_err "measured, too: Test A100; --gpu NAME shows"
    on H "$redtune" show --db both.db -q
    want_no_err
}

# A ladder stands under the heading of the GPU that it ran on.
a_report_of_a_device_is_about_that_device() {
    facts sim.db <<<"templates=here gpu=A"
    on A "$redtune" report --db sim.db --device sim --gpu A100
    want_refused 2 "cannot use --gpu with --device"
    on A "$redtune" report --db sim.db --device sim
    want_exit 0
    want_in_out "<h1>redtune simulated GPU</h1>"
    want_in_out "3b neighbours"
    want_in_out "The databases also have Test A100"
}

tuned() { "$redtune" --device sim --op sum --dtype f32 --size 32 --effort quick -q "$@"; }

a_machine_has_the_label_that_it_is_given() {
    run tuned --db label.db --machine "rack 7"
    want_exit 0
    run "$redtune" show --all --db label.db --json
    [ "$(grep '"machine"' stdout | sort -u)" = '      "machine": "rack 7",' ] || fail "another label"
    run "$redtune" explain --db label.db --device sim --count 32
    want_in_out ", machine rack 7"
    run tuned --db bad.db --machine 'a$b'
    want_refused 2 "cannot label the machine 'a\$b'"
    run tuned --db bad.db --machine "$(printf 'm%.0s' {1..64})"
    want_refused 2 "at most 63 bytes"
    [ ! -e bad.db ] || fail "something was stored"
}

# A GPU whose driver says nothing of being one in software, and takes no cubin.
a_driver_that_refuses_cubins_is_given_ptx() {
    integers 4 5 >numbers
    on H "$redtune" reduce numbers --dtype i32 --device 0 --db none.db -v
    want_exit 0
    want_out 10
}

databases
check_run a_machine_has_the_label_that_it_is_given the_gpu_of_this_machine without_one_the_last_that_was_measured \
    explain_goes_by_the_gpu_that_programs_run_on what_was_imported_is_shown_where_nothing_else_is \
    shipped_rows_appear_when_they_are_asked_for nothing_is_said_plainly names_are_given_in_part \
    all_of_them_when_asked_for a_report_of_a_device_is_about_that_device \
    a_driver_that_refuses_cubins_is_given_ptx
