// SPDX-License-Identifier: Apache-2.0
#include "locus/leased_snowflake.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/os/random_word.h"
#include "src/base/run/backoff.h"
#include "src/base/run/load_driver.h"
#include "src/base/run/mutex.h"
#include "src/worker/holder_text.h"

namespace locus {

using internal::LoadDriver;
using internal::MutexLock;

namespace {

constexpr internal::Backoff::Policy kPauses = {.first = absl::Milliseconds(200),
                                               .longest = absl::Seconds(10)};

// A generator for widths that are known only at run time.
class Generator : public AnySnowflake {
 public:
  using AnySnowflake::Check;

  static absl::StatusOr<std::unique_ptr<AnySnowflake>> Create(const SnowflakeWidths& widths,
                                                              const SnowflakeOptions& options) {
    LOCUS_RETURN_IF_ERROR(Claim(widths, options));
    return std::unique_ptr<AnySnowflake>(new Generator(widths, options));
  }

 private:
  Generator(const SnowflakeWidths& widths, const SnowflakeOptions& options)
      : AnySnowflake(widths, options) {}
};

// The user of a lease under which nothing is made.
class Nothing : public CeilingUser {
 public:
  explicit Nothing(absl::Time floor) : floor_(floor) {}
  void RaiseCeiling(absl::Time) override {}
  absl::Time Close() override { return std::max(floor_, absl::UnixEpoch()); }

 private:
  const absl::Time floor_;
};

absl::StatusOr<WorkerRange> RangeOf(const SnowflakeWidths& widths,
                                    const LeasedSnowflakeOptions& options) {
  WorkerRange whole{0, std::min(widths.max_worker(0), kMostWorker)};
  if (options.datacenter.has_value()) {
    const uint64_t datacenter = *options.datacenter;
    if (widths.datacenter == 0 || datacenter > widths.max_datacenter()) {
      return absl::InvalidArgumentError(
          widths.datacenter == 0
              ? absl::StrCat("datacenter ", datacenter, ": the layout has no datacenters")
              : absl::StrCat("datacenter ", datacenter, " is above ", widths.max_datacenter(),
                             ", the highest of this layout"));
    }
    whole.first = datacenter << widths.worker;
    whole.last = whole.first + (uint64_t{1} << widths.worker) - 1;
    if (whole.last > kMostWorker) {
      return absl::InvalidArgumentError(absl::StrCat("datacenter ", datacenter,
                                                     " has node numbers above ", kMostWorker,
                                                     ", the highest that is leased"));
    }
  }
  const WorkerRange range = options.lease.range.value_or(whole);
  if (range.first < whole.first || range.last > whole.last) {
    return absl::InvalidArgumentError(absl::StrCat(
        "range ", range.first, "..", range.last, " is not within ", whole.first, "..", whole.last,
        options.datacenter.has_value() ? ", the node numbers of the datacenter"
                                       : ", the node numbers of the layout"));
  }
  return range;
}

void AddUp(const SnowflakeStats& more, SnowflakeStats& sum) {
  sum.ids += more.ids;
  sum.waits += more.waits;
  sum.rollbacks += more.rollbacks;
  sum.rollbacks_went_on += more.rollbacks_went_on;
  sum.rollbacks_waited += more.rollbacks_waited;
  sum.rollbacks_refused += more.rollbacks_refused;
  sum.furthest_rollback = std::max(sum.furthest_rollback, more.furthest_rollback);
  sum.refusals += more.refusals;
  sum.years_left = more.years_left;
}

}  // namespace

class AnyLeasedSnowflake::Rep {
 public:
  Rep(const SnowflakeWidths& widths, std::shared_ptr<WorkerLeaseStore> store,
      const LeasedSnowflakeOptions& options, std::atomic<AnySnowflake*>& current)
      : widths_(widths), store_(std::move(store)), options_(options), current_(current) {}

  bool forked() const { return fork_guard_.forked(); }

  absl::Status Open(absl::Duration patience) {
    SnowflakeOptions ids;
    ids.epoch = options_.epoch;
    ids.clock = options_.lease.clock;
    LOCUS_RETURN_IF_ERROR(Generator::Check(widths_, ids));
    LOCUS_ASSIGN_OR_RETURN(options_.lease.range, RangeOf(widths_, options_));
    if (options_.lease.holder.empty()) {
      options_.lease.holder = worker::HolderOfThisProcess(options_.datacenter);
    }
    if (options_.reacquire) {
      auto job = [this] { return Reacquire(); };
      reacquirer_ = options_.lease.executor == nullptr
                        ? LoadDriver::OnThread(job)
                        : LoadDriver::OnExecutor(*options_.lease.executor, job);
    }
    return Take(options_.lease, patience);
  }

  // The result of a call whose `ids` returned an error: that of the generator in its place, if
  // there is one.
  template <typename Attempt>
  auto Again(AnySnowflake* ids, absl::Status error, Attempt attempt) -> decltype(attempt(*ids)) {
    while (ids->closed()) {
      AnySnowflake* present = current_.load(std::memory_order_acquire);
      if (present == ids) {
        absl::Status why = WhyClosed(*ids);
        if (!why.ok()) return why;
        continue;
      }
      ids = present;
      auto answer = attempt(*ids);
      if (answer.ok()) return answer;
      error = answer.status();
    }
    return error;
  }

