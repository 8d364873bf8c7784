// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_DOCS_CONSOLE_DOCUMENT_H_
#define LOCUS_TESTS_DOCS_CONSOLE_DOCUMENT_H_

#include <functional>
#include <string>
#include <vector>

namespace locus {

// A command of a document, and what it is shown to print.
struct ConsoleStep {
  int line = 0;  // of the document
  std::string command;
  std::vector<std::string> shown;
};

// The commands in ```console blocks, each with the lines that follow it.
std::vector<ConsoleStep> ConsoleStepsOf(const std::string& path);

// Lets the shell find the program `locus` of this build, and speaks no language but English.
void UseThisBuild();

// Runs the commands in order, in the current directory, each as `as_run` makes it; a failure of the
// test at the first one that does not print what the document shows, in which … stands for any text
// and a line that is … alone for any lines.
void RunConsoleSteps(
    const std::string& path, const std::vector<ConsoleStep>& steps,
    const std::function<std::string(const std::string&)>& as_run = [](const std::string& command) {
      return command;
    });

}  // namespace locus

#endif  // LOCUS_TESTS_DOCS_CONSOLE_DOCUMENT_H_
