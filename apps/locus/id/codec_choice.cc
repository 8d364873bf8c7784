// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/id/codec_choice.h"

#include "absl/strings/str_cat.h"
#include "locus/key_ring.h"
#include "src/base/check.h"
#include "src/base/text.h"

namespace locus::cli {

using internal::ParseDecimal;
using internal::Quoted;

Scheme SchemeOf(std::string_view name) {
  if (name == "ff1") return Scheme::kFf1;
  if (name == "ctr64") return Scheme::kCtr64;
  return Scheme::kSiv;
}

absl::StatusOr<KeyVersion> ParseKeyVersion(std::string_view text) {
  std::optional<uint64_t> value = ParseDecimal(text, KeyVersion::kMax);
  if (!value) {
    return absl::InvalidArgumentError(
        absl::StrCat(Quoted(text), " is not a key version in 0..", KeyVersion::kMax));
  }
  return KeyVersion::FromInt(static_cast<int64_t>(*value));
}

std::string Unspaced(std::string_view value) {
  std::string bare;
  for (char c : value) {
    if (c != ' ' && c != '-') bare += c;
  }
  bool fits = bare.size() == OrderNo::kTextLength || bare.size() == 2 * OrderNo::kBytes;
  return fits ? bare : std::string(value);
}

absl::StatusOr<OrderId> DecodeOrderNo(const OrderNoCodec& codec, const SpaceName& space,
                                      const OrderNo& number) {
  absl::StatusOr<OrderId> id = codec.Decode(number);
  if (!absl::IsInvalidArgument(id.status())) return id;
  return absl::InvalidArgumentError(
      absl::StrCat(number.ToString(), " was not made with these keys for space ",
                   Quoted(space.str()), "; check it for a typing error, then --keys and --space"));
}

absl::StatusOr<OrderNoCodec> LoadCodec(const std::string& keys_path, const SpaceName& space) {
  LOCUS_ASSIGN_OR_RETURN(KeyRing ring, KeyRing::Load(keys_path));
  return OrderNoCodec::Create(ring, space);
}

}  // namespace locus::cli
