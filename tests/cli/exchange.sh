# redtune export, import, merge and undo, on databases of given measurements.
here=$(realpath "${BASH_SOURCE%/*}")
. "$here/check.sh"
. "$here/facts.sh"
shipped=$here/../../data/shipped.db

# dump DATABASE FILE: all that is in it.
dump() { "$redtune" export --format json --db "$1" -o "$2"; }

same_files() { cmp -s "$1" "$2" || fail "$1 and $2 differ"; }

# Of what the facts before made nothing is left but the empty database.
fresh() { find . -mindepth 1 ! -name here.db ! -name stdout ! -name stderr -delete; }

three_measurements() {
    facts "$1" <<'LINES'
templates=here median_ns=3000 is_default=1
templates=here median_ns=2000 block=512 unroll=2
templates=here median_ns=900 block=64 dtype=i32 result=i64 count=4096 gpu=A
LINES
}

what_is_exported_comes_back() {
    fresh
    three_measurements whole.db
    for format in sqlite json; do
        run "$redtune" export --db whole.db --format $format -o file.$format
        want_exit 0
        want_no_out
        want_one_line
        want_in_err "3 measurements of Test A100, Test H100 written to file.$format"
        rm -f new.db
        run "$redtune" import file.$format --db new.db
        want_exit 0
        want_no_err
        want_out "measurements: 3 new, 0 there before, 0 refused
winners: 2 changed; redtune show --db new.db --gpu all lists them"
        for again in sqlite json; do
            run "$redtune" export --db new.db --format $again -o again.$again
        done
        run "$redtune" import file.$format --db whole.db
        want_exit 0
        want_out "measurements: 0 new, 3 there before, 0 refused
winners: 0 changed"
        dump whole.db whole.json
        same_files whole.json again.json
        same_files "file.$format" "again.$format"
    done
    run "$redtune" export --db whole.db --winners --gpu h100 -o winners.db
    want_in_err "1 winner of Test H100, with what the default took, written to winners.db"
    run "$redtune" export --db whole.db -q -o quiet.db
    want_no_err
    "$redtune" export --db whole.db >piped.db
    same_files piped.db file.sqlite
    run_input file.json "$redtune" import - --db piped.db
    want_in_out "0 new, 3 there before"
}

an_export_has_the_filters_of_show() {
    fresh
    three_measurements whole.db
    for filter in "--gpu h100" "--op sum --count 1M" "--dtype f32" "--winners --gpu all" "--winners --gpu a100"; do
        # shellcheck disable=SC2086
        run "$redtune" export --db whole.db --format json $filter
        want_exit 0
        case $filter in
        "--winners --gpu all") lines=4 ;; # and what the default took
        "--winners --gpu a100") lines=2 ;;
        *) lines=3 ;;
        esac
        [ "$(wc -l <stdout)" -eq $lines ] || fail "not $lines lines with $filter"
    done
    run "$redtune" export --db whole.db --format json --op max
    want_refused 1 "no measurement is there for this"
    run "$redtune" export --db whole.db --format json --gpu nowhere
    want_refused 2 "no GPU has 'nowhere' in its name"
}

an_export_has_the_systems_rows_where_show_has_them() {
    fresh
    three_measurements system.db
    facts own.db <<<"templates=here count=4096 median_ns=1500"
    run env REDTUNE_SYSTEM_DB=system.db "$redtune" show --all --db own.db --gpu all --shipped --json
    [ "$(grep -c '"op"' stdout)" -eq 4 ] || fail "the system's rows are not shown"
    run env REDTUNE_SYSTEM_DB=system.db "$redtune" export --db own.db --format json
    [ "$(wc -l <stdout)" -eq 2 ] || fail "not one row"
    for gpu in h100 a100; do # a model's name counts as in show
        run env REDTUNE_SYSTEM_DB=system.db "$redtune" show --all --db own.db --gpu $gpu --json
        local shown=$(grep -c '"op"' stdout)
        run env REDTUNE_SYSTEM_DB=system.db "$redtune" export --db own.db --gpu $gpu --format json
        [ "$(grep -c '"op"' stdout)" -eq "$shown" ] || fail "not the $shown rows that are shown"
    done
}

