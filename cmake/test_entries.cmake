# SPDX-License-Identifier: Apache-2.0
# cmake -DIN=entries.txt -DOUT=entries.cc -P test_entries.cmake: lists the tests of a folder for
# tests/support/test_main.cc. A line of IN is the name of a test and its sources, with tabs between.
file(STRINGS ${IN} lines)
set(rows "")
foreach(line IN LISTS lines)
  string(REPLACE "\t" ";" sources "${line}")
  list(POP_FRONT sources test)
  set(files "")
  set(instances "")
  foreach(source IN LISTS sources)
    cmake_path(GET source FILENAME file)
    list(APPEND files ${file})
    file(READ "${source}" text)
    if(text MATCHES "\nint main\\(")
      message(FATAL_ERROR "${source} has a main of its own: declare it by locus_test_program")
    endif()
    # The suite is that of its instance: it may be written in another file, for several tests.
    string(REGEX MATCHALL "INSTANTIATE_TEST_SUITE_P\\([A-Za-z0-9_ \n]*,[ \n]*[A-Za-z0-9_]+" found "${text}")
    foreach(instance IN LISTS found)
      string(REGEX REPLACE "INSTANTIATE_TEST_SUITE_P\\([ \n]*([A-Za-z0-9_]*)[ \n]*,[ \n]*" "\\1/"
                           instance "${instance}")
      string(REGEX REPLACE "^/" "" instance "${instance}")
      list(APPEND instances ${instance})
    endforeach()
  endforeach()
  list(JOIN files " " files)
  list(JOIN instances " " instances)
  string(APPEND rows "    {\"${test}\", \"${files}\", \"${instances}\"},\n")
endforeach()
file(WRITE ${OUT} "// SPDX-License-Identifier: Apache-2.0
#include \"tests/support/test_entries.h\"
namespace locus {
namespace {
constexpr TestEntry kEntries[] = {
${rows}};
}  // namespace
std::span<const TestEntry> TestEntries() { return kEntries; }
}  // namespace locus
")
