# Guard: every C file of a layer and every unit test is listed in a CMakeLists.txt, so that none
# lies in the tree without being built or run.
cmake_minimum_required(VERSION 3.25)

set(faults "")
file(READ ${root}/CMakeLists.txt lists)
foreach(folder src cache tuner)
    file(GLOB_RECURSE sources RELATIVE ${root} ${root}/${folder}/*.c)
    foreach(source IN LISTS sources)
        string(FIND "${lists}" "${source}" at)
        if(at EQUAL -1)
            string(APPEND faults "\n  ${source} is not in CMakeLists.txt")
        endif()
    endforeach()
endforeach()

file(READ ${root}/tests/CMakeLists.txt lists)
file(GLOB tests RELATIVE ${root}/tests/unit ${root}/tests/unit/test_*.c)
foreach(test IN LISTS tests)
    string(REGEX REPLACE "test_(.*)\\.c" "\\1" module ${test})
    if(NOT lists MATCHES "[ (\n]${module}[ )\n]")
        string(APPEND faults "\n  tests/unit/${test} is not in tests/CMakeLists.txt")
    endif()
endforeach()

if(faults)
    message(FATAL_ERROR "files that nothing builds:${faults}")
endif()
