// SPDX-License-Identifier: Apache-2.0
#include "tests/cli/command.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>

#include "src/base/os/check.h"

namespace locus::testing {
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr std::chrono::seconds kPatience(120);

struct Pipe {
  Pipe() { LOCUS_CHECK(pipe2(ends, O_CLOEXEC) == 0); }
  int ends[2];
};

void CloseFd(int& fd) {
  if (fd >= 0) close(fd);
  fd = -1;
}

// In the child: from here on it is the command.
[[noreturn]] void Become(std::vector<std::string>& words, int in, int out, int err) {
  dup2(in, STDIN_FILENO);
  dup2(out, STDOUT_FILENO);
  dup2(err, STDERR_FILENO);
  for (int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) std::signal(signal, SIG_DFL);
  std::vector<char*> argv = {const_cast<char*>("locus")};
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  execv(LOCUS_BINARY, argv.data());
  _exit(127);
}

}  // namespace

RunningCommand::RunningCommand(std::vector<std::string> words, const char* out_path) {
  std::signal(SIGPIPE, SIG_IGN);
  Pipe in, out, err;
  pid_ = fork();
  LOCUS_CHECK(pid_ >= 0);
  if (pid_ == 0) {
    int out_end = out_path == nullptr ? out.ends[1] : open(out_path, O_WRONLY | O_CLOEXEC);
    Become(words, in.ends[0], out_end, err.ends[1]);
  }
  close(in.ends[0]);
  close(out.ends[1]);
  close(err.ends[1]);
  in_ = in.ends[1];
  out_ = out.ends[0];
  err_ = err.ends[0];
}

RunningCommand::~RunningCommand() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  CloseFd(in_);
  CloseFd(out_);
  CloseFd(err_);
}

bool RunningCommand::Write(std::string_view bytes) {
  // Never blocks on a command that is itself blocked writing.
  fcntl(in_, F_SETFL, O_NONBLOCK);
  auto deadline = SteadyClock::now() + kPatience;
  while (!bytes.empty() && SteadyClock::now() < deadline) {
    ssize_t count = write(in_, bytes.data(), bytes.size());
    if (count > 0) {
      bytes.remove_prefix(static_cast<size_t>(count));
    } else if (errno == EAGAIN) {
      ReadSome(SteadyClock::now() + std::chrono::milliseconds(1));
    } else {
      return false;
    }
  }
  return bytes.empty();
}

void RunningCommand::CloseStdin() { CloseFd(in_); }
void RunningCommand::CloseStdout() { CloseFd(out_); }
void RunningCommand::Signal(int signal) { kill(pid_, signal); }

// False: nothing more will come, or the deadline passed.
bool RunningCommand::ReadSome(SteadyClock::time_point deadline) {
  pollfd fds[] = {{out_, POLLIN, 0}, {err_, POLLIN, 0}};
  if (out_ < 0 && err_ < 0) return false;
  auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - SteadyClock::now());
  if (poll(fds, 2, std::max(0, static_cast<int>(left.count()))) <= 0) return false;
  char block[65536];
  if (out_ >= 0 && fds[0].revents != 0) {
    ssize_t count = read(out_, block, sizeof block);
    count > 0 ? void(outcome_.out.append(block, static_cast<size_t>(count))) : CloseFd(out_);
  }
  if (err_ >= 0 && fds[1].revents != 0) {
    ssize_t count = read(err_, block, sizeof block);
    count > 0 ? void(outcome_.err.append(block, static_cast<size_t>(count))) : CloseFd(err_);
  }
  return true;
}

std::string RunningCommand::ReadLine() {
  auto deadline = SteadyClock::now() + kPatience;
  size_t end;
  while ((end = outcome_.out.find('\n')) == std::string::npos) {
    if (out_ < 0 || !ReadSome(deadline)) {
      ADD_FAILURE() << "no line came; so far: " << outcome_.out << outcome_.err;
      return "";
    }
  }
  std::string line = outcome_.out.substr(0, end);
  outcome_.out.erase(0, end + 1);
  return line;
}

Outcome RunningCommand::Finish() {
  CloseStdin();
  auto deadline = SteadyClock::now() + kPatience;
  while (ReadSome(deadline)) {
  }
  int status = 0;
  if (SteadyClock::now() >= deadline) {
    ADD_FAILURE() << "the command does not end; so far: " << outcome_.err;
    kill(pid_, SIGKILL);
  }
  waitpid(pid_, &status, 0);
  pid_ = -1;
  if (WIFEXITED(status)) outcome_.exit = WEXITSTATUS(status);
  if (WIFSIGNALED(status)) outcome_.signal = WTERMSIG(status);
  return outcome_;
}

Outcome RunLocus(std::vector<std::string> words, std::string_view input) {
  RunningCommand command(std::move(words));
  command.Write(input);
  return command.Finish();
}

bool Eventually(const std::function<bool()>& condition) {
  auto deadline = SteadyClock::now() + kPatience;
  while (!condition()) {
    if (SteadyClock::now() > deadline) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // between two looks
  }
  return true;
}

TemporaryDirectory::TemporaryDirectory()
    : path_((std::filesystem::temp_directory_path() / "locus-test-XXXXXX").string()) {
  LOCUS_CHECK(mkdtemp(path_.data()) != nullptr);
}

TemporaryDirectory::~TemporaryDirectory() { std::filesystem::remove_all(path_); }

std::vector<std::string> TemporaryDirectory::Names() const {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) {
    names.push_back(entry.path().filename().string());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string ReadFile(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  EXPECT_TRUE(in) << path;
  std::stringstream text;
  text << in.rdbuf();
  return text.str();
}

void WriteFile(const std::string& path, std::string_view text) {
  std::ofstream out(path, std::ios::binary);
  out << text;
  EXPECT_TRUE(out.flush()) << path;
}

void CommandTest::SetUp() {
  ASSERT_EQ(RunLocus({"keys", "new", keys_}).exit, 0);
  Outcome table = RunLocus(
      {"table", "new", "--shard", "orders-a=mysql://db1/a", "--shard", "b,c=mysql://db2/b"});
  ASSERT_EQ(table.exit, 0) << table.err;
  WriteFile(table_, table.out);
}

}  // namespace locus::testing
