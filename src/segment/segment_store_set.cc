// SPDX-License-Identifier: Apache-2.0
#include "locus/segment_store_set.h"

#include <algorithm>
#include <set>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/segment/rules.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

namespace locus {

using internal::Quoted;

namespace {

using Stores = std::vector<std::shared_ptr<SegmentStore>>;

// No allocation starts from here on, because the rest is shorter than a segment.
constexpr uint64_t kEnded = segment_rules::kEndOfSequences - 1;

// SPACE-setN or SPACE-mapN. Layout 0 is SPACE itself: a store that is used alone.
absl::StatusOr<SpaceName> Named(const SpaceName& space, absl::string_view kind, uint32_t layout) {
  if (layout == 0) return space;
  return SpaceName::Parse(absl::StrCat(space.str(), "-", kind, layout));
}

// A sequence above everything that was, or can be, allocated from a space.
uint64_t ReachOf(const SpaceView& view) {
  uint64_t reach = view.base >= kEnded ? 0 : view.base + view.options.max_lead;
  for (const SpaceView::Section& section : view.sections) reach = std::max(reach, section.head);
  return std::min(reach, kEnded);
}

// The spaces of earlier layouts in some stores. Missing ones also count: they must not be created
// later.
class EarlierLayouts {
 public:
  // Finds the spaces, and creates those that are missing. FAILED_PRECONDITION: `may_be_used` is
  // false, and one of them allocated and was not ended.
  static absl::StatusOr<EarlierLayouts> Find(const Stores& stores, const SpaceName& space,
                                             uint32_t layout, const SpaceOptions& options,
                                             absl::Time now, bool may_be_used) {
    EarlierLayouts found;
    for (uint32_t before = 0; before < layout; ++before) {
      LOCUS_ASSIGN_OR_RETURN(SpaceName name, Named(space, "set", before));
      for (const auto& store : stores) {
        found.spaces_.push_back({store.get(), name});
        absl::Status status = store->ReadOptions(name).status();
        if (absl::IsNotFound(status)) {
          LOCUS_RETURN_IF_ERROR(store->Create(name, options, now));
          continue;
        }
        LOCUS_RETURN_IF_ERROR(status);
        LOCUS_ASSIGN_OR_RETURN(SpaceView view, store->Show(name, now));
        if (!may_be_used && view.base < kEnded && !view.sections.empty()) {
          return absl::FailedPreconditionError(absl::StrCat(
              "space ", name.str(), " is in use in a store that layout ", layout, " of space ",
              space.str(), " takes over: end it (SegmentStoreSet::Establish)"));
        }
        found.reach_ = std::max(found.reach_, ReachOf(view));
      }
    }
    return found;
  }

  // From here on nothing is allocated from them, and reach() is above all their allocations.
  absl::Status End(absl::Time now) {
    for (auto& [store, name] : spaces_)
      LOCUS_RETURN_IF_ERROR(store->Raise(name, kEnded, RaiseReach::kAnywhere, now).status());
    for (auto& [store, name] : spaces_) {
      LOCUS_ASSIGN_OR_RETURN(SpaceView view, store->Show(name, now));
      reach_ = std::max(reach_, ReachOf(view));
    }
    return absl::OkStatus();
  }

  uint64_t reach() const { return reach_; }

