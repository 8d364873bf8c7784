// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTING_FAULTY_SEQUENCER_H_
#define LOCUS_TESTING_FAULTY_SEQUENCER_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "locus/sequencer.h"
#include "locus/testing/faults.h"

namespace locus::fakes {

// A sequencer that passes its calls to another one, and that a test can make fail, stall or lose
// answers. A counter name has at most 512 bytes including the prefix of the options.
// Thread safety: all methods may be called from any thread.
class FaultySequencer : public Sequencer, public Faults {
 public:
  explicit FaultySequencer(std::unique_ptr<Sequencer> inner)
      : Sequencer(WithoutPrefix(inner->options())), inner_(std::move(inner)) {}

  // Where the numbers come from, without faults.
  Sequencer& inner() { return *inner_; }

 private:
  static SequencerOptions WithoutPrefix(SequencerOptions options) {
    options.key_prefix.clear();
    return options;
  }

  absl::StatusOr<Taken> Take(const std::string& name, int64_t span) override {
    return Through([&]() -> absl::StatusOr<Taken> {
      absl::StatusOr<SequenceBatch> batch = inner_->NextBatch(name, span / options().step);
      if (!batch.ok()) return batch.status();
      return Taken{batch->last(), batch->version};
    });
  }
  absl::Status Store(const std::string& name, int64_t value) override {
    if (std::optional<absl::Status> status = Before()) return *status;
    absl::Status stored = inner_->Set(name, value);
    return After().value_or(stored);
  }
  absl::StatusOr<bool> StoreNew(const std::string& name, int64_t value) override {
    return Through([&] { return inner_->SetIfNotExists(name, value); });
  }
  absl::StatusOr<std::optional<int64_t>> Load(const std::string& name) override {
    return Through([&]() -> absl::StatusOr<std::optional<int64_t>> {
      absl::StatusOr<int64_t> value = inner_->Get(name);
      if (absl::IsNotFound(value.status())) return std::nullopt;
      if (!value.ok()) return value.status();
      return *value;
    });
  }
  absl::StatusOr<bool> PutBack(const std::string& name, const Taken& taken,
                               int64_t value) override {
    int64_t step = options().step;
    SequenceBatch rest{value + step, step, (taken.last - value) / step, taken.version};
    return Through([&] { return inner_->Return(name, rest, 0); });
  }

  template <typename Call>
  auto Through(Call call) -> decltype(call()) {
    if (std::optional<absl::Status> status = Before()) return *status;
    auto answer = call();
    if (std::optional<absl::Status> status = After()) return *status;
    return answer;
  }

  const std::unique_ptr<Sequencer> inner_;
};

}  // namespace locus::fakes

#endif  // LOCUS_TESTING_FAULTY_SEQUENCER_H_
