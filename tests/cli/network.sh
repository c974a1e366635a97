# A database on a network file system: this host writes a file of its own beside it, says so once, and
# reads both.
#
# usage: network.sh REDTUNE LIBRARY, the one that pretends it
library=$(realpath "$2")
here=$(realpath "${BASH_SOURCE%/*}")
. "$here/check.sh"
. "$here/facts.sh"
host=$(uname -n | tr -c 'a-zA-Z0-9.\n-' _)

# on TYPE COMMAND...: with the folder "shared" on a file system of that type.
on() {
    local type=$1
    shift
    run env LD_PRELOAD="$library" RDT_TEST_NETWORK=shared RDT_TEST_NETWORK_TYPE="$type" "$@"
}

tune() {
    on "$1" "$redtune" --device sim --size 32 --dtype f32 --effort quick --db shared/tuning.db
    want_exit 0
}

a_tune_writes_this_hosts_own_file() {
    mkdir shared
    facts shared/tuning.db <<<"templates=here median_ns=900 count=4096"
    cp shared/tuning.db before.db
    tune 6969
    want_in_err "shared/tuning.db lies on a network file system (NFS)"
    want_in_err "go to shared/tuning.$host.db; redtune merge joins them"
    [ -s "shared/tuning.$host.db" ] || fail "it is not there"
    cmp -s shared/tuning.db before.db || fail "the shared file was changed"
    tune 6969
    [[ $err != *network* ]] || fail "it is said twice"
    [ "$(find shared -type f | wc -l)" -eq 2 ] || fail "there are not two files"
}

both_are_read_and_merge_joins_them() {
    on 6969 "$redtune" show --db shared/tuning.db --gpu all --json
    want_in_out '"count": 4096'
    want_in_out '"count": 32,'
    on 6969 "$redtune" show --db "shared/tuning.$host.db" --gpu all --json
    want_not_in_out '"count": 4096'
    on 6969 "$redtune" merge shared/tuning.db "shared/tuning.$host.db"
    want_exit 0
    run "$redtune" show --db shared/tuning.db --gpu all --json
    want_in_out '"count": 4096'
    want_in_out '"count": 32,'
    on 6969 "$redtune" import before.db --db shared/other.db
    want_exit 0
    [ -s "shared/other.$host.db" ] && [ ! -e shared/other.db ] || fail "it is not this host's"
}

every_network_file_system_is_one() {
    for type in 517b:SMB fe534d42:SMB ff534d42:CIFS c36400:CephFS bd00bd0:Lustre 47504653:GPFS \
        19830326:BeeGFS 65735546:FUSE; do
        rm -rf shared
        mkdir shared
        on "${type%:*}" "$redtune" import before.db --db shared/nowhere/tuning.db
        want_exit 0
        [ -s "shared/nowhere/tuning.$host.db" ] || fail "${type#*:} is none"
    done
    rm -rf shared
    mkdir shared
    tune ef53
    want_no_err_of_network
    [ -s shared/tuning.db ] || fail "ext4 is one"
}
want_no_err_of_network() { [[ $err != *network* ]] || fail "a note is there"; }

check_run a_tune_writes_this_hosts_own_file both_are_read_and_merge_joins_them \
    every_network_file_system_is_one
