// SPDX-License-Identifier: Apache-2.0
// Numbers by sequence types.
#include <cstring>
#include <vector>

#include "apps/c_api/call.h"
#include "locus/internal/deadline.h"
#include "locus/number_generator.h"
#include "locus/open.h"
#include "locus/typed_sequences.h"

using locus::NamedValue;
using locus::NumberBlock;
using locus::NumberFormat;
using locus::NumberGenerator;
using namespace locus::c_api;

static_assert(LOCUS_NUMBER_TEXT_BYTES == NumberFormat::kMaxLength + 1, "a number and its NUL");

struct locus_numbers {
  std::unique_ptr<NumberGenerator> generator;
};

locus_code locus_numbers_open(const char* engine_uri, const char* type, const char* key,
                              const locus_numbers_options* options, locus_numbers** numbers,
                              locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("engine_uri", engine_uri));
    LOCUS_RETURN_IF_ERROR(NotNull("type", type));
    LOCUS_RETURN_IF_ERROR(NotNull("numbers", numbers));
    LOCUS_ASSIGN_OR_RETURN(const locus_numbers_options set, OptionsOr(options));
    LOCUS_ASSIGN_OR_RETURN(const auto of, EngineOf(set));
    LOCUS_ASSIGN_OR_RETURN(auto sequences, locus::OpenTypedSequences(engine_uri, of));
    NumberGenerator::Options generator;
    generator.horizon = MsOr(set.horizon_ms, generator.horizon);
    auto made = std::make_unique<locus_numbers>();
    LOCUS_ASSIGN_OR_RETURN(
        made->generator,
        sequences->MakeGenerator(type, std::string(TextOr(key, "")), std::move(generator)));
    *numbers = made.release();
    return absl::OkStatus();
  });
}

locus_code locus_numbers_next(locus_numbers* numbers, uint32_t timeout_ms,
                              const locus_named_value* values, size_t value_count, char* text,
                              locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("numbers", numbers));
    LOCUS_RETURN_IF_ERROR(NotNull("text", text));
    if (value_count > 0) LOCUS_RETURN_IF_ERROR(NotNull("values", values));
    std::vector<NamedValue> named;
    named.reserve(value_count);
    for (size_t i = 0; i < value_count; ++i) {
      LOCUS_RETURN_IF_ERROR(NotNull("the name of a value", values[i].name));
      LOCUS_RETURN_IF_ERROR(NotNull("the text of a value", values[i].text));
      named.push_back({values[i].name, values[i].text});
    }
    LOCUS_ASSIGN_OR_RETURN(
        const std::string number,
        numbers->generator->NextNamed(locus::internal::DeadlineAfter(Ms(timeout_ms)), named));
    LOCUS_CHECK(number.size() < LOCUS_NUMBER_TEXT_BYTES);
    std::memcpy(text, number.c_str(), number.size() + 1);
    return absl::OkStatus();
  });
}

locus_code locus_numbers_next_block(locus_numbers* numbers, uint32_t timeout_ms, int64_t count,
                                    locus_number_block* block, locus_error* error) {
  return Run(error, [&]() -> absl::Status {
    LOCUS_RETURN_IF_ERROR(NotNull("numbers", numbers));
    LOCUS_RETURN_IF_ERROR(NotNull("block", block));
    LOCUS_ASSIGN_OR_RETURN(
        const NumberBlock taken,
        numbers->generator->NextBlock(count, locus::internal::DeadlineAfter(Ms(timeout_ms))));
    LOCUS_CHECK(taken.group.size() < sizeof(block->group));
    block->first = taken.numbers.first;
    block->step = taken.numbers.step;
    block->count = taken.numbers.count;
    std::memcpy(block->group, taken.group.c_str(), taken.group.size() + 1);
    return absl::OkStatus();
  });
}

void locus_numbers_close(locus_numbers* numbers) { delete numbers; }
