// SPDX-License-Identifier: Apache-2.0
#include "migration/verify/row_verifier.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "migration/verify/checked_table.h"
#include "migration/verify/row_verdict.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus::mysql {

using internal::CheckedTable;
using internal::CopyKey;
using internal::Quoted;
using internal::RowDifference;
using internal::RowState;
using internal::RowVerdict;
using internal::Slice;
using SteadyClock = std::chrono::steady_clock;

namespace {

constexpr size_t kSource = 0;
constexpr size_t kTarget = 1;
// More rows than asked for are no reason to divide a slice until it has twice as many.
uint64_t MostOf(uint64_t rows) { return 2 * rows; }
// After so many divisions a slice still has too many rows, because rows are inserted all the time.
constexpr int kMostDivisions = 20;
// How often a row is locked that is always written.
constexpr int kMostKept = 5;

TimePoint After(absl::Duration duration) {
  return SteadyClock::now() + absl::ToChronoNanoseconds(duration);
}

RowVerdict VerdictOf(const std::array<RowState, 2>& before, const std::array<SeenRow, 2>& now) {
  return internal::JudgeRow(before[kSource], before[kTarget], now[kSource].state,
                            now[kTarget].state, now[kSource].values == now[kTarget].values);
}

absl::Status RefuseNumber(const char* what, uint64_t value, const char* limit) {
  return absl::InvalidArgumentError(
      absl::StrCat("verifier option ", what, " is ", value, "; it must be ", limit));
}

absl::Status RefuseTime(const char* what, absl::Duration value, const char* limit) {
  return absl::InvalidArgumentError(absl::StrCat(
      "verifier option ", what, " is ", absl::FormatDuration(value), "; it must be ", limit));
}

}  // namespace

PassStreams NoStreams() {
  return [](TimePoint) { return absl::OkStatus(); };
}

absl::Status VerifierOptions::Check() const {
  LOCUS_RETURN_IF_ERROR(source.Check());
  LOCUS_RETURN_IF_ERROR(target.Check());
  if (tables.empty()) return absl::InvalidArgumentError("verifier option tables is empty");
  for (const MovedTable& table : tables) {
    MovedTable checked = table;
    if (checked.primary_key.empty()) checked.primary_key = {table.guard.order_id};
    LOCUS_RETURN_IF_ERROR(checked.Check());
  }
  if (ranges.empty()) return absl::InvalidArgumentError("verifier option ranges is empty");
  for (size_t i = 0; i < ranges.size(); ++i) {
    const bool ascends = i == 0 || ranges[i].lo > ranges[i - 1].hi;
    if (ranges[i].lo <= ranges[i].hi && ranges[i].hi <= 65535 && ascends) continue;
    return absl::InvalidArgumentError(absl::StrCat("verifier option ranges has ", ranges[i].lo, "-",
                                                   ranges[i].hi,
                                                   "; ranges must ascend, 0 to 65535"));
  }
  if (slice_time < absl::Milliseconds(1) || slice_time > absl::Minutes(1)) {
    return RefuseTime("slice_time", slice_time, "1ms to 1m");
  }
  for (const auto& [what, value] :
       {std::pair("longest_wait", longest_wait), std::pair("pass_time", pass_time),
        std::pair("look_time", look_time)}) {
    if (value < absl::ZeroDuration() || value > absl::Hours(24)) {
      return RefuseTime(what, value, "0 to 24h");
    }
  }
  if (keep_time < absl::ZeroDuration() || keep_time > absl::Seconds(1)) {
    return RefuseTime("keep_time", keep_time, "0 to 1s");
  }
  if (least_rows < 1) return RefuseNumber("least_rows", least_rows, "at least 1");
  if (most_rows < least_rows || most_rows > 100'000) {
    return RefuseNumber("most_rows", most_rows, "least_rows to 100000");
  }
  if (most_looks < 1) return RefuseNumber("most_looks", most_looks, "at least 1");
  return absl::OkStatus();
}

RowVerifier::RowVerifier(const VerifierOptions& options)
    : options_([&] {
        VerifierOptions kept = options;
        kept.source = WithoutPassword(std::move(kept.source));
        kept.target = WithoutPassword(std::move(kept.target));
        return kept;
      }()),
      slice_rows_(options.least_rows) {}

