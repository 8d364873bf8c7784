// SPDX-License-Identifier: Apache-2.0
#include "migration/run/move_control.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "migration/apply/copy_sql.h"
#include "migration/fence/guard_sql.h"
#include "migration/move/table_steps.h"
#include "migration/mysql/marker_tables.h"
#include "migration/run/copy_marker.h"
#include "src/base/os/check.h"
#include "src/base/os/random_word.h"
#include "src/base/text/text.h"
#include "src/engine/mysql/errors.h"

namespace locus::mysql {

using internal::Phase;
using internal::Side;
using internal::Situation;
using internal::Standing;
using internal::Wish;

namespace {

constexpr int kMostAttempts = 100;

// A server whose log cannot grow makes COMMITs wait and reports it nowhere else; it still answers
// reads. 0 also where it does not answer.
int64_t WaitForSpace(ShardLink& link) {
  auto results = link.Run(
      "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE STATE ="
      " 'Waiting for someone to free space'",
      {OneRow(1)});
  return results.ok() ? NumberIn((*results)[0].rows[0], 0, link.place()).value_or(0) : 0;
}

}  // namespace

Standing MoveView::standing() const {
  Standing standing;
  if (record) {
    standing.phase = record->phase;
    standing.wish = record->wish;
  }
  standing.share = fences.share;
  standing.in_a_step = fences.kind == Situation::Kind::kOnItsWay ||
                       fences.kind == Situation::Kind::kRefused ||
                       fences.kind == Situation::Kind::kRestored;
  return standing;
}

absl::StatusOr<std::unique_ptr<MoveControl>> MoveControl::Create(const Move& move) {
  LOCUS_RETURN_IF_ERROR(move.Check());
  std::unique_ptr<MoveControl> control(new MoveControl(WithoutPasswords(move)));
  LOCUS_ASSIGN_OR_RETURN(control->source_, ShardLink::Create(move.source.server));
  LOCUS_ASSIGN_OR_RETURN(control->target_, ShardLink::Create(move.target.server));
  control->records_ = std::make_unique<MoveRecords>(*control->source_);
  control->source_bands_ =
      std::make_unique<BandRows>(control->move_, Side::kSource, *control->source_);
  control->target_bands_ =
      std::make_unique<BandRows>(control->move_, Side::kTarget, *control->target_);
  return control;
}

absl::StatusOr<MoveView> MoveControl::View() {
  MoveView view;
  auto record = records_->Read(move_.name);
  if (record.ok()) {
    view.record = *std::move(record);
  } else if (!absl::IsNotFound(record.status())) {
    return record.status();
  }
  const bool has_fences = view.record && view.record->phase >= Phase::kPrepared;
  if (view.record && view.record->phase < Phase::kFinalized) {
    const absl::Status tables = records_->CheckTables(move_.name, move_.tables);
    if (absl::IsInvalidArgument(tables)) view.other_tables = std::string(tables.message());
  }
  auto look = [&](ShardLink& link, BandRows& rows, std::optional<internal::BandFence>& seen,
                  std::string& trouble) {
    auto row = rows.Read();
    if (row.ok()) {
      seen = *row;
    } else if (has_fences || link.error() != kNoSuchTable) {
      trouble = std::string(row.status().message());
    }
  };
  look(*source_, *source_bands_, view.source, view.source_trouble);
  look(*target_, *target_bands_, view.target, view.target_trouble);
  if (view.source) view.source_waits_for_space = WaitForSpace(*source_);
  if (view.target) view.target_waits_for_space = WaitForSpace(*target_);
  if (view.source && view.target) {
    view.fences = SituationOf(*view.source, *view.target, RoutingTable::kMaxPermyriad);
  }
  return view;
}

absl::StatusOr<std::vector<MoveEvent>> MoveControl::Events(size_t most) {
  return records_->Events(move_.name, most);
}

absl::Status MoveControl::Begin(const MovePace& pace) {
  LOCUS_RETURN_IF_ERROR(records_->CreateTables());
  Wish wish;
  wish.by = pace.by;
  wish.dwell = pace.dwell;
  return records_->Begin(move_.name, {move_.source.id, move_.target.id, move_.ranges}, wish,
                         move_.tables);
}

absl::StatusOr<Wish> MoveControl::Change(const std::string& what, const Ask& ask, bool dry,
                                         Needs needs) {
  absl::Status last;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    LOCUS_ASSIGN_OR_RETURN(MoveView view, View());
    if (!view.record) return records_->Read(move_.name).status();
    const bool has_fences = view.record->phase >= Phase::kPrepared;
    if (needs == Needs::kFences && has_fences && !view.has_share()) {
      return absl::UnavailableError(view.source ? view.target_trouble : view.source_trouble);
    }
    LOCUS_ASSIGN_OR_RETURN(Wish wish, ask(view.standing()));
    const bool kept = view.record->phase == Phase::kDone && view.record->wish.keep && !wish.keep;
    const auto may = [this] { return MayCleanAgain(); };
    if (kept && dry) LOCUS_RETURN_IF_ERROR(may());
    if (dry || wish == view.record->wish) return wish;
    last = kept ? records_->CleanAgain(*view.record, may)
                : records_->ChangeWish(move_.name, view.record->serial, wish);
    if (last.ok()) {
      LOCUS_RETURN_IF_ERROR(
          records_->Note(move_.name, what, view.fences.share,
                         wish.hold.empty() ? absl::StrCat("goal ", wish.goal) : wish.hold));
      return wish;
    }
    if (!absl::IsAborted(last)) return last;
  }
  return last;
}

