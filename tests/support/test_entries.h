// SPDX-License-Identifier: Apache-2.0
// The tests of one folder are one program. A CTest entry of it is those of one file.
#ifndef LOCUS_TESTS_SUPPORT_TEST_ENTRIES_H_
#define LOCUS_TESTS_SUPPORT_TEST_ENTRIES_H_

#include <span>
#include <string_view>

namespace locus {

struct TestEntry {
  std::string_view name;
  std::string_view files;      // where its tests are written, without folders; a space between two
  std::string_view instances;  // "Prefix/Suite" of parameterized suites that it instantiates
};

// Generated for each folder by cmake/test_entries.cmake.
std::span<const TestEntry> TestEntries();

}  // namespace locus

#endif  // LOCUS_TESTS_SUPPORT_TEST_ENTRIES_H_
