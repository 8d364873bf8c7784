// SPDX-License-Identifier: Apache-2.0
#include "locus/number_generator.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "locus/internal/deadline.h"
#include "src/base/os/check.h"
#include "src/base/os/fork_guard.h"
#include "src/base/run/load_driver.h"
#include "src/base/run/mutex.h"
#include "src/base/text/text.h"
#include "src/number/group_window.h"
#include "src/number/number_form.h"

namespace locus {

using internal::ForkGuard;
using internal::GroupWindow;
using internal::LoadDriver;
using internal::Mutex;
using internal::MutexLock;
using internal::NumberForm;
using internal::Quoted;

namespace {

constexpr char kObject[] = "a number generator";
constexpr size_t kStripes = 32;

// A sequence type in use, and its open counters.
struct TypeInUse {
  SequenceType type;
  NumberForm form;
  std::shared_ptr<Sequencer> counters;
};

// The numbers of one group.
struct Group {
  std::shared_ptr<const TypeInUse> in_use;
  GroupWindow window;
  std::string name;  // as in NumberBlock
  // The numbers that the sequence took from the counter; its hook adds to it.
  std::shared_ptr<std::atomic<uint64_t>> taken = std::make_shared<std::atomic<uint64_t>>(0);
  std::unique_ptr<SegmentSequence> sequence;
};

// A kind of draw. Ready is called before a number is drawn from the group; Write makes the result.
class OneNumber {
 public:
  using Result = absl::StatusOr<std::string>;
  static absl::StatusOr<int64_t> TryTake(SegmentSequence& of) { return of.TryNext(); }
  static absl::StatusOr<int64_t> Take(SegmentSequence& of,
                                      std::chrono::steady_clock::time_point deadline) {
    return of.Next(deadline);
  }
  Result Write(const Group& of, absl::Time now, int64_t number) const {
    return of.in_use->form.Text(of.window.Shown(now), number, values_);
  }

 protected:
  explicit OneNumber(std::span<const FieldValue> values) : values_(values) {}
  std::span<const FieldValue> values_;
};

class OneText : public OneNumber {
 public:
  explicit OneText(std::span<const FieldValue> values) : OneNumber(values) {}
  static absl::Status Ready(const Group&, absl::Time) { return absl::OkStatus(); }
};

class OneNamedText : public OneNumber {
 public:
  explicit OneNamedText(std::span<const NamedValue> named) : OneNumber({}), named_(named) {}
  absl::Status Ready(const Group& of, absl::Time now) {
    if (ready_for_ == of.in_use) return absl::OkStatus();
    LOCUS_ASSIGN_OR_RETURN(owned_, of.in_use->form.ValuesOf(named_));
    values_ = owned_;
    const absl::Status writes = Write(of, now, 0).status();
    // OUT_OF_RANGE is reserved for counters that are used up.
    if (absl::IsOutOfRange(writes)) return absl::InvalidArgumentError(writes.message());
    LOCUS_RETURN_IF_ERROR(writes);
    ready_for_ = of.in_use;
    return absl::OkStatus();
  }

 private:
  std::span<const NamedValue> named_;
  std::shared_ptr<const TypeInUse> ready_for_;
  std::vector<FieldValue> owned_;
};

class OneBlock {
 public:
  using Result = absl::StatusOr<NumberBlock>;
  explicit OneBlock(int64_t count) : count_(count) {}
  static absl::Status Ready(const Group&, absl::Time) { return absl::OkStatus(); }
  absl::StatusOr<SequenceBlock> TryTake(SegmentSequence& of) const {
    return of.TryNextBlock(count_);
  }
  absl::StatusOr<SequenceBlock> Take(SegmentSequence& of,
                                     std::chrono::steady_clock::time_point deadline) const {
    return of.NextBlock(count_, deadline);
  }
  static Result Write(const Group& of, absl::Time, const SequenceBlock& numbers) {
    return NumberBlock{numbers, of.name};
  }

