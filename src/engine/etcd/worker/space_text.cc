// SPDX-License-Identifier: Apache-2.0
#include "src/engine/etcd/worker/space_text.h"

#include <array>

#include "absl/strings/str_cat.h"
#include "src/base/text.h"
#include "src/worker/record_text.h"

namespace locus::etcd {

using internal::ParseDecimal;
using internal::Quoted;

std::string WorkerSpace::Text() const {
  return absl::StrCat("1 ", absl::ToUnixNanos(raised_at), " ", identity.cluster_id, " ",
                      identity.surplus, " ", life, " ", worker::TextOf(*this));
}

absl::StatusOr<WorkerSpace> WorkerSpace::Parse(std::string_view text) {
  std::string_view rest = text;
  std::array<std::string_view, 5> words;
  for (std::string_view& word : words) {
    const size_t size = std::min(rest.find(' '), rest.size());
    word = rest.substr(0, size);
    rest.remove_prefix(std::min(size + 1, rest.size()));
  }
  if (ParseDecimal(words[0], UINT64_MAX).has_value() && words[0] != "1") {
    return absl::FailedPreconditionError(
        absl::StrCat("holds a space of worker IDs of schema version ", Quoted(words[0]),
                     "; this version of locus supports 1"));
  }
  const bool negative = words[3].starts_with("-");
  const std::optional<uint64_t> raised = ParseDecimal(words[1], INT64_MAX);
  const std::optional<uint64_t> cluster = ParseDecimal(words[2], UINT64_MAX);
  const std::optional<uint64_t> surplus = ParseDecimal(words[3].substr(negative), INT64_MAX);
  const std::optional<worker::Space> space = worker::SpaceOf(rest);
  if (words[0] != "1" || !raised || !cluster || !surplus || words[4].size() != 32 || !space) {
    return absl::DataLossError(
        absl::StrCat("holds a space of worker IDs ", Quoted(text), ", which cannot be"));
  }
  WorkerSpace read;
  static_cast<worker::Space&>(read) = *space;
  read.raised_at = absl::FromUnixNanos(static_cast<int64_t>(*raised));
  read.identity.cluster_id = *cluster;
  read.identity.surplus = static_cast<int64_t>(*surplus) * (negative ? -1 : 1);
  read.life = std::string(words[4]);
  return read;
}

}  // namespace locus::etcd
