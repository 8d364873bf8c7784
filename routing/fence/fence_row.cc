// SPDX-License-Identifier: Apache-2.0
#include "routing/fence/fence_row.h"

#include "absl/strings/str_cat.h"
#include "src/base/text/text.h"

namespace locus::internal {

std::string SelectFence(ShardGene gene, bool locking) {
  return absl::StrCat(
      "SELECT v.vnode, v.vnode, COALESCE(f.own_lo, 0), COALESCE(f.own_hi, 0), COALESCE(f.step, 0),"
      " COALESCE(f.server_id, @@server_id), f.other, @@server_id FROM locus_vnode v LEFT JOIN"
      " locus_fence f ON f.lo = v.fence WHERE v.vnode = ",
      gene.value(), locking ? " LOCK IN SHARE MODE" : "");
}

std::string SelectFenceByRange(ShardGene gene, bool locking) {
  return absl::StrCat(
      "SELECT lo, hi, own_lo, own_hi, step, server_id, other, @@server_id FROM locus_fence"
      " WHERE lo <= ",
      gene.value(), " ORDER BY lo DESC LIMIT 1", locking ? " LOCK IN SHARE MODE" : "");
}

FenceVerdict JudgeFence(const std::optional<FenceRow>& row, uint32_t server_id, ShardGene gene,
                        uint32_t cohort) {
  using Kind = FenceVerdict::Kind;
  if (!row || row->hi < gene.value())
    return {Kind::kRefused, absl::StrCat(ToAbsl(kFencedWord), "0 ")};
  if (row->server_id != server_id) {
    return {Kind::kUnbound, absl::StrCat(ToAbsl(kUnboundWord), row->server_id, " ", server_id)};
  }
  if (cohort >= row->own_lo && cohort < row->own_hi) return {Kind::kAccepted, ""};
  return {Kind::kRefused, absl::StrCat(ToAbsl(kFencedWord), row->step, " ", row->other)};
}

}  // namespace locus::internal
