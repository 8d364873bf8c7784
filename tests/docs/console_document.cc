// SPDX-License-Identifier: Apache-2.0
#include "tests/docs/console_document.h"

#include <stdlib.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <string_view>

#include "gtest/gtest.h"

namespace locus {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kAnything = "…";

// Whether `text` is `shown`, in which … stands for any text.
bool Matches(std::string_view shown, std::string_view text) {
  size_t at = shown.find(kAnything);
  if (at == shown.npos) return shown == text;
  if (!text.starts_with(shown.substr(0, at))) return false;
  shown.remove_prefix(at + kAnything.size());
  for (size_t i = at; i <= text.size(); ++i) {
    if (Matches(shown, text.substr(i))) return true;
  }
  return false;
}

// The same for lines: a line that is … alone stands for any number of lines.
bool Matches(const std::vector<std::string>& shown, size_t s, const std::vector<std::string>& lines,
             size_t l) {
  if (s == shown.size()) return l == lines.size();
  if (shown[s] == kAnything) {
    for (size_t i = l; i <= lines.size(); ++i) {
      if (Matches(shown, s + 1, lines, i)) return true;
    }
    return false;
  }
  return l < lines.size() && Matches(shown[s], lines[l]) && Matches(shown, s + 1, lines, l + 1);
}

std::vector<std::string> LinesOf(const std::string& command) {
  FILE* pipe = popen(("exec 2>&1; " + command).c_str(), "r");
  if (pipe == nullptr) return {"popen failed"};
  std::string said;
  std::array<char, 4096> block;
  while (size_t size = fread(block.data(), 1, block.size(), pipe)) said.append(block.data(), size);
  pclose(pipe);
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < said.size();) {
    size_t end = std::min(said.find('\n', begin), said.size());
    lines.push_back(said.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

std::vector<ConsoleStep> ConsoleStepsOf(const std::string& path) {
  std::vector<ConsoleStep> steps;
  std::ifstream in(path);
  bool console = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("```")) {
      console = line == "```console";
    } else if (console && line.starts_with("$ ")) {
      steps.push_back({number, line.substr(2), {}});
    } else if (console && !steps.empty()) {
      steps.back().shown.push_back(line);
    }
  }
  return steps;
}

void UseThisBuild() {
  const std::string path = fs::path(LOCUS_BINARY).parent_path().string() + ":" + getenv("PATH");
  ASSERT_EQ(setenv("PATH", path.c_str(), 1), 0);
  ASSERT_EQ(setenv("LC_ALL", "C.UTF-8", 1), 0);
}

void RunConsoleSteps(const std::string& path, const std::vector<ConsoleStep>& steps,
                     const std::function<std::string(const std::string&)>& as_run) {
  for (const ConsoleStep& step : steps) {
    const std::vector<std::string> lines = LinesOf(as_run(step.command));
    std::string said;
    for (const std::string& line : lines) said += line + "\n";
    ASSERT_TRUE(Matches(step.shown, 0, lines, 0))
        << path << ":" << step.line << ": $ " << step.command << "\nprinted:\n"
        << said;
  }
}

}  // namespace locus
