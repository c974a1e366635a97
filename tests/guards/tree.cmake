# Guard: the tree holds sources only: every file is tracked or ignored, and none that is tracked is
# what a build or a test makes. Outside a git checkout the guard is skipped.
cmake_minimum_required(VERSION 3.25)

# faults_from(<heading> <git ls-files argument>...): adds what git lists to the faults.
function(faults_from heading)
    execute_process(COMMAND ${git} ls-files ${ARGN} WORKING_DIRECTORY ${root}
                    OUTPUT_VARIABLE found RESULT_VARIABLE rc)
    if(rc)
        message(FATAL_ERROR "git ls-files fails in ${root}")
    elseif(found)
        set(faults "${faults}\n${heading}:\n${found}" PARENT_SCOPE)
    endif()
endfunction()

if(NOT git OR NOT EXISTS ${root}/.git)
    message("SKIPPED: there is no git checkout")
    return()
endif()
set(faults "")
faults_from("neither tracked nor ignored (a new source wants 'git add'; a test must write elsewhere)"
            --others --exclude-standard)
faults_from("tracked, but made by a build or a test; remove it"
            -- *.so *.so.* *.a *.o *-journal)
if(faults)
    message(FATAL_ERROR "files that do not belong into the tree:${faults}")
endif()
