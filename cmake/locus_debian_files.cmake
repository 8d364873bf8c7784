# SPDX-License-Identifier: Apache-2.0
# Run by cpack between installing and packing: what Debian wants of each package's files, which an
# installation without packages does not need.
file(GLOB pages ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/man/man*/*.[1-8])
if(pages)
  execute_process(COMMAND gzip -9n ${pages} COMMAND_ERROR_IS_FATAL ANY)
endif()
file(GLOB folders LIST_DIRECTORIES true ${CPACK_TEMPORARY_DIRECTORY}/*/usr/share/doc/*)
foreach(folder IN LISTS folders)
  file(READ ${folder}/NOTICE notice)
  file(WRITE ${folder}/copyright
       "${notice}\nLicense: Apache-2.0, see /usr/share/common-licenses/Apache-2.0\n")
  file(COPY_FILE ${CMAKE_CURRENT_LIST_DIR}/../CHANGELOG.md ${folder}/changelog)
  execute_process(COMMAND gzip -9n ${folder}/changelog COMMAND_ERROR_IS_FATAL ANY)
  file(CHMOD ${folder}/copyright ${folder}/changelog.gz PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ
                                                                    WORLD_READ)
  # Its text is in Debian's common licences.
  file(REMOVE ${folder}/LICENSE)
endforeach()
