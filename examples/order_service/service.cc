// SPDX-License-Identifier: Apache-2.0
#include "service.h"

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <map>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "locus/engine/sqlite.h"
#include "locus/key_ring.h"
#include "locus/order_id_generator.h"

namespace shop {
namespace {

// The signals that the parent waits for; blocked, so that none comes between the look and the wait.
sigset_t AwaitedSignals() {
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD}) sigaddset(&signals, signal);
  return signals;
}

ClientKind KindOf(const ServiceOptions& options, unsigned i) {
  if (i < options.late) return ClientKind::kLate;
  if (i < options.late + options.frozen) return ClientKind::kFrozen;
  if (i < options.late + options.frozen + options.plain) return ClientKind::kPlain;
  return ClientKind::kFollows;
}

// A number above those of all runs that left files in the directory, run<number>-<process>.*.
unsigned NextRun(const std::string& directory) {
  unsigned last = 0;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const std::string name = entry.path().filename().string();
    unsigned run = 0;
    if (name.starts_with("run") && absl::SimpleAtoi(name.substr(3, name.find('-') - 3), &run)) {
      last = std::max(last, run);
    }
  }
  return last + 1;
}

// This program with these words, and with no signal blocked.
absl::StatusOr<pid_t> Start(const std::vector<std::string>& words) {
  std::vector<char*> pointers;
  for (const std::string& word : words) pointers.push_back(const_cast<char*>(word.c_str()));
  pointers.push_back(nullptr);
  sigset_t none;
  sigemptyset(&none);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
  posix_spawnattr_setsigmask(&attributes, &none);
  pid_t pid = 0;
  const int error =
      posix_spawn(&pid, "/proc/self/exe", nullptr, &attributes, pointers.data(), environ);
  posix_spawnattr_destroy(&attributes);
  if (error == 0) return pid;
  return absl::UnavailableError(absl::StrCat("no process can be started: ", std::strerror(error)));
}

// The result of a process; OK for exit code 0.
absl::Status EndOf(const std::string& name, int status) {
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return absl::OkStatus();
  return absl::UnavailableError(
      WIFSIGNALED(status)
          ? absl::StrCat("process ", name, " was killed by signal ", WTERMSIG(status))
          : absl::StrCat("process ", name, " ended with exit code ", WEXITSTATUS(status)));
}

// A process of the service: its number, and how many had that number before it.
struct Numbered {
  unsigned number = 0;
  unsigned lives = 0;
  std::string name = {};  // of its files
};

// The processes of one run.
class Processes {
 public:
  Processes(const ServiceOptions& options, unsigned run) : options_(options), run_(run) {}

  absl::Status StartAll() {
    absl::Status status;
    for (unsigned i = 0; i < options_.processes && status.ok(); ++i) status = StartOne(i, 0);
    if (!status.ok()) EndAll();
    return status;
  }

  // Until all have ended; the first failure.
  absl::Status WaitForAll() {
    const sigset_t signals = AwaitedSignals();
    while (!running_.empty()) {
      const int signal = sigwaitinfo(&signals, nullptr);
      if (signal == SIGTERM || signal == SIGINT) EndAll();
      int status = 0;
      for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;) Reap(ended, status);
    }
    return first_;
  }

 private:
  absl::Status StartOne(unsigned number, unsigned lives) {
    // "run3-1", and "run3-1-2" the second time that it was replaced.
    const std::string name = lives == 0 ? absl::StrCat("run", run_, "-", number)
                                        : absl::StrCat("run", run_, "-", number, "-", lives);
    std::vector<std::string> words = {"order_service", "client"};
    words.insert(words.end(), options_.words.begin(), options_.words.end());
    const unsigned processes = options_.processes;
    const uint64_t orders =
        options_.orders == UINT64_MAX ? UINT64_MAX : ShareOf(options_.orders, processes, number);
    const uint64_t bulk = lives == 0 ? ShareOf(options_.bulk, processes, number) : 0;
    for (const std::string& word :
         {std::string("--kind"), std::string(NameOf(KindOf(options_, number))),
          std::string("--name"), name, std::string("--share-orders"), absl::StrCat(orders),
          std::string("--share-bulk"), absl::StrCat(bulk), std::string("--share-rate"),
          absl::StrCat(options_.writes_a_second / processes), std::string("--number"),
          absl::StrCat(number), std::string("--lives"), absl::StrCat(lives)}) {
      words.push_back(word);
    }
    auto pid = Start(words);
    if (!pid.ok()) return pid.status();
    running_[*pid] = {number, lives, name};
    return absl::OkStatus();
  }

  void Reap(pid_t pid, int status) {
    auto found = running_.find(pid);
    if (found == running_.end()) return;
    const Numbered process = found->second;
    running_.erase(found);
    absl::Status ended = EndOf(process.name, status);
    const bool killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
    if (killed && options_.revive) {
      ended = ending_ ? absl::OkStatus() : StartOne(process.number, process.lives + 1);
    }
    if (first_.ok()) first_ = ended;
  }

  void EndAll() {
    ending_ = true;
    for (const auto& [pid, process] : running_) kill(pid, SIGTERM);
  }

  const ServiceOptions& options_;
  const unsigned run_;
  std::map<pid_t, Numbered> running_;
  bool ending_ = false;
  absl::Status first_;
};

}  // namespace

absl::Status ServiceOptions::Check() const {
  if (processes < 1 || processes > 1000) {
    return absl::InvalidArgumentError(
        absl::StrCat("--processes is ", processes, "; it must be 1 to 1000"));
  }
  if (late + frozen + plain > processes) {
    return absl::InvalidArgumentError(absl::StrCat("--late ", late, ", --frozen ", frozen,
                                                   " and --plain ", plain,
                                                   " are more than --processes ", processes));
  }
  return absl::OkStatus();
}

absl::Status PrepareDirectory(const Place& place) {
  std::error_code error;
  std::filesystem::create_directories(place.directory, error);
  if (error) return absl::UnavailableError(absl::StrCat(place.directory, ": ", error.message()));
  if (!std::filesystem::exists(place.keys())) {
    auto ring = locus::KeyRing::Generate();
    if (!ring.ok()) return ring.status();
    if (auto saved = ring->Save(place.keys(), /*must_not_exist=*/true); !saved.ok()) return saved;
  }
  auto store = locus::SqliteSegmentStore::Open(place.store(), {.create = true});
  if (!store.ok()) return store.status();
  return locus::OrderIdGenerator::Create(std::shared_ptr<locus::SegmentStore>(*std::move(store)),
                                         {.create_space = true})
      .status();
}

absl::Status RunService(const Place& place, const ServiceOptions& options) {
  if (auto checked = options.Check(); !checked.ok()) return checked;
  if (auto prepared = PrepareDirectory(place); !prepared.ok()) return prepared;
  const sigset_t signals = AwaitedSignals();
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  Processes processes(options, NextRun(place.directory));
  const absl::Status started = processes.StartAll();
  const absl::Status ended = processes.WaitForAll();
  return started.ok() ? ended : started;
}

}  // namespace shop
