# Guard: each header compiles alone, and twice in a row, as C11; the public ones as C++17 too.
cmake_minimum_required(VERSION 3.25)

set(flags -fsyntax-only -Wall -Wextra -Werror -I${root}/include -I${root}/src -I${root}
    -I${root}/sim)
string(REPLACE "|" ";" packages "${packages}")
foreach(package IN LISTS packages)
    list(APPEND flags -isystem ${package})
endforeach()
set(faults "")

# A translation unit of nothing but the header.
function(check_header compiler language standard header)
    set(unit ${work}/header.${language})
    file(WRITE ${unit} "#include \"${header}\"\n#include \"${header}\"\nextern int used;\n")
    execute_process(COMMAND ${compiler} -std=${standard} ${flags} ${ARGN} ${unit}
                    RESULT_VARIABLE rc ERROR_VARIABLE said)
    if(rc)
        set(faults "${faults}\n${header} does not compile alone as ${standard}:\n${said}"
            PARENT_SCOPE)
    endif()
endfunction()

set(headers)
foreach(folder include src cache tuner sim)
    file(GLOB_RECURSE found ${root}/${folder}/*.h)
    list(APPEND headers ${found})
endforeach()
foreach(header IN LISTS headers)
    check_header(${cc} c c11 ${header})
endforeach()
file(GLOB public ${root}/include/redtune/*.h)
set(cxx_public ${public} ${root}/include/redtune/redtune.hpp)
foreach(header IN LISTS public)
    check_header(${cc} c c11 ${header} -pedantic)
endforeach()

if(cxx)
    foreach(header IN LISTS cxx_public)
        check_header(${cxx} cc c++17 ${header} -pedantic)
    endforeach()
else()
    message(STATUS "no C++ compiler: the public headers are not tried as C++17")
endif()

list(LENGTH headers count)
if(count LESS 15)
    message(FATAL_ERROR "found ${count} headers only: is root=${root} the tree?")
endif()
if(faults)
    message(FATAL_ERROR "${faults}")
endif()
message(STATUS "${count} headers compile alone")
