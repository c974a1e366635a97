# How a layer, the library and the command are made from sources.
include_guard()

# redtune_layer(<name> SOURCES <file>... [LIBRARIES <target>...]): the object library
# redtune-<name>. Its sources see include/, src/ and the repository's root, and no other package
# than those named here.
function(redtune_layer name)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;LIBRARIES")
    set(target redtune-${name})
    add_library(${target} OBJECT ${arg_SOURCES})
    target_include_directories(${target} PRIVATE ${PROJECT_SOURCE_DIR}/include
                               ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR})
    target_link_libraries(${target} PRIVATE ${arg_LIBRARIES})
    set_property(GLOBAL APPEND PROPERTY REDTUNE_LAYERS ${target})
    set_property(GLOBAL APPEND PROPERTY REDTUNE_LIBRARIES ${arg_LIBRARIES})
endfunction()

# libredtune, shared and static, from the layers' objects.
function(redtune_library)
    get_property(layers GLOBAL PROPERTY REDTUNE_LAYERS)
    get_property(libraries GLOBAL PROPERTY REDTUNE_LIBRARIES)
    list(REMOVE_DUPLICATES libraries)
    list(TRANSFORM layers REPLACE "(.+)" "$<TARGET_OBJECTS:\\1>" OUTPUT_VARIABLE objects)

    add_library(redtune-shared SHARED ${objects})
    target_link_libraries(redtune-shared PRIVATE ${libraries})
    # Graphs that outlive the library call back into it: it stays mapped.
    target_link_options(redtune-shared PRIVATE LINKER:-z,nodelete)
    if(REDTUNE_STATIC_DEPS)
        target_sources(redtune-shared PRIVATE ${PROJECT_SOURCE_DIR}/cmake/static_stdio.c)
        target_link_options(redtune-shared PRIVATE
            LINKER:--wrap=stdin LINKER:--wrap=stdout LINKER:--wrap=stderr)
    endif()
    # A version to each symbol, and none but redtune's own offered: the static copies of Lua and
    # SQLite are not there for whoever links libredtune.
    set(symbols ${PROJECT_SOURCE_DIR}/packaging/redtune.map)
    target_link_options(redtune-shared PRIVATE LINKER:--version-script=${symbols})
    set_property(TARGET redtune-shared APPEND PROPERTY LINK_DEPENDS ${symbols})
    # libredtune-sim.so lies beside it.
    set_target_properties(redtune-shared PROPERTIES VERSION ${PROJECT_VERSION}
                          SOVERSION ${PROJECT_VERSION_MAJOR}
                          BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH "$ORIGIN")

    add_library(redtune-static STATIC ${objects})
    target_link_libraries(redtune-static PRIVATE ${libraries})
    set_target_properties(redtune-static PROPERTIES
                          ARCHIVE_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})

    foreach(target redtune-shared redtune-static)
        set_target_properties(${target} PROPERTIES OUTPUT_NAME redtune LINKER_LANGUAGE C)
        target_include_directories(${target} INTERFACE
            $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include> $<INSTALL_INTERFACE:include>)
    endforeach()
    set_target_properties(redtune-shared PROPERTIES EXPORT_NAME redtune)
    # The same with redtune.hpp, which is of C++17.
    add_library(redtune-cxx INTERFACE)
    target_link_libraries(redtune-cxx INTERFACE redtune-shared)
    target_compile_features(redtune-cxx INTERFACE cxx_std_17)
    set_target_properties(redtune-cxx PROPERTIES EXPORT_NAME cxx)
    install(TARGETS redtune-shared redtune-cxx EXPORT redtune-targets
            LIBRARY COMPONENT lib NAMELINK_COMPONENT dev)
    install(TARGETS redtune-static)
    install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/redtune TYPE INCLUDE)
endfunction()

# redtune_command(SOURCES <file>...): the redtune command, which runs from any place because it
# holds the library.
function(redtune_command)
    cmake_parse_arguments(PARSE_ARGV 0 arg "" "" "SOURCES")
    add_executable(redtune-command ${arg_SOURCES})
    target_include_directories(redtune-command PRIVATE ${PROJECT_SOURCE_DIR}/src)
    target_link_libraries(redtune-command PRIVATE redtune-static)
    # libredtune-sim.so lies beside the command, or among the libraries once installed.
    set_target_properties(redtune-command PROPERTIES OUTPUT_NAME redtune
                          RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}
                          BUILD_WITH_INSTALL_RPATH ON
                          INSTALL_RPATH "$ORIGIN;$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
    install(TARGETS redtune-command COMPONENT tools)
endfunction()

