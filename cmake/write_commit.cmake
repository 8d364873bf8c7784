# SPDX-License-Identifier: Apache-2.0
# Writes the commit of the sources as a line of C++. cmake -DROOT=DIRECTORY -DOUT=FILE -P write_commit.cmake
set(commit "")
find_program(git git)
# A tree inside of another repository has no commit of its own.
if(git AND EXISTS ${ROOT}/.git)
  execute_process(COMMAND ${git} -C ${ROOT} rev-parse --short=12 HEAD OUTPUT_VARIABLE commit
                  OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  execute_process(COMMAND ${git} -C ${ROOT} diff --quiet HEAD RESULT_VARIABLE differs OUTPUT_QUIET ERROR_QUIET)
  if(commit AND differs)
    string(APPEND commit " with changes")
  endif()
endif()
file(CONFIGURE OUTPUT "${OUT}" CONTENT "constexpr char kCommit[] = \"@commit@\";\n" @ONLY)
