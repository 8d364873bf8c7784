// SPDX-License-Identifier: Apache-2.0
// Runs the commands of docs/start/tutorial.md, and of docs/use/numbers.md, one after the other in
// an empty directory, and compares what they print with what the document shows.
#include <filesystem>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/docs/console_document.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

void RunDocument(const std::string& name, size_t least_commands) {
  const std::vector<ConsoleStep> steps = ConsoleStepsOf(LOCUS_SOURCE "/" + name);
  ASSERT_GE(steps.size(), least_commands) << "the document has lost its commands";
  TemporaryDirectory directory;
  std::filesystem::current_path(directory.str());
  UseThisBuild();
  RunConsoleSteps(name, steps);
}

TEST(TutorialTest, EachCommandInOrder_PrintsWhatTheDocumentShows) {
  RunDocument("docs/start/tutorial.md", 20);
}

TEST(NumbersPageTest, EachCommandInOrder_PrintsWhatTheDocumentShows) {
  RunDocument("docs/use/numbers.md", 10);
}

}  // namespace
}  // namespace locus