absl::StatusOr<MoveControl::Remains> MoveControl::LookForRemains(const RoutingTable& table) {
  Remains remains;
  for (ShardLink* link : {source_.get(), target_.get()}) {
    const std::string& shard = link == source_.get() ? move_.source.name : move_.target.name;
    LOCUS_ASSIGN_OR_RETURN(const std::vector<std::string> traces, TracesOf(*link, move_.name));
    for (const std::string& trace : traces) {
      if (trace != kRuns) remains.marks.push_back(absl::StrCat(shard, ": ", trace));
    }
  }
  for (const FencedRange& range : move_.ranges) {
    LOCUS_ASSIGN_OR_RETURN(bool used, IsUsedLater(range));
    for (uint32_t vnode = range.lo; vnode <= range.hi; ++vnode) {
      const ShardGene gene = ShardGene::FromUint16(static_cast<uint16_t>(vnode));
      used = used || table.MoveOf(gene) != nullptr || table.OwnerOf(gene).id == move_.source.id;
    }
    if (used) {
      absl::StrAppend(&remains.used, remains.used.empty() ? "" : ", ", range.lo, "-", range.hi);
      continue;
    }
    for (const MovedTable& moved : move_.tables) {
      if (!remains.rows.empty()) break;
      const auto found = source_->Run(
          absl::StrCat("SELECT 1 FROM ", internal::SqlName(moved.guard.name), " WHERE ",
                       internal::RowsOf(moved.guard, range, true), " LIMIT 1"),
          {AtMostOneRow(1)});
      if (!found.ok() && source_->error() == kNoSuchTable) continue;
      LOCUS_RETURN_IF_ERROR(found.status());
      if ((*found)[0].rows.empty()) continue;
      remains.rows = absl::StrCat(move_.source.name, " has rows of vnodes ", range.lo, "-",
                                  range.hi, " in ", internal::Quoted(moved.guard.name));
    }
  }
  return remains;
}

// Whether the source's row of the range is no longer as this move left it.
absl::StatusOr<bool> MoveControl::IsUsedLater(const FencedRange& range) {
  const auto rows = OwnRows(*source_, {range});
  if (absl::IsFailedPrecondition(rows.status())) return true;
  LOCUS_RETURN_IF_ERROR(rows.status());
  const OwnRow& own = rows->front();
  return own.row.own_lo < own.row.own_hi || own.token_share != RoutingTable::kMaxPermyriad;
}

absl::Status MoveControl::CleanAgain() {
  LOCUS_ASSIGN_OR_RETURN(const MoveRecord record, records_->Read(move_.name));
  LOCUS_RETURN_IF_ERROR(records_->CleanAgain(record, [this] { return MayCleanAgain(); }));
  return records_->Note(move_.name, "cleanup", RoutingTable::kMaxPermyriad, "again");
}

