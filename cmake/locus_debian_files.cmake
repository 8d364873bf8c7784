# SPDX-License-Identifier: Apache-2.0
# cpack runs this after installing and before packing. It compresses man pages and writes copyright and
# changelog, which Debian asks of packages.
file(GLOB pages ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/man/man*/*.[1-8])
if(pages)
  execute_process(COMMAND gzip -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
endif()
string(TIMESTAMP now "%a, %d %b %Y %H:%M:%S +0000" UTC)
file(GLOB folders LIST_DIRECTORIES true ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/doc/*)
foreach(folder IN LISTS folders)
  cmake_path(GET folder FILENAME package)
  file(READ ${folder}/NOTICE notice)
  file(WRITE ${folder}/copyright
       "${notice}\nCopyright 2026 the authors of locus\n"
       "License: Apache-2.0, see /usr/share/common-licenses/Apache-2.0\n")
  # Its text is among Debian's common licences.
  file(REMOVE ${folder}/LICENSE)
  file(WRITE ${folder}/changelog
       "${package} (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
       "  * What is new: CHANGELOG.md of the sources.\n\n"
       " -- ${CPACK_PACKAGE_CONTACT}  ${now}\n")
  execute_process(COMMAND gzip -9n ${folder}/changelog COMMAND_ERROR_IS_FATAL ANY)
  file(CHMOD ${folder}/copyright ${folder}/changelog.gz PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ
                                                                    WORLD_READ)
endforeach()
