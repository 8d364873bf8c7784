// SPDX-License-Identifier: Apache-2.0
#include "migration/run/rebind.h"

#include <iterator>
#include <optional>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "migration/apply/peer_bands.h"
#include "migration/mysql/marker_tables.h"
#include "migration/mysql/primary.h"
#include "migration/run/copy_marker.h"
#include "migration/run/fence_regroup.h"
#include "src/base/os/check.h"
#include "src/base/os/random_word.h"
#include "src/engine/mysql/errors.h"

namespace locus::mysql {

using internal::FenceRow;
using internal::Regroup;
using internal::Side;

namespace {

// The guards of the rows refuse every write: only readers of the fence are waited for.
constexpr RegroupPatience kPatience{absl::Seconds(1), 0, false};

ShardGene GeneOf(uint32_t vnode) { return ShardGene::FromUint16(static_cast<uint16_t>(vnode)); }

// Not up to `hi`: a row may reach past the start of the next one.
std::string Condition(const FenceRow& row) {
  return absl::StrCat("lo = ", row.lo, " AND own_lo = ", row.own_lo, " AND own_hi = ", row.own_hi,
                      " AND step = ", row.step, " AND server_id = ", row.server_id);
}

// Makes `made` of `removed`, and points each of their vnodes to its row.
absl::Status RegroupAll(ShardLink& link, std::vector<FenceRow> removed,
                        std::vector<FenceRow> made) {
  Regroup regroup;
  LOCUS_ASSIGN_OR_RETURN(regroup.stored, StoredFence(link));
  regroup.removed = std::move(removed);
  regroup.made = std::move(made);
  bool kept = false;
  return RegroupFence(
      link, regroup, [] { return absl::OkStatus(); }, kPatience, kept);
}

absl::StatusOr<std::vector<FenceRow>> TouchingOrNone(const Move& move, Side side, ShardLink& link) {
  auto rows = BandRows(move, side, link).Touching();
  if (!rows.ok() && link.error() == kNoSuchTable) return std::vector<FenceRow>();
  return rows;
}

// Neighbouring vnodes of one row of which all may be bound, or none.
struct Piece {
  uint32_t lo = 0;
  uint32_t hi = 0;
  std::string why;  // they may not; empty: they may
};

// The row, cut where a move of the table or a fitting range begins or ends. A move that keeps its
// own vnodes from being bound must not keep the vnodes beside them.
std::vector<Piece> JudgedPieces(const FenceRow& row, uint32_t shard, const RoutingTable& table,
                                const std::vector<FencedRange>& fitting) {
  std::set<uint32_t> begins = {row.lo};
  auto cut = [&](uint32_t lo, uint32_t hi) {
    for (uint32_t begin : {lo, hi + 1}) {
      if (begin > row.lo && begin <= row.hi) begins.insert(begin);
    }
  };
  for (const FencedRange& range : fitting) cut(range.lo, range.hi);
  for (const VnodeMove& move : table.moves()) cut(move.first, move.last);
  std::vector<Piece> pieces;
  for (auto begin = begins.begin(); begin != begins.end(); ++begin) {
    const auto next = std::next(begin);
    FenceRow part = row;
    part.lo = *begin;
    part.hi = next == begins.end() ? row.hi : *next - 1;
    Piece piece{part.lo, part.hi, ""};
    const bool fits = absl::c_any_of(fitting, [&](const FencedRange& range) {
      return range.lo <= part.lo && range.hi >= part.hi;
    });
    if (!fits) MayBindAtRest(part, shard, table, piece.why);
    if (!pieces.empty() && pieces.back().why.empty() && piece.why.empty()) {
      pieces.back().hi = piece.hi;
    } else {
      pieces.push_back(piece);
    }
  }
  return pieces;
}

// The row becomes a row for each piece, unless no piece may be bound. All pieces refuse every write
// until the cut is whole.
absl::Status BindPieces(ShardLink& link, const FenceRow& row, const std::vector<Piece>& pieces) {
  if (absl::c_none_of(pieces, [](const Piece& piece) { return piece.why.empty(); })) {
    return absl::OkStatus();
  }
  if (pieces.size() > 1) {
    std::vector<FenceRow> made;
    for (const Piece& piece : pieces) {
      made.push_back(row);
      made.back().lo = piece.lo;
      made.back().hi = piece.hi;
    }
    LOCUS_RETURN_IF_ERROR(RegroupAll(link, {row}, std::move(made)));
  }
  for (const Piece& piece : pieces) {
    if (!piece.why.empty()) continue;
    FenceRow bound = row;
    bound.lo = piece.lo;
    bound.hi = piece.hi;
    LOCUS_ASSIGN_OR_RETURN(
        std::vector<Result> results,
        link.Run(
            absl::StrCat("UPDATE locus_fence SET server_id = @@server_id WHERE ", Condition(bound)),
            {kNoRows}));
    if (results[0].affected == 1) continue;
    return absl::AbortedError(
        absl::StrCat("mariadb ", link.place(), ": another session changed the fence of vnodes ",
                     bound.lo, "-", bound.hi, " meanwhile; repeat the command"));
  }
  return absl::OkStatus();
}

}  // namespace

bool MayBindAtRest(const FenceRow& row, uint32_t shard, const RoutingTable& table,
                   std::string& why) {
  const bool none = row.own_lo >= row.own_hi;
  if (!none && (row.own_lo != 0 || row.own_hi != internal::kCohorts)) {
    why = "it accepts a part of the cohorts: a move stands there";
    return false;
  }
  for (uint32_t vnode = row.lo; vnode <= row.hi && vnode <= UINT16_MAX; ++vnode) {
    if (table.MoveOf(GeneOf(vnode)) != nullptr) {
      why = absl::StrCat("epoch ", table.epoch(), " moves vnode ", vnode,
                         ": the runner of that move binds it");
      return false;
    }
    const uint32_t owner = table.OwnerOf(GeneOf(vnode)).id;
    if ((owner == shard) == !none) continue;
    why = absl::StrCat("it accepts ", none ? "no" : "all", " cohorts of vnode ", vnode,
                       ", and epoch ", table.epoch(), " gives that to shard ", owner);
    return false;
  }
  return true;
}

absl::Status MayBindMove(const BandRows::Seen& source, const BandRows::Seen& target) {
  if (SituationOf(source.row, target.row, internal::kCohorts).kind !=
      internal::Situation::Kind::kImpossible) {
    return absl::OkStatus();
  }
  const BandRows::Seen& unbound = source.bound_to != 0 ? source : target;
  return absl::FailedPreconditionError(
      absl::StrCat("the fence of the ", source.bound_to != 0 ? "source" : "target",
                   " is bound to server ", unbound.bound_to, ", and server ", unbound.server,
                   " answers, which lacks what the other shard has seen: ",
                   internal::Described(source.row, target.row), "; see `locus move rebind`"));
}

absl::Status MayBindUnbegun(const Move& move, ShardLink& source, ShardLink& target, bool dry) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<FenceRow> rows, TouchingOrNone(move, Side::kTarget, target));
  const bool prepared =
      absl::c_any_of(rows, [&](const FenceRow& row) { return row.other == move.source.name; });
  // Such a row may be of an earlier move between these shards. A run of this move would have left
  // its name.
  LOCUS_ASSIGN_OR_RETURN(const std::vector<std::string> traces, TracesOf(target, move.name));
  if (prepared && !traces.empty() && !dry) {
    // A stream of an earlier run may have read a token that the promoted source lacks.
    const std::optional<uint64_t> word = internal::RandomWord();
    if (!word) return absl::UnavailableError("the system has no randomness for a run's number");
    LOCUS_RETURN_IF_ERROR(BurnRuns({&target}, move.name, (*word & INT64_MAX) | 1));
    LOCUS_ASSIGN_OR_RETURN(rows, TouchingOrNone(move, Side::kTarget, target));
  }
  for (const FenceRow& row : rows) {
    if (row.own_lo >= row.own_hi) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "the fence of the target, mariadb ", target.place(), ", accepts cohorts ", row.own_lo,
        " to below ", row.own_hi, " of vnodes ", row.lo, "-", row.hi,
        ", and the source knows nothing of a move that has begun: the promoted server lacks it"));
  }
  LOCUS_ASSIGN_OR_RETURN(rows, TouchingOrNone(move, Side::kSource, source));
  for (const FenceRow& row : rows) {
    if (row.own_lo == 0 && row.own_hi == internal::kCohorts) continue;
    return absl::FailedPreconditionError(
        absl::StrCat("the fence of the source, mariadb ", source.place(), ", accepts cohorts ",
                     row.own_lo, " to below ", row.own_hi, " of vnodes ", row.lo, "-", row.hi,
                     ", and all of them are its: the move has not begun"));
  }
  return absl::OkStatus();
}

