// SPDX-License-Identifier: Apache-2.0
#include "routing/router/table_follower.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "absl/strings/str_cat.h"
#include "routing/router/last_good_table.h"
#include "src/base/check.h"

namespace locus {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Answer = absl::StatusOr<std::optional<SourcedTable>>;

}  // namespace

TableFollower::TableFollower(std::unique_ptr<TableSource> source, RouterOptions options,
                             Offer offer)
    : source_(std::move(source)),
      options_(std::move(options)),
      offer_(std::move(offer)),
      rules_(options_.longest_pause),
      random_(std::random_device()()) {
  auto job = [this] { return Run(); };
  driver_ = options_.executor == nullptr ? LoadDriver::OnThread(job)
                                         : LoadDriver::OnExecutor(*options_.executor, job);
}

TableFollower::~TableFollower() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  source_->LookNow();
  driver_.reset();
}

double TableFollower::Random() { return std::uniform_real_distribution<double>()(random_); }

void TableFollower::Tell(const RouterEvent& event) const {
  if (options_.on_event) options_.on_event(event);
}

absl::Status TableFollower::Open() {
  absl::StatusOr<RoutingTable> kept = absl::NotFoundError("");
  if (!options_.last_good_file.empty()) kept = ReadLastGoodTable(options_.last_good_file);
  uint64_t file_epoch = kept.ok() ? kept->epoch() : 0;
  if (kept.ok()) LOCUS_CHECK(offer_(*kept).accepted());
  {
    MutexLock lock(mutex_);
    if (kept.ok()) {
      rules_.BeganFromFile(file_epoch);
    } else if (!absl::IsNotFound(kept.status())) {
      last_good_error_ = Unshared(kept.status());
    }
  }
  kept_epoch_ = file_epoch;
  absl::Status why_not = AskUntilOpen();
  if (!why_not.ok() && !kept.ok()) {
    if (absl::IsNotFound(kept.status())) return why_not;
    return absl::Status(
        kept.status().code(),
        absl::StrCat(kept.status().message(), "; and the source: ", why_not.message()));
  }
  if (!why_not.ok()) Tell({RouterEvent::Kind::kStartedFromFile, file_epoch, why_not});
  return absl::OkStatus();
}

absl::Status TableFollower::Start() {
  driver_->Wake();
  if (driver_->started()) return absl::OkStatus();
  return absl::UnavailableError(
      absl::StrCat("the system has no thread for following ", source_->place()));
}

absl::Status TableFollower::AskUntilOpen() {
  absl::Duration end = options_.clock->SinceBoot() + options_.open_timeout;
  while (true) {
    absl::Duration left = end - options_.clock->SinceBoot();
    absl::Duration asked_at = options_.clock->SinceBoot();
    Answer answer = Ask(std::max(left, absl::ZeroDuration()));
    TableVerdict verdict;
    FollowRules::Step step = Take(answer, asked_at, /*early=*/false, verdict);
    if (step.source_has_it_in_force) return absl::OkStatus();
    if (answer.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat(source_->place(), ": its table is refused: ", verdict.reason.message()));
    }
    left = end - options_.clock->SinceBoot();
    if (!absl::IsUnavailable(answer.status()) || left <= absl::ZeroDuration()) {
      return Unshared(answer.status());
    }
    options_.clock->SleepFor(std::min(step.pause, left));
  }
}

Answer TableFollower::Ask(absl::Duration within) {
  std::string known;
  {
    MutexLock lock(mutex_);
    known = rules_.known();
  }
  Answer answer = source_->Next(known, SteadyClock::now() + absl::ToChronoNanoseconds(within));
  if (!answer.ok() || answer->has_value() || !known.empty()) return answer;
  return absl::UnavailableError(absl::StrCat(source_->place(), ": no table in time"));
}

