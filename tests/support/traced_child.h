// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SUPPORT_TRACED_CHILD_H_
#define LOCUS_TESTS_SUPPORT_TRACED_CHILD_H_

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <unistd.h>

#include <functional>

namespace locus {

// A forked child that runs `body` and exits with its result. It runs from one system call to the
// next on command, and is killed with the object.
class TracedChild {
 public:
  explicit TracedChild(const std::function<int()>& body) : pid_(fork()) {
    if (pid_ == 0) {
      alarm(240);
      if (ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(99);
      raise(SIGSTOP);
      _exit(body());
    }
    waitpid(pid_, &status_, 0);
  }
  ~TracedChild() { Kill(); }
  TracedChild(const TracedChild&) = delete;
  TracedChild& operator=(const TracedChild&) = delete;

  // Lets it run, and asks `stop` each time that it enters or leaves a system call, where it is held
  // then. False: it ended before.
  bool RunUntil(const std::function<bool()>& stop) {
    while (WIFSTOPPED(status_)) {
      ptrace(PTRACE_SYSCALL, pid_, nullptr, nullptr);
      waitpid(pid_, &status_, 0);
      if (WIFSTOPPED(status_) && stop()) return true;
    }
    return false;
  }
  bool RunForStops(int stops) {
    return RunUntil([&] { return --stops <= 0; });
  }

  pid_t pid() const { return pid_; }

  void Kill() {
    if (!WIFSTOPPED(status_)) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, &status_, 0);
  }
  // Lets it run to its end: its exit code, or minus the signal that ended it.
  int Finish() {
    if (WIFSTOPPED(status_)) {
      ptrace(PTRACE_DETACH, pid_, nullptr, nullptr);
      waitpid(pid_, &status_, 0);
    }
    return WIFEXITED(status_) ? WEXITSTATUS(status_) : -WTERMSIG(status_);
  }

 private:
  const pid_t pid_;
  int status_ = 0;
};

}  // namespace locus

#endif  // LOCUS_TESTS_SUPPORT_TRACED_CHILD_H_
