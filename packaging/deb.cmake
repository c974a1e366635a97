# Before the Debian packages are packed: manuals and changelog compressed, and the licence in each, as
# Debian has them. CPACK_TEMPORARY_INSTALL_DIRECTORY has a folder for each component.
set(root ${CPACK_TEMPORARY_INSTALL_DIRECTORY})
file(GLOB_RECURSE pages ${root}/*/usr/share/man/*.[13])
set(doc ${root}/dev/usr/share/doc/libredtune-dev)
file(RENAME ${root}/dev/usr/share/doc/redtune ${doc})
file(RENAME ${doc}/CHANGELOG.md ${doc}/changelog)
execute_process(COMMAND gzip -9n ${pages} ${doc}/changelog COMMAND_ERROR_IS_FATAL ANY)
foreach(package lib/usr/share/doc/libredtune0 tools/usr/share/doc/redtune)
    file(COPY ${doc}/copyright DESTINATION ${root}/${package})
endforeach()