 private:
  struct Stored {
    SegmentStore* store;
    SpaceName name;
  };
  std::vector<Stored> spaces_;
  uint64_t reach_ = 0;
};

}  // namespace

std::string_view ToString(SegmentStoreSet::Earlier earlier) {
  switch (earlier) {
    case SegmentStoreSet::Earlier::kNothingInUse:
      return "nothing_in_use";
    case SegmentStoreSet::Earlier::kEndEarlier:
      return "end_earlier";
  }
  return "unknown";
}

absl::StatusOr<SegmentStoreSet> SegmentStoreSet::Create(std::vector<Member> members,
                                                        uint32_t layout) {
  if (members.empty()) return absl::InvalidArgumentError("a set needs a store");
  if (layout < 1 || layout > kLastLayout) {
    return absl::InvalidArgumentError(absl::StrCat("layout ", layout, " is not in 1..999"));
  }
  std::set<std::string> names;
  std::set<SegmentStore*> stores;
  int last = -1;
  for (const Member& member : members) {
    bool printable = std::all_of(member.name.begin(), member.name.end(),
                                 [](char c) { return c >= ' ' && c <= '~'; });
    if (member.name.empty() || member.name.size() > 64 || !printable) {
      return absl::InvalidArgumentError(absl::StrCat("store name ", Quoted(member.name),
                                                     " is not 1 to 64 printable ASCII characters"));
    }
    if (member.store == nullptr || !stores.insert(member.store.get()).second ||
        !names.insert(member.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("store ", Quoted(member.name), " is missing, or twice in the set"));
    }
    if (member.last_section <= last) {
      return absl::InvalidArgumentError(absl::StrCat("the last section of store ",
                                                     Quoted(member.name), ", ", member.last_section,
                                                     ", is not above the one before, ", last));
    }
    last = member.last_section;
  }
  return SegmentStoreSet(std::move(members), layout);
}

absl::StatusOr<SpaceName> SegmentStoreSet::StoredSpace(const SpaceName& space) const {
  return Named(space, "set", layout_);
}

// The options of the space SPACE-mapN: 64 bits of hash, in fields that every engine stores exactly
// and compares. Frozen, because stores hold it.
SpaceOptions SegmentStoreSet::MapOf(size_t i) const {
  std::string text = absl::StrCat("locus store set\n", layout_, "\n");
  for (const Member& member : members_) {
    absl::StrAppend(&text, member.last_section, " ", member.name, "\n");
  }
  absl::StrAppend(&text, "member ", i, "\n");
  uint64_t hash = XXH64(text.data(), text.size(), 0);
  SpaceOptions map;
  map.floor_epoch = absl::FromUnixSeconds(static_cast<int64_t>(hash & 0x3FFFFFFF));
  map.floor_rate = 1 + (hash >> 30 & 0xFFFFF);
  map.max_lead = 4096 * (1 + (hash >> 50));
  return map;
}

absl::Status SegmentStoreSet::CheckMap(size_t i, const SpaceName& map) const {
  LOCUS_ASSIGN_OR_RETURN(SpaceOptions stored, members_[i].store->ReadOptions(map));
  if (stored == MapOf(i)) return absl::OkStatus();
  return absl::FailedPreconditionError(absl::StrCat(
      "store ", Quoted(members_[i].name), " is part of another layout ", layout_, " (", map.str(),
      "): other ranges, names or order of stores; give this one a higher number"));
}

// Whether the member's map records that all stores have their maps. Errors of CheckMap.
absl::StatusOr<bool> SegmentStoreSet::AllHaveMaps(size_t i, const SpaceName& map,
                                                  absl::Time now) const {
  LOCUS_RETURN_IF_ERROR(CheckMap(i, map));
  LOCUS_ASSIGN_OR_RETURN(SpaceView view, members_[i].store->Show(map, now));
  return view.base >= kEnded;
}

// A later layout ends this one in its own stores, used or not. This one must not continue in the
// other stores: they would allocate the sequences that the later layout allocates.
absl::Status SegmentStoreSet::CheckNotOver(const SpaceName& stored, absl::Time now) const {
  const Member* over = nullptr;
  bool all_over = true;
  for (const Member& member : members_) {
    absl::StatusOr<SpaceView> view = member.store->Show(stored, now);
    if (!view.ok() && !absl::IsNotFound(view.status())) return view.status();
    bool ended = view.ok() && view->base >= kEnded;
    if (ended) over = &member;
    all_over &= ended;
  }
  if (over == nullptr || all_over) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("layout ", layout_, " is over: a later layout ended ", stored.str(),
                   " in store ", Quoted(over->name), "; use the later layout, or a higher number"));
}

