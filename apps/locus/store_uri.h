// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_STORE_URI_H_
#define LOCUS_APPS_LOCUS_STORE_URI_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "locus/segment_store.h"

namespace locus {

// Where a segment store is: "sqlite:PATH", PATH being everything after the colon as it stands.
struct StoreUri {
  enum class Engine { kSqlite };
  Engine engine = Engine::kSqlite;
  std::string path;

  // INVALID_ARGUMENT, naming the text and the engines there are.
  static absl::StatusOr<StoreUri> Parse(std::string_view text);
};

// `create`: whether a missing store is created. Errors of the engine.
absl::StatusOr<std::shared_ptr<SegmentStore>> OpenStore(const StoreUri& uri, bool create);

}  // namespace locus

#endif  // LOCUS_APPS_LOCUS_STORE_URI_H_
