// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_PROOF_PROCESS_H_
#define LOCUS_TESTS_PROOF_PROCESS_H_

#include <signal.h>
#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/proof/fault_page.h"

namespace locus::proof {

struct Command {
  std::vector<std::string> words;
  std::string log;     // output is appended
  std::string page;    // the file of its FaultPage; empty: none
  std::string routes;  // of Network, without namespaces
  int network = -1;    // the network namespace; -1: that of this process
};

// A process of a proof: gets SIGKILL with the object, and with this process.
// Thread safety: none.
class Process {
 public:
  Process() = default;
  ~Process() { Kill(); }
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  // It must not run.
  void Start(const Command& command);
  // kill -9, and waits for its end.
  void Kill();
  void Signal(int signal) const;
  // How it ended, once: the exit code, or minus the signal. nullopt: it runs, or was never started,
  // or has been reaped.
  std::optional<int> Ended();
  bool running() const { return pid_ > 0; }

 private:
  pid_t pid_ = -1;
};

// A file with a page, mapped.
class MappedPage {
 public:
  explicit MappedPage(const std::string& path);
  ~MappedPage();
  MappedPage(const MappedPage&) = delete;
  MappedPage& operator=(const MappedPage&) = delete;

  FaultPage* operator->() const { return page_; }
  const std::string& path() const { return path_; }

 private:
  const std::string path_;
  FaultPage* page_ = nullptr;
};

// The last bytes of a file, for a message.
std::string TailOf(const std::string& path);

}  // namespace locus::proof

#endif  // LOCUS_TESTS_PROOF_PROCESS_H_
