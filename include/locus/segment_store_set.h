// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SEGMENT_STORE_SET_H_
#define LOCUS_SEGMENT_STORE_SET_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/segment_store.h"
#include "locus/space.h"

namespace locus {

// Several stores that lease for one space, each for a range of its sections: a store that is dead
// or slow stops its own sections, and no others.
//
// If two processes disagreed on which store leases for a section, order IDs would repeat. So a set
// is a *layout*, numbered from 1, and each store keeps which one it is part of:
//
//   SPACE-setN   what the stores lease from in layout N (SPACE itself where a store is used alone)
//   SPACE-mapN   which ranges and names layout N has, and which of them this store is: a space that
//                leases nothing, whose options are a hash of that; an engine refuses to create it
//                with others. It is raised to 2^56 - 1 once all stores have theirs
//
// A layout is not used before every store has both spaces, and before all earlier layouts, the use
// of a store alone included, were ended in all its stores: raised to 2^56 - 1, where nothing can be
// leased. A process that still uses an earlier layout, or one of the stores alone, gets
// OUT_OF_RANGE once its segments are used up; it repeats no ID. Space names of these two forms
// belong to sets.
//
// Two mistakes go unnoticed: a store that was in use and is neither a member nor `retired`; two
// stores that have the same name in two layouts of the same number. See docs/operations.md.
//
// A value; copies share the stores.
class SegmentStoreSet {
 public:
  struct Member {
    // The last section that it leases for. Its first follows the last of the member before it.
    uint16_t last_section = 0;
    std::shared_ptr<SegmentStore> store;
    // For stats, events and messages, and part of the layout: 1 to 64 printable ASCII characters.
    std::string name;
  };
  static constexpr uint32_t kLastLayout = 999;

  // INVALID_ARGUMENT: no members, `last_section`s that do not rise, a name that is bad or comes
  // twice, the same store twice, a layout that is not in 1..kLastLayout.
  static absl::StatusOr<SegmentStoreSet> Create(std::vector<Member> members, uint32_t layout = 1);

  // Creates the layout, or finds it. Needs every store. Safe to repeat after a failure in the
  // middle, and the way to bring back a member that lost everything.
  //
  // kEndEarlier ends every earlier layout in these stores, and in the `retired` ones: stores that
  // were part of an earlier layout and are not part of this one. Generators on an earlier layout go
  // on until their segments are used up. The new layout starts above all their leases.
  // kNothingInUse: FAILED_PRECONDITION if anything leased and was not ended.
  //
  // INVALID_ARGUMENT: bad options, or the last member's last section is not the space's last.
  // FAILED_PRECONDITION: a store is part of another layout of this number; a later layout ended
  // this one in some of its stores, so that the others must not begin again. Errors of
  // SegmentStore.
  enum class Earlier { kNothingInUse, kEndEarlier };
  absl::Status Establish(const SpaceName& space, const SpaceOptions& options, absl::Time caller_now,
                         Earlier earlier,
                         std::span<const std::shared_ptr<SegmentStore>> retired = {}) const;

  // The options that member `i` was established with. NOT_FOUND: it is not part of this layout, or
  // the layout was not established to the end. FAILED_PRECONDITION: it is part of another layout of
  // this number.
  // Errors of SegmentStore::ReadOptions.
  absl::StatusOr<SpaceOptions> OpenMember(size_t i, const SpaceName& space) const;

  // The name of the space in the members' stores. INVALID_ARGUMENT: it is longer than 64.
  absl::StatusOr<SpaceName> StoredSpace(const SpaceName& space) const;

  const std::vector<Member>& members() const { return members_; }
  uint32_t layout() const { return layout_; }

 private:
  SegmentStoreSet(std::vector<Member> members, uint32_t layout)
      : members_(std::move(members)), layout_(layout) {}

  SpaceOptions MapOf(size_t i) const;
  absl::Status CheckMap(size_t i, const SpaceName& map) const;
  absl::StatusOr<bool> AllHaveMaps(size_t i, const SpaceName& map, absl::Time now) const;
  absl::Status CheckNotOver(const SpaceName& stored, absl::Time now) const;

  std::vector<Member> members_;
  uint32_t layout_;
};

// "nothing_in_use", "end_earlier".
std::string_view ToString(SegmentStoreSet::Earlier earlier);
template <typename Sink>
void AbslStringify(Sink& sink, SegmentStoreSet::Earlier earlier) {
  sink.Append(ToString(earlier));
}

}  // namespace locus

#endif  // LOCUS_SEGMENT_STORE_SET_H_
