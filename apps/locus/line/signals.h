// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_LINE_SIGNALS_H_
#define LOCUS_APPS_LOCUS_LINE_SIGNALS_H_

#include <csignal>
#include <string>

// How the command ends when a signal asks for it. Signals belong to the process, so this state is
// global.
namespace locus::cli {

// SIGINT, SIGTERM, SIGHUP and SIGQUIT, called endings here, unlink every DoomedFile and exit with
// kInterrupted, whatever any thread is doing (but see SignalsDeferred); stores and key rings
// survive that as they survive kill -9. A signal that was ignored, as by nohup, stays ignored.
// SIGPIPE and SIGXFSZ are ignored: writing to a closed pipe, or past the largest size that a file
// may have, fails instead (ByteSink).
void InstallSignalHandlers();

// A file that must not outlive an interruption. At most four at a time, paths below PATH_MAX.
class DoomedFile {
 public:
  // Name it before it is created: no signal finds it unnamed.
  explicit DoomedFile(const std::string& path);
  // Forgets the file, does not remove it.
  ~DoomedFile();
  DoomedFile(const DoomedFile&) = delete;
  DoomedFile& operator=(const DoomedFile&) = delete;

 private:
  int slot_;
};

// While one lives (one at a time), the first ending only makes Interrupted() true. For a verb that
// must not stop at any point: blocking calls return EINTR, again every second, and ByteSource and
// ByteSink then fail. A second signal ends the command at once.
class SignalsDeferred {
 public:
  SignalsDeferred();
  ~SignalsDeferred();
  SignalsDeferred(const SignalsDeferred&) = delete;
  SignalsDeferred& operator=(const SignalsDeferred&) = delete;
};

// Whether a signal came while a SignalsDeferred lived.
bool Interrupted();

// Holds endings back from this thread while it lives, and for good from threads started meanwhile.
class SignalsHeld {
 public:
  SignalsHeld();
  ~SignalsHeld();
  SignalsHeld(const SignalsHeld&) = delete;
  SignalsHeld& operator=(const SignalsHeld&) = delete;

 private:
  sigset_t before_;
};

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_LINE_SIGNALS_H_
