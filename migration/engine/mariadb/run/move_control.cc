// SPDX-License-Identifier: Apache-2.0
#include "migration/engine/mariadb/run/move_control.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "src/base/check.h"
#include "src/base/random_word.h"

namespace locus::mariadb {

using internal::Phase;
using internal::Side;
using internal::Situation;
using internal::Standing;
using internal::Wish;

namespace {

constexpr int kMostAttempts = 100;

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
  auto look = [](BandRows& rows, std::optional<internal::BandFence>& seen, std::string& trouble) {
    auto row = rows.Read();
    if (row.ok()) {
      seen = *row;
    } else {
      trouble = std::string(row.status().message());
    }
  };
  look(*source_bands_, view.source, view.source_trouble);
  look(*target_bands_, view.target, view.target_trouble);
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
  return records_->Begin(move_.name, {move_.source.id, move_.target.id, move_.ranges}, wish);
}

absl::StatusOr<Wish> MoveControl::Change(const std::string& what, const Ask& ask, bool dry) {
  absl::Status last;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    LOCUS_ASSIGN_OR_RETURN(MoveView view, View());
    if (!view.record) return records_->Read(move_.name).status();
    const bool has_fences = view.record->phase >= Phase::kPrepared;
    if (has_fences && !(view.source && view.target)) {
      return absl::UnavailableError(view.source ? view.target_trouble : view.source_trouble);
    }
    LOCUS_ASSIGN_OR_RETURN(Wish wish, ask(view.standing()));
    if (dry || wish == view.record->wish) return wish;
    last = records_->ChangeWish(move_.name, view.record->serial, wish);
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

absl::Status MoveControl::DropCandidate(const std::string& candidate) {
  LOCUS_RETURN_IF_ERROR(records_->DropCandidate(move_.name, candidate));
  return records_->Note(move_.name, "dropped", 0, candidate);
}

// As a runner does it.
absl::Status MoveControl::EndRuns(uint32_t share) {
  auto record = records_->Read(move_.name);
  if (absl::IsNotFound(record.status())) return absl::OkStatus();
  LOCUS_RETURN_IF_ERROR(record.status());
  LOCUS_RETURN_IF_ERROR(records_->StartOver(*record, share));
  const std::optional<uint64_t> word = internal::RandomWord();
  if (!word) return absl::UnavailableError("the system has no randomness for a run's number");
  return BurnRuns({source_.get(), target_.get()}, move_.name, (*word & INT64_MAX) | 1);
}

absl::StatusOr<MoveControl::Rebound> MoveControl::Rebind(const RoutingTable& table, bool dry) {
  LOCUS_ASSIGN_OR_RETURN(BandRows::Seen source, source_bands_->ReadUnbound());
  LOCUS_ASSIGN_OR_RETURN(BandRows::Seen target, target_bands_->ReadUnbound());
  const bool unbound = source.bound_to != 0 || target.bound_to != 0;
  if (unbound && !dry && MayBindMove(source, target).ok()) {
    LOCUS_RETURN_IF_ERROR(EndRuns(std::max(source.row.own_lo, target.row.own_hi)));
    LOCUS_ASSIGN_OR_RETURN(source, source_bands_->ReadUnbound());
    LOCUS_ASSIGN_OR_RETURN(target, target_bands_->ReadUnbound());
  }
  Rebound rebound;
  rebound.contradict = !MayBindMove(source, target).ok();
  rebound.fences = internal::Described(source.row, target.row);
  std::vector<FencedRange> bound;
  if (!rebound.contradict) bound = move_.ranges;
  LOCUS_ASSIGN_OR_RETURN(rebound.source, RebindRows(*source_, move_.source.id, table, bound, dry));
  LOCUS_ASSIGN_OR_RETURN(rebound.target, RebindRows(*target_, move_.target.id, table, bound, dry));
  return rebound;
}

absl::StatusOr<std::vector<RepairFinding>> MoveControl::Findings() {
  LOCUS_ASSIGN_OR_RETURN(MoveRecord record, records_->Read(move_.name));
  return FindingsOf(move_, record, *source_, *target_);
}

absl::StatusOr<std::vector<MoveRecord>> MovesRemembered(const MariadbOptions& shard) {
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<ShardLink> link, ShardLink::Create(shard));
  return MoveRecords(*link).List();
}

}  // namespace locus::mariadb
