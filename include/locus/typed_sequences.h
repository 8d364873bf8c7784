// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TYPED_SEQUENCES_H_
#define LOCUS_TYPED_SEQUENCES_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/number_generator.h"
#include "locus/sequence_type.h"
#include "locus/sequence_type_store.h"
#include "locus/sequencer.h"

namespace locus {

// How a caller expects a counter to count; only the members that are set. As SequencerOptions.
struct WantedCounting {
  std::optional<int64_t> start = {};
  std::optional<int64_t> step = {};
  std::optional<int64_t> max_value = {};
  std::optional<SequencerOptions::AtMax> at_max = {};
  std::optional<absl::Duration> ttl = {};

  bool empty() const { return !start && !step && !max_value && !at_max && !ttl; }
  // FAILED_PRECONDITION: the type differs; the message names both values.
  absl::Status CheckAgreesWith(const SequenceType& type) const;
};

// A counter that counts as its type says.
struct TypedCounter {
  SequenceType type;
  std::shared_ptr<Sequencer> counters;  // counts as the type says
  std::string name;                     // of the counter, for `counters`
  std::string group;                    // as NumberBlock::group
  absl::Time shown;                     // the format of its numbers

  // A number as the type's pattern writes it; `values` as those of NumberGenerator::NextNamed.
  // Without a pattern a decimal. Errors as NumberGenerator::NextNamed.
  absl::StatusOr<std::string> Written(int64_t number, std::span<const NamedValue> values) const;
  // All numbers of a batch.
  absl::StatusOr<std::vector<std::string>> Written(const SequenceBatch& batch,
                                                   std::span<const NamedValue> values) const;
};

// Counters that are opened by the name of their type, in the store of the type:
//
//   auto sequences = OpenTypedSequences("mysql://db-a/locus").value();
//   TypedCounter counter = sequences->Open("invoices", "shop-7", absl::Now()).value();
//   SequenceBatch batch = counter.counters->NextBatch(counter.name, 3).value();
//
// or, for many numbers, `sequences->MakeGenerator("invoices", "shop-7", {})`.
//
// Sequencers are opened once for each way of counting, and shared by all their holders. Thread
// safety: all methods may be called from any thread. They block as the store does.
class TypedSequences {
 public:
  // `open` opens the counters of the store that `types` is of.
  TypedSequences(std::shared_ptr<SequenceTypeStore> types, NumberGenerator::OpenCounters open);
  ~TypedSequences();
  TypedSequences(const TypedSequences&) = delete;
  TypedSequences& operator=(const TypedSequences&) = delete;

  // The counter of a key at `time`, by the type as it is stored now: call this again for each
  // number, or within the type's lifetime. NOT_FOUND: there is no such type. FAILED_PRECONDITION:
  // the type does not agree with `wanted`. INVALID_ARGUMENT, OUT_OF_RANGE: as
  // SequenceType::CounterName. Otherwise the errors of the store. Cost: a round trip for the type,
  // and a connection for a new way of counting.
  absl::StatusOr<TypedCounter> Open(std::string_view type, std::string_view key, absl::Time time,
                                    const WantedCounting& wanted = {});

  // Takes numbers in the background and follows changes of the type; errors as
  // NumberGenerator::Create.
  absl::StatusOr<std::unique_ptr<NumberGenerator>> MakeGenerator(std::string type, std::string key,
                                                                 NumberGenerator::Options options);

  SequenceTypeStore& types() const;

 private:
  class Shared;
  const std::shared_ptr<Shared> shared_;  // with the generators
};

}  // namespace locus

#endif  // LOCUS_TYPED_SEQUENCES_H_
