// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/table/table_place.h"

#include <chrono>

#include "absl/strings/str_cat.h"
#include "apps/locus/line/verb.h"
#include "routing/picture/text_grid.h"
#include "routing/table/printable_text.h"
#include "src/base/os/check.h"

namespace locus::cli {
namespace {

template <typename Interface>
std::optional<int> Take(std::string_view verb, absl::StatusOr<std::unique_ptr<Interface>> opened,
                        std::unique_ptr<Interface>& out) {
  if (!opened.ok()) return FailToOpen(verb, opened.status());
  out = *std::move(opened);
  return std::nullopt;
}

// What a source has now.
absl::StatusOr<RoutingTable> AskOnce(TableSource& source) {
  constexpr std::chrono::seconds kPatience{10};
  LOCUS_ASSIGN_OR_RETURN(std::optional<SourcedTable> found,
                         source.Next("", std::chrono::steady_clock::now() + kPatience));
  if (!found) return absl::UnavailableError(source.place() + " has no table");
  absl::StatusOr<RoutingTable> table = RoutingTable::Parse(found->document);
  if (table.ok()) return table;
  return absl::DataLossError(absl::StrCat(source.place(), ": ", table.status().message()));
}

}  // namespace

std::optional<int> TablePlace::OpenPublisher(const TableUri& uri) {
  return Take(verb_, OpenTablePublisher(uri), publisher_);
}

std::optional<int> TablePlace::OpenToRead(const TableUri& uri) {
  if (uri.IsReadOnly()) return Take(verb_, OpenTableSource(uri), source_);
  return OpenPublisher(uri);
}

absl::StatusOr<RoutingTable> TablePlace::Newest() {
  return publisher_ != nullptr ? publisher_->Current() : AskOnce(*source_);
}

absl::StatusOr<RoutingTable> NewestAt(const TableUri& uri) {
  if (uri.IsReadOnly()) {
    LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<TableSource> source, OpenTableSource(uri));
    return AskOnce(*source);
  }
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<TablePublisher> publisher, OpenTablePublisher(uri));
  return publisher->Current();
}

std::string ForStdout(const std::string& text) {
  return internal::StdoutStyle().utf8 ? text : internal::ToAscii(text);
}

int FailToOpen(std::string_view verb, const absl::Status& status) {
  return absl::IsInvalidArgument(status) ? WrongUsage(verb, status) : Fail(verb, status);
}

}  // namespace locus::cli
