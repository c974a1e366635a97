# What is no tuning database is named, and not touched.
. "${BASH_SOURCE%/*}/files.sh"
shipped=$(realpath "${BASH_SOURCE%/*}/../../data/shipped.db")
. "${BASH_SOURCE%/*}/check.sh"

# names TEXT: the message names the database where there is a GPU; without one, the driver comes
# first.
names() {
    want_exit 1
    want_no_out
    if have_gpu; then want_in_err "$1"; fi
}

a_file_that_is_none_is_untouched() {
    echo "this is no database" >notes.txt
    cp notes.txt copy
    touch -d @1000000000 notes.txt
    local before
    before=$(stat -c '%Y %s %i' notes.txt)
    run "$redtune" --db notes.txt --size 1K
    names notes.txt
    integers 4 10 >ten
    run "$redtune" reduce ten --dtype i32 --db notes.txt
    names notes.txt
    run "$redtune" doctor --db notes.txt
    want_in_out notes.txt
    cmp -s notes.txt copy || fail "the file was changed"
    [ "$(stat -c '%Y %s %i' notes.txt)" = "$before" ] || fail "the file was touched"
    [ -z "$(find . -name 'notes.txt?*')" ] || fail "a file was left beside it"
}

a_folder_that_cannot_be_written_is_named() {
    run "$redtune" --db /proc/nowhere/tuning.db --size 1K
    names /proc/nowhere
}

a_folder_is_no_database() {
    mkdir folder
    run "$redtune" --db folder --size 1K
    names folder
}

a_damaged_database_is_repaired() {
    "$redtune" export --winners --gpu H200 --op sum --db "$shipped" -o damaged.db -q
    local all
    all=$("$redtune" export --gpu all --format json --db damaged.db 2>/dev/null | wc -l)
    run "$redtune" doctor --repair --db damaged.db
    want_exit 0
    want_out "damaged.db: whole, with $((all - 1)) measurements"
    dd if=/dev/zero of=damaged.db bs=4096 count=1 conv=notrunc 2>dd.txt
    cp damaged.db copy.db
    run "$redtune" show --db damaged.db
    want_refused 1 "cannot open tuning database damaged.db: it is not an SQLite file"
    want_in_err "redtune doctor --repair --db damaged.db"
    run "$redtune" doctor --db damaged.db
    want_exit 1
    want_in_out "redtune doctor --repair"
    run "$redtune" doctor --repair --db damaged.db
    want_exit 0
    want_no_err
    want_out "damaged.db: $((all - 1)) measurements saved, 0 known to be lost; the old file is now $PWD/damaged.db.damaged"
    cmp -s copy.db damaged.db.damaged || fail "the old file was changed"
    run "$redtune" show --gpu H200 --db damaged.db
    want_exit 0
    run "$redtune" doctor --repair --db damaged.db:none.db --json
    want_in_out '"kept": ""'
    run "$redtune" doctor --repair --db none.db
    want_out "There is no database."
    run "$redtune" doctor --repair --db .
    want_refused 1 "cannot open tuning database .: it is a directory"
}

check_run a_damaged_database_is_repaired a_file_that_is_none_is_untouched \
    a_folder_that_cannot_be_written_is_named a_folder_is_no_database
