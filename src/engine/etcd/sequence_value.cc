// SPDX-License-Identifier: Apache-2.0
#include "src/engine/etcd/sequence_value.h"

#include <limits>

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::etcd {

using internal::ParseDecimal;

namespace {

std::optional<int64_t> Number(std::string_view text) {
  auto number = ParseDecimal(text, std::numeric_limits<int64_t>::max());
  if (!number) return std::nullopt;
  return static_cast<int64_t>(*number);
}

}  // namespace

std::string SequenceValue::Text() const {
  if (expires_at == 0) return absl::StrCat(number);
  return absl::StrCat(number, " ", expires_at, " ", version);
}

std::optional<SequenceValue> SequenceValue::Parse(std::string_view text) {
  size_t first = text.find(' ');
  std::optional<int64_t> number = Number(text.substr(0, first));
  if (!number) return std::nullopt;
  if (first == std::string_view::npos) return SequenceValue{*number};
  text.remove_prefix(first + 1);
  size_t second = text.find(' ');
  if (second == std::string_view::npos) return std::nullopt;
  std::optional<int64_t> expires_at = Number(text.substr(0, second));
  std::optional<int64_t> version = Number(text.substr(second + 1));
  if (!expires_at || *expires_at == 0 || !version) return std::nullopt;
  return SequenceValue{*number, *expires_at, *version};
}

}  // namespace locus::etcd
