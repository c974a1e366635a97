# What else runs on the simulated GPU: the tests that need a GPU, the command, the examples.

# redtune_sim_test_of(<name> <command>...)
function(redtune_sim_test_of name)
    add_test(NAME sim.${name} COMMAND ${ARGN})
    redtune_test_properties(sim.${name})
    redtune_on_sim(sim.${name})
endfunction()

# The simulated GPU has none of the graphs that graph_uses is about.
foreach(module IN LISTS REDTUNE_GPU_TESTS)
    if(NOT module STREQUAL graph_uses)
        redtune_sim_test_of(gpu.${module} test_gpu_${module})
    endif()
endforeach()

# Those that mutants.few is put to, under its limits: the templates as they are must pass.
foreach(module accumulate columns ladder rows staged)
    if(TARGET test_gpu_${module})
        set_tests_properties(sim.gpu.${module} PROPERTIES FIXTURES_SETUP mutants)
        set_property(TEST sim.gpu.${module} APPEND PROPERTY ENVIRONMENT
            "REDTUNE_SIM_LIMIT=1000000000;REDTUNE_SIM_IDLE=400000")
    endif()
endforeach()

# Those that go over many kernels and look at their results alone. NVRTC takes most of their time: less
# where it optimises less. "mid" takes NVRTC less time than "min", and the simulated GPU more: arrays stay
# in local memory. Where the label is asked for they run with all that NVRTC can do, as on a GPU. Of walks
# of any axes, and of segments in fixed order, both levels are "max".
set(quick_min accumulate accuracy_values floats kernels ops order order_segments short
    unpacking)
set(quick_mid accuracy array columns columns_api edges evaluator_segments grouped judge keys keys_calls
    keys_random list_views lists_api masked_lists masked_pairs masks operands random_segments readers
    results rows rows_api segments segments_api segments_calls skewed staged strides teams teams_axes
    teams_masks teams_segments teams_strided thin)
# Each of these makes hundreds of kernels of its own. A kernel cache holds 256 MB: those of all of them
# together would drive each other out, and a second run would find none.
set(many_kernels accuracy columns judge ops order rows short skewed staged teams thin)
foreach(level min mid)
    foreach(module IN LISTS quick_${level})
        if(NOT TARGET test_gpu_${module})
            continue()
        endif()
        redtune_sim_test_of(optimised.${module} test_gpu_${module})
        set_tests_properties(sim.optimised.${module} PROPERTIES LABELS sweep)
        redtune_quick_kernels(${level} sim.gpu.${module})
        if(module IN_LIST many_kernels)
            set_property(TEST sim.gpu.${module} APPEND PROPERTY ENVIRONMENT
                "XDG_CACHE_HOME=${test_cache}/${level}/${module}")
            set_property(TEST sim.optimised.${module} APPEND PROPERTY ENVIRONMENT
                "XDG_CACHE_HOME=${test_cache}/${module}")
        endif()
    endforeach()
endforeach()

# A GPU with few units for f64 has other compensated sums: a few of them.
if(TARGET test_gpu_accuracy)
    redtune_sim_test_of(gpu.accuracy.two_terms test_gpu_accuracy
        whole_arrays rows_are columns_are)
    set_property(TEST sim.gpu.accuracy.two_terms APPEND PROPERTY ENVIRONMENT
        "REDTUNE_SIM_CAPABILITY=8.6;RDT_TEST_PART=1/6")
    redtune_quick_kernels(min sim.gpu.accuracy.two_terms)
endif()

# It times what the L2 holds.
if(TARGET test_gpu_evaluator)
    set_property(TEST sim.gpu.evaluator APPEND PROPERTY ENVIRONMENT "REDTUNE_SIM_CACHE=2M")
endif()

# Ranks on simulated GPUs, and what stands in for NCCL between them. Of four ranks in fixed order
# two nodes are joined, of three the order is that of the ranks.
foreach(module teams teams_axes teams_calls teams_join teams_masks teams_peers teams_segments teams_strided)
    if(TARGET test_gpu_${module})
        add_dependencies(test_gpu_${module} test-nccl)
        foreach(name gpu.${module} optimised.${module})
            if(TEST sim.${name})
                set_property(TEST sim.${name} APPEND PROPERTY ENVIRONMENT
                    "REDTUNE_SIM_DEVICES=4;REDTUNE_NCCL=$<TARGET_FILE:test-nccl>")
            endif()
        endforeach()
    endif()
