// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SUPPORT_CHILD_PROCESS_H_
#define LOCUS_TESTS_SUPPORT_CHILD_PROCESS_H_

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>
#include <utility>

namespace locus {

// A forked child that runs `body` and exits with its result; killed with the object, and with the
// thread that made it. Fork before the test starts threads.
class ChildProcess {
 public:
  explicit ChildProcess(const std::function<int()>& body) {
    pid_t parent = getpid();
    pid_ = fork();
    if (pid_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      // It may have ended before; one in another namespace of processes counts as 0.
      if (getppid() != parent && getppid() != 0) _exit(127);
      alarm(240);
      _exit(body());
    }
  }
  ~ChildProcess() {
    if (pid_ > 0) {
      Kill(SIGKILL);
      Wait();
    }
  }
  ChildProcess(ChildProcess&& other) noexcept : pid_(other.pid_) { other.pid_ = -1; }
  ChildProcess& operator=(ChildProcess&& other) noexcept {
    std::swap(pid_, other.pid_);
    return *this;
  }

  void Kill(int signal) const { kill(pid_, signal); }
  // Its exit code, or minus the signal that ended it.
  int Wait() {
    int status = 0;
    waitpid(pid_, &status, 0);
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
  }

 private:
  pid_t pid_ = -1;
};

}  // namespace locus

#endif  // LOCUS_TESTS_SUPPORT_CHILD_PROCESS_H_
