// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_CLI_COMMAND_H_
#define LOCUS_TESTS_CLI_COMMAND_H_

#include <chrono>
#include <cstdlib>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "gtest/gtest.h"

// The real `locus` binary, driven as a shell drives it.
namespace locus::testing {

struct Outcome {
  int exit = -1;  // -1: ended by `signal`
  int signal = 0;
  std::string out;
  std::string err;
};

// A running command. Whatever it is waited for, a minute is the limit; then the test fails and the
// command is killed.
class RunningCommand {
 public:
  // `out_path`: stdout is this file, which exists; Outcome::out and ReadLine have nothing of it.
  explicit RunningCommand(std::vector<std::string> words, const char* out_path = nullptr);
  ~RunningCommand();
  RunningCommand(const RunningCommand&) = delete;
  RunningCommand& operator=(const RunningCommand&) = delete;

  // Writes all of it; false: the command has closed its stdin.
  bool Write(std::string_view bytes);
  void CloseStdin();
  // The next line of stdout, without its ending.
  std::string ReadLine();
  void CloseStdout();
  void Signal(int signal);
  // Closes stdin, reads the rest and waits for the end.
  Outcome Finish();

 private:
  bool ReadSome(std::chrono::steady_clock::time_point deadline);

  int pid_;
  int in_, out_, err_;
  Outcome outcome_;
};

// Runs `locus` with `words`, `input` on its stdin.
Outcome RunLocus(std::vector<std::string> words, std::string_view input = "");

// Waits until `condition` holds; false: it did not within a minute.
bool Eventually(const std::function<bool()>& condition);

// Sets an environment variable for the commands that are started while it lives.
class Variable {
 public:
  Variable(const char* name, const std::string& value) : name_(name) {
    const char* before = std::getenv(name);
    if (before != nullptr) before_ = before;
    setenv(name, value.c_str(), 1);
  }
  ~Variable() { before_ ? setenv(name_, before_->c_str(), 1) : unsetenv(name_); }
  Variable(const Variable&) = delete;
  Variable& operator=(const Variable&) = delete;

 private:
  const char* name_;
  std::optional<std::string> before_;
};

// A directory of its own for each test, removed with all that is in it.
class TemporaryDirectory {
 public:
  TemporaryDirectory();
  ~TemporaryDirectory();
  std::string operator/(std::string_view name) const { return path_ + "/" + std::string(name); }
  // The names in it, sorted.
  std::vector<std::string> Names() const;

 private:
  std::string path_;
};

std::string ReadFile(const std::string& path);
void WriteFile(const std::string& path, std::string_view text);

// What most verbs need: a directory with keys.ring and table.json (shards orders-a and "b,c"), and
// the name of a store that does not exist yet.
class CommandTest : public ::testing::Test {
 protected:
  void SetUp() override;

  TemporaryDirectory directory_;
  std::string keys_ = directory_ / "keys.ring";
  std::string table_ = directory_ / "table.json";
  std::string store_ = "sqlite:" + directory_ / "store.db";
};

}  // namespace locus::testing

#endif  // LOCUS_TESTS_CLI_COMMAND_H_