endforeach()

# In fixed order any number of ranks has the bits of one.
if(TARGET test_gpu_teams)
    foreach(ranks 1 2 7)
        redtune_sim_test_of(teams.fixed.${ranks} test_gpu_teams
            fixed_order_has_the_bits_of_one_gpu)
        set_property(TEST sim.teams.fixed.${ranks} APPEND PROPERTY ENVIRONMENT
            "REDTUNE_SIM_DEVICES=${ranks};REDTUNE_NCCL=$<TARGET_FILE:test-nccl>")
    endforeach()
endif()

# So that arrays take several pieces.
foreach(module array readers)
    foreach(name gpu.${module} optimised.${module})
        if(TEST sim.${name})
            set_property(TEST sim.${name} APPEND PROPERTY ENVIRONMENT "REDTUNE_SIM_MEMORY=20M")
        endif()
    endforeach()
endforeach()

if(TARGET test_gpu_ladder)
    redtune_sim_test_of(ladder.large test_gpu_ladder every_step_is_right_at_large_counts)
    set_tests_properties(sim.ladder.large PROPERTIES LABELS sweep)
endif()

if(REDTUNE_BASH)
    set(header ${PROJECT_SOURCE_DIR}/include/redtune/redtune.h)
    foreach(script bake beside_tune gpu counters families keyed_tune keys ladder offsets paths report segments shards)
        redtune_sim_test_of(cli.${script} ${REDTUNE_BASH}
            ${CMAKE_CURRENT_SOURCE_DIR}/cli/${script}.sh $<TARGET_FILE:redtune-command> ${header})
    endforeach()
    # Kernels of lists take NVRTC most of a second; a page's lists are tuned with all that it can do.
    redtune_quick_kernels(mid sim.cli.segments)
    redtune_quick_kernels(min sim.cli.bake)
    redtune_quick_kernels(min sim.cli.beside_tune)
    redtune_sim_test_of(cli.gpus ${REDTUNE_BASH} ${CMAKE_CURRENT_SOURCE_DIR}/cli/gpus.sh
        $<TARGET_FILE:redtune-command>)
    set_property(TEST sim.cli.gpus APPEND PROPERTY ENVIRONMENT
        "REDTUNE_SIM_DEVICES=3;REDTUNE_NCCL=$<TARGET_FILE:test-nccl>")
    # README's program is linked with the simulated driver in libcuda's place: under libcuda's name,
    # NVRTC would take it for NVIDIA's and ask it for functions that are not documented
    # (cuGetExportTable). So does CUDA's runtime library, which is why sum_cudart is not among these.
    separate_arguments(flags NATIVE_COMMAND "${CMAKE_C_FLAGS}")
    redtune_sim_test_of(readme.example ${REDTUNE_BASH} ${CMAKE_CURRENT_SOURCE_DIR}/readme/readme.sh
        ${PROJECT_SOURCE_DIR}/README.md ${PROJECT_SOURCE_DIR}/include ${REDTUNE_cuda_h_DIR}
        $<TARGET_FILE_DIR:redtune-shared> $<TARGET_FILE:redtune-sim>
        ${CMAKE_C_COMPILER} -std=c11 ${flags})
    foreach(example IN LISTS REDTUNE_EXAMPLES)
        redtune_sim_test_of(examples.${example} ${REDTUNE_BASH}
            ${CMAKE_CURRENT_SOURCE_DIR}/readme/example.sh $<TARGET_FILE:example-${example}>)
    endforeach()
    if(TARGET example-sum_cxx)
        redtune_sim_test_of(examples.sum_cxx ${REDTUNE_BASH}
            ${CMAKE_CURRENT_SOURCE_DIR}/readme/example.sh $<TARGET_FILE:example-sum_cxx>)
    endif()
    if(TARGET example-team)
        redtune_sim_test_of(examples.team ${REDTUNE_BASH}
            ${CMAKE_CURRENT_SOURCE_DIR}/readme/example.sh $<TARGET_FILE:example-team>)
        set_property(TEST sim.examples.team APPEND PROPERTY ENVIRONMENT
            "REDTUNE_SIM_DEVICES=2;REDTUNE_NCCL=$<TARGET_FILE:test-nccl>")
    endif()
endif()
