// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_MYSQL_SIGPIPE_H_
#define LOCUS_SRC_ENGINE_MYSQL_SIGPIPE_H_

#include <mysql.h>
#include <signal.h>

#include <optional>

namespace locus::mysql {

// A write to a TLS connection that the server closed raises SIGPIPE, and the program that links
// locus decides what that signal does. While an object lives, the signal is blocked on this thread;
// its destructor discards one that came.
class HoldSigpipe {
 public:
  HoldSigpipe() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~HoldSigpipe() {
    constexpr timespec kAtOnce{};
    if (!was_pending_) sigtimedwait(&pipe_, nullptr, &kAtOnce);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  HoldSigpipe(const HoldSigpipe&) = delete;
  HoldSigpipe& operator=(const HoldSigpipe&) = delete;

 private:
  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_;
};

// The same for calls with `handle`, at no cost on a plain connection, which raises no SIGPIPE:
// holding the signal back takes four system calls, a tenth of a short statement on one machine.
class HoldSigpipeOfTls {
 public:
  explicit HoldSigpipeOfTls(MYSQL* handle) {
    if (mysql_get_ssl_cipher(handle) != nullptr) hold_.emplace();
  }

 private:
  std::optional<HoldSigpipe> hold_;
};

}  // namespace locus::mysql

#endif  // LOCUS_SRC_ENGINE_MYSQL_SIGPIPE_H_
