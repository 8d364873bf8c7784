// SPDX-License-Identifier: Apache-2.0
#include <deque>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "apps/locus/line/signals.h"
#include "apps/locus/line/verb.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/uri_options.h"
#include "apps/locus/table/table_place.h"
#include "locus/routing/router.h"
#include "routing/router/last_good_table.h"
#include "src/base/run/mutex.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::CondVar;
using internal::Mutex;
using internal::MutexLock;

namespace {

constexpr std::string_view kVerb = "table watch";

// Passes a source's tables on, and remembers how many shards they had.
class ShardCount : public TableSource {
 public:
  explicit ShardCount(std::unique_ptr<TableSource> source) : source_(std::move(source)) {}

  absl::StatusOr<std::optional<SourcedTable>> Next(const std::string& known,
                                                   TimePoint deadline) override {
    auto next = source_->Next(known, deadline);
    if (!next.ok() || !next->has_value()) return next;
    absl::StatusOr<RoutingTable> table = RoutingTable::Parse((*next)->document);
    if (table.ok()) {
      epoch_ = table->epoch();
      shards_ = table->shards().size();
    }
    return next;
  }
  void LookNow() override { source_->LookNow(); }
  std::string place() const override { return source_->place(); }

  // Of the last table, if it was of this epoch. Called on the thread of Next, while the router
  // installs.
  std::optional<size_t> Of(uint64_t epoch) const {
    return epoch_ == epoch ? std::optional(shards_) : std::nullopt;
  }

 private:
  const std::unique_ptr<TableSource> source_;
  uint64_t epoch_ = 0;
  size_t shards_ = 0;
};

// The router's events, on their way from its thread to the thread that prints.
class EventLines {
 public:
  struct Line {
    bool is_table = false;  // otherwise a complaint
    std::string text;
  };

  explicit EventLines(const ShardCount& source) : source_(source), place_(source.place()) {}

  void Tell(const RouterEvent& event) {
    MutexLock lock(mutex_);
    lines_.push_back(LineOf(event));
    if (lines_.back().is_table) newest_ = event.epoch;
    told_.NotifyAll();
  }

  // nullopt: there is none more. For when no event can come any more.
  std::optional<std::string> NextComplaint() {
    MutexLock lock(mutex_);
    while (!lines_.empty()) {
      Line line = std::move(lines_.front());
      lines_.pop_front();
      if (!line.is_table) return std::move(line.text);
    }
    return std::nullopt;
  }

  // The epoch of the last table that came into force.
  uint64_t newest() const {
    MutexLock lock(mutex_);
    return newest_;
  }

  // nullopt: no event within a tenth of a second.
  std::optional<Line> Next() {
    auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(100);
    MutexLock lock(mutex_);
    while (lines_.empty()) {
      if (std::chrono::steady_clock::now() >= deadline) return std::nullopt;
      told_.WaitUntil(mutex_, deadline);
    }
    Line line = std::move(lines_.front());
    lines_.pop_front();
    return line;
  }

 private:
  Line LineOf(const RouterEvent& event) const {
    using Kind = RouterEvent::Kind;
    std::string why(event.status.message());  // most sources name the place themselves
    if (!absl::StartsWith(why, place_)) why = absl::StrCat(place_, ": ", why);
    switch (event.kind) {
      case Kind::kInstalled: {
        std::string text = absl::StrCat("epoch=", event.epoch);
        if (auto shards = source_.Of(event.epoch)) absl::StrAppend(&text, " shards=", *shards);
        return {true, absl::StrCat(text, " source=", place_)};
      }
      case Kind::kStartedFromFile:
        return {true, absl::StrCat("epoch=", event.epoch, " source=last good file")};
      case Kind::kRefused:
        if (event.epoch == 0) return {false, "refused: " + why};
        return {false, absl::StrCat("refused epoch=", event.epoch, ": ", why)};
      case Kind::kSourceFailed:
        return {false, "failing: " + why};
      case Kind::kSourceRecovered:
        return {false, "recovered: " + place_};
      case Kind::kLastGoodFileIgnored:
        return {false, std::string(event.status.message())};
      case Kind::kLastGoodFileFailed:
        return {false, absl::StrCat("not kept: ", event.status.message())};
      case Kind::kDescriptionsNearlyFull:
        return {false,
                absl::StrCat("epoch=", event.epoch, ": this process has seen nearly as many ",
                             "shards and endpoints as it can hold: restart it")};
    }
    return {};
  }

  const ShardCount& source_;
  const std::string place_;
  mutable Mutex mutex_;
  CondVar told_;
  uint64_t newest_ ABSL_GUARDED_BY(mutex_) = 0;
  std::deque<Line> lines_ ABSL_GUARDED_BY(mutex_);
};

// After the end of the router: what it still complained of, and whether the newest table is in the
// last-good file, for which the command was started.
int PrintLast(EventLines& lines, const std::string& last_good_file) {
  while (std::optional<std::string> complaint = lines.NextComplaint()) {
    Complain(kVerb, *complaint);
  }
  if (last_good_file.empty()) return kDone;
  auto kept = internal::ReadLastGoodTable(last_good_file);
  if (kept.ok() && kept->table.epoch() >= lines.newest()) return kDone;
  return Fail(kVerb, absl::FailedPreconditionError(
                         absl::StrCat("the last-good file ", internal::Quoted(last_good_file),
                                      " does not have the table of epoch ", lines.newest())));
}

// Prints until `count` tables were in force (0: without end), or a signal comes.
int Print(EventLines& lines, uint64_t count) {
  for (uint64_t tables = 0; count == 0 || tables < count;) {
    if (Interrupted()) return kInterrupted;
    std::optional<EventLines::Line> line = lines.Next();
    if (!line) continue;
    if (!line->is_table) {
      Complain(kVerb, line->text);
      continue;
    }
    ++tables;
    int exit = PrintAll(kVerb, line->text + "\n");
    if (exit != kDone) return exit;
  }
  return kDone;
}

}  // namespace

int RunTableWatch(std::span<const std::string> words) {
  TableUri uri;
  uint64_t count = 0;
  RouterOptions options;
  VerbLine line("table watch",
                "Follows a place as a router does, and prints a line for each table that it "
                "installs; refusals and failures go to stderr. A signal ends it.",
                "locus table watch file:/etc/locus/table.json");
  PlaceOption(line, "URI", &uri, absl::StrCat("The place: ", internal::TableUriForms()))
      .Else("LOCUS_TABLE");
  line.File(
      "--last-good FILE", &options.last_good_file, FileUse::kKeep,
      "Keep the last good table in this file, and start from it while the place does not answer");
  line.Number("--count N", &count, {.most = INT64_MAX}, "End after this many tables; 0: never");
  if (std::optional<int> exit = line.Parse(words)) return *exit;
  auto opened = OpenTableSource(uri);
  if (!opened.ok()) return FailToOpen(kVerb, opened.status());

  auto source = std::make_unique<ShardCount>(*std::move(opened));
  EventLines lines(*source);
  options.on_event = [&lines](const RouterEvent& event) { lines.Tell(event); };
  SignalsDeferred until_closed;
  std::unique_ptr<Router> router;
  {
    SignalsHeld from_its_thread;
    auto following = Router::Open(std::move(source), options);
    if (!following.ok()) return Fail(kVerb, following.status());
    router = *std::move(following);
  }
  const int exit = Print(lines, count);
  router.reset();  // waits until the last-good file is written
  const int last = PrintLast(lines, options.last_good_file);
  return exit == kDone ? last : exit;
}

}  // namespace locus::cli
