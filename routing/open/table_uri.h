// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ROUTING_OPEN_TABLE_URI_H_
#define LOCUS_ROUTING_OPEN_TABLE_URI_H_

#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "src/open/engine.h"
#include "src/open/store_uri.h"

namespace locus::internal {

// Where routing tables are followed and published (locus/routing/open.h).
struct TableUri {
  const Engine* engine = FindScheme("file", kTables).engine;
  std::string text;  // as it was written
  std::string path;  // of a file
  StoreUri server;   // of an engine that also keeps stores

  bool IsFile() const { return engine->is_file; }
  bool HasServer() const { return engine->Has(kAnyStore); }
  bool IsReadOnly() const { return !engine->Has(kTablePublishing); }

  // INVALID_ARGUMENT, as StoreUri::Parse.
  static absl::StatusOr<TableUri> Parse(std::string_view text);
  // Where a file or a URI may be named: whether `text` looks like a URI, even a wrong one.
  static bool IsMeant(std::string_view text);
};

// FAILED_PRECONDITION: this build leaves the engine out; the message names the CMake option.
absl::Status CheckBuilt(const TableUri& uri);

// The forms of these URIs, for helps.
std::string TableUriForms();

}  // namespace locus::internal

#endif  // LOCUS_ROUTING_OPEN_TABLE_URI_H_
