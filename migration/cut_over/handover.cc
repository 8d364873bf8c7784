// SPDX-License-Identifier: Apache-2.0
#include "migration/cut_over/handover.h"

#include "absl/strings/str_cat.h"

namespace locus::internal {
namespace {

using Found = Situation::Kind;

bool SameBand(const BandFence& a, const BandFence& b) {
  return a.own_lo == b.own_lo && a.own_hi == b.own_hi;
}

// The share that a row of this side implies.
uint32_t ShareOf(Side side, const BandFence& row) {
  return side == Side::kSource ? row.own_lo : row.own_hi;
}

// Whether the protocol can give this side such a row at all.
bool IsOf(Side side, const BandFence& row, uint32_t cohorts) {
  const uint32_t share = ShareOf(side, row);
  return share <= cohorts && SameBand(row, Owned(side, share, cohorts));
}

// Whether the last change of `donor` gave up a band, and its row is still as that change left it.
bool HasToken(Side donor, const BandFence& row) {
  return row.token_nonce != 0 && row.token_share == ShareOf(donor, row);
}

}  // namespace

BandFence Owned(Side side, uint32_t share, uint32_t cohorts) {
  BandFence row;
  row.own_lo = side == Side::kSource ? share : 0;
  row.own_hi = side == Side::kSource ? cohorts : share;
  return row;
}

Situation SituationOf(const BandFence& source, const BandFence& target, uint32_t cohorts) {
  if (!IsOf(Side::kSource, source, cohorts) || !IsOf(Side::kTarget, target, cohorts)) return {};
  const uint32_t source_share = source.own_lo, target_share = target.own_hi;
  if (source_share == target_share) {
    if (source.step == target.step) return {Found::kAgreed, source_share, source_share, {}};
    // Only a donor that has restored its band is a step ahead without having given one up.
    const bool source_leads = source.step == target.step + 1;
    if (!source_leads && target.step != source.step + 1) return {};
    const Side donor = source_leads ? Side::kSource : Side::kTarget;
    return {Found::kRestored, source_share, source_share, donor};
  }
  // A source's share below the target's: both would own a band, which the protocol never does.
  // Above: a band is between the shards, on its way in either direction.
  if (source_share < target_share) return {};
  const bool source_gave = HasToken(Side::kSource, source) && source.step >= target.step;
  const bool target_gave = HasToken(Side::kTarget, target) && target.step >= source.step;
  if (source_gave && source.step == target.step + 1) {
    return {Found::kOnItsWay, target_share, source_share, Side::kSource};
  }
  if (target_gave && target.step == source.step + 1) {
    return {Found::kOnItsWay, source_share, target_share, Side::kTarget};
  }
  // At one step the recipient's last change was a refusal, which carries no token.
  if (source.step != target.step) return {};
  if (source_gave && target.token_nonce == 0) {
    return {Found::kRefused, target_share, source_share, Side::kSource};
  }
  if (target_gave && source.token_nonce == 0) {
    return {Found::kRefused, source_share, target_share, Side::kTarget};
  }
  return {};
}

std::string Described(const BandFence& source, const BandFence& target) {
  auto row = [](const BandFence& one) {
    return absl::StrCat("cohorts ", one.own_lo, " to below ", one.own_hi, " at step ", one.step);
  };
  return absl::StrCat("the source accepts ", row(source), ", the target ", row(target));
}

std::optional<BandFence> LetGo(const BandFence& source, const BandFence& target, uint32_t share,
                               uint64_t nonce, uint32_t cohorts) {
  const Situation now = SituationOf(source, target, cohorts);
  if (now.kind != Found::kAgreed || share == now.share || share > cohorts || nonce == 0) {
    return std::nullopt;
  }
  const Side donor = share > now.share ? Side::kSource : Side::kTarget;
  BandFence row = Owned(donor, share, cohorts);
  row.step = source.step + 1;
  row.token_share = share;
  row.token_nonce = nonce;
  return row;
}

std::optional<BandFence> TakeOver(Side recipient, const BandFence& row, const BandFence& event,
                                  uint32_t cohorts) {
  // A row at the event's step or above has refused the event, or has obeyed it already.
  if (!HasToken(Other(recipient), event) || row.step >= event.step) return std::nullopt;
  BandFence next = Owned(recipient, event.token_share, cohorts);
  next.step = event.step;
  return next;
}

std::optional<BandFence> Refuse(const BandFence& source, const BandFence& target,
                                uint32_t cohorts) {
  const Situation now = SituationOf(source, target, cohorts);
  if (now.kind != Found::kOnItsWay) return std::nullopt;
  // The recipient keeps its cohorts and takes the donor's step: TakeOver then finds the token void.
  const bool source_gave = now.donor == Side::kSource;
  BandFence row = source_gave ? target : source;
  row.step = (source_gave ? source : target).step;
  row.token_share = 0;
  row.token_nonce = 0;
  return row;
}

std::optional<BandFence> Restore(const BandFence& source, const BandFence& target,
                                 uint32_t cohorts) {
  const Situation now = SituationOf(source, target, cohorts);
  if (now.kind != Found::kRefused) return std::nullopt;
  // A new step, since the refused one is that of both rows now.
  BandFence row = Owned(now.donor, now.share, cohorts);
  row.step = source.step + 1;
  return row;
}

std::optional<BandFence> Level(const BandFence& source, const BandFence& target, uint32_t cohorts) {
  const Situation now = SituationOf(source, target, cohorts);
  if (now.kind != Found::kRestored) return std::nullopt;
  const bool source_leads = now.donor == Side::kSource;
  BandFence row = source_leads ? target : source;
  row.step = (source_leads ? source : target).step;
  row.token_share = 0;
  row.token_nonce = 0;
  return row;
}

}  // namespace locus::internal
