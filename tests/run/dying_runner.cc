// SPDX-License-Identifier: Apache-2.0
// A runner of the tests' move that kills or stops itself before a statement of its own.
// usage: dying_runner TABLE-FILE SPOOL SOURCE-PORT TARGET-PORT STATEMENT [stop]
//        STATEMENT: the number of the one that it does not send; 0: it sends them all
//        stop: it sends it later, when the test continues it
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <iostream>

#include "absl/strings/str_cat.h"
#include "locus/routing/file_table.h"
#include "tests/run/move_setup.h"

int main(int argc, char** argv) {
  if (argc != 6 && argc != 7) return 2;
  const int signal = argc == 7 ? SIGSTOP : SIGKILL;
  auto port = [&](int i) { return static_cast<uint16_t>(std::atoi(argv[i])); };
  const long last = std::atol(argv[5]);
  auto publisher = locus::FileTablePublisher::Open(argv[1]);
  if (!publisher.ok()) return 2;
  std::atomic<long> statements = 0;
  locus::mysql::RunnerOptions options =
      locus::TestRunner(absl::StrCat("dying:", getpid()), argv[2]);
  // One that was stopped does not take over again, however slow the machine is.
  if (signal == SIGSTOP) options.take_over_after = absl::Minutes(1);
  options.before_statement = [&](const std::string&) {
    if (++statements == last) raise(signal);
  };
  auto runner =
      locus::mysql::MoveRunner::Create(locus::TestMove(port(3), port(4)), options, **publisher);
  if (!runner.ok()) {
    std::cerr << "the runner ended: " << runner.status() << "\n";
    return 2;
  }
  const std::atomic<bool> stop = false;
  const absl::Status status = (*runner)->Run(stop);
  std::cerr << "the runner ended: " << status << "\n";
  return status.ok() ? 0 : 1;
}