a_shown_problem_has_the_axes_of_its_export() {
    fresh
    facts axes.db <<'LINES'
templates=here count=4096
templates=here count=1000 outer=64 family=rows
templates=here count=1000 outer=64 outer_step=1024 family=rows
templates=here count=512 outer=8 inner=100 family=columns
LINES
    run "$redtune" export --db axes.db --format json
    mv stdout exported.json
    run "$redtune" show --all --db axes.db --gpu all --json
    want_exit 0
    python3 - <<'PY' || fail "other axes than those of the export"
import json
def axes(rows):
    return sorted((row["layout"], row["kept"], row["reduced"]) for row in rows)
exported = axes([json.loads(line) for line in open("exported.json")][1:])
def rows(value):
    if isinstance(value, list):
        return [row for each in value for row in rows(each)]
    if not isinstance(value, dict):
        return []
    return [value] if "kept" in value else rows(list(value.values()))
shown = axes(rows(json.load(open("stdout"))))
assert len(exported) == 4 and shown == exported, (shown, exported)
PY
}

an_export_replaces_a_file_whole() {
    fresh
    three_measurements whole.db
    echo old >file.db
    ln -sf file.db link.db
    run "$redtune" export --db whole.db -o link.db
    want_exit 0
    [ -L link.db ] || fail "the link was replaced"
    run "$redtune" show --db file.db
    want_exit 0
    want_in_out "Test A100"
    chmod 640 file.db
    run "$redtune" export --db whole.db -o file.db
    [ "$(stat -c %a file.db)" = 640 ] || fail "the file has another mode now"
    ln -sf nothing.db dangling.db
    run "$redtune" export --db whole.db -o dangling.db
    want_refused 1 "cannot write dangling.db: it is a link to a file that is not there"
    [ -L dangling.db ] && [ ! -e nothing.db ] || fail "the link was followed or replaced"
    rm dangling.db
    mkdir -p folder
    run "$redtune" export --db whole.db -o folder
    want_refused 1 "cannot write folder: Is a directory"
    run "$redtune" export --db whole.db -o nowhere/file.db
    want_refused 1 "cannot write nowhere/file.db: No such file"
    cp whole.db copy.db
    run "$redtune" export --db whole.db -o ./whole.db
    want_refused 2 "it is a database that is exported from"
    same_files whole.db copy.db
    [ -z "$(find . -name '*.db.*')" ] || fail "a file was left beside"
    mkfifo pipe
    cat pipe >piped.json &
    local reader=$!
    run "$redtune" export --db whole.db --format json -o pipe
    wait "$reader"
    [ "$(wc -l <piped.json)" -eq 4 ] || fail "the pipe did not get it"
}

# SQLite would roll that journal back into the new file.
an_export_takes_no_place_beside_a_journal() {
    fresh
    three_measurements whole.db
    cp whole.db other.db
    echo "a write that was cut short" >other.db-journal
    ln -sf other.db link.db
    for to in other.db link.db; do
        run "$redtune" export --db whole.db -o $to
        want_exit 1
        want_in_err "cannot export to $to: a journal lies beside it"
        same_files whole.db other.db
    done
    run "$redtune" export --db whole.db --format json -o other.db
    want_exit 0
}

a_database_does_not_go_to_a_terminal() {
    fresh
    three_measurements whole.db
    on_terminal seen "$redtune" export --db whole.db
    code=$? ran="export on a terminal"
    want_exit 2
    tr '\r\n' '  ' <seen | grep -q "cannot export a database to a terminal.*-o FILE" || fail "no remedy: $(cat seen)"
    on_terminal seen "$redtune" export --db whole.db --format json
    code=$?
    want_exit 0
    run "$redtune" export --db whole.db --format json
    same_files seen stdout
}

