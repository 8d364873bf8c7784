// SPDX-License-Identifier: Apache-2.0
#include "src/engine/mysql/bounded_call.h"

#include <fcntl.h>
#include <mysql.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <system_error>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/os/signals_blocked.h"
#include "src/base/run/mutex.h"

// The client library exports this for traffic counters, and declares it in none of its headers. The
// function is called after each read (mode 0) and write (1) of any handle of the process; `size` is
// -1 after an error.
extern "C" int ma_pvio_register_callback(my_bool add,
                                         void (*function)(int mode, MYSQL* handle,
                                                          const unsigned char* bytes, size_t size));

namespace locus::mysql {

using internal::CondVar;
using internal::Mutex;
using internal::MutexLock;

namespace {

// Shuts sockets down at their deadlines, on a thread of its own. A TLS read blocks inside OpenSSL
// until a whole record has come, so the calling thread cannot check the time itself.
class Watchdog {
 public:
  // This process's watchdog; a forked child gets a new one. Never destroyed, because calls may be
  // under way when the process exits. nullptr: no thread can be started.
  static Watchdog* Get() {
    static std::atomic<Watchdog*> current{nullptr};
    Watchdog* found = current.load(std::memory_order_acquire);
    while (found == nullptr || found->process_.forked()) {
      auto made = std::make_unique<Watchdog>();
      if (!made->Start()) return nullptr;
      if (current.compare_exchange_strong(found, made.get(), std::memory_order_acq_rel)) {
        return made.release();
      }
      made->Stop();  // another thread was faster
    }
    return found;
  }

  void Add(TimePoint deadline, int fd) {
    MutexLock lock(mutex_);
    watched_.emplace(deadline, fd);
    if (deadline < sleeps_until_) wake_.NotifyAll();
  }
  // Afterwards the watchdog does not touch `fd`.
  void Remove(TimePoint deadline, int fd) {
    MutexLock lock(mutex_);
    watched_.erase({deadline, fd});
  }

 private:
  bool Start() {
    try {
      const internal::SignalsBlocked blocked;
      thread_ = std::thread([this] { Run(); });
      return true;
    } catch (const std::system_error&) {
      return false;
    }
  }

  void Stop() {
    {
      MutexLock lock(mutex_);
      stopped_ = true;
      wake_.NotifyAll();
    }
    thread_.join();
  }

  void Run() {
    MutexLock lock(mutex_);
    while (!stopped_) {
      while (!watched_.empty() && watched_.begin()->first <= std::chrono::steady_clock::now()) {
        shutdown(watched_.begin()->second, SHUT_RDWR);
        watched_.erase(watched_.begin());
      }
      sleeps_until_ = watched_.empty() ? TimePoint::max() : watched_.begin()->first;
      if (watched_.empty()) {
        wake_.Wait(mutex_);
      } else {
        wake_.WaitUntil(mutex_, sleeps_until_);
      }
    }
  }

  const internal::ForkGuard process_;
  Mutex mutex_;
  CondVar wake_;
  std::set<std::pair<TimePoint, int>> watched_ ABSL_GUARDED_BY(mutex_);
  // Calls end long before their deadlines, so the thread sleeps on when the first of them ends: it
  // wakes once in a timeout, not once a call.
  TimePoint sleeps_until_ ABSL_GUARDED_BY(mutex_) = TimePoint::min();
  bool stopped_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

thread_local BoundedCall* current_call = nullptr;

}  // namespace

void BoundedCall::Install() { LOCUS_CHECK(ma_pvio_register_callback(1, &OnRead) == 0); }

BoundedCall::BoundedCall(MYSQL* handle, TimePoint deadline) : handle_(handle), deadline_(deadline) {
  LOCUS_CHECK(current_call == nullptr);
  current_call = this;
  Watch();
}

BoundedCall::~BoundedCall() {
  current_call = nullptr;
  if (watched_ < 0) return;
  // Before the close, so that the watchdog never shuts down a descriptor of the same number.
  if (Watchdog* watchdog = Watchdog::Get()) watchdog->Remove(deadline_, watched_);
  close(watched_);
}

void BoundedCall::Watch() {
  if (watched_ >= 0 || handle_->net.pvio == nullptr) return;
  // A duplicate: the library may close its own descriptor at any time, and the number may belong to
  // another socket by the time the watchdog acts.
  watched_ = fcntl(static_cast<int>(mysql_get_socket(handle_)), F_DUPFD_CLOEXEC, 0);
  Watchdog* watchdog = watched_ < 0 ? nullptr : Watchdog::Get();
  if (watchdog != nullptr) watchdog->Add(deadline_, watched_);
}

void BoundedCall::Allow(size_t bytes) {
  received_ = 0;
  allowed_ = bytes;
}

void BoundedCall::Cut() {
  if (watched_ >= 0) shutdown(watched_, SHUT_RDWR);
}

void BoundedCall::OnRead(int mode, MYSQL* handle, const unsigned char*, size_t size) {
  BoundedCall* call = current_call;
  if (mode != 0 || call == nullptr || call->handle_ != handle) return;
  call->Watch();
  if (static_cast<ssize_t>(size) <= 0) return;
  call->received_ += size;
  if (call->received_ <= call->allowed_) return;
  call->too_much_ = true;
  call->Cut();
}

absl::Status BoundedCall::Status() const {
  if (too_much_) {
    return absl::UnavailableError(absl::StrCat("the server sent more than ", allowed_,
                                               " bytes, more than such an answer has"));
  }
  if (std::chrono::steady_clock::now() < deadline_) return absl::OkStatus();
  absl::Duration bound = absl::FromChrono(deadline_ - started_);
  return absl::UnavailableError(
      absl::StrCat("the server's answer did not end within ",
                   absl::FormatDuration(absl::Ceil(bound, absl::Milliseconds(1)))));
}

}  // namespace locus::mysql
