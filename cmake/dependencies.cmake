# The packages that redtune is built with: CUDA's headers, Lua 5.4, SQLite, threads.
# libcuda and libnvrtc are never linked; they are loaded at run time.
include_guard()
find_package(Threads REQUIRED)
find_package(PkgConfig QUIET)

# ---- cuda.h and nvrtc.h, which may lie in two folders (NVIDIA's Python wheels) ----------------
set(REDTUNE_CUDA_DIR "" CACHE PATH
    "Folder that ./bootstrap unpacked NVIDIA's Python wheels into (it holds nvidia/)")
set(REDTUNE_CUDA_INCLUDE_DIR "" CACHE STRING "Folders of cuda.h and nvrtc.h, if not found alone")

if(REDTUNE_CUDA_DIR)
    file(GLOB wheel_includes ${REDTUNE_CUDA_DIR}/nvidia/*/include)
    file(GLOB wheel_libraries ${REDTUNE_CUDA_DIR}/nvidia/*/lib)
endif()
foreach(header cuda nvrtc)
    find_path(REDTUNE_${header}_h_DIR ${header}.h NO_CMAKE_FIND_ROOT_PATH
              HINTS ${REDTUNE_CUDA_INCLUDE_DIR} ${wheel_includes}
                    ENV CUDA_PATH ENV CUDA_HOME /usr/local/cuda
              PATHS ${REDTUNE_CUDA_SPARE_INCLUDE_DIR}
              PATH_SUFFIXES include targets/x86_64-linux/include targets/sbsa-linux/include)
    mark_as_advanced(REDTUNE_${header}_h_DIR)
    if(NOT REDTUNE_${header}_h_DIR)
        message(FATAL_ERROR
                "cannot find ${header}.h: install the CUDA Toolkit (or Debian's nvidia-cuda-dev), "
                "run ./bootstrap build, which fetches it, or set -D REDTUNE_CUDA_INCLUDE_DIR=DIR")
    endif()
endforeach()
add_library(redtune::cuda_headers INTERFACE IMPORTED)
target_include_directories(redtune::cuda_headers INTERFACE
                           ${REDTUNE_cuda_h_DIR} ${REDTUNE_nvrtc_h_DIR})

# ---- NVTX, for profilers: headers only, and redtune does without ----------------------------
find_path(REDTUNE_NVTX_DIR nvtx3/nvToolsExt.h NO_CMAKE_FIND_ROOT_PATH
          HINTS ${REDTUNE_cuda_h_DIR} ${wheel_includes} ENV CUDA_PATH ENV CUDA_HOME /usr/local/cuda
          PATH_SUFFIXES include)
mark_as_advanced(REDTUNE_NVTX_DIR)
option(REDTUNE_NVTX "Show compiling and running in profilers, where NVTX's headers are found" ON)
add_library(redtune::nvtx INTERFACE IMPORTED)
if(REDTUNE_NVTX AND REDTUNE_NVTX_DIR)
    target_include_directories(redtune::nvtx INTERFACE ${REDTUNE_NVTX_DIR})
    target_compile_definitions(redtune::nvtx INTERFACE RDT_NVTX)
endif()

# What is built here finds the wheels' NVRTC on the loader's path. Not by BUILD_RPATH: CMake ends
# that with an empty entry where it means to rewrite it on installing, and the loader takes an empty
# entry for the current directory.
foreach(folder IN LISTS wheel_libraries)
    add_link_options(LINKER:-rpath,${folder})
endforeach()

# ---- Lua and SQLite ----------------------------------------------------------------------------
if(PkgConfig_FOUND)
    pkg_search_module(LUA QUIET lua5.4 lua-5.4 lua54 lua>=5.4)
    pkg_search_module(SQLITE QUIET sqlite3)
endif()
if(LUA_VERSION VERSION_GREATER_EQUAL 5.5)
    set(LUA_FOUND FALSE)
endif()
if(NOT LUA_FOUND)
    find_package(Lua 5.4)
    set(LUA_INCLUDE_DIRS ${LUA_INCLUDE_DIR})
    set(LUA_LINK_LIBRARIES ${LUA_LIBRARIES})
    set(LUA_VERSION ${LUA_VERSION_STRING})
endif()
if(NOT LUA_FOUND)
    message(FATAL_ERROR "cannot find Lua 5.4: install liblua5.4-dev, or run ./bootstrap build")
endif()
if(NOT SQLITE_FOUND)
    find_package(SQLite3)
    set(SQLITE_FOUND ${SQLite3_FOUND})
    set(SQLITE_INCLUDE_DIRS ${SQLite3_INCLUDE_DIRS})
    set(SQLITE_LINK_LIBRARIES ${SQLite3_LIBRARIES})
    set(SQLITE_VERSION ${SQLite3_VERSION})
endif()
if(NOT SQLITE_FOUND)
    message(FATAL_ERROR "cannot find SQLite: install libsqlite3-dev, or run ./bootstrap build")
endif()

find_library(REDTUNE_LUA_STATIC NAMES liblua5.4.a liblua-5.4.a liblua54.a
             HINTS ${LUA_LIBRARY_DIRS})
find_library(REDTUNE_SQLITE_STATIC NAMES libsqlite3.a HINTS ${SQLITE_LIBRARY_DIRS})
mark_as_advanced(REDTUNE_LUA_STATIC REDTUNE_SQLITE_STATIC)
set(static_found OFF)
if(REDTUNE_LUA_STATIC AND REDTUNE_SQLITE_STATIC)
    set(static_found ON)
endif()
option(REDTUNE_STATIC_DEPS "Link Lua and SQLite into redtune, so that it runs on other machines"
       ${static_found})
if(REDTUNE_STATIC_DEPS)
    if(NOT static_found)
        message(FATAL_ERROR "cannot link Lua and SQLite statically: liblua5.4.a or libsqlite3.a "
                "is missing; install them or set -D REDTUNE_STATIC_DEPS=OFF")
    endif()
    set(LUA_LINK_LIBRARIES ${REDTUNE_LUA_STATIC})
    set(SQLITE_LINK_LIBRARIES ${REDTUNE_SQLITE_STATIC})
endif()

add_library(redtune::lua INTERFACE IMPORTED)
target_include_directories(redtune::lua INTERFACE ${LUA_INCLUDE_DIRS})
target_link_libraries(redtune::lua INTERFACE ${LUA_LINK_LIBRARIES} m ${CMAKE_DL_LIBS})
add_library(redtune::sqlite INTERFACE IMPORTED)
target_include_directories(redtune::sqlite INTERFACE ${SQLITE_INCLUDE_DIRS})
target_link_libraries(redtune::sqlite INTERFACE ${SQLITE_LINK_LIBRARIES} m ${CMAKE_DL_LIBS}
                      Threads::Threads)
