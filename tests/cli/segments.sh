# Segments and lists are tuned, shown, chosen, exported and verified as other problems are.
. "${BASH_SOURCE%/*}/check.sh"

# A length on each line: 40 of 3 elements, and one of 2000.
write_lengths() {
    for i in $(seq 40); do echo 3; done
    echo 2000
}

tune_segments() {
    export REDTUNE_DB=$folder/segments.db
    [ -e "$REDTUNE_DB" ] || "$redtune" --device sim --op sum --dtype f32 --effort quick --budget 1s \
        --segments 50x40 --list lengths >tuned 2>messages
}

a_tune_takes_both() {
    tune_segments
    run cat tuned
    want_in_out "50x40 segments"
    want_in_out "41x52:3:2000 list"
}

show_finds_them_by_what_it_prints() {
    tune_segments
    run "$redtune" show --gpu all
    want_in_out "50x40 segments"
    want_in_out "41x52:3:2000 list"
    run "$redtune" show --gpu all --segments 50x40
    want_in_out "50x40 segments"
    want_not_in_out "list"
    run "$redtune" show --gpu all --list 41x52:3:2000 --json
    want_in_out '"layout": "list"'
    want_in_out '"median": 3'
    want_in_out '"greatest": 2000'
}

the_nearest_serves() {
    tune_segments
    run "$redtune" explain --device sim --list lengths
    want_in_out "exact: measured"
    run "$redtune" explain --device sim --segments 60x50
    want_in_out "nearest size: measured"
    want_in_out "at shape 50x40 segments"
    run "$redtune" explain --device sim --segments 60x500000
    want_in_out "default: nothing near"
    run "$redtune" explain --device sim --shape 50x40 --axis 1
    want_in_out "default: nothing near"
}

they_go_to_another_database_and_hold_there() {
    tune_segments
    run "$redtune" export --format json -o rows.json
    want_exit 0
    run "$redtune" import --db other.db rows.json
    want_exit 0
    run "$redtune" show --gpu all --db other.db --list 41x52:3:2000
    want_in_out "41x52:3:2000 list"
    run "$redtune" verify --device sim --sample 1 --segments 50x40
    want_exit 0
    want_in_err "1 of 1 tried: it holds"
}

what_cannot_be_is_refused() {
    tune_segments
    run "$redtune" --device sim --segments 50x40 --size 1K
    want_refused 2 "segments have lengths of their own"
    run "$redtune" --device sim --segments 50x40:3
    want_refused 2 "give their number and elements"
    run "$redtune" --device sim --segments 50x40:30:20
    want_refused 2 "the greatest is below the average"
    run "$redtune" --device sim --list missing
    want_refused 1 "cannot read lengths from missing"
    echo 12a >wrong
    run "$redtune" --device sim --list wrong
    want_refused 1 "line 1 is '12a'"
    printf '7\n12\0003\n' >wrong
    run "$redtune" --device sim --list wrong
    want_refused 1 "line 2 is '12'"
    printf '%070d\n' 12 >wrong
    run "$redtune" --device sim --list wrong
    want_refused 1 "line 1 is '0000"
    run "$redtune" explain --device sim --segments 50x40,60x40
    want_refused 2 "name one problem"
}

have_gpu || { echo "skipped: no GPU" >&2; exit 77; }
write_lengths >lengths
check_run a_tune_takes_both show_finds_them_by_what_it_prints the_nearest_serves \
    they_go_to_another_database_and_hold_there what_cannot_be_is_refused
