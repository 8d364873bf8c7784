// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/lease/hold.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "apps/locus/line/verb.h"
#include "src/base/os/atomic_file.h"
#include "src/base/text/text.h"

namespace locus::cli {
namespace {

using internal::FileDescriptor;
using internal::Quoted;

// The longest time between SIGTERM and SIGKILL for a command whose lease was lost.
constexpr absl::Duration kGrace = absl::Seconds(5);

// How long a command may go on after the loss of its lease: its numbers must not be later than the
// ceiling, from which on they are the next holder's. Both clocks must allow it: the wall clock may
// have been set back, and says nothing of how long the machine was stopped.
absl::Duration GraceOf(const WorkerLease& lease) {
  const absl::Duration until_ceiling = lease.ceiling() - absl::Now();
  const absl::Duration until_end =
      lease.Stats().left + WorkerLease::kLargestStep + WorkerLease::kPause;
  return std::min({kGrace, until_ceiling, until_end});
}

constexpr int kEndings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

// Signals as something to wait for, beside the loss of the lease. What was ignored when this
// process began, as by nohup, stays ignored.
class Signals {
 public:
  Signals() {
    sigemptyset(&taken_);
    for (int ending : kEndings) {
      struct sigaction now = {};
      sigaction(ending, nullptr, &now);
      if (now.sa_handler != SIG_IGN) sigaddset(&taken_, ending);
    }
    signal(SIGCHLD, SIG_DFL);  // ignored, it would leave nobody to wait for
    sigaddset(&taken_, SIGCHLD);
    pthread_sigmask(SIG_BLOCK, &taken_, &before_);
    fd_ = FileDescriptor(signalfd(-1, &taken_, SFD_CLOEXEC | SFD_NONBLOCK));
    lost_ = FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  }
  ~Signals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  Signals(const Signals&) = delete;
  Signals& operator=(const Signals&) = delete;

  bool ok() const { return fd_.get() >= 0 && lost_.get() >= 0; }
  const sigset_t& before() const { return before_; }
  // Any thread may call it.
  void TellOfLoss() {
    const uint64_t one = 1;
    [[maybe_unused]] const ssize_t written = write(lost_.get(), &one, sizeof one);
  }

  enum class Event { kEnding, kChild, kLost, kTime };
  // `ending`: the signal, and whether a terminal sent it: then the command has got it, too.
  Event Wait(std::optional<absl::Time> until, signalfd_siginfo& ending) {
    while (true) {
      if (read(fd_.get(), &ending, sizeof ending) == static_cast<ssize_t>(sizeof ending)) {
        return ending.ssi_signo == SIGCHLD ? Event::kChild : Event::kEnding;
      }
      uint64_t count = 0;
      if (read(lost_.get(), &count, sizeof count) > 0) return Event::kLost;
      int timeout = -1;
      if (until) {
        const absl::Duration left = *until - absl::Now();
        if (left <= absl::ZeroDuration()) return Event::kTime;
        timeout = static_cast<int>(absl::ToInt64Milliseconds(std::min(left, absl::Hours(1)))) + 1;
      }
      pollfd fds[] = {{fd_.get(), POLLIN, 0}, {lost_.get(), POLLIN, 0}};
      poll(fds, 2, timeout);
    }
  }

 private:
  sigset_t taken_;
  sigset_t before_;
  FileDescriptor fd_;
  FileDescriptor lost_;
};

// In the child of a fork: only what is async-signal-safe.
[[noreturn]] void Become(char* const* words, char* const* environment, const sigset_t& mask,
                         pid_t parent, int report) {
  // The handlers of this process are gone with exec; what it ignores would stay ignored.
  signal(SIGPIPE, SIG_DFL);
  signal(SIGXFSZ, SIG_DFL);
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() == parent) {
    pthread_sigmask(SIG_SETMASK, &mask, nullptr);
    execvpe(words[0], words, environment);
  }
  const int error = errno;
  [[maybe_unused]] const ssize_t written = write(report, &error, sizeof error);
  _exit(127);
}

// The command as a process, or why there is none, as an exit code.
struct Child {
  pid_t pid = -1;
  int exit = kFailed;
};

Child Start(std::string_view verb, const WorkerLease& lease,
            const std::vector<std::string>& command, const Signals& signals) {
  std::vector<std::string> texts = {absl::StrCat("LOCUS_WORKER=", lease.worker()),
                                    absl::StrCat("LOCUS_WORKER_TOKEN=", lease.token())};
  std::vector<char*> environment;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view one(*each);
    if (!one.starts_with("LOCUS_WORKER=") && !one.starts_with("LOCUS_WORKER_TOKEN=")) {
      environment.push_back(*each);
    }
  }
  for (std::string& text : texts) environment.push_back(text.data());
  environment.push_back(nullptr);
  std::vector<char*> words;
  for (const std::string& word : command) words.push_back(const_cast<char*>(word.c_str()));
  words.push_back(nullptr);
  int ends[2] = {-1, -1};
  const pid_t self = getpid();
  pid_t pid = -1;
  if (pipe2(ends, O_CLOEXEC) == 0) pid = fork();
  if (pid == 0) Become(words.data(), environment.data(), signals.before(), self, ends[1]);
  const FileDescriptor reads(ends[0]);
  FileDescriptor write_end(ends[1]);
  write_end = FileDescriptor();  // closed, so that an exec ends the pipe
  if (pid < 0) {
    Complain(verb, absl::StrCat("no process for ", Quoted(command[0]), ": ", strerror(errno)));
    return {};
  }
  int error = 0;
  ssize_t count = -1;
  do {
    count = read(reads.get(), &error, sizeof error);
  } while (count < 0 && errno == EINTR);
  if (count != static_cast<ssize_t>(sizeof error)) return {pid, kDone};
  waitpid(pid, nullptr, 0);
  Complain(verb, absl::StrCat(Quoted(command[0]), " cannot be run: ", strerror(error)));
  return {-1, error == ENOENT ? 127 : 126};
}

