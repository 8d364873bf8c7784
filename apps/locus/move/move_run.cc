// SPDX-License-Identifier: Apache-2.0
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <thread>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "apps/locus/io/output_file.h"
#include "apps/locus/line/signals.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/move/move_metrics.h"
#include "apps/locus/move/open_moves.h"
#include "migration/run/move_runner.h"
#include "src/base/os/check.h"
#include "src/engine/mysql/login.h"

namespace locus::cli {

using apps::CandidatesOf;
using apps::MoveFile;
using mysql::MoveRunner;

namespace {

constexpr char kRunVerb[] = "move run";

std::string ProcessName() {
  char host[256] = "?";
  gethostname(host, sizeof host - 1);
  return absl::StrCat(host, ":", getpid());
}

// How often shards are asked again that did not answer.
constexpr std::chrono::seconds kHearPause{10};

// A move, its runner and how it ended.
struct Running {
  std::string name;
  std::vector<FencedRange> ranges;
  std::unique_ptr<MoveRunner> runner;
  absl::Status status;
  std::atomic<bool> ended = false;
  std::thread thread;
};

// The runners of one command.
class Runners {
 public:
  Runners(mysql::RunnerOptions options, TablePublisher& publisher)
      : options_(std::move(options)), publisher_(publisher) {}
  ~Runners() { Stop(); }

  // One for each move that has none; passwords stay with the runners. A shard that answers only now
  // may say that a move was begun for other vnodes than the table's: the runner that found out has
  // ended, and gets a successor.
  absl::Status Add(const MoveFile& file, const std::vector<Move>& moves) {
    for (const Move& move : moves) {
      const bool has = absl::c_any_of(all_, [&](const Running& one) {
        const bool refused = one.ended && absl::IsInvalidArgument(one.status);
        return one.name == move.name && (!refused || one.ranges == move.ranges);
      });
      if (has) continue;
      mysql::RunnerOptions own = options_;
      own.source_candidates = CandidatesOf(file, move.source);
      own.target_candidates = CandidatesOf(file, move.target);
      LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<MoveRunner> runner,
                             MoveRunner::Create(move, own, publisher_));
      for (auto* candidates : {&own.source_candidates, &own.target_candidates}) {
        for (MysqlOptions& one : *candidates) one = mysql::WithoutPassword(std::move(one));
      }
      Running& added = all_.emplace_back();
      added.name = move.name;
      added.ranges = move.ranges;
      added.runner = std::move(runner);
      SignalsHeld from_their_threads;
      added.thread = std::thread([this, &added] {
        added.status = added.runner->Run(stop_);
        added.ended = true;
      });
    }
    return absl::OkStatus();
  }
  size_t size() const { return all_.size(); }
  // Of moves with several, of the last one.
  std::string Metrics() const {
    std::map<std::string, mysql::MoveProgress> moves;
    for (const Running& one : all_) moves[one.name] = one.runner->Progress();
    return MoveMetrics(moves, absl::Now());
  }
  // Of moves that have no record yet, those that were not named before.
  std::vector<std::string> NewlyUnbegun() {
    std::vector<std::string> names;
    for (const Running& one : all_) {
      if (one.runner->Progress().unbegun && unbegun_.insert(one.name).second) {
        names.push_back(one.name);
      }
    }
    return names;
  }
  bool HaveEnded() const {
    return absl::c_all_of(all_, [](const Running& one) { return one.ended.load(); });
  }
  void Stop() {
    stop_ = true;
    for (Running& one : all_) {
      if (one.thread.joinable()) one.thread.join();
    }
  }
  // What went wrong, after Stop, of each move that has no successor.
  int Report() const {
    int exit = kDone;
    for (auto one = all_.begin(); one != all_.end(); ++one) {
      if (one->status.ok() || absl::IsCancelled(one->status)) continue;
      const bool succeeded = std::any_of(std::next(one), all_.end(), [&](const Running& other) {
        return other.name == one->name;
      });
      if (succeeded) continue;
      exit = Fail(kRunVerb, absl::Status(one->status.code(),
                                         absl::StrCat(one->name, ": ", one->status.message())));
    }
    return exit;
  }

