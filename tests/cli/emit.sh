# redtune emit: prints source without a GPU, and names a wrong parameter.
here=$(realpath "${BASH_SOURCE%/*}")
. "$here/check.sh"
. "$here/facts.sh"
export REDTUNE_CUDA_DRIVER=/nowhere/libcuda.so.1

emit_prints_cuda() {
    for dtype in i32 f32 f64; do
        run "$redtune" emit --op sum --dtype "$dtype"
        want_exit 0
        want_no_err
        want_in_out "__global__"
        want_in_out "redtune"
    done
}

emit_is_the_same_every_time() {
    run "$redtune" emit --dtype f64 --config block=128
    cp stdout first
    want_exit 0
    run "$redtune" emit --config=block=128 --dtype=f64
    cmp -s stdout first || fail "the second time gave other bytes"
}

emit_takes_the_config() {
    run "$redtune" emit
    cp stdout default
    run "$redtune" emit --config block=64
    want_exit 0
    want_in_out "block=64"
    cmp -s stdout default && fail "--config changed nothing"
}

emit_shows_lines_if_asked() {
    run "$redtune" emit
    want_not_in_out "#line"
    run "$redtune" emit --lines
    want_exit 0
    want_in_out "#line"
}

# refuses "ARGUMENTS" TEXT...
refuses() {
    run "$redtune" emit $1
    shift
    for text in "$@"; do want_refused 2 "$text"; done
}

wrong_parameters_are_named() {
    refuses "--config blok=256" "blok" "block"
    refuses "--config block=257" "block" "257"
    refuses "--config block=" "block"
    refuses "--config block=x" "block"
    refuses "--config block=256,block=128" "block"
    refuses "--config block=99999999999999999999" "block"
    refuses "--config ,"
    refuses "--family nosuch" "nosuch"
}

# Each value is one of the space's, but not together, or not with the dtype.
configs_that_are_not_allowed_are_asked_wrongly() {
    refuses "--config vec=16" "vec=16 of f32 is 64 bytes"
    refuses "--config finish=single" "add per_sm=1"
    refuses "--dtype f64 --config vec=4" "vec=4 of f64 is 32 bytes"
    # 48 KiB of values, and twice as many.
    local columns="--op cosine --shape 4096x4096 --axis 0 --family columns --config block=1024,width=64,finish=poll,per_sm=4"
    refuses "$columns,vec=8" "take 98304 bytes of shared memory, of 49152"
    run "$redtune" emit $columns,vec=4
    want_exit 0
}

# What the H100 of the database would run there, for its architecture.
emit_shows_what_a_gpu_runs() {
    facts gpu.db <<'LINES'
templates=here is_default=1 median_ns=3000
templates=here block=512 median_ns=2000
LINES
    run "$redtune" emit
    want_not_in_out "griddepcontrol"
    run "$redtune" emit --db gpu.db --gpu H100 --count 1M
    want_exit 0
    want_no_err
    want_in_out "block=512,"
    want_in_out "griddepcontrol.wait"
    run "$redtune" emit --db gpu.db --gpu H100 --config block=64
    want_exit 0
    want_in_out "block=64,"
    want_in_out "griddepcontrol.wait"
    run "$redtune" emit --db gpu.db --gpu nosuch
    want_refused 2 "nosuch"
    run "$redtune" emit --gpu H100 --counters
    want_refused 2 "cannot use --gpu with --counters"
}

folders_without_templates_are_named() {
    mkdir empty
    REDTUNE_TEMPLATES=$folder/empty run "$redtune" emit
    want_refused 1 "$folder/empty"
    want_in_err "registry.lua"
    want_in_err "REDTUNE_TEMPLATES"
}

check_run emit_prints_cuda emit_is_the_same_every_time emit_takes_the_config \
    emit_shows_lines_if_asked wrong_parameters_are_named \
    configs_that_are_not_allowed_are_asked_wrongly emit_shows_what_a_gpu_runs \
    folders_without_templates_are_named
