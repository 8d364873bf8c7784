// SPDX-License-Identifier: Apache-2.0
#include "apps/locus/assign/order_rows.h"

#include <algorithm>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::cli {

using internal::Quoted;

namespace {

std::vector<std::string> NamesOf(const csv::Record& header) {
  std::vector<std::string> names;
  std::string scratch;
  for (size_t i = 0; i < header.field_ends.size(); ++i) {
    names.emplace_back(csv::DecodeField(header.field(i), scratch).value_or(header.field(i)));
  }
  return names;
}

// At most 50 of them: a header may be of any length.
std::string Listed(const std::vector<std::string>& names) {
  constexpr size_t kMaxListed = 50;
  std::string list;
  for (size_t i = 0; i < std::min(names.size(), kMaxListed); ++i) {
    absl::StrAppend(&list, i == 0 ? "" : ", ", Quoted(names[i]));
  }
  if (names.size() > kMaxListed) {
    absl::StrAppend(&list, " and ", names.size() - kMaxListed, " more");
  }
  return list;
}

}  // namespace

absl::StatusOr<OrderColumns> OrderColumns::OfHeader(const csv::Record& header,
                                                    std::string_view buyer_column) {
  if (header.ending.empty() && header.bytes.find('\r') != std::string_view::npos) {
    return absl::InvalidArgumentError(absl::StrCat(
        "line ", header.line,
        ": the input has no line feed, only carriage returns; end its lines with LF or CR LF"));
  }
  std::vector<std::string> names = NamesOf(header);
  for (const char* ours : {"order_id", "order_no", "shard"}) {
    if (std::find(names.begin(), names.end(), ours) != names.end()) {
      return absl::InvalidArgumentError(
          absl::StrCat("line ", header.line, ": the input already has a column ", Quoted(ours)));
    }
  }
  auto buyer = std::find(names.begin(), names.end(), buyer_column);
  if (buyer == names.end()) {
    return absl::InvalidArgumentError(absl::StrCat("line ", header.line, ": there is no column ",
                                                   Quoted(buyer_column),
                                                   "; the columns are: ", Listed(names)));
  }
  if (std::find(std::next(buyer), names.end(), buyer_column) != names.end()) {
    return absl::InvalidArgumentError(
        absl::StrCat("line ", header.line, ": more than one column is named ", Quoted(buyer_column),
                     "; the columns are: ", Listed(names)));
  }
  return OrderColumns{names.size(), static_cast<size_t>(buyer - names.begin())};
}

std::string_view TextOf(Rejection rejection) {
  switch (rejection) {
    case Rejection::kNone:
      return "";
    case Rejection::kFieldCount:
      return "wrong number of fields";
    case Rejection::kEmptyBuyer:
      return "empty buyer";
    case Rejection::kNotUint64:
      return "non-canonical uint64";
    case Rejection::kQuoting:
      return "bytes after the buyer's closing quote";
  }
  return "";
}

Rejection OrderBatch::Add(const csv::Record& record) {
  if (record.field_ends.size() != columns_.count) return Rejection::kFieldCount;
  std::string_view field = record.field(columns_.buyer);
  std::optional<std::string_view> text = csv::DecodeField(field, scratch_);
  if (!text) return Rejection::kQuoting;
  if (text->empty()) return Rejection::kEmptyBuyer;
  if (text->data() == scratch_.data()) text = unquoted_.emplace_back(scratch_);
  std::optional<BuyerKey> buyer = ParseBuyer(type_, *text);
  if (!buyer) return Rejection::kNotUint64;
  buyers_.push_back(*buyer);
  rows_.push_back({record.bytes, record.ending});
  return Rejection::kNone;
}

void OrderBatch::Clear() {
  rows_.clear();
  buyers_.clear();
  unquoted_.clear();
}

}  // namespace locus::cli