a_dry_run_changes_nothing() {
    fresh
    three_measurements whole.db
    facts mine.db <<<"templates=here median_ns=2500 is_default=1"
    cp mine.db copy.db
    run "$redtune" import whole.db --db mine.db --dry-run
    want_exit 0
    want_no_err
    want_out "measurements: 3 new, 0 there before, 0 refused
winners: 2 would change

GPU        op   dtype  size  L2    before    us   gain  winner
Test A100  sum  i32      4K  cold       -  0.90      -  block=64,vec=4,unroll=4,load=no_allocate,
                                                        tail=shuffle,finish=poll,per_sm=4
Test H100  sum  f32      1M  cold    2.50  2.00  1.25x  block=512,vec=4,unroll=2,load=no_allocate,
                                                        tail=shuffle,finish=poll,per_sm=4"
    same_files mine.db copy.db
    run "$redtune" merge mine.db whole.db --dry-run --json
    want_exit 0
    python3 - stdout <<'PY' || fail "the JSON is not as it should be"
import json, sys
told = json.load(open(sys.argv[1]))
assert told["dry_run"] is True and told["new"] == 3 and told["same"] == 0 and told["refused"] == 0
assert [w["count"] for w in told["winners"]] == [4096, 1048576], told
assert told["winners"][1]["before_ns"] == 2500 and told["winners"][1]["after_ns"] == 2000
PY
    same_files mine.db copy.db
    run "$redtune" import whole.db --db none.db --dry-run
    want_exit 0
    run "$redtune" merge none.db whole.db --dry-run
    want_exit 0
    [ ! -e none.db ] || fail "a dry run made the database"
}

# Not the changed winners one by one, but for programs.
an_import_is_told_in_short() {
    fresh
    three_measurements whole.db
    run "$redtune" merge all.db whole.db
    want_exit 0
    want_out "measurements: 3 new, 0 there before, 0 refused
winners: 2 changed; redtune show --db all.db --gpu all lists them"
    run "$redtune" import whole.db --db new.db --json
    want_exit 0
    [ "$(grep -c '"after_ns"' stdout)" -eq 2 ] || fail "the JSON does not list the two winners"
}

what_is_refused_is_told() {
    fresh
    three_measurements whole.db
    facts whole.db <<'LINES'
templates=here median_ns=0.5 count=2097152
templates=here median_ns=4000 block=3
LINES
    run "$redtune" import whole.db --db new.db
    want_exit 0
    want_in_out "measurements: 3 new, 0 there before, 2 refused"
    want_in_err "whole.db: refused 1: it claims a time below what its GPU's memory allows"
    want_in_err "whole.db: refused 1: its config is not in the templates' space"
    run "$redtune" import whole.db --db new.db --json
    want_no_err
    want_in_out '"refused": 2'
    want_in_out '"reason": "its config'
}

undo_takes_the_last_import_back() {
    fresh
    three_measurements first.db
    facts second.db <<<"templates=here median_ns=1900 block=128"
    facts mine.db <<<"templates=here median_ns=2500 is_default=1"
    dump mine.db before
    run "$redtune" import first.db --db mine.db
    dump mine.db between
    run "$redtune" import second.db first.db --db mine.db
    want_in_out "1 new, 3 there before"
    run "$redtune" undo --db mine.db
    want_exit 0
    want_no_err
    want_out "1 measurement taken back that came from second.db"
    dump mine.db after
    same_files between after
    run "$redtune" undo --db mine.db --json
    want_in_out '"source": "first.db"'
    want_in_out '"removed": 3'
    dump mine.db after
    same_files before after
    run "$redtune" undo --db mine.db
    want_refused 1 "nothing was imported into this database"
    run "$redtune" undo --db none.db
    want_refused 1 "nothing was imported into this database"
    [ ! -e none.db ] || fail "undo made a database"
}

a_merge_counts_as_measured() {
    fresh
    three_measurements one.db
    facts two.db <<<"templates=here median_ns=1900 block=128 imported=1"
    rm -f out.db
    run "$redtune" merge out.db one.db two.db one.db
    want_exit 0
    want_in_out "measurements: 4 new, 3 there before, 0 refused"
    dump out.db once
    run "$redtune" show --all --db out.db --gpu all --op sum
    [ "$(grep -c elsewhere stdout)" -eq 1 ] || fail "not one row is imported"
    run "$redtune" merge out.db out.db two.db one.db
    want_exit 0
    want_in_out "measurements: 0 new"
    dump out.db twice
    same_files once twice
    run "$redtune" import one.db --db imported.db
    run "$redtune" merge imported.db one.db
    want_in_out "measurements: 0 new, 3 there before"
    run "$redtune" show --all --db imported.db --gpu all
    want_not_in_out elsewhere
    run "$redtune" undo --db imported.db
    want_refused 1 "nothing was imported"
}

