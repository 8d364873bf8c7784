// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/table/table_place.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "apps/locus/line/verb.h"
#include "src/base/check.h"
#include "src/base/text.h"

namespace locus {
namespace {

template <typename Interface, typename Open>
std::optional<int> OpenAs(std::string_view verb, const std::string& uri_text, const Open& open,
                          std::unique_ptr<Interface>& out) {
  absl::StatusOr<TableUri> uri = TableUri::Parse(uri_text);
  if (!uri.ok()) return FailToOpen(verb, uri.status());
  auto opened = open(*uri);
  if (!opened.ok()) return FailToOpen(verb, opened.status());
  out = *std::move(opened);
  return std::nullopt;
}

// What a source has now.
absl::StatusOr<RoutingTable> AskOnce(TableSource& source) {
  constexpr std::chrono::seconds kPatience{10};
  LOCUS_ASSIGN_OR_RETURN(std::optional<SourcedTable> found,
                         source.Next("", std::chrono::steady_clock::now() + kPatience));
  if (!found) return absl::UnavailableError(source.place() + " has no table to tell of");
  absl::StatusOr<RoutingTable> table = RoutingTable::Parse(found->document);
  if (table.ok()) return table;
  return absl::DataLossError(absl::StrCat(source.place(), ": ", table.status().message()));
}

}  // namespace

std::optional<int> TablePlace::OpenPublisher(const std::string& uri_text) {
  return OpenAs(verb_, uri_text, OpenTablePublisher, publisher_);
}

std::optional<int> TablePlace::OpenToRead(const std::string& uri_text) {
  absl::StatusOr<TableUri> uri = TableUri::Parse(uri_text);
  if (uri.ok() && uri->kind == TableUri::Kind::kHttp) {
    return OpenAs(verb_, uri_text, OpenTableSource, source_);
  }
  return OpenPublisher(uri_text);
}

absl::StatusOr<RoutingTable> TablePlace::Newest() {
  return publisher_ != nullptr ? publisher_->Current() : AskOnce(*source_);
}

absl::StatusOr<uint64_t> ParseEpoch(std::string_view what, std::string_view text, uint64_t least) {
  std::optional<uint64_t> epoch = ParseDecimal(text, RoutingTable::kMaxEpoch);
  if (epoch && *epoch >= least) return *epoch;
  return absl::InvalidArgumentError(absl::StrCat(ToAbsl(what), ": ", Quoted(text),
                                                 " is not an epoch, ", least, "..",
                                                 RoutingTable::kMaxEpoch));
}

int FailToOpen(std::string_view verb, const absl::Status& status) {
  return absl::IsInvalidArgument(status) ? WrongUsage(verb, status) : Fail(verb, status);
}

}  // namespace locus
