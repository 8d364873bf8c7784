// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/line/signals.h"

#include <unistd.h>

#include <atomic>
#include <climits>
#include <cstring>

#include "apps/locus/line/verb.h"
#include "src/base/os/check.h"

namespace locus::cli {
namespace {

struct DoomedSlot {
  std::atomic<bool> used = false;   // claimed by a DoomedFile
  std::atomic<bool> named = false;  // release: pairs with the handler's acquire of `path`
  char path[PATH_MAX];
};
constexpr int kSlots = 4;
DoomedSlot slots[kSlots];

std::atomic<bool> deferred = false;
std::atomic<bool> interrupted = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may use it");

// A signal that came just before a call blocked interrupts it a second later.
void InterruptAgain(int) { alarm(1); }

// Async-signal-safe.
void OnEnding(int) {
  if (deferred && !interrupted.exchange(true)) return InterruptAgain(0);
  for (DoomedSlot& slot : slots) {
    if (slot.named.load(std::memory_order_acquire)) unlink(slot.path);
  }
  _exit(kInterrupted);
}

constexpr int kEndings[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};

sigset_t Endings() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : kEndings) sigaddset(&set, signal);
  sigaddset(&set, SIGALRM);  // InterruptAgain repeats them with it
  return set;
}

}  // namespace

void InstallSignalHandlers() {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  struct sigaction action = {};
  action.sa_handler = OnEnding;  // without SA_RESTART
  action.sa_mask = Endings();
  for (int signal : kEndings) {
    struct sigaction inherited = {};
    sigaction(signal, nullptr, &inherited);
    if (inherited.sa_handler != SIG_IGN) sigaction(signal, &action, nullptr);
  }
  action.sa_handler = InterruptAgain;
  sigaction(SIGALRM, &action, nullptr);
}

DoomedFile::DoomedFile(const std::string& path) : slot_(0) {
  LOCUS_CHECK(path.size() < PATH_MAX);
  while (slots[slot_].used.exchange(true)) {
    ++slot_;
    LOCUS_CHECK(slot_ < kSlots);
  }
  std::memcpy(slots[slot_].path, path.c_str(), path.size() + 1);
  slots[slot_].named.store(true, std::memory_order_release);
}

DoomedFile::~DoomedFile() {
  slots[slot_].named.store(false, std::memory_order_release);
  slots[slot_].used.store(false);
}

SignalsDeferred::SignalsDeferred() { deferred = true; }
SignalsDeferred::~SignalsDeferred() { deferred = false; }

bool Interrupted() { return interrupted; }

SignalsHeld::SignalsHeld() {
  sigset_t endings = Endings();
  pthread_sigmask(SIG_BLOCK, &endings, &before_);
}

SignalsHeld::~SignalsHeld() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

}  // namespace locus::cli