// A runner would find out only after the move is under way again, and would hold it for ever.
absl::Status MoveControl::MayCleanAgain() {
  // A later move of the same vnodes leaves the fence as this one has left it.
  LOCUS_ASSIGN_OR_RETURN(const std::vector<MoveRecord> records, records_->List());
  for (const MoveRecord& record : records) {
    if (record.name == move_.name || !record.IsUnderWayWith(move_.ranges)) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        NotEnded(record), ": rows of these vnodes on ", move_.source.name,
        " are what it would go back to, so nothing is deleted. Finish or abort it, and repeat the "
        "command"));
  }
  for (const FencedRange& range : move_.ranges) {
    LOCUS_ASSIGN_OR_RETURN(const bool used, IsUsedLater(range));
    if (!used) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        "the fence of ", move_.source.name, " says that a later move has used the vnodes ",
        range.lo, "-", range.hi,
        ", or some of them, so its rows of them may be that move's, and nothing is deleted. Delete "
        "rows by hand only where the routing table gives their vnodes to another shard and no move "
        "has them, and where that shard has them (`locus verify`)"));
  }
  return source_bands_->Read().status();
}

absl::Status MoveControl::DropCandidate(const std::string& candidate) {
  LOCUS_RETURN_IF_ERROR(records_->DropCandidate(move_.name, candidate));
  return records_->Note(move_.name, "dropped", 0, candidate);
}

// In the same way as a runner.
absl::Status MoveControl::EndRuns(uint32_t share) {
  auto record = records_->Read(move_.name);
  if (absl::IsNotFound(record.status())) return absl::OkStatus();
  LOCUS_RETURN_IF_ERROR(record.status());
  LOCUS_RETURN_IF_ERROR(records_->StartOver(*record, share));
  const std::optional<uint64_t> word = internal::RandomWord();
  if (!word) return absl::UnavailableError("the system has no randomness for a run's number");
  return BurnRuns({source_.get(), target_.get()}, move_.name, (*word & INT64_MAX) | 1);
}

absl::StatusOr<MoveControl::Bindable> MoveControl::MayBind(const RoutingTable& table, bool dry) {
  auto record = records_->Read(move_.name);
  if (!record.ok() && !absl::IsNotFound(record.status())) return record.status();
  const Phase phase = record.ok() ? record->phase : Phase::kPlanned;
  Bindable bindable;
  if (phase > Phase::kFinalizing) {
    bindable.fences = "the move is over";
    return bindable;
  }
  if (phase == Phase::kPlanned) {
    const absl::Status may = MayBindUnbegun(move_, *source_, *target_, dry);
    if (!may.ok() && !absl::IsFailedPrecondition(may)) return may;
    bindable.contradict = !may.ok();
    bindable.fences = may.ok() ? "the move has not begun" : std::string(may.message());
    const internal::TableSight seen =
        internal::SightOf(table, {move_.source.id, move_.target.id, move_.ranges});
    bindable.fits =
        may.ok() && seen.kind == internal::TableSight::Kind::kUnderWay && seen.share == 0;
    return bindable;
  }
  LOCUS_ASSIGN_OR_RETURN(BandRows::Seen source, source_bands_->ReadUnbound());
  LOCUS_ASSIGN_OR_RETURN(BandRows::Seen target, target_bands_->ReadUnbound());
  const bool unbound = source.bound_to != 0 || target.bound_to != 0;
  if (unbound && !dry && MayBindMove(source, target).ok()) {
    LOCUS_RETURN_IF_ERROR(EndRuns(std::max(source.row.own_lo, target.row.own_hi)));
    LOCUS_ASSIGN_OR_RETURN(source, source_bands_->ReadUnbound());
    LOCUS_ASSIGN_OR_RETURN(target, target_bands_->ReadUnbound());
  }
  bindable.fits = MayBindMove(source, target).ok();
  bindable.contradict = !bindable.fits;
  bindable.fences = internal::Described(source.row, target.row);
  return bindable;
}

absl::StatusOr<std::vector<RepairFinding>> MoveControl::Findings() {
  LOCUS_ASSIGN_OR_RETURN(MoveRecord record, records_->Read(move_.name));
  return FindingsOf(move_, record, *source_, *target_);
}

absl::StatusOr<RebindResult> RebindShard(const MoveShard& shard, const RoutingTable& table,
                                         const std::vector<FencedRange>& fitting, bool dry) {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<ShardLink> link, ShardLink::Create(shard.server));
  return RebindRows(*link, shard.id, table, fitting, dry);
}

absl::StatusOr<std::vector<MoveRecord>> MovesRemembered(const MysqlOptions& shard,
                                                        std::vector<std::string>& unread) {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<ShardLink> link, ShardLink::Create(shard));
  return MoveRecords(*link).ListReadable(unread);
}

}  // namespace locus::mysql
