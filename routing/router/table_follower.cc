// SPDX-License-Identifier: Apache-2.0
#include "routing/router/table_follower.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::internal {

using Kind = RouterEvent::Kind;
using SteadyClock = std::chrono::steady_clock;

TableFollower::TableFollower(std::unique_ptr<TableSource> source, RouterOptions options,
                             Offer offer, Waiting waiting, LastGoodWriter::Write write)
    : source_(std::move(source)),
      options_(std::move(options)),
      offer_(std::move(offer)),
      waiting_(std::move(waiting)),
      rules_(options_.longest_pause),
      schedule_(options_.confirm_every),
      random_(std::random_device()()) {
  if (!options_.last_good_file.empty()) {
    if (!write) {
      write = [path = options_.last_good_file, place = source_->place()](
                  const RoutingTable& table) { return WriteLastGoodTable(path, place, table); };
    }
    writer_ = std::make_unique<LastGoodWriter>(
        std::move(write), [this](uint64_t epoch, const absl::Status& failure) {
          Report({Kind::kLastGoodFileFailed, epoch, failure});
        });
  }
  auto job = [this] { return Run(); };
  driver_ = options_.executor == nullptr ? LoadDriver::OnThread(job)
                                         : LoadDriver::OnExecutor(*options_.executor, job);
}

TableFollower::~TableFollower() {
  {
    MutexLock lock(mutex_);
    schedule_.Stop();
  }
  source_->LookNow();
  driver_.reset();
}

void TableFollower::Report(const RouterEvent& event) const {
  if (!options_.on_event) return;
  MutexLock lock(report_mutex_);
  options_.on_event(event);
}

absl::Status TableFollower::Open() {
  absl::Status file = absl::NotFoundError("");
  uint64_t file_epoch = 0;
  if (writer_ != nullptr) {
    absl::StatusOr<LastGoodTable> read = ReadLastGoodTable(options_.last_good_file);
    file = read.status();
    if (read.ok()) {
      file_epoch = read->table.epoch();
      file = CheckLastGoodPlace(options_.last_good_file, *read, source_->place());
    }
    if (file.ok()) {
      kept_ = std::make_shared<const RoutingTable>(std::move(read->table));
      kept_epoch_ = file_epoch;
      writer_->BeganWith(file_epoch);
    } else if (!absl::IsNotFound(file)) {
      writer_->BeganDamaged(file);
    }
  }
  absl::Status why_not = AskUntilOpen();
  bool ignored = !file.ok() && file_epoch != 0;
  if (why_not.ok() && ignored) Report({Kind::kLastGoodFileIgnored, file_epoch, file});
  if (why_not.ok()) return why_not;
  if (kept_ != nullptr) OfferKept();
  if (file.ok() && kept_epoch_ != 0) {
    Report({Kind::kStartedFromFile, kept_epoch_, why_not});
    return absl::OkStatus();
  }
  if (file.ok() || absl::IsNotFound(file)) return why_not;
  return absl::Status(file.code(),
                      absl::StrCat(file.message(), "; the source answered: ", why_not.message()));
}

absl::Status TableFollower::Start() {
  driver_->Wake();
  bool started = driver_->started() && (writer_ == nullptr || writer_->started());
  if (started) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the system has no thread to follow ", source_->place()));
}

absl::Status TableFollower::AskUntilOpen() {
  absl::Duration end = options_.clock->SinceBoot() + options_.open_timeout;
  while (true) {
    absl::Duration asked_at = options_.clock->SinceBoot();
    Answer answer = Ask(std::max(end - asked_at, absl::ZeroDuration()));
    TableJudgement judgement;
    FollowRules::Step step = Take(answer, asked_at, /*early=*/false, judgement);
    if (step.source_has_it_in_force) return absl::OkStatus();
    if (answer.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat(source_->place(), ": its table is refused: ", judgement.reason.message()));
    }
    absl::Duration left = end - options_.clock->SinceBoot();
    if (!absl::IsUnavailable(answer.status()) || left <= absl::ZeroDuration()) {
      return Unshared(answer.status());
    }
    options_.clock->SleepFor(std::min(step.pause, left));
  }
}

TableFollower::Answer TableFollower::Ask(absl::Duration within) {
  std::string known;
  {
    MutexLock lock(mutex_);
    known = rules_.known();
  }
  Answer answer = source_->Next(known, SteadyClock::now() + absl::ToChronoNanoseconds(within));
  if (!answer.ok() || answer->has_value() || !known.empty()) return answer;
  return absl::UnavailableError(absl::StrCat(source_->place(), ": no table before the deadline"));
}

