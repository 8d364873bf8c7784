// SPDX-License-Identifier: Apache-2.0
// Runs docs/use/http.md from top to bottom: its commands print what it shows, its configuration is
// taken, its services answer. Only ports and directories differ.
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "tests/docs/console_document.h"
#include "tests/support/private_server.h"
#include "tests/support/temporary_directory.h"

namespace locus {
namespace {

constexpr char kPage[] = LOCUS_SOURCE "/docs/use/http.md";

std::string TextOf(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// The ```toml blocks, each with its line.
std::vector<std::pair<int, std::string>> TomlBlocks() {
  std::vector<std::pair<int, std::string>> blocks;
  std::ifstream in(kPage);
  bool toml = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    if (line.starts_with("```")) {
      toml = line == "```toml";
      if (toml) blocks.emplace_back(number, "");
    } else if (toml) {
      blocks.back().second += line + "\n";
    }
  }
  return blocks;
}

class HttpPageTest : public ::testing::Test {
 protected:
  // A text of the page, with the ports and directories of this test.
  std::string Here(const std::string& text) const {
    return absl::StrReplaceAll(text, {{"127.0.0.1:7070", absl::StrCat("127.0.0.1:", port_)},
                                      {"/etc/locusd", directory_ / "etc"},
                                      {"/var/lib/locusd", directory_ / "var"},
                                      {"curl ", "curl -sS --max-time 60 "}});
  }

  // A locusd that stays in the foreground takes the place of the one that runs.
  void Serve(const ConsoleStep& step) {
    std::vector<std::string> words = absl::StrSplit(Here(step.command), ' ');
    words[0] = LOCUS_LOCUSD_PROGRAM;
    if (!absl::StrContains(step.command, "--config")) {
      words.insert(words.end(), {"--listen", absl::StrCat("127.0.0.1:", port_)});
    }
    if (running_ != nullptr) running_->Stop();
    const std::string log = directory_ / absl::StrCat("log", step.line);
    running_ = std::make_unique<PrivateServer>(words, log);
    ASSERT_TRUE(running_->Start([&] { return Listens(port_); }));
    // What it prints, as that of a command.
    RunConsoleSteps(kPage, {step}, [&](const std::string&) { return "cat " + log; });
  }

  void Add(const std::string& toml) {
    std::ofstream(directory_ / "etc/locusd.toml", std::ios::app) << "\n" << Here(toml);
    const std::string refused =
        absl::StrCat("curl -s http://127.0.0.1:", port_, "/v1/uuid | grep -q 401");
    EXPECT_TRUE(WaitUntil([&] { return system(refused.c_str()) == 0; })) << running_->LogTail();
  }

  TemporaryDirectory directory_;
  const uint16_t port_ = FreePort();
  std::unique_ptr<PrivateServer> running_;
};

TEST_F(HttpPageTest, EachCommandInOrder_PrintsWhatTheDocumentShows) {
  std::vector<std::pair<int, std::string>> toml = TomlBlocks();
  const std::vector<ConsoleStep> steps = ConsoleStepsOf(kPage);
  ASSERT_GE(steps.size(), 14u) << "the document has lost its commands";
  ASSERT_EQ(toml.size(), 1u);
  for (const char* folder : {"etc", "var"}) {
    std::filesystem::create_directory(directory_ / folder);
  }
  std::filesystem::current_path(directory_.str());
  UseThisBuild();
  for (ConsoleStep step : steps) {
    while (!toml.empty() && toml.front().first < step.line) {
      Add(toml.front().second);
      toml.erase(toml.begin());
    }
    const bool ends =
        absl::StrContains(step.command, "init") || absl::StrContains(step.command, "--check");
    for (std::string& line : step.shown) line = Here(line);
    if (step.command.starts_with("locusd ") && !ends) {
      Serve(step);
    } else {
      RunConsoleSteps(kPage, {step}, [this](const std::string& command) { return Here(command); });
    }
    if (HasFatalFailure()) return;
    if (absl::StrContains(step.command, "init")) {
      const std::string path = directory_ / "etc/locusd.toml";
      const std::string text = Here(TextOf(path));
      std::ofstream(path) << text;
    }
  }
  running_->Stop();
}

}  // namespace
}  // namespace locus