  const SnowflakeWidths& widths() const { return widths_; }
  absl::Time epoch() const { return options_.epoch; }

  // Calls `ask` with the present lease; `in_child` in a forked child.
  template <typename Answer, typename Ask>
  Answer OfLease(Answer in_child, Ask ask) {
    if (forked()) return in_child;
    MutexLock lock(mutex_);
    return ask(*holdings_.back().lease);
  }

  LeasedSnowflakeStats Stats() {
    LeasedSnowflakeStats stats;
    if (forked()) return stats;
    MutexLock lock(mutex_);
    for (const Holding& holding : holdings_) AddUp(holding.ids->Stats(), stats.ids);
    stats.leases = holdings_.size();
    stats.losses = losses_;
    stats.lease = holdings_.back().lease->Stats();
    return stats;
  }

  absl::Status Release() {
    LOCUS_RETURN_IF_ERROR(fork_guard_.Check("a leased snowflake generator"));
    {
      MutexLock lock(mutex_);
      ended_ = true;
    }
    MutexLock lock(release_mutex_);
    reacquirer_.reset();  // on_lost wakes it no more, and nothing else replaces the lease
    WorkerLease* last = nullptr;
    {
      MutexLock state_lock(mutex_);
      if (!holdings_.empty()) last = holdings_.back().lease.get();
    }
    return last == nullptr ? absl::OkStatus() : last->Release();
  }

 private:
  struct Loss {
    bool lost = false;
    absl::Status why;
  };
  // A lease with the generator that it allows.
  struct Holding {
    std::shared_ptr<AnySnowflake> ids;
    std::shared_ptr<Loss> loss;
    std::unique_ptr<WorkerLease> lease;  // nullptr: it was lost, and another lease replaced it
  };
  class User : public CeilingUser {
   public:
    explicit User(std::shared_ptr<AnySnowflake> ids) : ids_(std::move(ids)) {}
    void RaiseCeiling(absl::Time ceiling) override { ids_->RaiseCeiling(ceiling); }
    absl::Time Close() override { return ids_->Close(); }

   private:
    const std::shared_ptr<AnySnowflake> ids_;
  };

  // Takes a lease and publishes its generator.
  absl::Status Take(WorkerLeaseOptions options, absl::Duration patience) {
    auto loss = std::make_shared<Loss>();
    options.on_lost = [this, loss](const absl::Status& why) { Lost(*loss, why); };
    LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<WorkerLease> lease,
                           WorkerLease::Acquire(store_, options, patience));
    absl::StatusOr<std::unique_ptr<AnySnowflake>> made = MakeIds(*lease);
    if (!made.ok()) {
      lease->Bind(std::make_shared<Nothing>(lease->floor())).IgnoreError();
      return made.status();
    }
    std::shared_ptr<AnySnowflake> ids = *std::move(made);
    // Bound before it is published: a loss must be able to close every generator that callers can
    // find.
    absl::Status bound = lease->Bind(std::make_shared<User>(ids));
    if (!bound.ok()) return absl::UnavailableError(bound.message());  // lost at once
    // Declared before the lock, so destroyed after it: the destructor waits for threads.
    std::unique_ptr<WorkerLease> before;
    MutexLock lock(mutex_);
    // The old generator stays alive for calls that have loaded its pointer.
    if (!holdings_.empty()) before = std::move(holdings_.back().lease);
    holdings_.push_back({ids, loss, std::move(lease)});
    refusal_ = absl::OkStatus();
    current_.store(ids.get(), std::memory_order_release);
    // The loss may have come before the lease was stored here; its own wake found nothing to do.
    if (loss->lost) WakeReacquirer();
    return absl::OkStatus();
  }

  absl::StatusOr<std::unique_ptr<AnySnowflake>> MakeIds(const WorkerLease& lease) const {
    SnowflakeOptions ids;
    ids.worker = lease.worker();
    ids.epoch = options_.epoch;
    ids.floor = lease.floor();
    ids.ceiling = lease.ceiling();
    ids.on_rollback = options_.on_rollback;
    ids.clock = options_.lease.clock;
    return Generator::Create(widths_, ids);
  }

  // Why `ids` was closed. OK: another generator has replaced it.
  absl::Status WhyClosed(const AnySnowflake& ids) {
    MutexLock lock(mutex_);
    const Holding& last = holdings_.back();
    if (last.ids.get() != &ids) return absl::OkStatus();
    std::string who = absl::StrCat("snowflake worker ", last.lease->worker(), ": its lease was ");
    if (ended_) return absl::FailedPreconditionError(who + "released");
    who += "lost";
    if (!last.loss->why.ok()) absl::StrAppend(&who, ": ", last.loss->why.message());
    if (!options_.reacquire) return absl::FailedPreconditionError(who);
    who += "; another one is being taken";
    if (!refusal_.ok()) absl::StrAppend(&who, ": ", refusal_.ToString());
    return absl::UnavailableError(who);
  }

