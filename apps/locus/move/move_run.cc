// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <thread>

#include "absl/strings/str_cat.h"
#include "apps/locus/line/signals.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/move/open_moves.h"
#include "migration/engine/mariadb/run/move_runner.h"
#include "src/base/check.h"
#include "src/engine/mariadb/login.h"

namespace locus::cli {

using mariadb::MoveRunner;

namespace {

constexpr char kVerb[] = "move run";

std::string ProcessName() {
  char host[256] = "?";
  gethostname(host, sizeof host - 1);
  return absl::StrCat(host, ":", getpid());
}

// A move, its runner and how it ended.
struct Running {
  std::string name;
  std::unique_ptr<MoveRunner> runner;
  absl::Status status;
  std::thread thread;
};

absl::StatusOr<std::vector<Running>> MakeRunners(const OpenedMoves& opened,
                                                 const mariadb::RunnerOptions& options) {
  std::vector<Running> all;
  for (const Move& move : opened.moves) {
    mariadb::RunnerOptions own = options;
    own.source_candidates = CandidatesOf(opened.file, move.source);
    own.target_candidates = CandidatesOf(opened.file, move.target);
    LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<MoveRunner> runner,
                           MoveRunner::Create(move, own, *opened.publisher));
    for (auto* candidates : {&own.source_candidates, &own.target_candidates}) {
      for (MariadbOptions& one : *candidates) one = mariadb::WithoutPassword(std::move(one));
    }
    all.push_back({move.name, std::move(runner), absl::OkStatus(), {}});
  }
  return all;
}

}  // namespace

int RunMoveRun(std::span<const std::string> words) {
  MoveOperand operand;
  mariadb::RunnerOptions options;
  const char* temporary = std::getenv("TMPDIR");
  options.spool = temporary != nullptr && *temporary != '\0' ? temporary : "/tmp";
  options.name = ProcessName();
  VerbLine line(
      kVerb,
      "Runs the moves of a file until they are done: copies, streams, compares, steps and "
      "publishes as `locus move` verbs ask. A second one stands by and takes over when "
      "the first is gone. It may be killed at any moment.",
      "locus move run peak.toml");
  AddMoveOperand(line, operand);
  line.Text("--spool DIRECTORY", &options.spool,
            "Where transactions above 64 MiB are kept while they are applied");
  line.Duration("--take-over-after TIME", &options.take_over_after,
                {.least = absl::Seconds(1), .most = absl::Hours(1)},
                "How long the other runner may be silent before this one acts");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  auto opened = OpenMoves(operand);
  if (!opened.ok()) return Fail(kVerb, opened.status());
  options.pace = opened->file.pace;
  options.gates = opened->file.gates;
  auto all = MakeRunners(*opened, options);
  if (!all.ok()) return Fail(kVerb, all.status());

  // The runners have what they need; this lives for hours.
  for (Move& move : opened->moves) move = mariadb::WithoutPasswords(std::move(move));

  SignalsDeferred until_ended;
  std::atomic<bool> stop = false;
  std::atomic<size_t> ended = 0;
  {
    SignalsHeld from_their_threads;
    for (Running& one : *all) {
      one.thread = std::thread([&one, &stop, &ended] {
        one.status = one.runner->Run(stop);
        ++ended;
      });
    }
  }
  Note(kVerb, absl::StrCat(all->size(), all->size() == 1 ? " move" : " moves", ", as ",
                           options.name, "; `locus move status ", operand.file, "` shows them"));
  while (ended < all->size() && !Interrupted()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  stop = true;
  int exit = Interrupted() ? kInterrupted : kDone;
  for (Running& one : *all) {
    one.thread.join();
    if (one.status.ok() || absl::IsCancelled(one.status)) continue;
    exit = Fail(
        kVerb, absl::Status(one.status.code(), absl::StrCat(one.name, ": ", one.status.message())));
  }
  return exit;
}

}  // namespace locus::cli