absl::StatusOr<std::unique_ptr<RowVerifier>> RowVerifier::Open(const VerifierOptions& options) {
  LOCUS_RETURN_IF_ERROR(options.Check());
  std::unique_ptr<RowVerifier> verifier(new RowVerifier(options));
  LOCUS_RETURN_IF_ERROR(verifier->SetUp(options));
  return verifier;
}

absl::Status RowVerifier::SetUp(const VerifierOptions& options) {
  LOCUS_ASSIGN_OR_RETURN(shards_[kSource],
                         VerifiedShard::Open(options.source, kSource, options.ranges));
  LOCUS_ASSIGN_OR_RETURN(shards_[kTarget],
                         VerifiedShard::Open(options.target, kTarget, options.ranges));
  for (const MovedTable& table : options_.tables) {
    auto read = [&](VerifiedShard& shard) { return shard.ReadSchema(table.guard.name); };
    LOCUS_ASSIGN_OR_RETURN(auto schemas, OnBoth(read));
    LOCUS_ASSIGN_OR_RETURN(CheckedTable checked,
                           internal::CheckTable(table, schemas[kSource], schemas[kTarget]));
    tables_.push_back(std::move(checked));
  }
  LOCUS_ASSIGN_OR_RETURN(next_,
                         internal::VerifyPositionIn(options_.position, tables_, options_.ranges));
  SavePosition();
  return absl::OkStatus();
}

template <typename Read>
auto RowVerifier::OnBoth(Read read) -> absl::StatusOr<
    std::array<typename std::invoke_result_t<Read, VerifiedShard&>::value_type, 2>> {
  // Where the system gives no thread, one after the other.
  auto of_target = std::async([&] { return read(*shards_[kTarget]); });
  auto source = read(*shards_[kSource]);
  auto target = of_target.get();
  LOCUS_RETURN_IF_ERROR(source.status());
  LOCUS_RETURN_IF_ERROR(target.status());
  return std::array{*std::move(source), *std::move(target)};
}

absl::Status RowVerifier::Bound(Slice& slice, size_t side) {
  const CheckedTable& table = tables_[next_.table];
  LOCUS_ASSIGN_OR_RETURN(std::optional<CopyKey> bound,
                         shards_[side]->Bound(table, slice, slice_rows_));
  // Fewer rows than that: the slice keeps the end that it has.
  if (bound) slice.up_to = std::move(bound);
  if (table.by_vnode) return absl::OkStatus();
  // Rows of other vnodes lie in between, and the other shard may have many more of them.
  LOCUS_ASSIGN_OR_RETURN(bound, shards_[1 - side]->Bound(table, slice, MostOf(slice_rows_)));
  if (bound) slice.up_to = std::move(bound);
  return absl::OkStatus();
}

absl::StatusOr<bool> RowVerifier::CompareChecksums(Slice& slice) {
  const CheckedTable& table = tables_[next_.table];
  const uint64_t most = MostOf(slice_rows_);
  size_t side = kSource;
  for (int division = 0; division < kMostDivisions; ++division) {
    LOCUS_RETURN_IF_ERROR(Bound(slice, side));
    const TimePoint begun = SteadyClock::now();
    LOCUS_ASSIGN_OR_RETURN(auto sums, OnBoth([&](VerifiedShard& shard) {
                             return shard.Checksum(table, slice, most + 1);
                           }));
    const absl::Duration took = absl::FromChrono(SteadyClock::now() - begun);
    if (sums[kSource].rows <= most && sums[kTarget].rows <= most) {
      counts_.rows += sums[kSource].rows;
      slice_rows_ = internal::NextSliceRows(slice_rows_, took, options_.slice_time,
                                            options_.least_rows, options_.most_rows);
      return sums[kSource] == sums[kTarget];
    }
    side = sums[kTarget].rows > most ? kTarget : kSource;
  }
  return TooManyRows();
}

