// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_MARIADB_SIGPIPE_H_
#define LOCUS_SRC_ENGINE_MARIADB_SIGPIPE_H_

#include <signal.h>

namespace locus::mariadb {

// A write to a TLS connection that the server closed raises SIGPIPE. Whoever links locus decides
// what that signal does; while an object lives it is held back on this thread, and taken if it
// came.
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

}  // namespace locus::mariadb

#endif  // LOCUS_SRC_ENGINE_MARIADB_SIGPIPE_H_
