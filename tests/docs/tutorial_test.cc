// SPDX-License-Identifier: Apache-2.0
// Runs the commands of docs/tutorial.md, one after the other in one empty directory, and compares
// what they print with what the document shows.
#include <filesystem>

#include "gtest/gtest.h"
#include "tests/docs/console_document.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

TEST(TutorialTest, EachCommandInOrder_PrintsWhatTheDocumentShows) {
  const std::vector<ConsoleStep> steps = ConsoleStepsOf(LOCUS_TUTORIAL);
  ASSERT_GT(steps.size(), 20u) << "the document has lost its commands";
  TemporaryDirectory directory;
  std::filesystem::current_path(directory.str());
  UseThisBuild();
  RunConsoleSteps("docs/tutorial.md", steps);
}

}  // namespace
}  // namespace locus