absl::Status RowVerifier::TooManyRows() const {
  return absl::UnavailableError(
      absl::StrCat("rows of ", Quoted(tables_[next_.table].moved.guard.name),
                   " are inserted faster than they are compared; verify again"));
}

absl::Status RowVerifier::CompareHashes(const Slice& slice) {
  const CheckedTable& table = tables_[next_.table];
  const uint64_t most = 2 * MostOf(options_.most_rows);
  LOCUS_ASSIGN_OR_RETURN(
      auto rows, OnBoth([&](VerifiedShard& shard) { return shard.Hashes(table, slice, most); }));
  if (rows[kSource].size() == most || rows[kTarget].size() == most) return TooManyRows();
  std::map<std::string, std::array<const HashedRow*, 2>> by_key;
  for (size_t side : {kSource, kTarget}) {
    for (const HashedRow& row : rows[side]) {
      by_key[internal::TombstoneKeyOf(row.key)][side] = &row;
    }
  }
  for (const auto& [key, both] : by_key) {
    const HashedRow* source = both[kSource];
    const HashedRow* target = both[kTarget];
    if (source != nullptr && target != nullptr && source->version == target->version &&
        source->hash == target->hash) {
      continue;
    }
    if (waiting_.empty()) first_waiting_since_ = SteadyClock::now();
    Waiting& waiting = waiting_[{next_.table, key}];
    waiting.key = source != nullptr ? source->key : target->key;
    for (size_t side : {kSource, kTarget}) {
      waiting.before[side] = {0, true};
      if (both[side] != nullptr) waiting.before[side] = {both[side]->version, false};
    }
  }
  return absl::OkStatus();
}

bool RowVerifier::RecheckIsDue() const {
  if (waiting_.empty()) return false;
  return waiting_.size() >= options_.most_waiting || next_.table == tables_.size() ||
         SteadyClock::now() >=
             first_waiting_since_ + absl::ToChronoNanoseconds(options_.longest_wait);
}

RowDifference RowVerifier::DifferenceOf(const WaitingKey& at, const CopyKey& key,
                                        const SeenRow& source, const SeenRow& target) const {
  const CheckedTable& table = tables_[at.first];
  RowDifference out;
  out.table = table.moved.guard.name;
  out.key = internal::CopyKeyText(key);
  out.source = source.state;
  out.target = target.state;
  if (source.state.deleted || target.state.deleted) {
    out.kind = source.state.deleted ? RowDifference::Kind::kMissingOnSource
                                    : RowDifference::Kind::kMissingOnTarget;
    return out;
  }
  out.kind = source.state.version == target.state.version ? RowDifference::Kind::kColumns
                                                          : RowDifference::Kind::kVersions;
  for (size_t i = 0; i < table.columns.size(); ++i) {
    if (source.values[i] == target.values[i]) continue;
    if (table.columns[i].name == table.moved.version) continue;
    out.columns.push_back({table.columns[i].name, source.values[i], target.values[i]});
  }
  return out;
}

absl::StatusOr<RowVerdict> RowVerifier::JudgeKept(const CheckedTable& table, Waiting& waiting,
                                                  std::array<SeenRow, 2>& seen) {
  RowVerdict verdict = RowVerdict::kChanging;
  for (int i = 0; i < kMostKept && verdict == RowVerdict::kChanging; ++i) {
    waiting.before = {seen[kSource].state, seen[kTarget].state};
    // The other shard gets what this one has, and its stream must be able to write it.
    VerifiedShard& owner =
        *shards_[seen[kTarget].state.version > seen[kSource].state.version ? kTarget : kSource];
    // If the row cannot be locked, this is a look like the earlier ones.
    const absl::StatusOr<bool> kept = owner.Keep(table, waiting.key, options_.keep_time);
    const absl::Status passed = options_.pass(After(options_.keep_time));
    auto rows = OnBoth([&](VerifiedShard& shard) {
      return shard.Look(table, {&waiting.key, 1}, options_.with_values);
    });
    LOCUS_RETURN_IF_ERROR(owner.LetGo());
    LOCUS_RETURN_IF_ERROR(kept.status());
    LOCUS_RETURN_IF_ERROR(rows.status());
    if (absl::IsDeadlineExceeded(passed)) continue;  // they lag; another time
    LOCUS_RETURN_IF_ERROR(passed);
    for (size_t side : {kSource, kTarget}) seen[side] = std::move((*rows)[side][0]);
    verdict = VerdictOf(waiting.before, seen);
  }
  return verdict;
}

