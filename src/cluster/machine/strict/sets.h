// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_MACHINE_STRICT_SETS_H_
#define LOCUS_SRC_CLUSTER_MACHINE_STRICT_SETS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/space.h"
#include "locus/strict_store.h"
#include "src/base/text/byte_codec.h"
#include "src/cluster/machine/strict/holders.h"
#include "src/strict/strict_rules.h"

// The sets of a StrictStore, as a function of the calls that were applied: a part of the machine
// that the nodes of a cluster agree on (src/cluster/machine). Each decision is that of src/strict,
// as in every engine. Time comes with each call, in whole milliseconds, and never falls.
//
// A set lives and ends with the state of its cluster, so that there is no other identity to compare
// with. If a cluster's data were put back, the values that owners send (StrictTake, StrictExtend,
// StrictRelease) show it, or DeclareRestored declares it. A cluster that is begun anew has no set.

namespace locus::strict_machine {

// Limits. RESOURCE_EXHAUSTED names the one that was met.
inline constexpr size_t kMostSets = 64;
inline constexpr size_t kMostSections = 1 << 17;  // that were ever owned, in all sets
// Holders of all sets at a time. A process that restarts is a second holder until its earlier
// sections are taken. If one too many comes, holders whose ownership has ended give up their
// sections.
inline constexpr size_t kMostHolders = 1 << 12;

struct Create {
  StrictSetOptions options;
  // Builds before codec version 5 left only the first ever in logs.
  StrictSetPast past;
};
struct DeclareRestored {};
struct Take {
  StrictSetOptions options;
  StrictTake request;
};
struct Extend {
  StrictSetOptions options;
  StrictExtend request;
};
struct Release {
  StrictSetOptions options;
  StrictRelease request;
};
using Call = std::variant<Create, DeclareRestored, Take, Extend, Release>;

using Reply = std::variant<std::monostate, StrictReply<StrictGrant>, StrictReply<StrictExtended>>;
bool Same(const Reply& one, const Reply& other);

// INVALID_ARGUMENT, naming the value and the limit.
absl::Status Check(const Call& call);
// The same, but with steps up to 2^32, which builds before kMostStrictStep left in logs and
// snapshots: a node that did not read them would not start. The sets are kept, and Check refuses
// all that is asked of them.
absl::Status CheckLogged(const Call& call);
absl::Status CheckLogged(const StrictSetOptions& options);
// How many sections it names.
size_t SectionsIn(const Call& call);

// The size of a reply in a snapshot: units of at most kUnitBytes, and a fixed part of at most
// kFixedBytes.
inline constexpr size_t kUnitBytes = 40;
inline constexpr size_t kFixedBytes = 24;
size_t UnitsOf(const Reply& reply);

// A Create of a set that is not the first ever: nodes know it since codec version 5.
bool IsCreateAnew(const Call& call);

// Bytes. Reading refuses what CheckLogged refuses.
void Put(internal::ByteWriter& writer, const Call& call);
Call GetCall(internal::ByteReader& reader);
void Put(internal::ByteWriter& writer, const Reply& reply);
Reply GetReply(internal::ByteReader& reader);

// The answer of Show: a copy of the internal form, because the node's thread waits while it is
// made.
struct View {
  struct Section {
    uint32_t section = 0;
    uint32_t holder = 0;  // 0: none; otherwise 1 + its place in `holders`
    uint64_t max_seq = 0;
    uint64_t token = 0;
    absl::Time ends_at;
  };
  strict::Set set;
  absl::Time now;
  std::vector<StrictOwner> holders;  // each has a section
  std::vector<Section> sections;     // ascending
};

// Thread safety: none. A copy is another one in the same state.
// Cost: O(log n) for each section of a call. Show looks at all sections of the set; a call that
// would exceed the most holders looks at all sections of all sets, for ownerships that have ended.
// Memory: about 100 bytes a section.
class Sets {
 public:
  // `changed` becomes whether anything was written. Errors change nothing, and are those of
  // StrictStore.
  absl::StatusOr<Reply> Apply(const SpaceName& name, const Call& call, absl::Time now,
                              bool& changed);
  absl::StatusOr<View> Show(const SpaceName& name, absl::Time now) const;
  // UnitsOf the reply to this call are at most so many.
  size_t MostUnitsOf(const Call& call) const;

  bool empty() const { return sets_.empty(); }
  size_t sections() const { return sections_; }
  size_t holders() const { return holders_.size(); }
  // The time is set ahead: the time left of ownerships and rests stays, so that no section is taken
  // from an owner that answers. Looks at all sections.
  void Leap(absl::Time from, absl::Time to);

  // In a snapshot, at most kMostSnapshotBytes.
  void Put(internal::ByteWriter& writer) const;
  void Get(internal::ByteReader& reader);
  static constexpr size_t kMostSnapshotBytes = 4 + kMostHolders * kMostHolderBytes + 4 +
                                               kMostSets * (4 + 64 + 9 * 8 + 4) +
                                               kMostSections * (4 + 4 * 8 + 4);

 private:
  struct Section {
    uint64_t max_seq = 0;
    uint64_t start = 0;
    uint64_t token = 0;
    absl::Time ends_at;
    Holders::Id holder = Holders::kNobody;
  };
  struct Set {
    strict::Set set;
    std::map<uint32_t, Section> sections;
  };

  strict::Record RecordOf(const Section& section) const;
  // Makes room for the batch's changes: if need be, gives up ownerships that have ended.
  // RESOURCE_EXHAUSTED: there is no room, and nothing was changed.
  absl::Status MakeRoom(Set& set, strict::Batch& batch, absl::Time now);
  void Store(Set& set, uint32_t number, const strict::Record& record);
  template <typename Items, typename Plan>
  absl::StatusOr<Reply> Run(const SpaceName& name, const StrictSetOptions& options,
                            const Items& items, absl::Time now, bool& changed, const Plan& plan);
  absl::StatusOr<Reply> Do(const SpaceName& name, const Create& create, absl::Time now,
                           bool& changed);
  absl::StatusOr<Reply> Do(const SpaceName& name, const DeclareRestored& restored, absl::Time now,
                           bool& changed);
  absl::StatusOr<Reply> Do(const SpaceName& name, const Take& take, absl::Time now, bool& changed);
  absl::StatusOr<Reply> Do(const SpaceName& name, const Extend& extend, absl::Time now,
                           bool& changed);
  absl::StatusOr<Reply> Do(const SpaceName& name, const Release& release, absl::Time now,
                           bool& changed);
  void GetSection(internal::ByteReader& reader, const std::vector<StrictOwner>& holders, Set& set);

  std::map<SpaceName, Set> sets_;

  // Follow from the above.
  Holders holders_;
  size_t sections_ = 0;
};

}  // namespace locus::strict_machine

#endif  // LOCUS_SRC_CLUSTER_MACHINE_STRICT_SETS_H_
