// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ETCD_ALLOCATION_PLAN_H_
#define LOCUS_SRC_ENGINE_ETCD_ALLOCATION_PLAN_H_

#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "locus/segment_store.h"
#include "src/engine/etcd/reply.h"
#include "src/engine/etcd/space_record.h"

// Plans the writes of an allocation, and judges whether an answer comes from the recorded cluster.
// Pure functions.

namespace locus::etcd {

// A space as this process last read or wrote it. Others may have written since.
struct SpaceImage {
  std::string record_text;  // exactly as stored in etcd
  SpaceRecord record;
  std::map<uint32_t, SectionGroup> groups;
};

struct AllocationPlan {
  SegmentReply reply;
  std::optional<SpaceRecord> new_record;            // base is raised
  std::map<uint32_t, SectionGroup> changed_groups;  // as they are to be

  bool writes() const { return new_record.has_value() || !changed_groups.empty(); }
};

// `image` has all groups of `requests`. `lost`: the cluster's identity, if a loss was noticed that
// the record does not know of.
AllocationPlan PlanAllocation(const SpaceImage& image, std::span<const SegmentRequest> requests,
                              absl::Time now, const std::optional<ClusterIdentity>& lost);

std::set<uint32_t> GroupsOf(const SpaceOptions& options, std::span<const SegmentRequest> requests);

// A process's memory of a space between answers.
struct Memory {
  std::string life;      // of the record; empty: nothing is remembered yet
  int64_t revision = 0;  // the highest of all answers
  absl::Time at;         // when that was, by the cluster's clock
  bool lost = false;     // a loss was noticed that no record knows of yet
  std::set<uint64_t> trusted_links;
};

enum class Soundness {
  kSound,
  kLost,     // the cluster is not the recorded one, or went back
  kUnclear,  // the greeting is older than the record: the member has to be asked again
};

// A member answered with `header` and found `record`; `greeting` is its own status, of any time
// since the link was made. kSound: the link is trusted from then on, and the memory is brought up
// to date with `now`. kLost: sets memory.lost.
Soundness Judge(const Life& record, const Header& header, uint64_t link,
                const MemberStatus& greeting, absl::Time now, Memory& memory);

// After kUnclear: `status` is the member's, asked for after `header` was received. kUnclear again:
// another member answered.
Soundness JudgeAgain(const Life& record, const Header& header, uint64_t link,
                     const MemberStatus& status, absl::Time now, Memory& memory);

// Bounds the identity from below: `earlier` was received before `later`.
ClusterIdentity IdentityOf(const MemberStatus& earlier, const Header& later);

}  // namespace locus::etcd

#endif  // LOCUS_SRC_ENGINE_ETCD_ALLOCATION_PLAN_H_
