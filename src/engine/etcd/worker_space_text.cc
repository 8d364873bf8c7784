// SPDX-License-Identifier: Apache-2.0
#include "src/engine/etcd/worker_space_text.h"

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"
#include "src/worker/record_text.h"

namespace locus::etcd {

using internal::ParseDecimal;
using internal::Quoted;

std::string WorkerSpace::Text() const {
  return absl::StrCat("1 ", TextOf(static_cast<const Life&>(*this)), " ", worker::TextOf(*this));
}

absl::StatusOr<WorkerSpace> WorkerSpace::Parse(std::string_view text) {
  Words words(text);
  const std::string_view schema = words.Next();
  if (ParseDecimal(schema, UINT64_MAX).has_value() && schema != "1") {
    return absl::FailedPreconditionError(
        absl::StrCat("holds a space of worker IDs of schema version ", Quoted(schema),
                     "; this version of locus supports 1"));
  }
  WorkerSpace read;
  ReadLife(words, read);
  const std::optional<worker::Space> space = worker::SpaceOf(words.rest());
  if (schema != "1" || !words.good() || !space) {
    return absl::DataLossError(
        absl::StrCat("holds a space of worker IDs ", Quoted(text), ", which cannot be"));
  }
  static_cast<worker::Space&>(read) = *space;
  return read;
}

}  // namespace locus::etcd
