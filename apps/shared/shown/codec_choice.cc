// SPDX-License-Identifier: Apache-2.0
#include "apps/shared/shown/codec_choice.h"

#include <algorithm>
#include <span>

#include "absl/strings/str_cat.h"
#include "locus/key_ring.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::apps {

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

namespace {

constexpr std::string_view kSpaces[] = {" ",
                                        "\t",
                                        "\r",
                                        "\xC2\xA0",
                                        "\xE2\x80\x83",
                                        "\xE2\x80\x89",
                                        "\xE2\x80\xAF",  // no-break, em, thin
                                        "\xE2\x80\x8B",
                                        "\xE2\x81\xA0",
                                        "\xEF\xBB\xBF",
                                        "\xE3\x80\x80"};  // of no width, BOM, wide
constexpr std::string_view kDashes[] = {"-",
                                        "\xC2\xAD",
                                        "\xE2\x80\x90",
                                        "\xE2\x80\x91",
                                        "\xE2\x80\x92",  // soft, hyphens, figure
                                        "\xE2\x80\x93",
                                        "\xE2\x80\x94",
                                        "\xE2\x80\x95",
                                        "\xE2\x88\x92"};  // en, em, bar, minus

// The one of `words` that `text` begins with; empty: none.
std::string_view Leading(std::string_view text, std::span<const std::string_view> words) {
  for (std::string_view word : words) {
    if (text.starts_with(word)) return word;
  }
  return {};
}

std::string_view Trimmed(std::string_view text) {
  for (std::string_view space; !(space = Leading(text, kSpaces)).empty();) {
    text.remove_prefix(space.size());
  }
  for (bool found = true; found;) {
    found = false;
    for (std::string_view space : kSpaces) {
      if (!text.ends_with(space)) continue;
      text.remove_suffix(space.size());
      found = true;
    }
  }
  return text;
}

std::string Bare(std::string_view value) {
  std::string bare;
  while (!value.empty()) {
    std::string_view left_out = Leading(value, kSpaces);
    if (left_out.empty()) left_out = Leading(value, kDashes);
    if (left_out.empty()) bare += value[0];
    value.remove_prefix(std::max<size_t>(left_out.size(), 1));
  }
  return bare;
}

}  // namespace

std::string Unspaced(std::string_view value) {
  std::string bare = Bare(value);
  bool fits = bare.size() == OrderNo::kTextLength || bare.size() == 2 * OrderNo::kBytes;
  return fits ? bare : std::string(Trimmed(value));
}

absl::Status NotOfALength(std::string_view value) {
  return absl::InvalidArgumentError(absl::StrCat(
      Quoted(value), " has ", Bare(value).size(), " letters and digits: an order_no has ",
      OrderNo::kTextLength, " or ", 2 * OrderNo::kBytes, ", an order ID is decimal or has ",
      2 * OrderNo::kBytes, " hex digits; look for what is missing or too much"));
}

absl::StatusOr<OrderId> DecodeOrderNo(const OrderNoCodec& codec, const SpaceName& space,
                                      const OrderNo& number) {
  absl::StatusOr<OrderId> id = codec.Decode(number);
  if (!absl::IsInvalidArgument(id.status())) return id;
  // Any order ID: whether there is a key for the version that the number shows.
  const absl::StatusOr<OrderId> any = OrderId::FromParts(number.gene(), 0);
  if (any.ok() && absl::IsNotFound(codec.Encode(*any, number.key_version()).status())) {
    return absl::InvalidArgumentError(absl::StrCat(
        number.ToString(), " has key version ", number.key_version().value(),
        ", and the key ring has no key for it: it was retired, or never added here. If ",
        number.key_version().value(), " was never in use, check the number for a typing error"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      number.ToString(), " was not made with these keys for space ", Quoted(space.str()),
      "; check it for a typing error, then the keys and the space"));
}

absl::StatusOr<OrderNoCodec> LoadCodec(const std::string& keys_path, const SpaceName& space) {
  LOCUS_ASSIGN_OR_RETURN(KeyRing ring, KeyRing::Load(keys_path));
  return OrderNoCodec::Create(ring, space);
}

}  // namespace locus::apps
