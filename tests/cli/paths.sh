# Odd paths in every option and variable that takes one: nothing that is there is changed, nothing is
# waited for long, and what is refused is named in one line. On the simulated GPU.
. "${BASH_SOURCE%/*}/files.sh"
. "${BASH_SOURCE%/*}/check.sh"

# A command each, with P for the path: as a word, or as a variable's value.
uses() {
    cat <<'TABLE'
show --db P
undo --db P
doctor --db P
verify --device sim --db P
import P --db new.db
merge P good.db
merge new.db P
export --db good.db -o P
report --db good.db -o P
REDTUNE_DB=P show
REDTUNE_SYSTEM_DB=P show
XDG_DATA_HOME=P show
XDG_CACHE_HOME=P reduce good.npy --device sim
REDTUNE_RECORD=P reduce good.npy --device sim
reduce P --dtype i32 --device sim
reduce good.npy --offsets P --device sim
reduce good.npy --axis 0 --device sim -o P
tune --device sim --recorded P
tune --device sim --segments P
verify --device sim --bits P
ladder --export P
TABLE
}

# Devices are the test's own: what is at fault would replace them.
make_odd() {
    mkdir odd odd/folder
    mkfifo odd/pipe
    python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind("odd/socket")' 2>/dev/null
    mknod odd/device c 1 3 2>/dev/null
    mknod odd/disk b 7 200 2>/dev/null
    ln -s nowhere odd/dangling
    ln -s loop odd/loop
    ln -s folder odd/link
    echo text >odd/text
    echo text >odd/locked
    chmod 0 odd/locked
}

# try PATH WORD...: one use with the path in P's place.
try() {
    local path=$1 word settings=() words=()
    shift
    for word; do
        case $word in
            P) words+=("$path") ;;
            [A-Z]*=*) settings+=("${word/%=P/=$path}") ;;
            *) words+=("$word") ;;
        esac
    done
    run timeout 10 env "${settings[@]}" "$redtune" "${words[@]}"
}

state() { stat -c '%n: %F %i %t,%T %s %a' odd/* good.*; }

nothing_is_changed_or_waited_for() {
    local long path words before name
    long=$(printf 'x%.0s' {1..300})
    make_odd
    { npy "'<i4'" "(2, 3)"; integers 4 6; } >good.npy
    run "$redtune" tune --device sim --size 256 --dtype i32 --effort quick --db good.db
    want_exit 0
    before=$(state)
    while read -ra words; do
        for path in "$folder"/odd/{*,text/,text/x,"$long",$'a\nb\e[1m'} ''; do
            # Writing the bits of a new file takes longer, and an empty variable is none.
            [[ ${words[*]} == *--bits* && $path == *$'\n'* ]] && continue
            [[ ${words[*]} == *' -o P' && $path == *odd/@(text|locked) ]] && continue # replaced
            [[ -z $path && ${words[0]} == *=P ]] && continue
            try "$path" "${words[@]}"
            [ "$code" -le 2 ] || fail "exit $code"
            name=${path%/}
            name=${name##*/}
            name=${name%%$'\n'*}
            [ "$code" = 0 ] || [[ $out$err == *"/${name:0:99}"* ]] || [ -z "$path" ] ||
                fail "the path is not named"
            [[ $err != *$'\e'* ]] || fail "a control character is printed"
            [ "$code" = 0 ] || [ "$(wc -l <stderr)" -le 1 ] || fail "stderr is not one line"
            rm -rf new.db* odd/nowhere odd/a$'\n'* odd/folder/*
            [ "$(state)" = "$before" ] || fail "changed: $(diff <(echo "$before") <(state))"
        done
    done < <(uses)
}

# columns OUT: the sums of the columns of good.npy, of 3 times 4 bytes, as a file of 140.
columns() { run "$redtune" reduce good.npy --axis 0 --device sim -o "$1"; }

outputs_go_where_the_path_leads() {
    columns plain.npy
    want_exit 0
    columns /dev/stdout
    cmp -s stdout plain.npy || fail "it is not on stdout"
    exec 7>seven
    printf before >&7
    columns /dev/fd/7
    exec 7>&-
    cmp -s <(printf before; cat plain.npy) seven || fail "it is not behind what was there"
    "$redtune" reduce good.npy --axis 0 --device sim -o >(cat >piped) 2>stderr
    for ((i = 0; i < 100; i++)); do [ -s piped ] && break || sleep 0.05; done
    cmp -s piped plain.npy || fail "it is not in the pipe"
    [ -c odd/device ] || return 0
    columns odd/device
    want_exit 0
    [ -c odd/device ] || fail "the device is replaced"
}

streams_are_read() {
    run "$redtune" reduce <(sleep 0.5; cat good.npy) --device sim
    want_out 15
    (sleep 0.5; cat good.npy >odd/pipe) &
    run timeout 10 "$redtune" reduce odd/pipe --device sim
    want_out 15
    wait
}

databases_in_memory_and_uris_are_refused() {
    local name before
    before=$(ls)
    for name in :memory: file:x.db 'file:///tmp/x.db?mode=ro' sqlite:///x.db; do
        run "$redtune" show --db "$name"
        want_refused 2 "cannot use the database '$name': "
        run env REDTUNE_DB="$name" "$redtune" show
        want_refused 2 "cannot use the database '$name': "
        run env REDTUNE_SYSTEM_DB="$name" "$redtune" show
        want_refused 2 "cannot use the database '$name': "
        run "$redtune" merge "$name" good.db
        want_refused 2 "cannot merge into '$name'"
        run "$redtune" import "$name"
        want_refused 1 "cannot import $name: "
        run "$redtune" export --db good.db -o "$name"
        want_refused 2 "cannot export to '$name'"
    done
    [ "$(ls)" = "$before" ] || fail "a file was made"
}

# under LIMIT COMMAND...
under() { (ulimit $1 && shift && exec "$@"); }

limits_of_the_process_are_told() {
    run under "-n 16" "$redtune" tune --device sim --size 256 --dtype i32 --db few.db
    want_refused 1 "raise ulimit -n"
    run under "-f 8" "$redtune" export --db good.db -o large.db
    want_refused 1 "cannot write large.db: the file would be too large; raise ulimit -f"
    [ ! -e large.db ] || fail "half a file is there"
    run under "-f 8" "$redtune" merge large.db good.db
    want_refused 1 "raise ulimit -f"
    run under "-f 8" env XDG_CACHE_HOME="$folder/small" "$redtune" reduce good.npy --device sim
    want_exit 0
    want_out 15
    want_one_line
    want_in_err "warning: cannot write kernel cache"
}

a_tune_says_that_its_database_is_gone() {
    (until [ -s lost.db ]; do sleep 0.02; done; mv lost.db lost.old) &
    run "$redtune" tune --device sim --size 256 --dtype i32 --effort quick --db lost.db
    wait
    want_exit 1
    want_in_err "lost.db: it was moved, removed or replaced while it was open"
}

check_run nothing_is_changed_or_waited_for outputs_go_where_the_path_leads streams_are_read \
    databases_in_memory_and_uris_are_refused limits_of_the_process_are_told \
    a_tune_says_that_its_database_is_gone
