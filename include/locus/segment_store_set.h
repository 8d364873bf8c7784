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
#include "locus/str.h"

namespace locus {

// Several stores that allocate for one space, each for a range of its sections. A store that is
// down or slow stops its own sections only.
//
// Order IDs would repeat if two processes disagreed on which store allocates for a section. A set
// therefore is a *layout* with a number from 1, and each store records its part of the layout in
// two spaces:
//
//   SPACE-setN   The store allocates from it in layout N. A store that is used alone allocates
//                from SPACE itself.
//   SPACE-mapN   The store never allocates from it. Its options are a hash of the ranges and names
//                of layout N and of this store's place among them; an engine refuses to create it
//                with others. It is raised to 2^56 - 1 once all stores have theirs.
//
// A layout is used only when every store has both spaces and all earlier layouts have been ended in
// all its stores. The use of a store alone counts as an earlier layout. Ending a layout raises its
// spaces to 2^56 - 1, where nothing can be allocated: a process that still uses it gets
// OUT_OF_RANGE once its segments are used up, and repeats no ID. Space names of these two forms
// belong to sets.
//
// Two mistakes go unnoticed: leaving out a store that was in use, both as a member and in
// `retired`; and two layouts of the same number that give one name to two stores. See
// docs/run/store-sets.md.
//
// A value; copies share the stores.
class SegmentStoreSet {
 public:
  struct Member {
    // The last section of this member. Its first section follows the last one of the member before.
    uint16_t last_section = 0;
    std::shared_ptr<SegmentStore> store;
    // The name in stats, events and messages; part of the layout. 1 to 64 printable ASCII
    // characters.
    std::string name;
  };
  static constexpr uint32_t kLastLayout = 999;

  // INVALID_ARGUMENT: no members, `last_section`s that do not rise, a bad or repeated name, a store
  // given twice, a layout outside 1..kLastLayout.
  static absl::StatusOr<SegmentStoreSet> Create(std::vector<Member> members, uint32_t layout = 1);

  // Creates the layout if it does not exist. Every store must answer. Repeat it after a failure, or
  // to bring back a member that lost everything.
  //
  // kEndEarlier ends every earlier layout in these stores and in the `retired` ones, which are the
  // stores of earlier layouts that are not part of this one. Generators on an earlier layout
  // continue until their segments are used up. The new layout starts above all their allocations.
  // kNothingInUse: FAILED_PRECONDITION if a space of an earlier layout has allocated and was not
  // ended.
  //
  // INVALID_ARGUMENT: bad options, or the last member's last section is not the last of the space.
  // FAILED_PRECONDITION: a store is part of another layout of this number, or a later layout has
  // ended this one in some of its stores. Errors of SegmentStore.
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
  sink.Append(std::string(ToString(earlier)));
}

}  // namespace locus

#endif  // LOCUS_SEGMENT_STORE_SET_H_