# Be it by a quick look, which wins nothing, and in whichever of the databases.
a_claim_does_not_bring_back_what_was_slow_here() {
    fresh
    facts here.own <<'LINES'
templates=here median_ns=3000 is_default=1
templates=here median_ns=5000 block=512 samples=9
LINES
    facts there.db <<<"templates=here median_ns=60 count=1024 block=64
templates=here median_ns=1500 block=512"
    cp here.own mine.db
    run "$redtune" import there.db --db mine.db
    want_in_out "winners: 1 changed" # that of 1K
    facts beside.db <<<"templates=here median_ns=1500 block=512 imported=1"
    for db in mine.db here.own:beside.db beside.db:here.own; do
        run "$redtune" show --db $db --count 1M
        want_in_out "3.00"
        want_not_in_out "1.50"
        run "$redtune" explain --gpu h100 --op sum --dtype f32 --count 1M --db $db
        want_in_out "block=256"
        run "$redtune" export --winners --gpu h100 --count 1M --format json --db $db
        want_not_in_out "block=512"
    done
}

files_that_cannot_be_read_leave_all_as_it_is() {
    fresh
    three_measurements whole.db
    echo "this is no database" >notes.txt
    mkdir -p folder
    run "$redtune" import nothere --db new.db
    want_refused 1 "cannot import nothere: No such file"
    run "$redtune" import whole.db folder --db new.db
    want_refused 1 "cannot import folder: it is a directory, not a regular file"
    run "$redtune" merge new.db whole.db notes.txt
    want_refused 1 "notes.txt"
    [ ! -e new.db ] || fail "something came in"
    run "$redtune" merge notes.txt whole.db
    want_refused 1 "notes.txt"
    [ "$(cat notes.txt)" = "this is no database" ] || fail "the notes were changed"
}

what_is_asked_wrongly_is_told() {
    fresh
    run "$redtune" import
    want_refused 2 "no FILE... is given; write redtune import FILE..."
    run "$redtune" merge
    want_refused 2 "write redtune merge OUT IN..."
    run "$redtune" merge out.db
    want_refused 2 "only one of OUT IN... is given"
    run "$redtune" merge - one.db
    want_refused 2 "a database is not a stream"
    run "$redtune" merge a.db:b.db one.db
    want_refused 2 "':' stands between databases"
    run "$redtune" export --format xml
    want_refused 2 "give sqlite or json"
    run "$redtune" export one.db
    want_refused 2 "takes only options"
    run "$redtune" undo one.db
    want_refused 2 "takes only options"
    run "$redtune" import one.db --winners
    want_refused 2 "no option of redtune import"
    for command in export import merge undo; do
        run "$redtune" $command --help
        want_exit 0
        want_in_out "redtune $command: "
        run "$redtune" --help
        want_in_out "  $command "
    done
}

the_rows_that_redtune_comes_with_are_like_any_other() {
    run "$redtune" import --dry-run "$shipped" --db new.db
    want_exit 0
    want_in_out " 0 there before, 0 refused"
    run "$redtune" show --db "$shipped" --gpu H200 --op sum --dtype f32 --count 1M
    want_exit 0
    want_in_out "sum  f32      1M  cold"
}

check_run the_rows_that_redtune_comes_with_are_like_any_other \
    what_is_exported_comes_back an_export_has_the_filters_of_show \
    an_export_has_the_systems_rows_where_show_has_them a_shown_problem_has_the_axes_of_its_export \
    an_export_replaces_a_file_whole \
    an_export_takes_no_place_beside_a_journal a_database_does_not_go_to_a_terminal \
    a_dry_run_changes_nothing an_import_is_told_in_short what_is_refused_is_told \
    undo_takes_the_last_import_back a_merge_counts_as_measured \
    a_claim_does_not_bring_back_what_was_slow_here \
    files_that_cannot_be_read_leave_all_as_it_is what_is_asked_wrongly_is_told