 private:
  const mysql::RunnerOptions options_;
  TablePublisher& publisher_;
  std::atomic<bool> stop_ = false;
  std::list<Running> all_;
  std::set<std::string> unbegun_;  // that were named
};

// Keeps the file of --metrics up to date; without one, does nothing.
class MetricsFile {
 public:
  explicit MetricsFile(std::optional<std::string> path) : path_(std::move(path)) {}

  // A file that cannot be written is no reason to stop a move.
  void Write(const Runners& runners) {
    if (!path_) return;
    written_at_ = std::chrono::steady_clock::now();
    const absl::Status status = WriteWhole(*path_, runners.Metrics());
    if (!status.ok() && status.message() != told_) {
      Note(kRunVerb, absl::StrCat("metrics are not written: ", status.message()));
    }
    told_ = std::string(status.message());
  }
  void WriteIfDue(const Runners& runners) {
    if (std::chrono::steady_clock::now() - written_at_ >= kMetricsPause) Write(runners);
  }

 private:
  static constexpr std::chrono::seconds kMetricsPause{5};

  const std::optional<std::string> path_;
  std::chrono::steady_clock::time_point written_at_;
  std::string told_;  // why it could not be written
};

}  // namespace

int RunMoveRun(std::span<const std::string> words) {
  MoveOperand operand;
  mysql::RunnerOptions options;
  const char* temporary = std::getenv("TMPDIR");
  options.spool = temporary != nullptr && *temporary != '\0' ? temporary : "/tmp";
  options.name = ProcessName();
  VerbLine line(
      kRunVerb,
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
  std::optional<std::string> metrics_path;
  line.File("--metrics FILE", &metrics_path, FileUse::kWrite,
            "Write metrics here every 5 seconds, for the textfile collector of node_exporter: "
            "DIRECTORY/NAME.prom");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  auto opened = OpenMoves(operand);
  if (!opened.ok()) return Fail(kRunVerb, opened.status());
  options.pace = opened->file.pace;
  options.gates = opened->file.gates;
  SignalsDeferred until_ended;
  Runners runners(options, *opened->publisher);
  auto take = [&](OpenedMoves& found) {
    const absl::Status added = runners.Add(found.file, found.moves);
    // The runners have what they need; this lives for hours.
    for (Move& move : found.moves) move = mysql::WithoutPasswords(std::move(move));
    return added;
  };
  if (absl::Status added = take(*opened); !added.ok()) return Fail(kRunVerb, added);
  Note(kRunVerb, absl::StrCat(runners.size(), runners.size() == 1 ? " move" : " moves", ", as ",
                              options.name, "; `locus move status ", operand.file, "` shows them"));
  std::string unheard = opened->unheard;
  if (!unheard.empty()) {
    Note(kRunVerb,
         absl::StrCat("asked again until they answer, since they may remember more moves of "
                      "the file",
                      unheard));
  }
  MetricsFile metrics(metrics_path);
  auto heard_at = std::chrono::steady_clock::now();
  while (!runners.HaveEnded() && !Interrupted()) {
    metrics.WriteIfDue(runners);
    for (const std::string& name : runners.NewlyUnbegun()) {
      Note(kRunVerb,
           absl::StrCat(name, ": not begun; waits for `locus move start ", operand.file, "`"));
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (unheard.empty() || std::chrono::steady_clock::now() - heard_at < kHearPause) continue;
    auto again = OpenMoves(operand);
    heard_at = std::chrono::steady_clock::now();
    if (!again.ok()) continue;
    const size_t before = runners.size();
    if (absl::Status added = take(*again); !added.ok()) return Fail(kRunVerb, added);
    if (runners.size() > before) Note(kRunVerb, "a shard answers again: more moves run");
    unheard = again->unheard;
  }
  runners.Stop();
  metrics.Write(runners);
  const int failed = runners.Report();
  if (failed != kDone) return failed;
  return Interrupted() ? kInterrupted : kDone;
}

}  // namespace locus::cli
