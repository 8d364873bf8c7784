// SPDX-License-Identifier: Apache-2.0
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "routing/router/last_good_table.h"
#include "src/base/os/check.h"

// Any bytes are DATA_LOSS with a reason, or FAILED_PRECONDITION where they are of a later format,
// or the last-good file of a table: then its document is one that RoutingTable::Parse accepts as
// the same table. So that the fuzzer gets past the checksum, the same bytes are also tried as a
// document under a header that fits.

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace locus {

using internal::LastGoodTable;
using internal::LastGoodText;
using internal::ParseLastGoodText;

namespace {

void Check(std::string_view text) {
  absl::StatusOr<LastGoodTable> kept = ParseLastGoodText(text);
  if (!kept.ok()) {
    bool later = kept.status().code() == absl::StatusCode::kFailedPrecondition;
    LOCUS_CHECK(later || kept.status().code() == absl::StatusCode::kDataLoss);
    LOCUS_CHECK(!kept.status().message().empty());
    return;
  }
  std::string_view document = text.substr(text.find('\n') + 1);
  absl::StatusOr<RoutingTable> parsed = RoutingTable::Parse(document);
  LOCUS_CHECK(parsed.ok());
  LOCUS_CHECK(*parsed == kept->table);
  // Written again it is of the newest format, which needs a place.
  std::string place = kept->place.empty() ? "file /\n\"\xFF" : kept->place;
  absl::StatusOr<LastGoodTable> again = ParseLastGoodText(LastGoodText(place, kept->table));
  LOCUS_CHECK(again.ok());
  LOCUS_CHECK(again->table == kept->table && again->place == place);
}

std::string UnderAHeader(std::string_view document) {
  char header[128];
  int size = std::snprintf(
      header, sizeof header, "locus last good table 1 xxh64=%016llx bytes=%zu\n",
      static_cast<unsigned long long>(XXH64(document.data(), document.size(), 0)), document.size());
  return std::string(header, static_cast<size_t>(size)).append(document);
}

}  // namespace
}  // namespace locus

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  std::string_view text(reinterpret_cast<const char*>(bytes), size);
  locus::Check(text);
  std::string whole = locus::UnderAHeader(text);
  absl::StatusOr<locus::RoutingTable> document = locus::RoutingTable::Parse(text);
  LOCUS_CHECK(locus::internal::ParseLastGoodText(whole).ok() == document.ok());
  locus::Check(whole);
  return 0;
}
