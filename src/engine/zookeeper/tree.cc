// SPDX-License-Identifier: Apache-2.0
#include "src/engine/zookeeper/tree.h"

#include <algorithm>
#include <optional>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::zookeeper {

absl::Status MakePath(Session& session, const std::string& path, TimePoint deadline) {
  for (size_t at = 1; at != std::string::npos;) {
    at = path.find('/', at);
    LOCUS_RETURN_IF_ERROR(session.Make(path.substr(0, at), deadline));
    if (at != std::string::npos) ++at;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string_view> TextOfSchema1(const Session& session, const std::string& path,
                                               std::string_view value) {
  const size_t end = std::min(value.find(' '), value.size());
  const std::optional<uint64_t> schema = internal::ParseDecimal(value.substr(0, end), UINT64_MAX);
  if (!schema) return Spoilt(session, path, value);
  if (*schema == 1) return value.substr(std::min(end + 1, value.size()));
  return absl::FailedPreconditionError(absl::StrCat(session.place(), ", znode ", path,
                                                    ", has schema version ", *schema,
                                                    "; this version of locus supports 1"));
}

absl::Status Spoilt(const Session& session, const std::string& path, std::string_view value) {
  return absl::DataLossError(absl::StrCat(session.place(), ", znode ", path, ", holds ",
                                          internal::Quoted(value), ", which cannot be"));
}

}  // namespace locus::zookeeper
