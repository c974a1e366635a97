# What makes redtune a package: how others find it, its manual pages and completion, a Debian package.
include_guard()
include(CMakePackageConfigHelpers)

# The name that -l takes, of the Lua that was found.
list(GET LUA_LINK_LIBRARIES 0 lua)
get_filename_component(lua "${lua}" NAME)
string(REGEX REPLACE "^lib|\\.(a|so).*$" "" REDTUNE_LUA_NAME "${lua}")

# ---- find_package and pkg-config ---------------------------------------------------------------
set(folder ${CMAKE_INSTALL_LIBDIR}/cmake/redtune)
configure_package_config_file(packaging/redtune-config.cmake.in
    ${PROJECT_BINARY_DIR}/generated/redtune-config.cmake
    INSTALL_DESTINATION ${folder} PATH_VARS CMAKE_INSTALL_LIBDIR CMAKE_INSTALL_INCLUDEDIR)
write_basic_package_version_file(${PROJECT_BINARY_DIR}/generated/redtune-config-version.cmake
    COMPATIBILITY SameMinorVersion)
install(EXPORT redtune-targets NAMESPACE redtune:: DESTINATION ${folder})
install(FILES ${PROJECT_BINARY_DIR}/generated/redtune-config.cmake
              ${PROJECT_BINARY_DIR}/generated/redtune-config-version.cmake
        DESTINATION ${folder})

