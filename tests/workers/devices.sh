# Several GPUs, and parts of a tune.
suites_kernels=yes
. "${BASH_SOURCE%/*}/common.sh"
# Those of the launcher that runs this.
unset "${!SLURM_@}" "${!OMPI_@}" "${!PMI_@}" "${!PMIX_@}" "${!MPI_@}" "${!MV2_@}" "${!FLUX_@}" \
    RANK WORLD_SIZE LOCAL_RANK TORCHELASTIC_RUN_ID JOB_COMPLETION_INDEX
nvml=$(realpath "$4")
small=(--dtype f64 --size 64,96,128 --effort quick --quiet)

counts() { "$query" "$1" "SELECT DISTINCT count FROM measurement
    WHERE count IN (64, 96, 128) ORDER BY count" | tr '\n' ' '; }

equal_gpus_share_a_tune() {
    export REDTUNE_SIM_DEVICES=2
    run "$redtune" --device 0,1 --db both.db "${small[@]}"
    want_exit 0
    [ "$(grep -c '^sum ' stdout)" -eq 3 ] || fail "not three rows"
    run "$redtune" --device all --db both.db "${small[@]}"
    want_exit 0
    unset REDTUNE_SIM_DEVICES
}

jobs_of_a_gpu_share_a_tune() {
    local jobs=(--device sim --dtype f32,f64,i32 --size 64,96 --effort quick --quiet)
    run "$redtune" "${jobs[@]}" --jobs 3 --db jobs.db
    want_exit 0
    [ "$(awk '/^sum / { print $2, $3 }' stdout | tr '\n' ' ')" = \
        "f32 64 f32 96 f64 64 f64 96 i32 64 i32 96 " ] || fail "not six rows in order"
    run "$redtune" "${jobs[@]}" --jobs 2 --db jobs.db --json
    want_exit 0
    [ "$(grep -c '"measured": 0' stdout)" -eq 6 ] || fail "measured again"
    REDTUNE_SIM_MEMORY=500M run "$redtune" "${jobs[@]/--quiet/-vv}" --jobs 2 --db small.db
    want_exit 0
    want_in_err "the memory of GPU sim has no room for 2 jobs"
    [ "$(grep -c '^sum ' stdout)" -eq 6 ] || fail "not six rows"
    run "$redtune" "${jobs[@]}" --jobs 0 --db jobs.db
    want_refused 2 "--jobs '0'"
    run "$redtune" "${jobs[@]}" --jobs 9 --db jobs.db
    want_refused 2 "cannot tune with 9 jobs on each GPU: give 1 to 8"
}

# Two parts of 18 shapes, joined: one job finds nothing left to measure.
jobs_of_a_gpu_share_a_plane() {
    local plane=(--device sim --dtype f32 --rows 4,5,6,7,8,9 --cols 4,5,6,7,8,9 --axis 1
        --effort quick --db plane.db --json)
    run "$redtune" "${plane[@]}" --jobs 2
    want_exit 0
    [ "$(grep -c '"measured": [1-9]' stdout)" -eq 36 ] || fail "not 36 shapes were measured"
    # One job goes by bytes: 6 x 4 before 4 x 7, which is the first of the second part.
    awk '/ 6x4 f32/ && !first { first = NR } / 4x7 f32/ && !second { second = NR }
        END { exit !(second && second < first) }' stderr || fail "one part after the other"
    run "$redtune" "${plane[@]}" --jobs 1
    want_exit 0
    [ "$(grep -c '"measured": 0' stdout)" -eq 36 ] || fail "measured again"
}

# Each model has its own problems, and each result tells whose it is.
each_model_is_told_apart() {
    export REDTUNE_SIM_DEVICES=3 REDTUNE_SIM_MODELS=2
    run "$redtune" --device all --db models.db "${small[@]}"
    want_exit 0
    local first="redtune simulated GPU, " second="redtune simulated GPU 2, "
    for gpu in "$first" "$second"; do
        [ "$(grep -c "^$gpu" stdout)" -eq 1 ] || fail "not one heading '$gpu'"
        [ "$(awk -v gpu="$gpu" 'index($0, "redtune ") == 1 { here = index($0, gpu) == 1 }
            here && /^sum / { rows++ } END { print rows }' stdout)" -eq 3 ] ||
            fail "not three rows under '$gpu'"
    done
    run "$redtune" --device all --db models.db "${small[@]}" --json
    want_exit 0
    [ "$(grep -c '"gpu": "redtune simulated GPU",\?$' stdout)" -eq 3 ] || fail "not three of the first"
    [ "$(grep -c '"gpu": "redtune simulated GPU 2",\?$' stdout)" -eq 3 ] ||
        fail "not three of the second"
    run "$redtune" --device 0,2 --db models.db "${small[@]}" --json
    want_exit 0
    want_not_in_out '"gpu"'
    unset REDTUNE_SIM_DEVICES REDTUNE_SIM_MODELS
}

# want_order TEXT...: what the table, or the JSON, shows of each result.
want_order() {
    [ "$shown" = "$(printf '%s\n' "$@")" ] || fail "in another order: $shown"
}

# What is known already comes first; where it stands does not depend on that.
results_are_in_order_and_progress_names_the_gpu() {
    local told=(--dtype f64 --size 64,96,128 --effort quick --db order.db) shown
    export REDTUNE_SIM_DEVICES=3 REDTUNE_SIM_MODELS=1
    run "$redtune" --device 0 --dtype f64 --size 128 --effort quick --db order.db
    want_exit 0
    ! grep -q " on GPU " stderr || fail "the only GPU is named"
    run "$redtune" --device all "${told[@]}"
    want_exit 0
    [[ "$(head -n 1 stderr)" = "redtune: 1/3 sum of 128 f64 on GPU "[012]": "*"(measured before)" ]] ||
        fail "the first is not told of first"
    [ "$(grep -c '^redtune: [123]/3 sum of [0-9]* f64 on GPU [012]: ' stderr)" -eq 3 ] ||
        fail "not three lines with a GPU"
    shown=$(awk '/^sum / { print $3 }' stdout)
    want_order 64 96 128
    export REDTUNE_SIM_MODELS=2
    rm order.db
    run "$redtune" --device 1 "${told[@]}"
    want_exit 0
    run "$redtune" --device all "${told[@]}" --json
    want_exit 0
    [ "$(grep -c ' on GPU [02] (redtune simulated GPU): ' stderr)" -eq 3 ] ||
        fail "not three lines of the first model"
    [ "$(grep -c ' on GPU 1 (redtune simulated GPU 2): ' stderr)" -eq 3 ] ||
        fail "not three lines of the second model"
    shown=$(awk -F '[:,] *' '/"gpu"/ { gpu = $2 } /"count"/ { print gpu, $2 }' stdout)
    local first='"redtune simulated GPU"' second='"redtune simulated GPU 2"'
    want_order "$first 64" "$first 96" "$first 128" "$second 64" "$second 96" "$second 128"
    unset REDTUNE_SIM_DEVICES REDTUNE_SIM_MODELS
}

a_warning_names_the_gpu_of_several() {
    export REDTUNE_NVML=$nvml RDT_TEST_NVML_OTHERS=2 REDTUNE_SIM_DEVICES=2
    local alone="redtune: warning: 2 other processes use the GPU" gpu
    run "$redtune" --device 1 --db alone.db --dtype f64 --size 64 --effort quick
    want_exit 0
    want_in_err "$alone"
    run "$redtune" --device all --db warned.db --dtype f64 --size 64,96 --effort quick
    want_exit 0
    for gpu in 0 1; do want_in_err "redtune: warning: GPU $gpu: 2 other processes"; done
    ! grep -q "^$alone" stderr || fail "of which GPU?"
    unset REDTUNE_NVML RDT_TEST_NVML_OTHERS REDTUNE_SIM_DEVICES
}

a_gpu_that_is_not_there_is_named() {
    run "$redtune" --device 0,7 --db none.db "${small[@]}"
    want_refused 2 "'7'"
    run "$redtune" --device 0,0 --db none.db "${small[@]}"
    want_refused 2 "twice"
    run "$redtune" --device 0, --db none.db "${small[@]}"
    want_refused 2 "0,"
}

shards_share_the_problems() {
    run "$redtune" --shard 0/2 --db first.db "${small[@]}"
    want_exit 0
    run env SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 \
        "$redtune" --shard auto --db second.db "${small[@]}"
    want_exit 0
    [ "$(counts first.db)$(counts second.db)" = "64 96 96 128 " ] ||
        fail "the shards measured $(counts first.db)and $(counts second.db)"
}

# told VARIABLE=VALUE...: a tune of one small problem's part ($part, or auto), in the environment of a
# launcher.
told() {
    run env "$@" "$redtune" --shard "${part:-auto}" --db told.db --dtype f64 --size 64 --effort quick
}

# As srun, mpirun inside a batch script (whose own SLURM_PROCID is 0 for every rank), Hydra and PALS
# number their processes: https://slurm.schedmd.com/srun.html, https://docs.open-mpi.org.
a_launcher_numbers_the_parts_and_the_gpus() {
    local step=(SLURM_STEP_ID=3 SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=4 SLURM_LOCALID=1)
    local batch=(SLURM_JOB_ID=9 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NTASKS=4)
    export REDTUNE_SIM_DEVICES=2
    told "${step[@]}"
    want_exit 0
    want_in_err "part 3 of 4 (Slurm step: --shard 2/4) on GPU 1"
    told "${batch[@]}" OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4 OMPI_COMM_WORLD_LOCAL_RANK=3
    want_in_err "part 4 of 4 (Open MPI: --shard 3/4) on GPU 1"
    told "${batch[@]}" PMI_RANK=1 PMI_SIZE=4 MPI_LOCALRANKID=1
    want_in_err "part 2 of 4 (PMI: --shard 1/4) on GPU 1"
    told PMI_RANK=1 PMI_SIZE=4 PMI_LOCAL_RANK=1
    want_in_err "part 2 of 4 (PMI: --shard 1/4) on GPU 1"
    # Slurm's PMIx gives a rank, and Slurm the rest.
    told "${step[@]}" PMIX_RANK=2
    want_in_err "part 3 of 4 (Slurm step: --shard 2/4) on GPU 1"
    # Daemons that srun starts, one per node, leave their step's variables to the ranks.
    told SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=0 \
        PMI_RANK=2 PMI_SIZE=4 MPI_LOCALRANKID=1
    want_in_err "part 3 of 4 (PMI: --shard 2/4) on GPU 1"
    # One GPU for each task is that task's GPU 0.
    REDTUNE_SIM_DEVICES=1 told "${step[@]}"
    want_exit 0
    want_in_err "on GPU 0"
    told PMIX_RANK=3 PMIX_SIZE=4
    want_in_err "part 4 of 4 (PMIx: --shard 3/4) on GPU 0, for PMIx does not number a node's tasks"
    run env "${step[@]}" "$redtune" --shard auto --device 0 --db told.db "${small[@]:0:6}"
    want_exit 0
    want_in_err "part 3 of 4 (Slurm step: --shard 2/4) on GPU 0"
    run env "${step[@]}" "$redtune" --shard auto --device auto --db told.db "${small[@]:0:6}"
    want_exit 0
    want_in_err "on GPU 1"
    unset REDTUNE_SIM_DEVICES
}

# A size that another part has fits; one that does not fit is named, by the part that has it.
what_does_not_fit_is_named_by_its_part() {
    run "$redtune" --shard 0/2 --db fits.db --dtype f64 --size 64,96,128 --effort quick
    want_exit 0
    ! grep -q "left out" stderr || fail "a size of the other part is said not to fit"
    run "$redtune" --db fits.db --dtype f32,f64 --size 64,1T --effort quick
    want_exit 0
    want_in_err "sum of f64 is left out from 1099511627776 elements on"
    want_in_err "sum of f32 is left out from 1099511627776 elements on"
}

# What was measured, crossovers included, but for when.
measured() { "$query" "$1" "SELECT op, dtype, count, cache_state, config, outcome, median_ns,
    spread_ns, samples, is_default FROM measurement" | sort; }

# between DATABASE LOW HIGH: how many sizes that were not asked for.
between() { "$query" "$1" "SELECT count(DISTINCT count) FROM measurement
    WHERE count > $2 AND count < $3 AND count <> 2048"; }

# Where shards meet between two dtypes of different sizes, neither knows anything that would have
# started a search of the other.
merged_shards_are_one_tune() {
    local wide=(--dtype f32,f64 --size 1K,2K --effort quick --quiet) shard
    run "$redtune" --device 0 --db whole.db "${wide[@]}"
    want_exit 0
    for shard in 0 1; do
        run "$redtune" --device 0 --shard $shard/2 --db shard$shard.db "${wide[@]}"
        want_exit 0
    done
    run "$redtune" merge merged.db shard0.db shard1.db
    want_exit 0
    measured whole.db >whole.txt
    measured merged.db >merged.txt
    cmp whole.txt merged.txt || fail "two shards measured other things than one tune"
    run "$query" merged.db "SELECT count(DISTINCT dtype) FROM measurement
        WHERE count > 1024 AND count < 2048"
    [ "$out" -gt 0 ] || fail "there was no crossover to measure"
}

# The same part again finds all of it known.
shards_measure_the_crossover_where_they_meet() {
    local narrow=(--dtype f64 --size 1K,2K,4K --effort quick --quiet) shard low
    for shard in 0 1; do
        low=$((1024 << shard))
        run "$redtune" --device 0 --shard $shard/2 --db part$shard.db "${narrow[@]}"
        want_exit 0
        measured part$shard.db >part.txt
        [ "$(between part$shard.db $low $((2 * low)))" -gt 0 ] || fail "shard $shard has no crossover"
        [ "$(between part$shard.db 1024 4096)" -eq "$(between part$shard.db $low $((2 * low)))" ] ||
            fail "shard $shard has the other's crossover"
        run "$redtune" --device 0 --shard $shard/2 --db part$shard.db "${narrow[@]}"
        want_exit 0
        measured part$shard.db | cmp -s - part.txt || fail "shard $shard was measured again"
    done
}

# want_joined DATABASE: one GPU, asked for the same, finds nothing left to measure.
want_joined() {
    measured "$1" >shared.txt
    run "$redtune" --device 0 --db "$1" "${narrow[@]}"
    want_exit 0
    measured "$1" | diff shared.txt - >more.txt || fail "one GPU measures $(wc -l <more.txt) more"
}

# Each size is a part of its own, so that every crossover lies between two parts.
equal_gpus_measure_what_lies_between_their_parts() {
    local narrow=(--dtype f64 --size 1K,2K,4K --effort quick --quiet) last
    run env REDTUNE_SIM_DEVICES=3 "$redtune" --device all --db fleet.db "${narrow[@]}"
    want_exit 0
    [ "$(between fleet.db 1024 4096)" -gt 1 ] || fail "no crossover is measured"
    [ "$("$query" fleet.db "SELECT max(times) FROM (SELECT count(*) AS times FROM measurement
        WHERE samples = 3 GROUP BY count, cache_state, config)")" = 1 ] ||
        fail "a size is searched twice"
    want_joined fleet.db
    last=$("$query" fleet.db "SELECT max(id) FROM measurement")
    run env REDTUNE_SIM_DEVICES=3 "$redtune" --device all --db fleet.db --again "${narrow[@]}"
    want_exit 0
    [ "$("$query" fleet.db "SELECT count(DISTINCT count) FROM measurement WHERE id > $last
        AND count > 1024 AND count < 4096 AND count <> 2048")" -gt 1 ] ||
        fail "no crossover is measured again"
}

a_stopped_tune_of_equal_gpus_goes_on() {
    local narrow=(--dtype f64 --size 1K,2K,4K --effort quick --quiet) signal process rows
    for signal in INT KILL; do
        rm -f stopped.db
        REDTUNE_SIM_DEVICES=3 "$redtune" --device all --db stopped.db "${narrow[@]}" >stdout \
            2>stderr &
        process=$!
        for rows in {1..200}; do
            rows=$("$query" stopped.db "SELECT count(*) FROM measurement" 2>/dev/null)
            [ "${rows:-0}" -lt 100 ] || break
            sleep 0.05
        done
        kill -$signal $process 2>/dev/null
        wait $process 2>/dev/null && fail "it was not stopped"
        run env REDTUNE_SIM_DEVICES=3 "$redtune" --device all --db stopped.db "${narrow[@]}"
        want_exit 0
        want_joined stopped.db
    done
}

# torchrun's agents are started by srun or mpirun, and pytorch.org/docs says what it sets; a program
# that merely sets RANK is no torchrun. flux run speaks PMI as well (flux-environment(7)).
the_nearest_of_several_launchers_counts() {
    local step=(SLURM_STEP_ID=3 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 SLURM_LOCALID=0)
    local torch=(RANK=5 WORLD_SIZE=8 LOCAL_RANK=1) flux=(FLUX_TASK_RANK=2 FLUX_JOB_SIZE=3 FLUX_TASK_LOCAL_ID=1)
    export REDTUNE_SIM_DEVICES=2
    told "${step[@]}" OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 "${torch[@]}" TORCHELASTIC_RUN_ID=none
    want_exit 0
    want_in_err "part 6 of 8 (torchrun: --shard 5/8) on GPU 1"
    told "${step[@]}" "${torch[@]}"
    want_in_err "part 2 of 2 (Slurm step: --shard 1/2) on GPU 0"
    told "${step[@]}" "${flux[@]}"
    want_in_err "part 3 of 3 (Flux: --shard 2/3) on GPU 1"
    told "${flux[@]}" PMI_RANK=2 PMI_SIZE=3
    want_in_err "part 3 of 3 (PMI: --shard 2/3) on GPU 1"
    # mpirun in the script of a Flux batch job, whose own task is number 0.
    told FLUX_TASK_RANK=0 FLUX_JOB_SIZE=1 FLUX_TASK_LOCAL_ID=0 PMI_RANK=1 PMI_SIZE=4 MPI_LOCALRANKID=1
    want_in_err "part 2 of 4 (PMI: --shard 1/4) on GPU 1"
}

# sbatch --array=3-9:2 has jobs 3, 5, 7 and 9: https://slurm.schedmd.com/job_array.html.
the_jobs_of_an_array_are_parts() {
    local array=(SLURM_ARRAY_TASK_COUNT=4 SLURM_ARRAY_TASK_MIN=3 SLURM_ARRAY_TASK_MAX=9)
    local batch=(SLURM_JOB_ID=9 SLURM_PROCID=0 SLURM_LOCALID=0 SLURM_NTASKS=1)
    export REDTUNE_SIM_DEVICES=2
    told "${batch[@]}" "${array[@]}" SLURM_ARRAY_TASK_ID=7
    want_exit 0
    want_in_err "part 3 of 4 (Slurm array: --shard 2/4) on GPU 0"
    # A step of two tasks in each job.
    told "${array[@]}" SLURM_ARRAY_TASK_ID=5 SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 \
        SLURM_LOCALID=1
    want_in_err "part 4 of 8 (Slurm step: --shard 3/8) on GPU 1"
    told "${batch[@]}" SLURM_ARRAY_TASK_ID=7 SLURM_ARRAY_TASK_COUNT=1 SLURM_ARRAY_TASK_MIN=7
    want_in_err "part 1 of 1 (Slurm array: --shard 0/1)"
    told "${batch[@]}" SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_COUNT=3 SLURM_ARRAY_TASK_MIN=1 \
        SLURM_ARRAY_TASK_MAX=7
    want_refused 2 "are not evenly apart; give --array=0-N"
    told "${batch[@]}" "${array[@]}" SLURM_ARRAY_TASK_ID=11
    want_refused 2 "SLURM_ARRAY_TASK_ID=11 and SLURM_ARRAY_TASK_COUNT=4 make no sense"
    told "${batch[@]}" SLURM_ARRAY_TASK_ID=2
    want_refused 2 "SLURM_ARRAY_TASK_ID=2 and SLURM_ARRAY_TASK_COUNT=(unset) make no sense"
}

a_pod_takes_its_part_of_the_completions() {
    export REDTUNE_SIM_DEVICES=1
    part=auto/3 told JOB_COMPLETION_INDEX=2
    want_exit 0
    want_in_err "part 3 of 3 (Kubernetes job: --shard 2/3) on GPU 0"
    told JOB_COMPLETION_INDEX=2
    want_refused 2 "write --shard auto/N, where N is the job's completions"
    part=auto/2 told JOB_COMPLETION_INDEX=2
    want_refused 2 "JOB_COMPLETION_INDEX=2 is no part of 2"
    part=auto/4 told OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2
    want_refused 2 "there are 2 parts (Open MPI)"
    part=auto/2 told OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2
    want_in_err "part 1 of 2 (Open MPI: --shard 0/2)"
}

a_wrong_shard_is_refused() {
    run "$redtune" --shard auto "${small[@]}"
    want_refused 2 "start it with srun or mpirun, or write --shard I/N"
    # In a batch script, and in the shell that salloc starts: neither is a step's task.
    told SLURM_JOB_ID=9 SLURM_PROCID=0 SLURM_NTASKS=4
    want_refused 2 "SLURM_PROCID=0 is the batch script's own"
    told SLURM_JOB_ID=9 SLURM_STEP_ID=4294967290 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1
    want_refused 2 "SLURM_PROCID=0 is the batch script's own"
    # Ranks that no size stands beside, started by daemons that are a step's tasks.
    told SLURM_STEP_ID=0 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=2 PMIX_RANK=3
    want_refused 2 "PMIX_RANK=3 and SLURM_PROCID=1 make no sense"
    told OMPI_COMM_WORLD_RANK=4 OMPI_COMM_WORLD_SIZE=4
    want_refused 2 "OMPI_COMM_WORLD_RANK=4 and OMPI_COMM_WORLD_SIZE=4 make no sense"
    run "$redtune" --device auto "${small[@]}"
    want_refused 2 "write --shard auto beside it"
    run "$redtune" --shard 2/2 "${small[@]}"
    want_refused 2 "count from 0"
    run "$redtune" --shard half "${small[@]}"
    want_refused 2 "half"
}

check_run equal_gpus_share_a_tune jobs_of_a_gpu_share_a_tune jobs_of_a_gpu_share_a_plane equal_gpus_measure_what_lies_between_their_parts \
    a_stopped_tune_of_equal_gpus_goes_on each_model_is_told_apart \
    results_are_in_order_and_progress_names_the_gpu a_warning_names_the_gpu_of_several a_gpu_that_is_not_there_is_named \
    a_launcher_numbers_the_parts_and_the_gpus the_nearest_of_several_launchers_counts \
    the_jobs_of_an_array_are_parts a_pod_takes_its_part_of_the_completions what_does_not_fit_is_named_by_its_part \
    shards_share_the_problems merged_shards_are_one_tune shards_measure_the_crossover_where_they_meet \
    a_wrong_shard_is_refused
