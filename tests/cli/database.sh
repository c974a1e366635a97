# What is no tuning database is named, and not touched.
. "${BASH_SOURCE%/*}/files.sh"
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

check_run a_file_that_is_none_is_untouched a_folder_that_cannot_be_written_is_named \
    a_folder_is_no_database
