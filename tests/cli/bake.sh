# redtune bake: kernels ahead, and a root that has them and nothing else: no NVRTC, no HOME, no place
# to write. On the simulated GPU, which takes PTX.
here=$(realpath "${BASH_SOURCE%/*}")
. "$here/files.sh"
. "$here/check.sh"
root=$folder/root

# bake ARGUMENT...: into kernels.db, as PTX for compute capability 9.0.
bake() {
    run "$redtune" bake --arch 90 --ptx -o kernels.db "$@"
}

# The last image of docs/deploy.md: what its COPY lines bring from the first one, the driver, and of the
# base image no more than the C library.
make_root() {
    local built=$folder/built from to library
    mkdir -p "$built"/usr/{bin,lib,share/redtune} "$root"/{bin,tmp}
    cp "$redtune" "$built/usr/bin/redtune"
    cp kernels.db "$built/usr/share/redtune/kernels.db"
    cp -L "${redtune%/*}/libredtune.so.0" "$built/usr/lib/" 2>/dev/null || : >"$built/usr/lib/libredtune.so.0"
    while read -r from to; do
        [[ $to = */ ]] || to=${to%/*}/
        mkdir -p "$root$to"
        cp -rL "$built$from" "$root$to"
    done < <(sed -n 's/^ *COPY --from=build //p' "$here/../../docs/deploy.md")
    cp "$REDTUNE_CUDA_DRIVER" "$root/bin/libcuda.so.1"
    for library in $(ldd "$redtune" "$REDTUNE_CUDA_DRIVER" | grep -o '/[^ :)]*\.so[^ :)]*' | sort -u); do
        [[ $library =~ /(ld-linux[^/]*|lib(c|m|dl|pthread|rt|gcc_s))\.so[^/]*$ ]] || continue
        mkdir -p "$root${library%/*}"
        cp -n "$library" "$root$library"
    done
    { npy "'<i4'" "(100, 10)"; integers 4 1000; } >"$root/m.npy"
}

# bare_root ARGUMENT...: the command there, with no environment, and the root for reading only. `traced`: what
# it asks the kernel for with files is in that file.
traced=
bare_root() {
    env -i PATH="$PATH" REDTUNE_CUDA_DRIVER=/bin/libcuda.so.1 REDTUNE_SIM_CACHE=128K \
        ${traced:+strace -f -o "$traced" -e trace=%file,%desc} \
        unshare -rm sh -c 'mount --bind "$0" "$0" && mount -o remount,bind,ro "$0" && exec chroot "$0" "$@"' \
        "$root" /usr/bin/redtune "$@"
}

# Whether the traced command opened, made, renamed or removed a file to write it, or tried to.
writes() {
    sed '1,/execve("\/usr\/bin\/redtune"/d' "$traced" |
        grep -E 'O_(WRONLY|RDWR|CREAT|TMPFILE)| (mkdir|mknod|unlink|rmdir|rename|link|symlink|f?truncate|f?chmod|f?chown|utime)[a-z0-9]*\('
}

a_read_only_root_without_a_compiler_reduces() {
    unshare -rm true 2>/dev/null || { skip "no user namespaces here"; return; }
    bake --op sum --dtype i32
    want_exit 0
    make_root
    run bare_root reduce m.npy -q
    want_exit 0
    want_out 499500
    want_no_err
    run bare_root reduce m.npy -q --axis 0
    want_exit 0
    want_in_out 49500
    if strace true 2>/dev/null; then
        traced=$folder/trace
        run bare_root reduce m.npy -q
        want_out 499500
        grep -q kernels.db "$traced" || fail "the trace has no kernel file"
        writes >"$folder/wrote" && fail "the command writes: $(head -3 "$folder/wrote")"
        traced=
    fi
    run bare_root reduce m.npy -q --op max
    want_refused 1 "run redtune bake --op max --dtype i32 --arch 90"
    touch "$root/tmp/x" && rm "$root/tmp/x" # it is this folder's own right that was gone
    run bare_root doctor
    want_in_out "kernels of 5 classes for sm_90 as PTX, /usr/share/redtune/kernels.db"
}

what_is_baked_is_listed() {
    bake --op sum,max --dtype i32 --axis 1 --json
    want_exit 0
    want_in_out '"any_extents": true'
    want_in_out '"output": "kernels.db"'
    bake --op sum --dtype f32 --size 1K
    want_in_out "sm_90  sum of 1024 f32  block:"
    want_in_out "and any other"
    export REDTUNE_SYSTEM_KERNELS=$PWD/kernels.db
    run "$redtune" doctor
    want_in_out "$PWD/kernels.db"
    chmod 666 kernels.db
    run "$redtune" doctor
    want_in_out "others may"
    export REDTUNE_SYSTEM_KERNELS=
}

a_recording_is_baked() {
    echo '{"redtune_recording":1}' >empty.jsonl
    bake --recorded empty.jsonl
    want_refused 1 "it names no problem"
}

wrong_words_are_named() {
    run "$redtune" bake --arch 9
    want_refused 2 "cannot use --arch '9'"
    run "$redtune" bake --arch 90,
    want_refused 2 "cannot use --arch '90,'"
    run "$redtune" bake --arch 90 -o -
    want_refused 2 "name a file"
    run "$redtune" bake --gpu nosuch
    want_refused 2 "nosuch"
    run "$redtune" bake --arch 999 --op sum --dtype f32
    want_exit 1
    want_in_err "NVRTC"
    [ -e kernels.db ] && rm kernels.db
    run "$redtune" bake --arch 90 --op sum --dtype f32 --axis 1 -o /nowhere/kernels.db
    want_exit 1
}

check_run what_is_baked_is_listed a_recording_is_baked wrong_words_are_named \
    a_read_only_root_without_a_compiler_reduces