  void Lost(Loss& loss, const absl::Status& why) {
    {
      MutexLock lock(mutex_);
      loss.lost = true;
      loss.why = why;
      ++losses_;
    }
    if (options_.lease.on_lost) options_.lease.on_lost(why);
    MutexLock lock(mutex_);
    WakeReacquirer();
  }

  // Under the lock, so that Release may destroy the reacquirer once it has set ended_.
  void WakeReacquirer() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    if (options_.reacquire && !ended_) reacquirer_->Wake();
  }

  absl::Duration Reacquire() {
    WorkerLeaseOptions options = options_.lease;
    {
      MutexLock lock(mutex_);
      if (ended_ || holdings_.empty() || !holdings_.back().loss->lost) {
        return absl::InfiniteDuration();
      }
      // The lost ID first: if it is still free, this process keeps its worker ID.
      if (!options.preferred) options.preferred = holdings_.back().lease->worker();
    }
    absl::Status taken = absl::UnavailableError("the process reported that it is not healthy");
    if (!options.healthy || options.healthy()) taken = Take(options, absl::ZeroDuration());
    if (taken.ok()) {
      pauses_.Reset();
      return absl::InfiniteDuration();
    }
    MutexLock lock(mutex_);
    refusal_ = taken;
    return pauses_.Next(internal::RandomWord().value_or(0));
  }

  const internal::ForkGuard fork_guard_;
  const SnowflakeWidths widths_;
  const std::shared_ptr<WorkerLeaseStore> store_;
  LeasedSnowflakeOptions options_;  // completed by Open
  std::atomic<AnySnowflake*>& current_;
  internal::Backoff pauses_{kPauses};  // of the reacquiring job

  internal::Mutex release_mutex_;  // taken before mutex_
  internal::Mutex mutex_;
  bool ended_ ABSL_GUARDED_BY(mutex_) = false;
  absl::Status refusal_ ABSL_GUARDED_BY(mutex_);  // why no lease could be taken
  uint64_t losses_ ABSL_GUARDED_BY(mutex_) = 0;
  // All leases so far; the last one is the present one.
  std::vector<Holding> holdings_ ABSL_GUARDED_BY(mutex_);

  std::unique_ptr<LoadDriver> reacquirer_;  // nullptr without the option, and after Release
};

AnyLeasedSnowflake::AnyLeasedSnowflake(const SnowflakeWidths& widths,
                                       std::shared_ptr<WorkerLeaseStore> store,
                                       const LeasedSnowflakeOptions& options)
    : rep_(std::make_unique<Rep>(widths, std::move(store), options, current_)) {}

AnyLeasedSnowflake::~AnyLeasedSnowflake() {
  internal::AbandonIfForked(rep_);
  if (rep_ != nullptr) Release().IgnoreError();
}

absl::Status AnyLeasedSnowflake::Open(absl::Duration patience) { return rep_->Open(patience); }

absl::StatusOr<int64_t> AnyLeasedSnowflake::NextAfter(AnySnowflake& ids,
                                                      const absl::Status& error) {
  return rep_->Again(&ids, error, [](AnySnowflake& other) { return other.Next(); });
}

absl::StatusOr<std::string> AnyLeasedSnowflake::NextString() {
  LOCUS_ASSIGN_OR_RETURN(int64_t id, Next());
  return absl::StrCat(id);
}

absl::StatusOr<size_t> AnyLeasedSnowflake::NextBatch(std::span<int64_t> ids) {
  AnySnowflake* present = current_.load(std::memory_order_acquire);
  absl::StatusOr<size_t> filled = present->NextBatch(ids);
  if (filled.ok()) return filled;
  return rep_->Again(present, filled.status(),
                     [ids](AnySnowflake& other) { return other.NextBatch(ids); });
}

absl::StatusOr<SnowflakeParts> AnyLeasedSnowflake::Decompose(int64_t id) const {
  return DecomposeSnowflake(rep_->widths(), id, rep_->epoch());
}

uint64_t AnyLeasedSnowflake::worker() const {
  return rep_->OfLease(uint64_t{0}, [](const WorkerLease& lease) { return lease.worker(); });
}
uint64_t AnyLeasedSnowflake::token() const {
  return rep_->OfLease(uint64_t{0}, [](const WorkerLease& lease) { return lease.token(); });
}
absl::Time AnyLeasedSnowflake::floor() const {
  return rep_->OfLease(absl::InfinitePast(),
                       [](const WorkerLease& lease) { return lease.floor(); });
}
bool AnyLeasedSnowflake::held() const {
  return rep_->OfLease(false, [](const WorkerLease& lease) { return lease.held(); });
}
LeasedSnowflakeStats AnyLeasedSnowflake::Stats() const { return rep_->Stats(); }
absl::Status AnyLeasedSnowflake::Release() { return rep_->Release(); }

}  // namespace locus
