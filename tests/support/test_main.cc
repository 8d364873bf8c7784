// SPDX-License-Identifier: Apache-2.0
// main of the tests of a folder. --entry=NAME runs all tests of one CTest entry, whatever filter or
// share of the tests the environment names. Each run checks that every test of the program belongs
// to exactly one entry, so that CTest misses none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "tests/support/test_entries.h"

// False reports of ThreadSanitizer about libraries that are built without it. A program can name
// such places only once.
// - Debian's Abseil takes down the count of references of a status: the sanitizer sees that one
//   thread read it and another freed it, and not the atomic count between the two.
// - ZooKeeper's client formats addresses for its log in a buffer that all handles share; nothing
//   reads it here, because the log is dropped.
extern "C" const char* __tsan_default_suppressions();
extern "C" const char* __tsan_default_suppressions() {
  return "race:Status::UnrefNonInlined\nrace:^Unref$\nrace_top:vsprintf\n";
}

namespace locus {
namespace {

bool Lists(std::string_view words, std::string_view word) {
  for (absl::string_view one : absl::StrSplit(absl::string_view(words.data(), words.size()), ' ')) {
    if (std::string_view(one.data(), one.size()) == word) return true;
  }
  return false;
}

// The entries that a test belongs to: those that list its instance, or else its file. An instance
// may be of tests that another file has written. Lists see no INSTANTIATE_TEST_SUITE_P inside a
// macro, and no typed tests.
std::vector<const TestEntry*> OwnersOf(const ::testing::TestInfo& test) {
  std::string_view file = test.file();
  file = file.substr(file.rfind('/') + 1);
  std::vector<const TestEntry*> by_instance, by_file;
  for (const TestEntry& entry : TestEntries()) {
    if (Lists(entry.instances, test.test_suite_name())) by_instance.push_back(&entry);
    if (Lists(entry.files, file)) by_file.push_back(&entry);
  }
  return by_instance.empty() ? by_file : by_instance;
}

// A filter of GoogleTest's that chooses the tests of the entry. Sets `good` to false if a test of
// the program belongs to no entry or to several.
std::string Filter(std::string_view name, bool& good) {
  std::string filter;
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(i);
    for (int j = 0; j < suite.total_test_count(); ++j) {
      const ::testing::TestInfo& test = *suite.GetTestInfo(j);
      std::vector<const TestEntry*> owners = OwnersOf(test);
      if (owners.size() == 1 && owners.front()->name == name) {
        absl::StrAppend(&filter, filter.empty() ? "" : ":", test.test_suite_name(), ".",
                        test.name());
      }
      if (owners.size() != 1) {
        std::cerr
            << test.test_suite_name() << "." << test.name() << " (" << test.file() << ":"
            << test.line() << ") belongs to " << owners.size()
            << " CTest entries, not to one: write INSTANTIATE_TEST_SUITE_P, not a macro of it,"
            << " in the .cc of one test, with a prefix that no other file has\n";
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
  bool filtered = false;
  int kept = 0;
  for (int i = 0; i < argc; ++i) {
    std::string_view word = argv[i];
    child = child || word.starts_with("--gtest_internal_run_death_test");
    filtered = filtered || word.starts_with("--gtest_filter");
    if (word.starts_with(kEntry)) name = word.substr(kEntry.size());
  }
  if (!name.empty() && !child) {
    if (filtered) {
      std::cerr << "--entry and --gtest_filter both choose tests: give one of them\n";
      return 2;
    }
    // GoogleTest would leave out tests, and the entry pass.
    unsetenv("GTEST_TOTAL_SHARDS");
    unsetenv("GTEST_SHARD_INDEX");
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
      std::cerr << "no test belongs to the entry \"" << name << "\"; entries of this program:";
      for (const TestEntry& entry : TestEntries()) std::cerr << " " << entry.name;
      std::cerr << "\n";
      return 1;
    }
    GTEST_FLAG_SET(filter, filter);
  }
  int result = RUN_ALL_TESTS();
  if (!name.empty() && !child && ::testing::UnitTest::GetInstance()->test_to_run_count() == 0) {
    std::cerr << "all tests of the entry \"" << name << "\" are disabled\n";
    return 1;
  }
  return result;
}

}  // namespace
}  // namespace locus

int main(int argc, char** argv) { return locus::Main(argc, argv); }
