// SPDX-License-Identifier: Apache-2.0
// main of the tests of a folder. --entry=NAME runs those of one CTest entry. Each run checks that
// every test of the program belongs to exactly one entry, so that CTest misses none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/support/test_entries.h"

namespace locus {
namespace {

bool Lists(std::string_view words, std::string_view word) {
  for (absl::string_view one : absl::StrSplit(absl::string_view(words.data(), words.size()), ' ')) {
    if (std::string_view(one.data(), one.size()) == word) return true;
  }
  return false;
}

// A suite with an instance's name belongs where it is instantiated, any other where it is written.
bool Owns(const TestEntry& entry, const ::testing::TestInfo& test) {
  std::string_view suite = test.test_suite_name();
  if (Lists(entry.instances, suite)) return true;
  if (suite.find('/') != suite.npos) return false;
  std::string_view file = test.file();
  return Lists(entry.files, file.substr(file.rfind('/') + 1));
}

// The tests of the entry as a filter of GoogleTest's; nothing if a test has not exactly one entry.
// Without a name: of all.
std::string Filter(std::string_view name, bool& good) {
  std::string filter;
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const ::testing::TestInfo& test = *suite.GetTestInfo(j);
      int owners = 0;
      for (const TestEntry& entry : TestEntries()) {
        if (!Owns(entry, test)) continue;
        ++owners;
        if (entry.name == name) {
          absl::StrAppend(&filter, filter.empty() ? "" : ":", test.test_suite_name(), ".",
                          test.name());
        }
      }
      if (owners != 1) {
        std::cerr << test.test_suite_name() << "." << test.name() << " (" << test.file() << ":"
                  << test.line() << ") belongs to " << owners << " CTest entries, not to one\n";
        good = false;
      }
    }
  }
  return filter;
}

int Main(int argc, char** argv) {
  constexpr std::string_view kEntry = "--entry=";
  std::string_view name;
  bool child = false;  // of a death test: GoogleTest names its one test
  int kept = 0;
  for (int i = 0; i < argc; ++i) {
    std::string_view word = argv[i];
    child = child || word.starts_with("--gtest_internal_run_death_test");
    if (word.starts_with(kEntry)) name = word.substr(kEntry.size());
  }
  ::testing::InitGoogleMock(&argc, argv);
  for (int i = 0; i < argc; ++i) {
    if (!std::string_view(argv[i]).starts_with(kEntry)) argv[kept++] = argv[i];
  }
  if (kept > 1) {
    std::cerr << "unknown argument \"" << argv[1] << "\"; --entry=NAME, and those of GoogleTest\n";
    return 2;
  }
  bool good = true;
  std::string filter = Filter(name, good);
  if (!good) return 1;
  if (!name.empty() && !child) {
    if (filter.empty()) {
      std::cerr << "no test belongs to the entry \"" << name << "\"\n";
      return 1;
    }
    GTEST_FLAG_SET(filter, filter);
  }
  return RUN_ALL_TESTS();
}

}  // namespace
}  // namespace locus

int main(int argc, char** argv) { return locus::Main(argc, argv); }
