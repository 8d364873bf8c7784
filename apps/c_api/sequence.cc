// SPDX-License-Identifier: Apache-2.0
// Sequences.
#include <cstddef>

#include "absl/strings/str_cat.h"
#include "apps/c_api/call.h"
#include "locus/open.h"
#include "locus/segment_sequence.h"
#include "src/base/text/utf8.h"
#include "src/number/type_text.h"

using locus::SegmentSequence;
using locus::SequenceBlock;
using locus::Sequencer;
using locus::SequencerOptions;
using namespace locus::c_api;

namespace locus::c_api {
// The ceiling came later.
template <>
inline constexpr size_t kFirstSize<locus_sequence_options> = offsetof(locus_sequence_options,
                                                                      ceiling);
}  // namespace locus::c_api

struct locus_sequence {
  std::unique_ptr<SegmentSequence> numbers;
};

namespace {

// Counted by its name, a counter of a type would begin at 1 beside the type's own.
absl::Status CheckHasNoType(const char* engine_uri, const locus::SequencerUriOptions& of,
                            const std::string& counter) {
  const auto types = locus::OpenSequenceTypeStore(engine_uri, {.password = of.password});
  if (absl::IsNotFound(types.status())) return absl::OkStatus();  // a store without rules
  LOCUS_RETURN_IF_ERROR(types.status());
  LOCUS_ASSIGN_OR_RETURN(const std::string type, locus::internal::TypeThatCounts(**types, counter));
  if (type.empty()) return absl::OkStatus();
  return locus::internal::CountedByItsType(counter, type,
                                           "open it with locus_numbers_open (Numbers)");
}

}  // namespace

locus_code locus_sequence_open(const char* engine_uri, const char* key,
                               const locus_sequence_options* options, locus_sequence** sequence,
                               locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("engine_uri", engine_uri));
    LOCUS_RETURN_IF_ERROR(NotNull("key", key));
    LOCUS_RETURN_IF_ERROR(NotNull("sequence", sequence));
    LOCUS_ASSIGN_OR_RETURN(const locus_sequence_options set, OptionsOr(options));
    LOCUS_ASSIGN_OR_RETURN(locus::SequencerUriOptions of, EngineOf(set));
    of.sequencer.key_prefix = std::string(TextOr(set.key_prefix, ""));
    of.sequencer.step = set.increment == 0 ? 1 : set.increment;
    of.sequencer.max_value = set.max_value;
    of.sequencer.at_max =
        set.wrap == 0 ? SequencerOptions::AtMax::kError : SequencerOptions::AtMax::kWrap;
    LOCUS_RETURN_IF_ERROR(locus::internal::CheckCounterName("key", of.sequencer.key_prefix + key));
    LOCUS_RETURN_IF_ERROR(CheckHasNoType(engine_uri, of, of.sequencer.key_prefix + key));
    LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<Sequencer> engine, locus::OpenSequencer(engine_uri, of));
    SegmentSequence::Options segments;
    segments.horizon = MsOr(set.horizon_ms, segments.horizon);
    auto made = std::make_unique<locus_sequence>();
    LOCUS_ASSIGN_OR_RETURN(made->numbers,
                           SegmentSequence::Create(std::move(engine), key, segments));
    *sequence = made.release();
    return absl::OkStatus();
  });
}

locus_code locus_sequence_next(locus_sequence* sequence, uint32_t timeout_ms, int64_t* number,
                               locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("sequence", sequence));
    LOCUS_RETURN_IF_ERROR(NotNull("number", number));
    LOCUS_ASSIGN_OR_RETURN(*number, sequence->numbers->Next(Ms(timeout_ms)));
    return absl::OkStatus();
  });
}

locus_code locus_sequence_next_block(locus_sequence* sequence, uint32_t timeout_ms, int64_t* first,
                                     int64_t* count, locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("sequence", sequence));
    LOCUS_RETURN_IF_ERROR(NotNull("first", first));
    LOCUS_RETURN_IF_ERROR(NotNull("count", count));
    LOCUS_ASSIGN_OR_RETURN(const SequenceBlock block,
                           sequence->numbers->NextBlock(*count, Ms(timeout_ms)));
    *first = block.first;
    *count = block.count;
    return absl::OkStatus();
  });
}

void locus_sequence_close(locus_sequence* sequence) { delete sequence; }