 private:
  int64_t count_;
};

absl::StatusOr<std::shared_ptr<const TypeInUse>> MakeType(
    SequenceType type, const NumberGenerator::OpenCounters& open) {
  LOCUS_ASSIGN_OR_RETURN(NumberForm form, NumberForm::Of(type));
  LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Sequencer> counters, open(type.counter_options()));
  return std::make_shared<TypeInUse>(
      TypeInUse{std::move(type), std::move(form), std::move(counters)});
}

}  // namespace

// Callers draw from the group of their stripe. A change of the group first takes it from all
// stripes and then gives the new one to all: so once one caller draws from the new group, no caller
// draws from the previous one.
class NumberGenerator::Rep {
 public:
  Rep(std::shared_ptr<SequenceTypeStore> types, OpenCounters open, std::string key,
      const Options& options)
      : types_(std::move(types)), open_(std::move(open)), key_(std::move(key)), options_(options) {
    auto job = [this] { return Work(); };
    driver_ = options.executor == nullptr ? LoadDriver::OnThread(job)
                                          : LoadDriver::OnExecutor(*options.executor, job);
  }

  ~Rep() {
    driver_.reset();
    MutexLock lock(change_);
    Install(nullptr);
    retired_.clear();
  }

  bool forked() const { return home_.forked(); }

  absl::Status Start(std::string_view name) {
    LOCUS_ASSIGN_OR_RETURN(SequenceType type, types_->Find(name));
    LOCUS_RETURN_IF_ERROR(Begin(std::move(type)));
    {
      MutexLock lock(change_);
      ++type_reads_;
      ScheduleRead(2);
    }
    driver_->Wake();
    return absl::OkStatus();
  }

  template <typename What>
  typename What::Result TryDraw(What what) {
    std::shared_ptr<Group> failed_in;
    return Draw(what, failed_in);
  }

  template <typename What>
  typename What::Result DrawBy(std::chrono::steady_clock::time_point deadline, What what) {
    while (true) {
      std::shared_ptr<Group> group;
      typename What::Result drawn = Draw(what, group);
      if (drawn.ok() || group == nullptr) return drawn;
      // The group is decided now, the number drawn later: both belong to this group even if the
      // next one begins meanwhile. Calls that begin after that do not wait here.
      const absl::Time now = options_.clock->Now();
      if (now >= group->window.end) continue;
      auto taken = what.Take(*group->sequence, deadline);
      if (taken.ok()) {
        CountClock(*group, now);
        return what.Write(*group, now, *taken);
      }
      MutexLock lock(change_);
      if (current_ == group) return taken.status();
      // Its sequence was closed because another group came into use.
    }
  }

  SequenceType Type() const {
    MutexLock lock(change_);
    return in_use_->type;
  }

  NumberGeneratorStats Stats() const {
    NumberGeneratorStats stats;
    MutexLock lock(change_);
    stats.numbers = numbers_before_;
    for (const auto& group : retired_) stats.numbers += group->sequence->Stats().numbers;
    if (current_ != nullptr) {
      stats.sequence = current_->sequence->Stats();
      stats.numbers += stats.sequence.numbers;
      stats.type_version = in_use_->type.version;
    }
    stats.rolled = rolled_;
    stats.clock_behind = clock_behind_.load(std::memory_order_relaxed);
    stats.leftovers_returned = returned_;
    stats.leftovers_dropped = dropped_;
    stats.type_reads = type_reads_;
    stats.type_failures = type_failures_;
    stats.last_type_error = last_type_error_;
    return stats;
  }

 private:
  struct alignas(64) Stripe {
    Mutex mutex;
    std::shared_ptr<Group> group ABSL_GUARDED_BY(mutex);
  };

  Stripe& StripeOfThread() {
    static std::atomic<size_t> threads{0};
    thread_local const size_t index = threads.fetch_add(1, std::memory_order_relaxed) % kStripes;
    return stripes_[index];
  }