# redtune_embed_templates(<variable>): a C file with every file under templates/, made when one of
# them changes. A new template needs neither C nor CMake.
function(redtune_embed_templates variable)
    set(root ${PROJECT_SOURCE_DIR}/templates)
    set(made ${PROJECT_BINARY_DIR}/generated/template_files.c)
    set(script ${PROJECT_SOURCE_DIR}/cmake/embed.cmake)
    set(code ${PROJECT_SOURCE_DIR}/src ${PROJECT_SOURCE_DIR}/cache)
    file(GLOB_RECURSE templates CONFIGURE_DEPENDS LIST_DIRECTORIES false ${root}/*)
    list(TRANSFORM code APPEND /*.[ch] OUTPUT_VARIABLE patterns)
    file(GLOB_RECURSE sources CONFIGURE_DEPENDS LIST_DIRECTORIES false ${patterns})
    list(JOIN code "|" code)
    add_custom_command(OUTPUT ${made}
        COMMAND ${CMAKE_COMMAND} -D root=${root} -D out=${made} -D code=${code} -P ${script}
        DEPENDS ${templates} ${sources} ${script} VERBATIM COMMENT "Embedding templates")
    set(${variable} ${made} PARENT_SCOPE)
endfunction()

# redtune_compile_ops(<variable>): a C file with the table of the ops in templates/ops.lua and the
# files that it takes them from, made by a program of the build's own.
set(REDTUNE_WRITE_OPS "" CACHE FILEPATH
    "That program (generated/redtune-write-ops) of another build folder; needed for cross builds")
function(redtune_compile_ops variable)
    set(root ${PROJECT_SOURCE_DIR}/templates)
    set(made ${PROJECT_BINARY_DIR}/generated/ops.c)
    file(GLOB entries CONFIGURE_DEPENDS ${root}/ops/*.lua ${root}/lib/*.lua)
    set(writer ${REDTUNE_WRITE_OPS})
    if(NOT writer)
        set(writer redtune-write-ops)
        add_executable(redtune-write-ops ${PROJECT_SOURCE_DIR}/cmake/write_ops.c
                       ${PROJECT_SOURCE_DIR}/src/codegen/op_reader.c
                       ${PROJECT_SOURCE_DIR}/src/model/dtype.c)
        target_include_directories(redtune-write-ops PRIVATE ${PROJECT_SOURCE_DIR}/include
                                   ${PROJECT_SOURCE_DIR}/src)
        target_link_libraries(redtune-write-ops PRIVATE redtune-base redtune::lua m)
        set_target_properties(redtune-write-ops PROPERTIES
                              RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/generated)
    endif()
    add_custom_command(OUTPUT ${made} COMMAND ${writer} ${root} ${made}
        DEPENDS ${writer} ${root}/ops.lua ${root}/dtypes.lua ${entries}
        VERBATIM COMMENT "Compiling the table of ops")
    set(${variable} ${made} PARENT_SCOPE)
endfunction()

# redtune_renew_rows(): shipped.db, beside what is built: the rows of data/shipped.db as today's
# templates have them, made by a program of the build's own where those or what reads them change.
set(REDTUNE_SHIPPED_DB "" CACHE FILEPATH "shipped.db of another build folder; needed for cross builds")
function(redtune_renew_rows)
    set(rows ${PROJECT_SOURCE_DIR}/data/shipped.db)
    set(made ${PROJECT_BINARY_DIR}/shipped.db)
    if(REDTUNE_SHIPPED_DB)
        configure_file(${REDTUNE_SHIPPED_DB} ${made} COPYONLY)
    else()
        add_executable(redtune-renew-rows ${PROJECT_SOURCE_DIR}/cmake/renew_rows.c)
        target_include_directories(redtune-renew-rows PRIVATE ${PROJECT_SOURCE_DIR}/src
                                   ${PROJECT_SOURCE_DIR})
        target_link_libraries(redtune-renew-rows PRIVATE redtune-static)
        set_target_properties(redtune-renew-rows PROPERTIES
                              RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/generated)
        file(GLOB_RECURSE used CONFIGURE_DEPENDS LIST_DIRECTORIES false
             ${PROJECT_SOURCE_DIR}/templates/* ${PROJECT_SOURCE_DIR}/src/codegen/*.[ch]
             ${PROJECT_SOURCE_DIR}/src/model/*.[ch] ${PROJECT_SOURCE_DIR}/cache/*.[ch])
        add_custom_command(OUTPUT ${made} COMMAND redtune-renew-rows ${rows} ${made}
            DEPENDS ${rows} ${used} ${PROJECT_SOURCE_DIR}/cmake/renew_rows.c
            VERBATIM COMMENT "Renewing the shipped rows")
        add_custom_target(redtune-shipped-rows DEPENDS ${made})
        # Whoever builds a part of the tree has them, too.
        add_dependencies(redtune-command redtune-shipped-rows)
    endif()
    install(FILES ${made} DESTINATION ${CMAKE_INSTALL_DATADIR}/redtune COMPONENT lib)
endfunction()
