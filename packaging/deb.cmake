# Before the Debian package is packed: its manual and changelog compressed, as Debian has them.
file(GLOB_RECURSE pages ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share/man/*.[13])
set(doc ${CPACK_TEMPORARY_INSTALL_DIRECTORY}/usr/share/doc/redtune)
file(RENAME ${doc}/CHANGELOG.md ${doc}/changelog)
execute_process(COMMAND gzip -9n ${pages} ${doc}/changelog COMMAND_ERROR_IS_FATAL ANY)
