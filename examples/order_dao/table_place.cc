// SPDX-License-Identifier: Apache-2.0
#include "table_place.h"

#include <string_view>

#include "locus/routing/open.h"

namespace shop {

absl::StatusOr<std::unique_ptr<locus::TableSource>> OpenTableSource(const std::string& place,
                                                                    const std::string& password) {
  bool is_uri = place.find(':') != std::string::npos;
  return locus::OpenTableSource(is_uri ? place : "file:" + place, {.password = [&password] {
                                  return absl::StatusOr<std::string_view>(password);
                                }});
}

}  // namespace shop
