// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/store_uri.h"

#include "absl/strings/str_cat.h"
#include "locus/engine/sqlite.h"
#include "src/check.h"
#include "src/text.h"

namespace locus {

absl::StatusOr<StoreUri> StoreUri::Parse(std::string_view text) {
  size_t colon = text.find(':');
  if (colon == std::string_view::npos) {
    return absl::InvalidArgumentError(
        absl::StrCat("store ", Quoted(text), " names no engine; write sqlite:PATH"));
  }
  std::string_view engine = text.substr(0, colon);
  if (engine != "sqlite") {
    return absl::InvalidArgumentError(absl::StrCat("store ", Quoted(text), ": there is no engine ",
                                                   Quoted(engine), "; the engines are: sqlite"));
  }
  std::string path(text.substr(colon + 1));
  if (path.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("store ", Quoted(text), " has no path; write sqlite:PATH"));
  }
  return StoreUri{Engine::kSqlite, std::move(path)};
}

absl::StatusOr<std::shared_ptr<SegmentStore>> OpenStore(const StoreUri& uri, bool create) {
  SqliteSegmentStore::Options options;
  options.create = create;
  LOCUS_ASSIGN_OR_RETURN(std::shared_ptr<SegmentStore> store,
                         SqliteSegmentStore::Open(uri.path, options));
  return store;
}

}  // namespace locus
