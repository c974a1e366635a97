# Guard: libredtune.so offers what the public headers declare and nothing else, each with a version, and needs
# no CUDA library.
cmake_minimum_required(VERSION 3.25)

set(faults "")
execute_process(COMMAND ${nm} -D --defined-only ${library} OUTPUT_VARIABLE listing
                COMMAND_ERROR_IS_FATAL ANY)
string(REGEX MATCHALL "[A-Za-z] [^ \n]+\n" symbols "${listing}")
list(TRANSFORM symbols REPLACE "^[A-Za-z] ([^ \n]+)\n" "\\1")
list(REMOVE_ITEM symbols REDTUNE_0) # the version itself
foreach(symbol IN LISTS symbols)
    if(NOT symbol MATCHES "^redtune_")
        string(APPEND faults "\n  ${symbol} is offered to users")
    elseif(NOT symbol MATCHES "@@REDTUNE_0$")
        string(APPEND faults "\n  ${symbol} has no version")
    endif()
endforeach()
list(TRANSFORM symbols REPLACE "@.*" "")

include(${CMAKE_CURRENT_LIST_DIR}/declared.cmake)
foreach(name IN LISTS declared)
    if(NOT name IN_LIST symbols)
        string(APPEND faults "\n  ${name} is declared and not offered")
    endif()
endforeach()
list(LENGTH declared count)
if(count LESS 10)
    string(APPEND faults "\n  found ${count} declarations only")
endif()

execute_process(COMMAND ${readelf} -d ${library} OUTPUT_VARIABLE dynamic
                COMMAND_ERROR_IS_FATAL ANY)
set(forbidden "libcuda|libnvrtc")
if(static_deps)
    string(APPEND forbidden "|liblua|libsqlite")
endif()
string(REGEX MATCHALL "NEEDED[^\n]*(${forbidden})[^\n]*" needed "${dynamic}")
foreach(line IN LISTS needed)
    string(APPEND faults "\n  it is linked to a library that it should not need: ${line}")
endforeach()

if(faults)
    message(FATAL_ERROR "${library}:${faults}")
endif()
message(STATUS "${count} functions are offered")