static absl::StatusOr<int64_t> ServerId(ShardLink& link) {
  LOCUS_ASSIGN_OR_RETURN(std::vector<Result> results, link.Run("SELECT @@server_id", {OneRow(1)}));
  return NumberIn(results[0].rows[0], 0, link.place());
}

absl::StatusOr<bool> HasUnboundRows(ShardLink& link, const std::vector<FencedRange>& ranges) {
  auto stored = StoredFence(link);
  if (!stored.ok() && link.error() == kNoSuchTable) return false;
  LOCUS_RETURN_IF_ERROR(stored.status());
  LOCUS_ASSIGN_OR_RETURN(int64_t server, ServerId(link));
  for (const FenceRow& row : Apart(*std::move(stored))) {
    if (row.server_id == server) continue;
    for (const FencedRange& range : ranges) {
      if (range.lo <= row.hi && range.hi >= row.lo) return true;
    }
  }
  return false;
}

absl::StatusOr<RebindResult> RebindRows(ShardLink& link, uint32_t shard, const RoutingTable& table,
                                        const std::vector<FencedRange>& fitting, bool dry) {
  RebindResult result;
  auto rebind = [&]() -> absl::Status {
    auto stored = StoredFence(link);
    if (!stored.ok() && link.error() == kNoSuchTable) return absl::OkStatus();
    LOCUS_RETURN_IF_ERROR(stored.status());
    LOCUS_ASSIGN_OR_RETURN(int64_t server, ServerId(link));
    const std::vector<FenceRow> rows = Apart(*std::move(stored));
    auto is_unbound = [&](const FenceRow& row) { return row.server_id != server; };
    // A vnode may name an earlier row than the one that says where it belongs: it must not be bound
    // with the vnodes of that one.
    if (!dry && absl::c_any_of(rows, is_unbound)) {
      LOCUS_RETURN_IF_ERROR(RegroupAll(link, {}, rows));
    }
    for (const FenceRow& row : rows) {
      if (!is_unbound(row)) continue;
      const std::vector<Piece> pieces = JudgedPieces(row, shard, table, fitting);
      if (!dry) LOCUS_RETURN_IF_ERROR(BindPieces(link, row, pieces));
      for (const Piece& piece : pieces) {
        if (!piece.why.empty()) {
          result.left.push_back(absl::StrCat("vnodes ", piece.lo, "-", piece.hi, ": ", piece.why));
          continue;
        }
        FenceRow bound = row;
        bound.lo = piece.lo;
        bound.hi = piece.hi;
        bound.other = "";
        result.bound.push_back(bound);
      }
    }
    return absl::OkStatus();
  };
  LOCUS_RETURN_IF_ERROR(dry ? rebind() : RegroupAlone(link, rebind));
  return result;
}

absl::Status BurnRuns(std::initializer_list<ShardLink*> shards, const std::string& move,
                      uint64_t run) {
  for (ShardLink* shard : shards) {
    std::string place;
    LOCUS_ASSIGN_OR_RETURN(Handle handle, LogInToPrimary(shard->Options(), place));
    LOCUS_RETURN_IF_ERROR(TakeOverRun(handle.get(), place, move, run));
  }
  return absl::OkStatus();
}

}  // namespace locus::mysql