# Written while it is installed, when the prefix is known.
install(CODE "
    set(PROJECT_DESCRIPTION \"${PROJECT_DESCRIPTION}\")
    set(PROJECT_VERSION ${PROJECT_VERSION})
    set(REDTUNE_LUA_NAME ${REDTUNE_LUA_NAME})
    cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_PREFIX NORMALIZE OUTPUT_VARIABLE CMAKE_INSTALL_PREFIX)
    set(REDTUNE_PC_LIBDIR \"\\\${prefix}/${CMAKE_INSTALL_LIBDIR}\")
    set(REDTUNE_PC_INCLUDEDIR \"\\\${prefix}/${CMAKE_INSTALL_INCLUDEDIR}\")
    configure_file(${PROJECT_SOURCE_DIR}/packaging/redtune.pc.in
                   ${PROJECT_BINARY_DIR}/generated/redtune.pc @ONLY)")
install(FILES ${PROJECT_BINARY_DIR}/generated/redtune.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

# ---- manual pages and completion ---------------------------------------------------------------
find_program(REDTUNE_AWK NAMES awk)
mark_as_advanced(REDTUNE_AWK)
if(REDTUNE_AWK AND NOT CMAKE_CROSSCOMPILING)
    set(manual ${PROJECT_BINARY_DIR}/manual)
    set(headers redtune.h problem.h input.h list.h keys.h team.h tune.h records.h tools.h) # in the page's order
    list(TRANSFORM headers PREPEND ${PROJECT_SOURCE_DIR}/include/redtune/)
    set(parts manual.sh completion.awk redtune.1.awk redtune.1.tail redtune.3.awk)
    list(TRANSFORM parts PREPEND ${PROJECT_SOURCE_DIR}/packaging/)
    add_custom_command(OUTPUT ${manual}/redtune.1 ${manual}/redtune.3 ${manual}/redtune.bash
        ${manual}/redtune.zsh ${manual}/redtune.fish
        COMMAND sh ${PROJECT_SOURCE_DIR}/packaging/manual.sh $<TARGET_FILE:redtune-command>
                ${PROJECT_VERSION} ${manual} ${headers}
        DEPENDS redtune-command ${headers} ${parts} VERBATIM COMMENT "Writing the manual")
    add_custom_target(redtune-manual ALL DEPENDS ${manual}/redtune.1)
    install(FILES ${manual}/redtune.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT tools)
    install(FILES ${manual}/redtune.3 DESTINATION ${CMAKE_INSTALL_MANDIR}/man3)
    install(FILES ${manual}/redtune.bash RENAME redtune
            DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT tools)
    install(FILES ${manual}/redtune.zsh RENAME _redtune
            DESTINATION ${CMAKE_INSTALL_DATADIR}/zsh/site-functions COMPONENT tools)
    install(FILES ${manual}/redtune.fish DESTINATION ${CMAKE_INSTALL_DATADIR}/fish/vendor_completions.d
            COMPONENT tools)
endif()

# ---- pages and programs to start from, which headers and help name ------------------------------
install(DIRECTORY docs/ DESTINATION ${CMAKE_INSTALL_DOCDIR} FILES_MATCHING PATTERN "*.md")
install(DIRECTORY examples DESTINATION ${CMAKE_INSTALL_DOCDIR})
install(FILES README.md CHANGELOG.md DESTINATION ${CMAKE_INSTALL_DOCDIR})

# ---- what is linked in ----------------------------------------------------------------------------
include(sbom)
set(link DYNAMIC_LINK)
if(REDTUNE_STATIC_DEPS)
    set(link STATIC_LINK)
endif()
redtune_sbom(${PROJECT_BINARY_DIR}/redtune.spdx.json redtune
    lua ${LUA_VERSION} MIT https://www.lua.org/ftp/ ${link}
    sqlite ${SQLITE_VERSION} blessing https://www.sqlite.org/download.html ${link})
install(FILES ${PROJECT_BINARY_DIR}/redtune.spdx.json DESTINATION ${CMAKE_INSTALL_DOCDIR})

# What is built to be installed, and nothing else: no tests.
add_custom_target(redtune-installed DEPENDS redtune-command redtune-shared redtune-static)
foreach(target redtune-sim redtune-manual)
    if(TARGET ${target})
        add_dependencies(redtune-installed ${target})
    endif()
endforeach()

# ---- Debian packages: cpack -G DEB --------------------------------------------------------------
# libredtune0 (the library and its rows), libredtune-dev (all that has no component of its own) and
# redtune (the command and the simulated GPU).
install(FILES LICENSE DESTINATION ${CMAKE_INSTALL_DOCDIR} RENAME copyright)
set(CPACK_GENERATOR DEB)
set(CPACK_PACKAGE_NAME redtune)
set(CPACK_PACKAGE_CONTACT "The redtune authors" CACHE STRING "Who maintains the packages, with an address")
set(CPACK_PACKAGING_INSTALL_PREFIX /usr)
set(CPACK_STRIP_FILES ON)
set(CPACK_COMPONENTS_ALL lib dev tools)
set(CPACK_DEB_COMPONENT_INSTALL ON)
set(CPACK_DEBIAN_FILE_NAME DEB-DEFAULT)
set(CPACK_PRE_BUILD_SCRIPTS ${PROJECT_SOURCE_DIR}/packaging/deb.cmake)
set(CPACK_DEBIAN_LIB_PACKAGE_NAME libredtune0)
set(CPACK_DEBIAN_DEV_PACKAGE_NAME libredtune-dev)
set(CPACK_DEBIAN_TOOLS_PACKAGE_NAME redtune)
set(CPACK_DEBIAN_LIB_PACKAGE_SECTION libs)
set(CPACK_DEBIAN_DEV_PACKAGE_SECTION libdevel)
set(CPACK_DEBIAN_TOOLS_PACKAGE_SECTION utils)
set(CPACK_DEBIAN_LIB_DESCRIPTION "The library. It finds the fastest reduction kernel for this GPU, dtype and size,
remembers it, and launches it on a program's stream.")
set(CPACK_DEBIAN_DEV_DESCRIPTION "Headers, pages and examples: what programs that call redtune are built with,
in C, in C++ and by CMake.")
set(CPACK_DEBIAN_TOOLS_DESCRIPTION "The command, which tunes a GPU, shows and shares what was measured, and
reduces files; with a simulated GPU for machines without one.")
foreach(component DEV TOOLS)
    set(CPACK_DEBIAN_${component}_PACKAGE_DEPENDS "libredtune0 (= ${PROJECT_VERSION})")
endforeach()
set(CPACK_DEBIAN_LIB_PACKAGE_CONTROL_EXTRA ${PROJECT_SOURCE_DIR}/packaging/triggers)
set(CPACK_DEBIAN_LIB_PACKAGE_RECOMMENDS "libcuda1, libnvrtc12 | cuda-nvrtc-13-0 | cuda-nvrtc-12-9")
set(CPACK_DEBIAN_DEV_PACKAGE_RECOMMENDS "redtune") # with redtune::sim
set(CPACK_DEBIAN_PACKAGE_GENERATE_SHLIBS ON)
find_program(REDTUNE_SHLIBDEPS NAMES dpkg-shlibdeps)
mark_as_advanced(REDTUNE_SHLIBDEPS)
if(REDTUNE_SHLIBDEPS)
    set(CPACK_DEBIAN_PACKAGE_SHLIBDEPS ON)
endif()
include(CPack)
