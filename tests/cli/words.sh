# The command's words: where they may stand, other names of options, dtypes and numbers, what redtune
# alone prints, and what a tune says of budgets, failures and dtypes that an op lacks.
here=$(realpath "${BASH_SOURCE%/*}")
. "$here/files.sh"
. "$here/check.sh"
. "$here/facts.sh"
command -v python3 >/dev/null || { echo "skipped: no python3" >&2; exit 77; }
export REDTUNE_DB=$folder/words.db

# same "WORDS" "OTHER WORDS": both do the same.
same() {
    run "$redtune" $1
    local first="$code|$out|$err"
    run "$redtune" $2
    [ "$code|$out|$err" = "$first" ] || fail "differs from redtune $1: $first"
}

# refuses "WORDS" "TEXT"
refuses() {
    run "$redtune" $1
    want_refused 2 "$2"
}

options_stand_before_a_command_too() {
    { npy "'<f4'" "(4,)"; head -c 16 /dev/zero; } >four.npy
    run "$redtune" --device sim reduce four.npy
    want_exit 0
    want_out 0
    same "reduce four.npy --device sim --op max -q" "--device=sim -q --op max reduce four.npy"
    same "emit --op max -h" "--help --op max emit"
    same "export --format json" "--format json export"
    refuses "--size 1K reduce four.npy" "'--size' is no option of redtune reduce"
    refuses "--sise 1K reduce" "'--sise' is no option of redtune tune; did you mean --size?"
    refuses "--device 0 reduse" "'reduse' is no command; did you mean reduce?"
    # An option's value is no command, and behind -- stands none.
    refuses "--op show --dtype f33" "cannot use op 'show'"
    refuses "--device sim -- show" "cannot use 'show': redtune tune takes only options"
}

redtune_alone_says_what_is_there() {
    run "$redtune"
    want_exit 0
    want_no_err
    want_in_out "none that redtune can use; redtune doctor says why"
    want_in_out "none yet at $REDTUNE_DB"
    want_in_out "redtune --device sim  "
    want_not_in_out "redtune tune "
    [ ! -e "$REDTUNE_DB" ] || fail "it made a database"
    facts words.db <<'LINES'
templates=here gpu=H median_ns=2000
templates=here gpu=H count=4096 median_ns=900
templates=here gpu=A median_ns=4096
LINES
    run "$redtune"
    want_in_out "Test A100: 1 winner"$'\n'
    want_in_out "Test H100: 2 winners"$'\n'
    [ "$(awk 'length > 100' stdout)" = "" ] || fail "a line is longer than 100 columns"
    # Any option tunes, as redtune tune does.
    same "tune" "tune --device 0"
    same "tune" "-q"
    want_refused 1 "the CUDA driver"
    rm words.db*
}

check_run options_stand_before_a_command_too redtune_alone_says_what_is_there
