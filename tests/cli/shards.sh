# Tunes by parts that launchers start: each measures its share once, and the merged database is that of
# one machine. torchrun and mpirun are run where they are installed; else, and for srun, each part has the
# variables that they set.
. "${BASH_SOURCE%/*}/check.sh"
export REDTUNE_SIM_DEVICES=2

what=(--op sum --dtype f32,i32 --size 64,128 --effort quick)

# tune_part FILE [VARIABLE=VALUE...]: the part whose number the launcher's variables give.
tune_part() {
    local file=$1
    shift
    run env "$@" "$redtune" --shard auto "${what[@]}" --db "$file"
    want_exit 0
}

# want_part TEXT: what the last part said when it began.
want_part() { want_in_err "$1"; }

# sizes FILE: how many of the four sizes are in the database, each once.
sizes() { "$redtune" show --db "$1" --op sum | grep -cE ' (64|128)  cold '; }

# problems FILE: op, dtype, size and state of the L2 of each winner.
problems() { "$redtune" show --db "$1" | awk '/ (cold|warm) / {print $1, $2, $3, $4}'; }

# want_whole BORDERS FILE...: together they have all problems of one machine, with at most so many sizes
# twice; where none is, the winners and their times are the same. Where a part ends between two sizes
# of a dtype its searches start from other seeds, so that a winner may differ.
want_whole() {
    local borders=$1 count=0 file
    shift
    for file; do count=$((count + $(sizes "$file"))); done
    [ $count -ge 4 ] && [ $count -le $((4 + borders)) ] || fail "the parts have $count sizes"
    rm -f merged.db
    run "$redtune" merge merged.db "$@"
    want_exit 0
    [ "$(problems merged.db)" = "$(problems one.db)" ] || fail "the problems are not one machine's"
    [ $borders != 0 ] || [ "$("$redtune" show --db merged.db)" = "$one" ] ||
        fail "the winners are not one machine's"
}

one_machine() {
    run "$redtune" --device 0 "${what[@]}" --db one.db
    want_exit 0
    one=$("$redtune" show --db one.db)
    [ "$(sizes one.db)" = 4 ] || fail "one machine has $(sizes one.db) sizes"
}

two_parts_by_torchrun() {
    local rank
    if command -v torchrun >/dev/null; then
        export what_words="${what[*]}" redtune
        run torchrun --no-python --nproc-per-node 2 bash -c \
            '"$redtune" --shard auto $what_words --db torch$RANK.db'
        want_exit 0
    else
        for rank in 0 1; do
            tune_part torch$rank.db TORCHELASTIC_RUN_ID=none RANK=$rank WORLD_SIZE=2 LOCAL_RANK=$rank
        done
    fi
    want_part "part 2 of 2 (torchrun: --shard 1/2) on GPU 1"
    want_whole 0 torch0.db torch1.db
}

# Three parts of two times two sizes end between the sizes of a dtype.
three_parts_by_srun() {
    local task
    for task in 0 1 2; do
        tune_part slurm$task.db SLURM_JOB_ID=7 SLURM_JOB_NUM_NODES=2 SLURM_NTASKS=3 \
            SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=3 SLURM_PROCID=$task SLURM_LOCALID=$((task % 2))
        want_part "part $((task + 1)) of 3 (Slurm step: --shard $task/3) on GPU $((task % 2))"
    done
    want_whole 2 slurm0.db slurm1.db slurm2.db
}

two_parts_by_mpirun() {
    local rank
    if command -v mpirun >/dev/null && mpirun --version 2>/dev/null | grep -q 'Open MPI'; then
        export what_words="${what[*]}" redtune
        run mpirun --allow-run-as-root --oversubscribe -n 2 bash -c \
            '"$redtune" --shard auto $what_words --db mpi$OMPI_COMM_WORLD_RANK.db'
        want_exit 0
    else
        for rank in 0 1; do
            tune_part mpi$rank.db OMPI_COMM_WORLD_RANK=$rank OMPI_COMM_WORLD_SIZE=2 \
                OMPI_COMM_WORLD_LOCAL_RANK=$rank PMIX_RANK=$rank
        done
    fi
    want_part "part 2 of 2 (Open MPI: --shard 1/2) on GPU 1"
    want_whole 0 mpi0.db mpi1.db
}

check_run one_machine two_parts_by_torchrun three_parts_by_srun two_parts_by_mpirun
