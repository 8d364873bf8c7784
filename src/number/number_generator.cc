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

// A rule in use, and the counters opened by it.
struct Rule {
  SequenceType type;
  NumberForm form;
  std::shared_ptr<Sequencer> counters;
};

// The numbers of one group.
struct Group {
  std::shared_ptr<const Rule> rule;
  GroupWindow window;
  std::string name;  // as in NumberBlock
  // How many the sequence took from the counter; its hook adds to it.
  std::shared_ptr<std::atomic<uint64_t>> taken = std::make_shared<std::atomic<uint64_t>>(0);
  std::unique_ptr<SegmentSequence> sequence;
};

// What callers draw. Ready is asked before a number is drawn of the group; Write makes the result.
class OneNumber {
 public:
  using Result = absl::StatusOr<std::string>;
  static absl::StatusOr<int64_t> TryTake(SegmentSequence& of) { return of.TryNext(); }
  static absl::StatusOr<int64_t> Take(SegmentSequence& of,
                                      std::chrono::steady_clock::time_point deadline) {
    return of.Next(deadline);
  }
  Result Write(const Group& of, absl::Time now, int64_t number) const {
    return of.rule->form.Text(of.window.Shown(now), number, values_);
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
    if (ready_for_ == of.rule) return absl::OkStatus();
    LOCUS_ASSIGN_OR_RETURN(owned_, of.rule->form.ValuesOf(named_));
    values_ = owned_;
    const absl::Status writes = Write(of, now, 0).status();
    // OUT_OF_RANGE is of counters that are used up.
    if (absl::IsOutOfRange(writes)) return absl::InvalidArgumentError(writes.message());
    LOCUS_RETURN_IF_ERROR(writes);
    ready_for_ = of.rule;
    return absl::OkStatus();
  }

 private:
  std::span<const NamedValue> named_;
  std::shared_ptr<const Rule> ready_for_;
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

absl::StatusOr<std::shared_ptr<const Rule>> MakeType(SequenceType type,
                                                     const NumberGenerator::OpenCounters& open) {
  LOCUS_ASSIGN_OR_RETURN(NumberForm form, NumberForm::Of(type));
  LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Sequencer> counters, open(type.counter_options()));
  return std::make_shared<Rule>(Rule{std::move(type), std::move(form), std::move(counters)});
}

}  // namespace

// Callers draw from the group of their stripe. A change of the group first takes it from all
// stripes and then gives the new one to all: so once anybody draws from the new group, nobody draws
// from the one before.
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
      // Decided now, drawn later: a number of this group and its date, also where the next group
      // begins meanwhile. Calls that begin after that do not wait here.
      const absl::Time now = options_.clock->Now();
      if (now >= group->window.end) continue;
      auto taken = what.Take(*group->sequence, deadline);
      if (taken.ok()) {
        CountClock(*group, now);
        return what.Write(*group, now, *taken);
      }
      MutexLock lock(change_);
      if (current_ == group) return taken.status();
      // Its sequence was closed, as another group came in use.
    }
  }

  SequenceType Type() const {
    MutexLock lock(change_);
    return rule_->type;
  }

  NumberGeneratorStats Stats() const {
    NumberGeneratorStats stats;
    MutexLock lock(change_);
    stats.numbers = numbers_before_;
    for (const auto& group : retired_) stats.numbers += group->sequence->Stats().numbers;
    if (current_ != nullptr) {
      stats.sequence = current_->sequence->Stats();
      stats.numbers += stats.sequence.numbers;
      stats.type_version = rule_->type.version;
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

  // Where the group has no number, it is `failed_in`, and the error has no message.
  template <typename What>
  typename What::Result Draw(What& what, std::shared_ptr<Group>& failed_in) {
    Stripe& stripe = StripeOfThread();
    while (true) {
      absl::Time now;
      {
        MutexLock lock(stripe.mutex);
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

  // Has a group in use that `now` is not behind.
  absl::Status MoveOn(absl::Time now) {
    {
      MutexLock lock(change_);
      if (current_ == nullptr) return Dropped();
      if (now < current_->window.end) return absl::OkStatus();
      LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Group> next, MakeGroup(rule_, now));
      ++rolled_;
      Install(std::move(next));
    }
    driver_->Wake();
    return absl::OkStatus();
  }

  absl::Status Dropped() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_) {
    return absl::FailedPreconditionError(absl::StrCat("sequence type ", Quoted(rule_->type.name),
                                                      " was dropped: create it again to go on"));
  }

  absl::StatusOr<std::shared_ptr<Group>> MakeGroup(std::shared_ptr<const Rule> rule,
                                                   absl::Time now) const {
    auto group = std::make_shared<Group>();
    LOCUS_ASSIGN_OR_RETURN(group->window, GroupWindow::Of(rule->type, now));
    LOCUS_ASSIGN_OR_RETURN(std::string counter,
                           rule->type.CounterName(key_, group->window.Shown(now)));
    if (rule->type.period != SequenceType::Period::kNone) {
      group->name = counter.substr(counter.rfind(':') + 1);
    }
    SegmentSequence::Options options = rule->type.segment_options();
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
                           SegmentSequence::Create(rule->counters, counter, options));
    group->rule = std::move(rule);
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

  // Puts a rule in use that was not.
  absl::Status Begin(SequenceType type) {
    LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<const Rule> rule, MakeType(std::move(type), open_));
    MutexLock lock(change_);
    absl::Time now = std::max(options_.clock->Now(), latest_);
    LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Group> group, MakeGroup(rule, now));
    rule_ = std::move(rule);
    Install(std::move(group));
    return absl::OkStatus();
  }

  // In the background: closes the groups that are over, and reads the rule when that is due.
  absl::Duration Work() {
    CloseRetired();
    bool due;
    std::string name;
    {
      MutexLock lock(change_);
      due = options_.clock->SinceBoot() >= next_read_;
      name = rule_->type.name;
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
      const absl::StatusOr<int64_t> closed = group->sequence->Close();  // told by on_event
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
    // A store that was emptied does not know of it.
    const bool is_gone = known.ok() ? known->is_dropped : absl::IsNotFound(status);
    bool is_new = false, is_dropped = false;
    TypeSwitchEvent event;
    {
      MutexLock lock(change_);
      ++type_reads_;
      event.before = rule_->type;
      is_new = known.ok() && !is_gone &&
               (current_ == nullptr || known->type.version != rule_->type.version);
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
    ScheduleRead(status.ok() ? 2 : 4);
    last_type_error_ = std::move(status);
  }

  void ScheduleRead(int times_a_lifetime) ABSL_EXCLUSIVE_LOCKS_REQUIRED(change_) {
    next_read_ = options_.clock->SinceBoot() + rule_->type.lifetime / times_a_lifetime;
  }

  const ForkGuard home_;
  const std::shared_ptr<SequenceTypeStore> types_;
  const OpenCounters open_;
  const std::string key_;
  const Options options_;
  std::atomic<uint64_t> clock_behind_{0};
  std::array<Stripe, kStripes> stripes_;

  mutable Mutex change_;  // before that of a stripe
  std::shared_ptr<const Rule> rule_ ABSL_GUARDED_BY(change_);
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

  std::unique_ptr<LoadDriver> driver_;  // last: its end waits for work under way
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
