// SPDX-License-Identifier: Apache-2.0
#include "migration/apply/fence_changes.h"

#include <algorithm>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "locus/routing/routing_table.h"
#include "migration/cut_over/token.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/errors.h"

namespace locus::mysql {

using internal::BandFence;
using internal::Quoted;
using stream::ChangeKind;

absl::StatusOr<uint64_t> NaturalIn(const stream::Row& row, const stream::TableLayout& layout,
                                   std::string_view name) {
  for (size_t i = 0; i < layout.columns.size(); ++i) {
    if (layout.columns[i].name != name) continue;
    if (auto* natural = std::get_if<uint64_t>(&row[i])) return *natural;
  }
  return absl::FailedPreconditionError(
      absl::StrCat("table ", Quoted(layout.table), " has no number ", Quoted(name)));
}

namespace {

// The token is {"share": p, "nonce": n} in the row; a change that gives up no band has NULL.
absl::StatusOr<BandFence> FenceIn(const stream::Row& row, const stream::TableLayout& layout) {
  BandFence fence;
  LOCUS_ASSIGN_OR_RETURN(uint64_t own_lo, NaturalIn(row, layout, "own_lo"));
  LOCUS_ASSIGN_OR_RETURN(uint64_t own_hi, NaturalIn(row, layout, "own_hi"));
  LOCUS_ASSIGN_OR_RETURN(fence.step, NaturalIn(row, layout, "step"));
  fence.own_lo = static_cast<uint32_t>(own_lo);
  fence.own_hi = static_cast<uint32_t>(own_hi);
  for (size_t i = 0; i < layout.columns.size(); ++i) {
    if (layout.columns[i].name != "token") continue;
    if (auto* text = std::get_if<stream::Bytes>(&row[i])) {
      auto [share, nonce] = internal::TokenIn(text->bytes);
      fence.token_share = share;
      fence.token_nonce = nonce;
    }
  }
  return fence;
}

}  // namespace

absl::Status NoteFence(const stream::Change& change, const std::vector<FencedRange>& ranges,
                       internal::Bands& bands, std::map<size_t, BandFence>& tokens) {
  auto range_of = [&](const stream::Row& row) -> absl::StatusOr<std::optional<size_t>> {
    LOCUS_ASSIGN_OR_RETURN(uint64_t lo, NaturalIn(row, *change.table, "lo"));
    LOCUS_ASSIGN_OR_RETURN(uint64_t hi, NaturalIn(row, *change.table, "hi"));
    return internal::RangeAt(ranges, lo, hi);
  };
  if (change.kind != ChangeKind::kInsert) {
    LOCUS_ASSIGN_OR_RETURN(std::optional<size_t> before, range_of(change.before));
    if (before) bands[*before] = {};
  }
  if (change.kind == ChangeKind::kDelete) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(std::optional<size_t> range, range_of(change.after));
  if (!range) return absl::OkStatus();
  LOCUS_ASSIGN_OR_RETURN(BandFence fence, FenceIn(change.after, *change.table));
  bands[*range] = {fence.own_lo, fence.own_hi};
  if (change.kind == ChangeKind::kUpdate && fence.token_nonce != 0) {
    tokens[*range] = fence;
  } else {
    tokens.erase(*range);
  }
  return absl::OkStatus();
}

namespace {

// "1, 2, 3", few enough that the server looks each of them up. From a thousand it would make a
// table and scan locus_fence, and so wait for the writers of other vnodes.
std::vector<std::string> Lists(const std::vector<uint32_t>& numbers) {
  constexpr size_t kMost = 200;
  std::vector<std::string> lists;
  for (size_t i = 0; i < numbers.size(); i += kMost) {
    lists.push_back(absl::StrJoin(
        numbers.begin() + static_cast<ptrdiff_t>(i),
        numbers.begin() + static_cast<ptrdiff_t>(std::min(i + kMost, numbers.size())), ", "));
  }
  return lists;
}

// While this waits for the rows, all writers of the vnodes queue behind it. So it gives up on a
// writer that has held a row for longer, and tries again later.
constexpr char kBriefly[] = "SET STATEMENT max_statement_time = 0.15 FOR ";

// Locks this shard's rows of the tokens' ranges.
absl::StatusOr<std::map<size_t, BandFence>> LockRows(TargetSession& session,
                                                     const std::vector<FencedRange>& ranges,
                                                     const std::map<size_t, BandFence>& tokens) {
  std::vector<uint32_t> los;
  for (const auto& [range, event] : tokens) los.push_back(ranges[range].lo);
  std::map<size_t, BandFence> rows;
  for (const std::string& list : Lists(los)) {
    absl::StatusOr<Result> found =
        session.Query(absl::StrCat(kBriefly, "SELECT lo, hi, own_lo, own_hi, step FROM ", kFence,
                                   " FORCE INDEX (PRIMARY) WHERE lo IN (", list, ") FOR UPDATE"),
                      Rows(5, internal::kMostRanges));
    if (session.error() == kStatementOutOfTime) session.NoteConflict(true);
    LOCUS_RETURN_IF_ERROR(found.status());
    for (const Result::Row& row : found->rows) {
      uint64_t numbers[5] = {};
      for (size_t i = 0; i < 5; ++i) {
        numbers[i] = internal::ParseDecimal(row[i].value_or(""), UINT64_MAX).value_or(0);
      }
      if (auto range = internal::RangeAt(ranges, numbers[0], numbers[1])) {
        rows[*range] = {static_cast<uint32_t>(numbers[2]), static_cast<uint32_t>(numbers[3]),
                        numbers[4], 0, 0};
      }
    }
  }
  return rows;
}

}  // namespace

absl::StatusOr<uint64_t> TakeOverBands(TargetSession& session, internal::Side recipient,
                                       const std::vector<FencedRange>& ranges,
                                       const std::map<size_t, BandFence>& tokens) {
  if (tokens.empty()) return 0;
  LOCUS_ASSIGN_OR_RETURN(auto rows, LockRows(session, ranges, tokens));
  // Grouped by the new values, which are the same for all rows of a step.
  uint64_t taken_over = 0;
  std::map<std::string, std::vector<uint32_t>> changes;
  for (const auto& [range, event] : tokens) {
    auto row = rows.find(range);
    if (row == rows.end()) {
      return absl::FailedPreconditionError(absl::StrCat("mariadb ", session.place(),
                                                        ": locus_fence has no row for vnodes ",
                                                        ranges[range].lo, "-", ranges[range].hi));
    }
    auto taken = internal::TakeOver(recipient, row->second, event, RoutingTable::kMaxPermyriad);
    if (!taken) continue;
    ++taken_over;
    changes[absl::StrCat("own_lo = ", taken->own_lo, ", own_hi = ", taken->own_hi,
                         ", step = ", taken->step)]
        .push_back(ranges[range].lo);
  }
  for (const auto& [set, los] : changes) {
    for (const std::string& list : Lists(los)) {
      LOCUS_RETURN_IF_ERROR(
          session.Run(absl::StrCat("UPDATE ", kFence, " FORCE INDEX (PRIMARY) SET ", set,
                                   ", token = NULL WHERE lo IN (", list, ")")));
    }
  }
  return taken_over;
}

}  // namespace locus::mysql
