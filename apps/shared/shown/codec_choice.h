// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_SHARED_SHOWN_CODEC_CHOICE_H_
#define LOCUS_APPS_SHARED_SHOWN_CODEC_CHOICE_H_

#include <optional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "locus/order_no.h"
#include "locus/order_no_codec.h"

namespace locus::apps {

enum class Scheme { kSiv, kFf1, kCtr64 };

// `name` is one of siv, ff1, ctr64.
Scheme SchemeOf(std::string_view name);

// For VerbLine::Value: canonical decimal, 0..127. INVALID_ARGUMENT.
absl::StatusOr<KeyVersion> ParseKeyVersion(std::string_view text);

// A pasted number without the dashes and spaces that people and their programs put in: all that
// look like one, line endings and invisible characters included. Text that is not as long as a
// 128-bit order_no without them keeps its dashes, and loses spaces and line endings at its ends
// only.
std::string Unspaced(std::string_view value);

// INVALID_ARGUMENT, saying how long numbers are: `value` is of no kind by its length.
absl::Status NotOfALength(std::string_view value);

// The order ID of a number. INVALID_ARGUMENT where it was not made with these keys for this space.
absl::StatusOr<OrderId> DecodeOrderNo(const OrderNoCodec& codec, const SpaceName& space,
                                      const OrderNo& number);

// The codec of a key ring file and a space. Errors of KeyRing::Load and OrderNoCodec::Create.
absl::StatusOr<OrderNoCodec> LoadCodec(const std::string& keys_path, const SpaceName& space);

}  // namespace locus::apps

#endif  // LOCUS_APPS_SHARED_SHOWN_CODEC_CHOICE_H_