  // If the group has no number, `failed_in` becomes the group, and the error has no message.
  template <typename What>
  typename What::Result Draw(What& what, std::shared_ptr<Group>& failed_in) {
    Stripe& stripe = StripeOfThread();
    while (true) {
      absl::Time now;
      {
        MutexLock lock(stripe.mutex);
        // Under the lock of the stripe: the group and its date come from this one reading.
        now = options_.clock->Now();
        Group* group = stripe.group.get();
        if (group != nullptr && now < group->window.end) [[likely]] {
          LOCUS_RETURN_IF_ERROR(what.Ready(*group, now));
          auto taken = what.TryTake(*group->sequence);
          if (!taken.ok()) {
            failed_in = stripe.group;
            if (!driver_->started()) driver_->Wake();
            return taken.status();
          }
          CountClock(*group, now);
          return what.Write(*group, now, *taken);
        }
      }
      LOCUS_RETURN_IF_ERROR(MoveOn(now));
    }
  }

  void CountClock(const Group& group, absl::Time now) {
    if (now < group.window.begin) [[unlikely]] {
      clock_behind_.fetch_add(1, std::memory_order_relaxed);
    }
  }

  // Makes sure that a group is in use that `now` is not past.
  absl::Status MoveOn(absl::Time now) {
    {
      MutexLock lock(change_);
      if (current_ == nullptr) return Dropped();
      if (now < current_->window.end) return absl::OkStatus();
      LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Group> next, MakeGroup(in_use_, now));
      ++rolled_;
      Install(std::move(next));
    }
    driver_->Wake();
    return absl::OkStatus();
  }

  absl::Status Dropped() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_) {
    return absl::FailedPreconditionError(absl::StrCat("sequence type ", Quoted(in_use_->type.name),
                                                      " was dropped: create it again to continue"));
  }

  absl::StatusOr<std::shared_ptr<Group>> MakeGroup(std::shared_ptr<const TypeInUse> in_use,
                                                   absl::Time now) const {
    auto group = std::make_shared<Group>();
    LOCUS_ASSIGN_OR_RETURN(group->window, GroupWindow::Of(in_use->type, now));
    LOCUS_ASSIGN_OR_RETURN(std::string counter,
                           in_use->type.CounterName(key_, group->window.Shown(now)));
    if (in_use->type.period != SequenceType::Period::kNone) {
      group->name = counter.substr(counter.rfind(':') + 1);
    }
    SegmentSequence::Options options = in_use->type.segment_options();
    options.horizon = options_.horizon;
    options.clock = options_.clock;
    options.executor = options_.executor;
    options.on_event = [taken = group->taken,
                        told = options_.on_event](const SegmentSequenceEvent& event) {
      if (event.kind == SegmentSequenceEvent::Kind::kTaken) {
        taken->fetch_add(static_cast<uint64_t>(event.numbers.count), std::memory_order_relaxed);
      }
      if (told) told(event);
    };
    LOCUS_ASSIGN_OR_RETURN(group->sequence,
                           SegmentSequence::Create(in_use->counters, counter, options));
    group->in_use = std::move(in_use);
    return group;
  }

  void Install(std::shared_ptr<Group> next) ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_) {
    for (Stripe& stripe : stripes_) {
      MutexLock lock(stripe.mutex);
      stripe.group = nullptr;
    }
    for (Stripe& stripe : stripes_) {
      MutexLock lock(stripe.mutex);
      stripe.group = next;
    }
    if (current_ != nullptr) retired_.push_back(std::move(current_));
    current_ = std::move(next);
    if (current_ != nullptr) latest_ = std::max(latest_, current_->window.begin);
  }

  // Puts another version of the type into use.
  absl::Status Begin(SequenceType type) {
    LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<const TypeInUse> in_use,
                           MakeType(std::move(type), open_));
    // Not before a group that was in use: a clock that is behind must not bring an earlier group
    // back.
    MutexLock lock(change_);
    absl::Time now = std::max(options_.clock->Now(), latest_);
    LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Group> group, MakeGroup(in_use, now));
    in_use_ = std::move(in_use);
    Install(std::move(group));
    return absl::OkStatus();
  }

  // In the background: closes the groups that are over, and reads the type when that is due.
  absl::Duration Work() {
    CloseRetired();
    bool due;
    std::string name;
    {
      MutexLock lock(change_);
      due = options_.clock->SinceBoot() >= next_read_;
      name = in_use_->type.name;
    }
    if (due) {
      ReadType(name);
      CloseRetired();
    }
    MutexLock lock(change_);
    return std::max(absl::ZeroDuration(), next_read_ - options_.clock->SinceBoot());
  }

  void CloseRetired() {
    std::vector<std::shared_ptr<Group>> over;
    {
      MutexLock lock(change_);
      over = retired_;
    }
    for (const auto& group : over) {
      const absl::StatusOr<int64_t> closed = group->sequence->Close();  // reported by on_event
      const auto returned = static_cast<uint64_t>(closed.value_or(0));
      const uint64_t given = group->sequence->Stats().numbers;
      MutexLock lock(change_);
      numbers_before_ += given;
      returned_ += returned;
      const uint64_t taken = group->taken->load(std::memory_order_relaxed);
      dropped_ += taken - std::min(taken, given + returned);
      std::erase(retired_, group);
    }
  }

  void ReadType(const std::string& name) {
    absl::StatusOr<SequenceTypeStore::Known> known = types_->FindAny(name);
    absl::Status status = known.status();
    // A store that was emptied does not know the type.
    const bool is_gone = known.ok() ? known->is_dropped : absl::IsNotFound(status);
    bool is_new = false, is_dropped = false;
    TypeSwitchEvent event;
    {
      MutexLock lock(change_);
      ++type_reads_;
      event.before = in_use_->type;
      is_new = known.ok() && !is_gone &&
               (current_ == nullptr || known->type.version != in_use_->type.version);
      if (is_gone) {
        is_dropped = current_ != nullptr;
        Install(nullptr);
        status = absl::OkStatus();
      }
    }
    if (is_new) {
      event.after = known->type;
      status = Begin(std::move(known->type));
    }
    if (options_.on_type && (is_dropped || (is_new && status.ok()))) options_.on_type(event);
    MutexLock lock(change_);
    type_failures_ += !status.ok();
    // Twice in a lifetime, so that one read in time is enough; more often after a failure.
    ScheduleRead(status.ok() ? 2 : 4);
    last_type_error_ = std::move(status);
  }

  void ScheduleRead(int times_a_lifetime) ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_) {
    next_read_ = options_.clock->SinceBoot() + in_use_->type.lifetime / times_a_lifetime;
  }

  const ForkGuard home_;
  const std::shared_ptr<SequenceTypeStore> types_;
  const OpenCounters open_;
  const std::string key_;
  const Options options_;
  std::atomic<uint64_t> clock_behind_{0};
  std::array<Stripe, kStripes> stripes_;

  mutable Mutex change_;  // before that of a stripe
  std::shared_ptr<const TypeInUse> in_use_ ABSL_GUARDED_BY(change_);
  std::shared_ptr<Group> current_ ABSL_GUARDED_BY(change_);  // of all stripes; null: dropped
  absl::Time latest_ ABSL_GUARDED_BY(change_) = absl::InfinitePast();     // begin of a group in use
  std::vector<std::shared_ptr<Group>> retired_ ABSL_GUARDED_BY(change_);  // not closed yet
  absl::Duration next_read_ ABSL_GUARDED_BY(change_) = absl::InfiniteDuration();  // since boot
  uint64_t numbers_before_ ABSL_GUARDED_BY(change_) = 0;  // of groups that were closed
  uint64_t returned_ ABSL_GUARDED_BY(change_) = 0;        // of them, to the counter
  uint64_t dropped_ ABSL_GUARDED_BY(change_) = 0;
  uint64_t rolled_ ABSL_GUARDED_BY(change_) = 0;
  uint64_t type_reads_ ABSL_GUARDED_BY(change_) = 0;
  uint64_t type_failures_ ABSL_GUARDED_BY(change_) = 0;
  absl::Status last_type_error_ ABSL_GUARDED_BY(change_);

  std::unique_ptr<LoadDriver> driver_;  // last: its destructor waits for work under way
};

