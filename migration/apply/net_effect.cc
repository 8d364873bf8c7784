// SPDX-License-Identifier: Apache-2.0
#include "migration/apply/net_effect.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "absl/numeric/int128.h"

namespace locus::internal {
namespace {

bool SameValues(const IncomingRow& one, const IncomingRow& other, const RowMap& map) {
  if (one.state.deleted != other.state.deleted) return false;
  return one.state.deleted ||
         std::all_of(map.others.begin(), map.others.end(),
                     [&](uint32_t column) { return one.row[column] == other.row[column]; });
}

size_t BytesOf(const stream::Row& row) {
  size_t bytes = sizeof(RowHistory) + row.size() * sizeof(stream::Value);
  for (const stream::Value& value : row) {
    if (auto* text = std::get_if<stream::Bytes>(&value)) bytes += text->bytes.size();
  }
  return bytes;
}

absl::int128 PlaceOf(const stream::DateTime& at) {
  absl::int128 place = at.date.year;
  for (unsigned part : {unsigned{at.date.month}, unsigned{at.date.day}, unsigned{at.hours},
                        unsigned{at.minutes}, unsigned{at.seconds}}) {
    place = place * 64 + part;
  }
  return place * 1'000'000 + at.microseconds;
}

// Of a part of a primary key: rows are locked in this order. Decimals come in any.
std::pair<absl::int128, std::string_view> PlaceInIndex(const stream::Value& value) {
  if (auto* number = std::get_if<int64_t>(&value)) return {*number, {}};
  if (auto* natural = std::get_if<uint64_t>(&value)) return {*natural, {}};
  if (auto* text = std::get_if<stream::Bytes>(&value)) return {0, text->bytes};
  if (auto* one = std::get_if<stream::EnumNumber>(&value)) return {one->number, {}};
  if (auto* set = std::get_if<stream::SetBits>(&value)) return {set->bits, {}};
  if (auto* bits = std::get_if<stream::Bits>(&value)) return {bits->bits, {}};
  if (auto* stamp = std::get_if<stream::Timestamp>(&value)) return {stamp->microseconds, {}};
  if (auto* day = std::get_if<stream::Date>(&value)) return {PlaceOf({*day, 0, 0, 0, 0}), {}};
  if (auto* at = std::get_if<stream::DateTime>(&value)) return {PlaceOf(*at), {}};
  if (auto* time = std::get_if<stream::Time>(&value)) {
    const absl::int128 place =
        ((absl::int128{time->hours} * 60 + time->minutes) * 60 + time->seconds) * 1'000'000 +
        time->microseconds;
    return {time->negative ? -place : place, {}};
  }
  return {0, {}};
}

}  // namespace

const IncomingRow* StateToCompare(const RowHistory& history, RowState local) {
  for (const IncomingRow& incoming : history.states) {
    const bool comparable = !incoming.state.deleted && !local.deleted;
    if (comparable && incoming.state.version == local.version) return &incoming;
  }
  return nullptr;
}

HistoryVerdict JudgeHistory(const RowHistory& history, RowState local, bool same_row) {
  HistoryVerdict out;
  out.skipped = history.skipped;
  if (history.conflict != 0 && history.conflict >= local.version) {
    out.verdict = ApplyVerdict::kConflict;
    return out;
  }
  for (const IncomingRow& incoming : history.states) {
    switch (JudgeIncoming(incoming.state, local, same_row)) {
      case ApplyVerdict::kWrite:
        ++out.written;
        break;
      case ApplyVerdict::kSkip:
        ++out.skipped;
        break;
      case ApplyVerdict::kConflict:
        out.verdict = ApplyVerdict::kConflict;
        return out;
    }
  }
  if (out.written > 0) out.verdict = ApplyVerdict::kWrite;
  return out;
}

void NetEffect::Add(stream::Row row, RowState state) {
  bytes_ += BytesOf(row);
  IncomingRow incoming{std::move(row), state};
  std::string key = TombstoneKey(incoming.row, map_);
  auto [found, is_new] = by_key_.try_emplace(key, histories_.size());
  if (is_new) {
    histories_.push_back({std::move(key), {}, 0, 0});
    histories_.back().states.push_back(std::move(incoming));
    return;
  }
  RowHistory& history = histories_[found->second];
  const IncomingRow& last = history.last();
  switch (JudgeIncoming(state, last.state, SameValues(incoming, last, map_))) {
    case ApplyVerdict::kWrite:
      history.states.push_back(std::move(incoming));
      break;
    case ApplyVerdict::kSkip:
      ++history.skipped;
      break;
    case ApplyVerdict::kConflict:
      ++history.skipped;  // unless it is one where the shard has no newer row
      history.conflict = state.version;
      break;
  }
}

void NetEffect::Clear() {
  histories_.clear();
  by_key_.clear();
  bytes_ = 0;
}

const std::vector<RowHistory>& NetEffect::Sorted() {
  std::sort(histories_.begin(), histories_.end(),
            [&](const RowHistory& one, const RowHistory& other) {
              for (uint32_t column : map_.key) {
                const auto left = PlaceInIndex(one.last().row[column]);
                const auto right = PlaceInIndex(other.last().row[column]);
                if (left != right) return left < right;
              }
              return false;
            });
  by_key_.clear();
  return histories_;
}

}  // namespace locus::internal
