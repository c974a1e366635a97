# Guard: the C and C++ files are as clang-format makes them. Versions differ in taste, so only the one that
# the tree is formatted with decides; without it the guard is skipped.
cmake_minimum_required(VERSION 3.25)

set(version_wanted 14)
if(clang_format)
    execute_process(COMMAND ${clang_format} --version OUTPUT_VARIABLE version)
endif()
if(NOT version MATCHES "version ${version_wanted}\\.")
    message("SKIPPED: there is no clang-format ${version_wanted}")
    return()
endif()

set(files)
foreach(folder include src cache tuner sim tests examples bench cmake python)
    file(GLOB_RECURSE found ${root}/${folder}/*.[ch] ${root}/${folder}/*.[ch]pp)
    list(APPEND files ${found})
endforeach()
execute_process(COMMAND ${clang_format} --style=file --dry-run --Werror ${files}
                WORKING_DIRECTORY ${root} RESULT_VARIABLE rc)
if(rc)
    message(FATAL_ERROR "not formatted: run clang-format -i on the files above")
endif()
