// SPDX-License-Identifier: Apache-2.0
#include "locus/routing/engine/http.h"

#include "routing/uri/engines.h"
#include "routing/uri/opened.h"

namespace locus::internal {

absl::StatusOr<std::unique_ptr<TableSource>> OpenHttpSource(const std::string& url,
                                                            std::string_view token) {
  HttpTableOptions options;
  Wiped wiped(options.token);
  options.url = url;
  options.token = token;
  return As<std::unique_ptr<TableSource>>(HttpTableSource::Open(options));
}

}  // namespace locus::internal
