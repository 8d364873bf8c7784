// SPDX-License-Identifier: Apache-2.0
#include "migration/verify/verify_position.h"

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::internal {
namespace {

constexpr char kEnd[] = "end";
constexpr char kNoKey[] = "-";

}  // namespace

std::string VerifyPositionText(const VerifyPosition& position, std::span<const CheckedTable> tables,
                               std::span<const FencedRange> ranges) {
  if (position.table >= tables.size()) return kEnd;
  return absl::StrCat(position.behind ? CopyKeyText(*position.behind) : kNoKey, " ",
                      ranges[position.zone].lo, " ", tables[position.table].moved.guard.name);
}

absl::StatusOr<VerifyPosition> VerifyPositionIn(std::string_view text,
                                                std::span<const CheckedTable> tables,
                                                std::span<const FencedRange> ranges) {
  VerifyPosition position;
  if (text.empty()) return position;
  if (text == kEnd) {
    position.table = tables.size();
    return position;
  }
  const absl::Status refused = absl::DataLossError(
      absl::StrCat("the position of the comparison is ", Quoted(text),
                   ", which is none of these tables and vnodes: begin without a position"));
  const size_t first = text.find(' ');
  const size_t second = first == text.npos ? text.npos : text.find(' ', first + 1);
  if (second == text.npos) return refused;
  const std::string_view key = text.substr(0, first);
  const std::string_view vnode = text.substr(first + 1, second - first - 1);
  const std::string_view name = text.substr(second + 1);
  while (position.table < tables.size() && tables[position.table].moved.guard.name != name) {
    ++position.table;
  }
  if (position.table == tables.size()) return refused;
  const CheckedTable& table = tables[position.table];
  const size_t zones = ZonesOf(table, ranges);
  while (position.zone < zones && absl::StrCat(ranges[position.zone].lo) != vnode) ++position.zone;
  if (position.zone == zones) return refused;
  if (key == kNoKey) return position;
  auto behind = CopyKeyIn(key, table.walk.size());
  if (!behind.ok() || !behind->has_value()) return refused;
  for (size_t i = 0; i < table.walk.size(); ++i) {
    const stream::Value& part = (**behind)[i];
    const WalkColumn::Form form = table.walk[i].form;
    const auto* bytes = std::get_if<stream::Bytes>(&part);
    const bool number =
        std::holds_alternative<int64_t>(part) || std::holds_alternative<uint64_t>(part);
    const bool by_number = form == WalkColumn::Form::kInteger || form == WalkColumn::Form::kMembers;
    if (by_number ? !number : bytes == nullptr) return refused;
    if (form == WalkColumn::Form::kInstant && !InstantIn(bytes->bytes)) return refused;
    // It becomes part of a statement unchanged.
    if (form == WalkColumn::Form::kNumber &&
        bytes->bytes.find_first_not_of("0123456789.-") != std::string::npos) {
      return refused;
    }
  }
  position.behind = *std::move(behind);
  return position;
}

}  // namespace locus::internal
