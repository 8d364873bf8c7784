// SPDX-License-Identifier: Apache-2.0
#include "locus/typed_sequences.h"

#include <map>
#include <tuple>
#include <utility>
#include <vector>

#include "src/base/os/check.h"
#include "src/base/run/mutex.h"
#include "src/number/group_window.h"
#include "src/number/number_form.h"

namespace locus {

using internal::GroupWindow;
using internal::Mutex;
using internal::MutexLock;
using internal::NumberForm;

absl::Status WantedCounting::CheckAgreesWith(const SequenceType& type) const {
  SequencerOptions all = type.counter_options();
  if (start) all.start = *start;
  if (step) all.step = *step;
  if (max_value) all.max_value = *max_value;
  if (at_max) all.at_max = *at_max;
  if (ttl) all.ttl = *ttl;
  return type.CheckAgrees(all);
}

absl::StatusOr<std::string> TypedCounter::Written(int64_t number,
                                                  std::span<const NamedValue> values) const {
  SequenceBatch only;
  only.first = number;
  only.count = 1;
  LOCUS_ASSIGN_OR_RETURN(std::vector<std::string> texts, Written(only, values));
  return std::move(texts[0]);
}

absl::StatusOr<std::vector<std::string>> TypedCounter::Written(
    const SequenceBatch& batch, std::span<const NamedValue> values) const {
  LOCUS_ASSIGN_OR_RETURN(const NumberForm form, NumberForm::Of(type));
  LOCUS_ASSIGN_OR_RETURN(const std::vector<FieldValue> all, form.ValuesOf(values));
  std::vector<std::string> texts;
  texts.reserve(static_cast<size_t>(batch.count));
  for (int64_t i = 0; i < batch.count; ++i) {
    absl::StatusOr<std::string> text = form.Text(shown, batch.first + i * batch.step, all);
    // OUT_OF_RANGE is reserved for counters that are used up.
    if (absl::IsOutOfRange(text.status())) {
      return absl::InvalidArgumentError(text.status().message());
    }
    LOCUS_RETURN_IF_ERROR(text.status());
    texts.push_back(*std::move(text));
  }
  return texts;
}

class TypedSequences::Shared {
 public:
  Shared(std::shared_ptr<SequenceTypeStore> types, NumberGenerator::OpenCounters open)
      : types_(std::move(types)), open_(std::move(open)) {}

  absl::StatusOr<std::shared_ptr<Sequencer>> Counters(const SequencerOptions& options) {
    const Way way(options.start, options.step, options.max_value, options.at_max, options.ttl);
    MutexLock lock(mutex_);
    if (std::shared_ptr<Sequencer> known = opened_[way].lock()) return known;
    LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Sequencer> counters, open_(options));
    std::erase_if(opened_, [](const auto& each) { return each.second.expired(); });
    opened_[way] = counters;
    return counters;
  }

  const std::shared_ptr<SequenceTypeStore>& types() const { return types_; }

 private:
  using Way = std::tuple<int64_t, int64_t, int64_t, SequencerOptions::AtMax, absl::Duration>;

  const std::shared_ptr<SequenceTypeStore> types_;
  const NumberGenerator::OpenCounters open_;
  Mutex mutex_;  // held also while the store connects, so that it connects only once
  // Weak, so that a sequencer is closed when its last holder is gone.
  std::map<Way, std::weak_ptr<Sequencer>> opened_ ABSL_GUARDED_BY(mutex_);
};

TypedSequences::TypedSequences(std::shared_ptr<SequenceTypeStore> types,
                               NumberGenerator::OpenCounters open)
    : shared_(std::make_shared<Shared>(std::move(types), std::move(open))) {}
TypedSequences::~TypedSequences() = default;

absl::StatusOr<TypedCounter> TypedSequences::Open(std::string_view type, std::string_view key,
                                                  absl::Time time, const WantedCounting& wanted) {
  TypedCounter counter;
  LOCUS_ASSIGN_OR_RETURN(counter.type, shared_->types()->Find(type));
  LOCUS_RETURN_IF_ERROR(wanted.CheckAgreesWith(counter.type));
  LOCUS_ASSIGN_OR_RETURN(const GroupWindow window, GroupWindow::Of(counter.type, time));
  counter.shown = window.Shown(time);
  LOCUS_ASSIGN_OR_RETURN(counter.name, counter.type.CounterName(key, counter.shown));
  if (counter.type.period != SequenceType::Period::kNone) {
    counter.group = counter.name.substr(counter.name.rfind(':') + 1);
  }
  LOCUS_ASSIGN_OR_RETURN(counter.counters, shared_->Counters(counter.type.counter_options()));
  return counter;
}

absl::StatusOr<std::unique_ptr<NumberGenerator>> TypedSequences::MakeGenerator(
    std::string type, std::string key, NumberGenerator::Options options) {
  auto open = [shared = shared_](const SequencerOptions& of) { return shared->Counters(of); };
  return NumberGenerator::Create(shared_->types(), std::move(open), std::move(type), std::move(key),
                                 std::move(options));
}

SequenceTypeStore& TypedSequences::types() const { return *shared_->types(); }

}  // namespace locus