absl::Duration TableFollower::Run() {
  absl::Duration asked_at = options_.clock->SinceBoot();
  FollowSchedule::Turn turn;
  {
    MutexLock lock(mutex_);
    turn = schedule_.Begin(asked_at, waiting_(), random_());
  }
  if (!turn.ask) return turn.within;
  if (turn.look) source_->LookNow();
  SteadyClock::time_point began = SteadyClock::now();
  Answer answer = Ask(turn.within);
  absl::Duration took = absl::FromChrono(SteadyClock::now() - began);
  bool looked;
  {
    MutexLock lock(mutex_);
    // A caller may have turned the question into a look.
    looked = schedule_.phase() == FollowSchedule::Phase::kLooking;
  }
  bool early = !looked && took < std::min(turn.within, FollowSchedule::kFirstWait);
  TableJudgement judgement;
  FollowRules::Step step = Take(answer, asked_at, early, judgement);
  MutexLock lock(mutex_);
  return schedule_.Finished(options_.clock->SinceBoot(), step.pause, step.installed, waiting_());
}

void TableFollower::OfferKept() {
  uint64_t epoch = kept_->epoch();
  // The first table that is offered is always installed.
  LOCUS_CHECK(offer_(std::exchange(kept_, nullptr)).accepted());
  MutexLock lock(mutex_);
  rules_.BeganFromFile(epoch);
}

void TableFollower::OfferKeptBefore(const RoutingTable& first) {
  if (kept_ == nullptr) return;
  if (CheckSameTable(*kept_, first).ok()) return OfferKept();
  Report({Kind::kLastGoodFileIgnored, kept_->epoch(),
          absl::FailedPreconditionError(absl::StrCat(
              "the last-good file ", Quoted(options_.last_good_file), " (epoch ", kept_->epoch(),
              ") is of table ", kept_->table_id(), ", the source has table ", first.table_id(),
              ": the file is replaced"))});
  kept_.reset();
  kept_epoch_ = 0;
}

FollowRules::Step TableFollower::Take(const Answer& answer, absl::Duration asked_at, bool early,
                                      TableJudgement& judgement) {
  std::shared_ptr<const RoutingTable> table;
  if (answer.ok() && answer->has_value()) {
    absl::StatusOr<RoutingTable> parsed = RoutingTable::Parse((*answer)->document);
    if (parsed.ok()) {
      table = std::make_shared<const RoutingTable>(*std::move(parsed));
      OfferKeptBefore(*table);
      judgement = offer_(table);
    } else {
      judgement = RefuseDocument(parsed.status());
    }
  }
  FollowRules::Step step;
  {
    MutexLock lock(mutex_);
    if (!answer.ok()) {
      step = rules_.Failed(answer.status(), random_());
    } else if (answer->has_value()) {
      step = rules_.Offered((*answer)->version, judgement, options_.clock->SinceBoot(),
                            options_.clock->Now(), random_());
    } else {
      step = rules_.NoNews(early, asked_at, random_());
    }
  }
  for (const RouterEvent& event : step.events) Report(event);
  if (writer_ == nullptr) return step;
  if (table != nullptr && judgement.accepted() && table->epoch() != kept_epoch_) {
    kept_epoch_ = table->epoch();
    writer_->Put(std::move(table));
  } else if (step.source_has_it_in_force) {
    writer_->Retry();
  }
  return step;
}

void TableFollower::Want() {
  FollowSchedule::Nudge nudge;
  {
    MutexLock lock(mutex_);
    // A table may have been installed meanwhile; then no caller needs another question.
    if (!waiting_()) return;
    nudge = schedule_.Want(options_.clock->SinceBoot(), random_());
  }
  if (nudge == FollowSchedule::Nudge::kLook) source_->LookNow();
  if (nudge == FollowSchedule::Nudge::kWake) driver_->Wake();
}

std::string TableFollower::LastAnswer() const {
  MutexLock lock(mutex_);
  return rules_.LastAnswer(source_->place());
}

void TableFollower::Fill(uint64_t epoch, RouterStats& stats) const {
  {
    MutexLock lock(mutex_);
    rules_.Fill(epoch, options_.clock->SinceBoot(), stats);
  }
  if (writer_ != nullptr) writer_->Fill(stats);
}

}  // namespace locus::internal
