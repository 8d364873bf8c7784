// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_MACHINE_SEGMENT_SPACES_H_
#define LOCUS_SRC_CLUSTER_MACHINE_SEGMENT_SPACES_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/segment_store.h"
#include "locus/space.h"
#include "src/base/text/byte_codec.h"
#include "src/segment/plan.h"

// The spaces of a SegmentStore, as a function of the calls that were applied: a part of the machine
// that the nodes of a cluster agree on (src/cluster/machine). Each decision is that of src/segment,
// as in every engine. Time comes with each call, in whole milliseconds, and never falls.
//
// A space lives and ends with the state of its cluster, so that there is no other identity to
// compare with: a cluster that is begun anew has no space, and creating one is a loss. If a
// cluster's data were put back, SegmentRequest::seen shows it, or DeclareRestored declares it.

namespace locus::segment_machine {

// Limits. RESOURCE_EXHAUSTED names the one that was met.
inline constexpr size_t kMostSpaces = 64;
inline constexpr size_t kMostSections = 1 << 18;  // that ever allocated, in all spaces
// Of one allocation. INVALID_ARGUMENT.
inline constexpr size_t kMostRequests = 4096;

struct Create {
  SpaceOptions options;  // whole nanoseconds
  absl::Time caller_now;
  friend bool operator==(const Create&, const Create&) = default;
};
struct Allocation {
  SpaceOptions options;
  std::vector<SegmentRequest> requests;
  absl::Time caller_now;
};
struct DeclareRestored {
  absl::Time caller_now;
};
struct Raise {
  uint64_t to = 0;
  RaiseReach reach = RaiseReach::kNearFloor;
  absl::Time caller_now;
};
using Call = std::variant<Create, Allocation, DeclareRestored, Raise>;

// Durations of a SegmentReply are whole nanoseconds; those of 292 years or more are infinite.
using Reply = std::variant<std::monostate, SegmentReply, BaseRaise>;
bool Same(const Reply& one, const Reply& other);
size_t GrantsIn(const Reply& reply);

// INVALID_ARGUMENT, naming the value and the limit: what no state of a space would accept.
absl::Status Check(const Call& call);
// Two calls ask for the same whatever the caller's clock says.
void ForgetClock(Call& call);

void Put(internal::ByteWriter& writer, const Call& call);
Call GetCall(internal::ByteReader& reader);
void Put(internal::ByteWriter& writer, const Reply& reply);
Reply GetReply(internal::ByteReader& reader);

// Thread safety: none. Cost: O(log n) for each section; Show looks at all sections of the space.
class Spaces {
 public:
  // Errors change nothing, and are those of SegmentStore.
  absl::StatusOr<Reply> Apply(const SpaceName& name, const Call& call, absl::Time now,
                              bool& changed);
  absl::StatusOr<SpaceOptions> OptionsOf(const SpaceName& name) const;
  absl::StatusOr<SpaceView> Show(const SpaceName& name, absl::Time now) const;

  bool empty() const { return spaces_.empty(); }
  size_t sections() const { return sections_; }

  // In a snapshot, at most kMostSnapshotBytes.
  void Put(internal::ByteWriter& writer) const;
  void Get(internal::ByteReader& reader);
  static constexpr size_t kMostSnapshotBytes =
      4 + kMostSpaces * (4 + 64 + 6 * 8 + 4) + kMostSections * 3 * 8;

 private:
  struct Section {
    uint64_t head = 0;
    absl::Time granted_at;
  };
  struct KeptSpace : segment::Space {
    std::map<uint16_t, Section> sections;
  };

  absl::StatusOr<const KeptSpace*> Find(const SpaceName& name) const;
  absl::StatusOr<KeptSpace*> Find(const SpaceName& name);
  absl::StatusOr<Reply> Do(const SpaceName& name, const Create& create, absl::Time now,
                           bool& changed);
  absl::StatusOr<Reply> Do(const SpaceName& name, const Allocation& allocation, absl::Time now,
                           bool& changed);
  absl::StatusOr<Reply> Do(const SpaceName& name, const DeclareRestored& restored, absl::Time now,
                           bool& changed);
  absl::StatusOr<Reply> Do(const SpaceName& name, const Raise& raise, absl::Time now,
                           bool& changed);

  std::map<SpaceName, KeptSpace> spaces_;
  size_t sections_ = 0;  // follows from spaces_
};

}  // namespace locus::segment_machine

#endif  // LOCUS_SRC_CLUSTER_MACHINE_SEGMENT_SPACES_H_