absl::Status RowVerifier::LookAgain(std::map<WaitingKey, Waiting>& left, bool last,
                                    std::vector<RowDifference>& found) {
  for (auto begin = left.begin(); begin != left.end();) {
    const size_t table = begin->first.first;
    std::vector<CopyKey> keys;
    auto end = begin;
    for (; end != left.end() && end->first.first == table; ++end) keys.push_back(end->second.key);
    LOCUS_ASSIGN_OR_RETURN(auto rows, OnBoth([&](VerifiedShard& shard) {
                             return shard.Look(tables_[table], keys, options_.with_values);
                           }));
    for (size_t i = 0; begin != end; ++i) {
      std::array<SeenRow, 2> seen = {std::move(rows[kSource][i]), std::move(rows[kTarget][i])};
      Waiting& waiting = begin->second;
      RowVerdict verdict = VerdictOf(waiting.before, seen);
      if (verdict == RowVerdict::kChanging && !last) {
        waiting.before = {seen[kSource].state, seen[kTarget].state};
        ++begin;
        continue;
      }
      if (verdict == RowVerdict::kChanging && options_.keep_time > absl::ZeroDuration()) {
        LOCUS_ASSIGN_OR_RETURN(verdict, JudgeKept(tables_[table], waiting, seen));
      }
      if (verdict != RowVerdict::kEqual) {
        found.push_back(DifferenceOf(begin->first, waiting.key, seen[kSource], seen[kTarget]));
        if (verdict == RowVerdict::kChanging) {
          found.back().kind = RowDifference::Kind::kStillChanging;
          found.back().columns.clear();
        }
      }
      begin = left.erase(begin);
    }
  }
  return absl::OkStatus();
}

absl::Status RowVerifier::Recheck() {
  // Findings count only once all are judged: after an error the slice is compared again.
  std::map<WaitingKey, Waiting> left = waiting_;
  std::vector<RowDifference> found;
  const TimePoint give_up = After(options_.look_time);
  for (uint64_t look = 1; !left.empty(); ++look) {
    LOCUS_RETURN_IF_ERROR(options_.pass(After(options_.pass_time)));
    const bool last = look >= options_.most_looks || SteadyClock::now() >= give_up;
    LOCUS_RETURN_IF_ERROR(LookAgain(left, last, found));
  }
  counts_.rechecked += waiting_.size();
  waiting_.clear();
  for (RowDifference& difference : found) {
    const bool changing = difference.kind == RowDifference::Kind::kStillChanging;
    ++(changing ? counts_.still_changing : counts_.differences);
    if (differences_.size() < options_.most_differences) {
      differences_.push_back(std::move(difference));
    }
  }
  return absl::OkStatus();
}

void RowVerifier::Advance(const Slice& slice) {
  next_.behind = slice.up_to;
  if (next_.behind) return;
  if (++next_.zone < internal::ZonesOf(tables_[next_.table], options_.ranges)) return;
  next_.zone = 0;
  ++next_.table;
}

void RowVerifier::SavePosition() {
  position_text_ = internal::VerifyPositionText(next_, tables_, options_.ranges);
}

absl::StatusOr<bool> RowVerifier::VerifySlice() {
  if (next_.table < tables_.size()) {
    LOCUS_RETURN_IF_ERROR(options_.before_slice());
    Slice slice{next_.zone, next_.behind, std::nullopt};
    LOCUS_ASSIGN_OR_RETURN(bool equal, CompareChecksums(slice));
    if (!equal) LOCUS_RETURN_IF_ERROR(CompareHashes(slice));
    ++counts_.slices;
    Advance(slice);
  }
  if (RecheckIsDue()) LOCUS_RETURN_IF_ERROR(Recheck());
  if (waiting_.empty()) SavePosition();
  return next_.table < tables_.size();
}

}  // namespace locus::mysql
