// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_BASE_OS_SIGNALS_BLOCKED_H_
#define LOCUS_SRC_BASE_OS_SIGNALS_BLOCKED_H_

#include <pthread.h>
#include <signal.h>

namespace locus::internal {

// While one lives, threads that are started by this thread get no signals of the process, for good:
// the program that links locus decides which of its threads run its handlers, or wait for signals.
// Signals for a thread's own fault, or for profiling, stay unblocked.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t most;
    sigfillset(&most);
    for (int own : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGABRT, SIGSYS, SIGPROF}) {
      sigdelset(&most, own);
    }
    pthread_sigmask(SIG_BLOCK, &most, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

}  // namespace locus::internal

#endif  // LOCUS_SRC_BASE_OS_SIGNALS_BLOCKED_H_