std::optional<int> Ended(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, WNOHANG) != pid) return std::nullopt;
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

// Until the command has ended; its exit code.
int RunCommand(std::string_view verb, const WorkerLease& lease,
               const std::vector<std::string>& command, Signals& signals, bool& lost) {
  const Child child = Start(verb, lease, command, signals);
  if (child.pid < 0) return child.exit;
  std::optional<absl::Time> kill_at;
  while (true) {
    signalfd_siginfo ending = {};
    switch (signals.Wait(kill_at, ending)) {
      case Signals::Event::kChild:
        if (const std::optional<int> exit = Ended(child.pid)) return *exit;
        break;
      case Signals::Event::kEnding:
        // A terminal has sent it to the command, too.
        if (ending.ssi_code != SI_KERNEL) kill(child.pid, static_cast<int>(ending.ssi_signo));
        break;
      case Signals::Event::kLost: {
        lost = true;
        const absl::Duration grace = GraceOf(lease);
        kill(child.pid, grace > absl::ZeroDuration() ? SIGTERM : SIGKILL);
        kill_at = absl::Now() + grace;
        break;
      }
      case Signals::Event::kTime:
        kill(child.pid, SIGKILL);
        kill_at.reset();
        break;
    }
  }
}

// Until something ends it.
int RunAlone(Signals& signals, bool& lost) {
  while (true) {
    signalfd_siginfo ending = {};
    switch (signals.Wait(std::nullopt, ending)) {
      case Signals::Event::kLost:
        lost = true;
        return kFailed;
      case Signals::Event::kEnding:
        return kDone;
      case Signals::Event::kChild:
      case Signals::Event::kTime:
        break;
    }
  }
}

// The clock of this process may be behind the store's: no time up to the floor may be used. False:
// a signal came, or the lease was lost.
bool PassFloor(const WorkerLease& lease, Signals& signals, bool& lost) {
  // Milliseconds: what the command makes of its clock may be cut to them.
  const absl::Time from = lease.floor() + absl::Milliseconds(1);
  if (lease.floor() == absl::InfinitePast()) return true;
  signalfd_siginfo ending = {};
  while (absl::Now() < from) {
    const Signals::Event event = signals.Wait(from, ending);
    lost = lost || event == Signals::Event::kLost;
    if (event == Signals::Event::kLost || event == Signals::Event::kEnding) return false;
  }
  return true;
}

}  // namespace

int HoldLease(std::string_view verb,
              const std::function<absl::StatusOr<std::shared_ptr<WorkerLeaseStore>>()>& open,
              WorkerLeaseOptions options, const std::vector<std::string>& command,
              const std::function<int(const WorkerLease&)>& print) {
  // Before there are threads, which would take the signals otherwise.
  Signals signals;
  if (!signals.ok()) return Fail(verb, absl::UnavailableError("no file descriptor is left"));
  auto store = open();
  if (!store.ok()) {
    return absl::IsInvalidArgument(store.status()) ? WrongUsage(verb, store.status())
                                                   : Fail(verb, store.status());
  }
  options.on_lost = [&signals](const absl::Status&) { signals.TellOfLoss(); };
  auto lease = WorkerLease::Acquire(*std::move(store), options);
  if (!lease.ok()) return Fail(verb, lease.status());
  bool lost = false;
  int exit = kDone;
  if (command.empty()) {
    exit = print(**lease);
    if (exit == kDone) exit = RunAlone(signals, lost);
  } else if (PassFloor(**lease, signals, lost)) {
    exit = RunCommand(verb, **lease, command, signals, lost);
  } else {
    exit = kInterrupted;
  }
  const absl::Status released = (*lease)->Release();
  if (lost || absl::IsAborted(released) || absl::IsDeadlineExceeded(released)) {
    Complain(verb, absl::StrCat("worker ", (*lease)->worker(), " was lost: ", released.message()));
    return kFailed;
  }
  if (!released.ok()) {
    Complain(verb, absl::StrCat(
                       "worker ", (*lease)->worker(),
                       " was not given back, and rests until its ceiling: ", released.message()));
  }
  return exit;
}

}  // namespace locus::cli
