// SPDX-License-Identifier: Apache-2.0
#include "locus/number_generator.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <optional>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/check.h"
#include "src/base/fork_guard.h"
#include "src/base/load_driver.h"
#include "src/base/mutex.h"
#include "src/base/text.h"
#include "src/sequence_type/group_window.h"
#include "src/sequence_type/number_form.h"

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
  std::unique_ptr<SegmentSequence> sequence;
};

absl::StatusOr<std::shared_ptr<const Rule>> MakeRule(SequenceType type,
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
      ++rule_reads_;
      ScheduleRead(2);
    }
    driver_->Wake();
    return absl::OkStatus();
  }

  absl::StatusOr<std::string> TryNext(std::span<const FieldValue> values) {
    std::shared_ptr<Group> failed_in;
    return Draw(values, failed_in);
  }

  absl::StatusOr<std::string> Next(std::chrono::steady_clock::time_point deadline,
                                   std::span<const FieldValue> values) {
    while (true) {
      std::shared_ptr<Group> group;
      absl::StatusOr<std::string> text = Draw(values, group);
      if (text.ok() || group == nullptr) return text;
      // Decided now, drawn later: a number of this group and its date, also where the next group
      // begins meanwhile. Calls that begin after that do not wait here.
      const absl::Time now = options_.clock->Now();
      if (now >= group->window.end) continue;
      absl::StatusOr<int64_t> number = group->sequence->Next(deadline);
      if (number.ok()) return Text(*group, now, *number, values);
      MutexLock lock(change_);
      if (current_ == group) return number.status();
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
      stats.rule_version = rule_->type.version;
    }
    stats.rolled = rolled_;
    stats.clock_behind = clock_behind_.load(std::memory_order_relaxed);
    stats.rule_reads = rule_reads_;
    stats.rule_failures = rule_failures_;
    stats.last_rule_error = last_rule_error_;
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
  absl::StatusOr<std::string> Draw(std::span<const FieldValue> values,
                                   std::shared_ptr<Group>& failed_in) {
    Stripe& stripe = StripeOfThread();
    while (true) {
      absl::Time now;
      {
        MutexLock lock(stripe.mutex);
        now = options_.clock->Now();
        Group* group = stripe.group.get();
        if (group != nullptr && now < group->window.end) [[likely]] {
          absl::StatusOr<int64_t> number = group->sequence->TryNext();
          if (!number.ok()) {
            failed_in = stripe.group;
            if (!driver_->started()) driver_->Wake();
            return number.status();
          }
          return Text(*group, now, *number, values);
        }
      }
      LOCUS_RETURN_IF_ERROR(MoveOn(now));
    }
  }

  absl::StatusOr<std::string> Text(const Group& group, absl::Time now, int64_t number,
                                   std::span<const FieldValue> values) {
    if (now < group.window.begin) [[unlikely]] {
      clock_behind_.fetch_add(1, std::memory_order_relaxed);
    }
    return group.rule->form.Text(group.window.Shown(now), number, values);
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
    SegmentSequence::Options options = rule->type.segment_options();
    options.horizon = options_.horizon;
    options.clock = options_.clock;
    options.executor = options_.executor;
    options.on_event = options_.on_event;
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
    LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<const Rule> rule, MakeRule(std::move(type), open_));
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
      ReadRule(name);
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
      group->sequence->Close().IgnoreError();  // told by on_event
      MutexLock lock(change_);
      numbers_before_ += group->sequence->Stats().numbers;
      std::erase(retired_, group);
    }
  }

  void ReadRule(const std::string& name) {
    absl::StatusOr<SequenceType> type = types_->Find(name);
    absl::Status status = type.status();
    bool is_new = false;
    {
      MutexLock lock(change_);
      ++rule_reads_;
      is_new = type.ok() && (current_ == nullptr || type->version != rule_->type.version);
      if (absl::IsNotFound(status)) {
        Install(nullptr);
        status = absl::OkStatus();
      }
    }
    if (is_new) status = Begin(*std::move(type));
    MutexLock lock(change_);
    rule_failures_ += !status.ok();
    ScheduleRead(status.ok() ? 2 : 4);
    last_rule_error_ = std::move(status);
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
  uint64_t rolled_ ABSL_GUARDED_BY(change_) = 0;
  uint64_t rule_reads_ ABSL_GUARDED_BY(change_) = 0;
  uint64_t rule_failures_ ABSL_GUARDED_BY(change_) = 0;
  absl::Status last_rule_error_ ABSL_GUARDED_BY(change_);

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

NumberGenerator::NumberGenerator(std::unique_ptr<Rep> rep) : rep_(std::move(rep)) {}

// A forked child must not touch its parent's threads and locks; it leaks its copy.
NumberGenerator::~NumberGenerator() { internal::AbandonIfForked(rep_); }

absl::StatusOr<std::string> NumberGenerator::TryNext(std::span<const FieldValue> values) {
  if (rep_->forked()) [[unlikely]]
    return ForkGuard::Refusal(kObject);
  return rep_->TryNext(values);
}

absl::StatusOr<std::string> NumberGenerator::Next(std::chrono::steady_clock::time_point deadline,
                                                  std::span<const FieldValue> values) {
  if (rep_->forked()) return ForkGuard::Refusal(kObject);
  return rep_->Next(deadline, values);
}

SequenceType NumberGenerator::Type() const {
  return rep_->forked() ? SequenceType() : rep_->Type();
}

NumberGeneratorStats NumberGenerator::Stats() const {
  return rep_->forked() ? NumberGeneratorStats() : rep_->Stats();
}

}  // namespace locus