absl::StatusOr<SpaceOptions> SegmentStoreSet::OpenMember(size_t i, const SpaceName& space) const {
  LOCUS_ASSIGN_OR_RETURN(SpaceName map, Named(space, "map", layout_));
  // The time only fills fields of the view that this function does not read.
  LOCUS_ASSIGN_OR_RETURN(bool complete, AllHaveMaps(i, map, absl::Now()));
  if (!complete) {
    return absl::NotFoundError(absl::StrCat("layout ", layout_, " of space ", space.str(),
                                            " was not established to the end: ", map.str(),
                                            " of store ", Quoted(members_[i].name),
                                            " does not record that all stores have theirs"));
  }
  LOCUS_ASSIGN_OR_RETURN(SpaceName stored, StoredSpace(space));
  return members_[i].store->ReadOptions(stored);
}

absl::Status SegmentStoreSet::Establish(
    const SpaceName& space, const SpaceOptions& options, absl::Time now, Earlier earlier,
    std::span<const std::shared_ptr<SegmentStore>> retired) const {
  LOCUS_RETURN_IF_ERROR(segment_rules::CheckOptions(options));
  if (members_.back().last_section != segment_rules::SectionsOf(options) - 1) {
    return absl::InvalidArgumentError(
        absl::StrCat("the last section of the set is ", members_.back().last_section,
                     ", that of the space is ", segment_rules::SectionsOf(options) - 1));
  }
  LOCUS_ASSIGN_OR_RETURN(SpaceName map, Named(space, "map", layout_));
  LOCUS_ASSIGN_OR_RETURN(SpaceName stored, StoredSpace(space));
  // An upper bound of the allocations of established members. All members were raised alike, so it
  // also holds for a member that was established and lost everything.
  std::vector<bool> established;
  uint64_t reach_of_layout = 0;
  for (size_t i = 0; i < members_.size(); ++i) {
    absl::StatusOr<bool> complete = AllHaveMaps(i, map, now);
    if (!complete.ok() && !absl::IsNotFound(complete.status())) return complete.status();
    absl::StatusOr<SpaceView> view = absl::NotFoundError("");
    if (complete.value_or(false)) view = members_[i].store->Show(stored, now);
    if (!view.ok() && !absl::IsNotFound(view.status())) return view.status();
    established.push_back(view.ok());
    if (view.ok()) reach_of_layout = std::max(reach_of_layout, ReachOf(*view));
  }
  LOCUS_RETURN_IF_ERROR(CheckNotOver(stored, now));

  Stores stores(retired.begin(), retired.end());
  for (const Member& member : members_) stores.push_back(member.store);
  LOCUS_ASSIGN_OR_RETURN(
      EarlierLayouts before,
      EarlierLayouts::Find(stores, space, layout_, options, now, earlier == Earlier::kEndEarlier));
  // Before anything ends: if another layout of this number exists, this one is refused here.
  for (size_t i = 0; i < members_.size(); ++i) {
    LOCUS_RETURN_IF_ERROR(members_[i].store->Create(map, MapOf(i), now));
  }
  // Raised before the earlier layouts end, because ending them overwrites their base, and again
  // afterwards, because they allocate until then. No process allocates from the new spaces before
  // the maps show that all stores have theirs.
  auto raise = [&]() -> absl::Status {
    for (size_t i = 0; i < members_.size(); ++i) {
      SegmentStore& store = *members_[i].store;
      uint64_t reach = established[i] ? before.reach() : std::max(before.reach(), reach_of_layout);
      LOCUS_RETURN_IF_ERROR(store.Create(stored, options, now));
      LOCUS_RETURN_IF_ERROR(store.Raise(stored, reach, RaiseReach::kAnywhere, now).status());
    }
    return absl::OkStatus();
  };
  LOCUS_RETURN_IF_ERROR(raise());
  LOCUS_RETURN_IF_ERROR(before.End(now));
  LOCUS_RETURN_IF_ERROR(raise());
  // A later layout may have ended this one meanwhile.
  LOCUS_RETURN_IF_ERROR(CheckNotOver(stored, now));
  // No other layout can have this number in any of the stores, so each may be used while others do
  // not answer.
  for (const Member& member : members_) {
    LOCUS_RETURN_IF_ERROR(member.store->Raise(map, kEnded, RaiseReach::kAnywhere, now).status());
  }
  return absl::OkStatus();
}

}  // namespace locus