absl::Duration TableFollower::Run() {
  bool looking;
  absl::Duration within = options_.confirm_every;
  absl::Duration asked_at = options_.clock->SinceBoot();
  {
    MutexLock lock(mutex_);
    if (stopping_) return absl::InfiniteDuration();
    absl::Duration wait = (wished_ ? due_if_wished_ : due_) - asked_at;
    if (wait > absl::ZeroDuration()) return wait;
    // Soon after a look one waits for news until the next one may come.
    resting_ = asked_at < next_look_;
    if (resting_) within = std::min(within, next_look_ - asked_at);
    looking_ = wished_ && !resting_;
    if (looking_) BeginLook();
    joined_ = false;
    asking_ = true;
  }
  SteadyClock::time_point began = SteadyClock::now();
  Answer answer = Ask(within);
  {
    MutexLock lock(mutex_);
    asking_ = false;
    looking = looking_;
  }
  absl::Duration least = std::min(within, FollowRules::kLeastPause);
  bool early = !looking && SteadyClock::now() - began < absl::ToChronoNanoseconds(least);
  TableVerdict verdict;
  FollowRules::Step step = Take(answer, asked_at, early, verdict);
  MutexLock lock(mutex_);
  absl::Duration now = options_.clock->SinceBoot();
  // Whoever joined may have come when the answer was on its way already.
  if (joined_ && step.pause > absl::ZeroDuration()) wished_ = true;
  due_ = now + step.pause;
  due_if_wished_ = now + std::min(step.pause, FollowRules::kLeastPause);
  // Never 0: an executor with one thread shall get at what else it has.
  return std::max((wished_ ? due_if_wished_ : due_) - now, absl::Nanoseconds(1));
}

FollowRules::Step TableFollower::Take(const Answer& answer, absl::Duration asked_at, bool early,
                                      TableVerdict& verdict) {
  absl::StatusOr<RoutingTable> table = absl::NotFoundError("");
  if (answer.ok() && answer->has_value()) {
    table = RoutingTable::Parse((*answer)->document);
    verdict = table.ok() ? offer_(*table) : RefuseDocument(table.status());
  }
  FollowRules::Step step;
  {
    MutexLock lock(mutex_);
    if (!answer.ok()) {
      step = rules_.Failed(answer.status(), Random());
    } else if (answer->has_value()) {
      step = rules_.Offered((*answer)->version, verdict, options_.clock->SinceBoot(),
                            options_.clock->Now(), Random());
    } else {
      step = rules_.NoNews(early, asked_at, Random());
    }
  }
  for (const RouterEvent& event : step.events) Tell(event);
  if (table.ok() && verdict.accepted() && table->epoch() != kept_epoch_) {
    to_keep_ = *std::move(table);
  }
  if (step.source_has_it_in_force) Keep();
  return step;
}

// Where the file could not be written it is tried again whenever the source confirms the table.
void TableFollower::Keep() {
  if (options_.last_good_file.empty() || !to_keep_) return;
  absl::Status written = WriteLastGoodTable(options_.last_good_file, *to_keep_);
  uint64_t epoch = to_keep_->epoch();
  bool news;
  {
    MutexLock lock(mutex_);
    news = last_good_error_ != written;
    last_good_error_ = Unshared(written);
  }
  if (written.ok()) {
    kept_epoch_ = epoch;
    to_keep_.reset();
  } else if (news) {
    Tell({RouterEvent::Kind::kLastGoodFileFailed, epoch, std::move(written)});
  }
}

void TableFollower::BeginLook() {
  wished_ = false;
  next_look_ = options_.clock->SinceBoot() + FollowRules::kLeastPause;
  source_->LookNow();
}

void TableFollower::Look() {
  {
    MutexLock lock(mutex_);
    if (asking_ && !looking_ && !resting_) {
      looking_ = true;
      joined_ = true;
      BeginLook();
      return;
    }
    if (wished_) return;
    wished_ = true;
  }
  driver_->Wake();
}

std::string TableFollower::LastWord() const {
  MutexLock lock(mutex_);
  return rules_.LastWord(source_->place());
}

void TableFollower::Fill(uint64_t epoch, RouterStats& stats) const {
  MutexLock lock(mutex_);
  rules_.Fill(epoch, options_.clock->SinceBoot(), stats);
  stats.last_good_error = Unshared(last_good_error_);
}

}  // namespace locus