absl::StatusOr<std::unique_ptr<NumberGenerator>> NumberGenerator::Create(
    std::shared_ptr<SequenceTypeStore> types, OpenCounters open, std::string type, std::string key,
    Options options) {
  if (types == nullptr || open == nullptr || options.clock == nullptr) {
    return absl::InvalidArgumentError("a number generator needs types, counters and a clock");
  }
  auto rep = std::make_unique<Rep>(std::move(types), std::move(open), std::move(key), options);
  LOCUS_RETURN_IF_ERROR(rep->Start(type));
  return std::unique_ptr<NumberGenerator>(new NumberGenerator(std::move(rep)));
}

absl::StatusOr<std::unique_ptr<NumberGenerator>> NumberGenerator::Create(
    std::shared_ptr<SequenceTypeStore> types, OpenCounters open, std::string type,
    std::string key) {
  return Create(std::move(types), std::move(open), std::move(type), std::move(key), Options());
}

NumberGenerator::NumberGenerator(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

// A forked child must not touch its parent's threads and locks; it leaks its copy.
NumberGenerator::~NumberGenerator() { internal::AbandonIfForked(rep_); }

absl::StatusOr<std::string> NumberGenerator::TryNext(std::span<const FieldValue> values) {
  if (rep_->forked()) [[unlikely]]
    return ForkGuard::Refusal(kObject);
  return rep_->TryDraw(OneText(values));
}

absl::StatusOr<std::string> NumberGenerator::Next(std::chrono::steady_clock::time_point deadline,
                                                  std::span<const FieldValue> values) {
  if (rep_->forked()) return ForkGuard::Refusal(kObject);
  return rep_->DrawBy(deadline, OneText(values));
}

absl::StatusOr<std::string> NumberGenerator::Next(Timeout timeout,
                                                  std::span<const FieldValue> values) {
  return Next(internal::DeadlineAfter(timeout), values);
}

absl::StatusOr<std::string> NumberGenerator::TryNextNamed(std::span<const NamedValue> values) {
  if (rep_->forked()) return ForkGuard::Refusal(kObject);
  return rep_->TryDraw(OneNamedText(values));
}

absl::StatusOr<std::string> NumberGenerator::NextNamed(
    std::chrono::steady_clock::time_point deadline, std::span<const NamedValue> values) {
  if (rep_->forked()) return ForkGuard::Refusal(kObject);
  return rep_->DrawBy(deadline, OneNamedText(values));
}

absl::StatusOr<NumberBlock> NumberGenerator::TryNextBlock(int64_t count) {
  if (rep_->forked()) return ForkGuard::Refusal(kObject);
  return rep_->TryDraw(OneBlock(count));
}

absl::StatusOr<NumberBlock> NumberGenerator::NextBlock(
    int64_t count, std::chrono::steady_clock::time_point deadline) {
  if (rep_->forked()) return ForkGuard::Refusal(kObject);
  return rep_->DrawBy(deadline, OneBlock(count));
}

SequenceType NumberGenerator::Type() const {
  return rep_->forked() ? SequenceType() : rep_->Type();
}

NumberGeneratorStats NumberGenerator::Stats() const {
  return rep_->forked() ? NumberGeneratorStats() : rep_->Stats();
}

}  // namespace locus
