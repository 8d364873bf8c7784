// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_CONSOLE_TYPES_ANSWER_H_
#define LOCUS_APPS_LOCUSD_CONSOLE_TYPES_ANSWER_H_

#include <string>
#include <vector>

#include "absl/time/time.h"
#include "apps/locusd/ids/typed_numbers.h"
#include "locus/sequence_type.h"

namespace locus::locusd {

// `TypesAnswer` of web/src/api_sequences.ts: the types `stored`, those that counters of `numbers`
// still count by although they are stored no more, and these counters. First numbers are those of
// `now`.
std::string TypesJson(const std::vector<SequenceType>& stored, const TypedNumbers& numbers,
                      absl::Time now);

// `TypesEvent` of the same file: by which versions of their types these counters count.
std::string TypesEventJson(const TypedNumbers& numbers);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_CONSOLE_TYPES_ANSWER_H_
