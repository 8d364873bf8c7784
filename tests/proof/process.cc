// SPDX-License-Identifier: Apache-2.0
#include "tests/proof/process.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>

#include "src/base/os/check.h"
#include "tests/proof/places.h"

namespace locus::proof {

void Process::Start(const Command& command) {
  LOCUS_CHECK(pid_ < 0);
  std::vector<std::string> words = command.words;
  std::vector<char*> raw;
  for (std::string& word : words) raw.push_back(word.data());
  raw.push_back(nullptr);
  const std::string preloaded = PreloadedFaults();
  const int log = open(command.log.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  LOCUS_CHECK(log >= 0);
  const pid_t parent = getpid();
  pid_ = fork();
  LOCUS_CHECK(pid_ >= 0);
  if (pid_ == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);
    if (command.network >= 0 && setns(command.network, CLONE_NEWNET) != 0) _exit(126);
    if (!command.page.empty() || !command.routes.empty()) {
      setenv("LD_PRELOAD", preloaded.c_str(), 1);
    }
    if (!command.page.empty()) setenv(kFaultPageVariable, command.page.c_str(), 1);
    if (!command.routes.empty()) setenv(kRoutesVariable, command.routes.c_str(), 1);
    dup2(open("/dev/null", O_RDONLY), 0);
    dup2(log, 1);
    dup2(log, 2);
    execvp(raw[0], raw.data());
    _exit(127);
  }
  close(log);
}

void Process::Kill() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
}

void Process::Signal(int signal) const {
  if (pid_ > 0) kill(pid_, signal);
}

std::optional<int> Process::Ended() {
  int status = 0;
  if (pid_ <= 0 || waitpid(pid_, &status, WNOHANG) != pid_) return std::nullopt;
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

MappedPage::MappedPage(const std::string& path) : path_(path) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  LOCUS_CHECK(fd >= 0 && ftruncate(fd, sizeof(FaultPage)) == 0);
  void* page = mmap(nullptr, sizeof(FaultPage), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  LOCUS_CHECK(page != MAP_FAILED);
  page_ = static_cast<FaultPage*>(page);
}

MappedPage::~MappedPage() { munmap(page_, sizeof(FaultPage)); }

std::string TailOf(const std::string& path) {
  constexpr size_t kTail = 3000;
  std::ifstream in(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(in), {}};
  return text.size() > kTail ? text.substr(text.size() - kTail) : text;
}

}  // namespace locus::proof
