// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/machine/strict/sets.h"

#include <algorithm>
#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/cluster/machine/strict/flaw.h"

namespace locus::strict_machine {
namespace {

// A holder in a reply, in units.
constexpr size_t kHolderUnits = (kMostHolderBytes + kUnitBytes - 1) / kUnitBytes;

StrictOwner HolderOf(const strict::Record& record) {
  if (!record.owner.name.empty()) return record.owner;
  return {record.successor, "", 0};
}

absl::Status LimitMet(size_t most, const char* what) {
  return absl::ResourceExhaustedError(
      absl::StrCat("the cluster has ", most, " ", what, ", which is the most"));
}

}  // namespace

bool Same(const Reply& one, const Reply& other) {
  internal::ByteWriter of_one, of_other;
  Put(of_one, one);
  Put(of_other, other);
  return of_one.Take() == of_other.Take();
}

size_t SectionsIn(const Call& call) {
  if (const auto* take = std::get_if<Take>(&call)) return take->request.wishes.size();
  if (const auto* extend = std::get_if<Extend>(&call)) return extend->request.sections.size();
  if (const auto* release = std::get_if<Release>(&call)) return release->request.sections.size();
  return 0;
}

size_t UnitsOf(const Reply& reply) {
  if (const auto* extended = std::get_if<StrictReply<StrictExtended>>(&reply)) {
    return extended->items.size();
  }
  const auto* granted = std::get_if<StrictReply<StrictGrant>>(&reply);
  if (granted == nullptr) return 0;
  std::set<StrictOwner, OwnerOrder> holders;
  for (const StrictGrant& grant : granted->items) {
    if (!grant.holder.name.empty()) holders.insert(grant.holder);
  }
  return granted->items.size() + kHolderUnits * holders.size();
}

size_t Sets::MostUnitsOf(const Call& call) const {
  const size_t sections = SectionsIn(call);
  if (!std::holds_alternative<Take>(call)) return sections;
  return sections + kHolderUnits * std::min(sections, holders() + 1);
}

absl::StatusOr<Reply> Sets::Apply(const SpaceName& name, const Call& call, absl::Time now,
                                  bool& changed) {
  changed = false;
  LOCUS_RETURN_IF_ERROR(CheckLogged(call));
  return std::visit([&](const auto& one) { return Do(name, one, now, changed); }, call);
}

strict::Record Sets::RecordOf(const Section& section) const {
  strict::Record record;
  record.max_seq = section.max_seq;
  record.start = section.start;
  record.token = section.token;
  record.ends_at = section.ends_at;
  if (section.holder == Holders::kNobody) return record;
  const StrictOwner& holder = holders_[section.holder];
  if (IsSuccessor(holder)) {
    record.successor = holder.name;
  } else {
    record.owner = holder;
  }
  return record;
}

absl::Status Sets::MakeRoom(Set& set, strict::Batch& batch, absl::Time now) {
  size_t added = 0;
  bool new_holder = false;  // a call brings one at most
  for (const uint32_t number : batch.changed) {
    added += !set.sections.contains(number);
    const StrictOwner holder = HolderOf(batch.records.at(number));
    new_holder = new_holder || (!holder.name.empty() && !holders_.Has(holder));
  }
  if (sections_ + added > kMostSections) {
    return LimitMet(kMostSections, "sections of strict sequences that were ever owned");
  }
  if (!new_holder || holders() < kMostHolders) return absl::OkStatus();
  Holders after = holders_;
  auto drop = [&after](const Section& section) {
    if (section.holder != Holders::kNobody) after.Drop(section.holder);
  };
  for (const uint32_t number : batch.changed) {
    const auto before = set.sections.find(number);
    if (before != set.sections.end()) drop(before->second);
    const StrictOwner holder = HolderOf(batch.records.at(number));
    if (!holder.name.empty()) after.Add(holder);
  }
  if (after.size() <= kMostHolders) return absl::OkStatus();
  struct Ended {
    Set& set;
    uint32_t number;
    strict::Record record;
  };
  std::vector<Ended> ended;
  for (auto& [name, other] : sets_) {
    for (const auto& [number, section] : other.sections) {
      if (&other == &set && batch.changed.contains(number)) continue;
      strict::Record record = RecordOf(section);
      if (!Rules::GiveUpEnded(other.set, record, now)) continue;
      drop(section);
      ended.push_back({other, number, std::move(record)});
    }
  }
  if (after.size() > kMostHolders) {
    return LimitMet(kMostHolders, "owners of sections of strict sequences");
  }
  for (const Ended& one : ended) {
    Store(one.set, one.number, one.record);
    ++(&one.set == &set ? batch.set : one.set.set).table_version;
  }
  return absl::OkStatus();
}

void Sets::Store(Set& set, uint32_t number, const strict::Record& record) {
  const auto [at, is_new] = set.sections.try_emplace(number);
  sections_ += is_new;
  Section& section = at->second;
  section.max_seq = record.max_seq;
  section.start = record.start;
  section.token = record.token;
  section.ends_at = record.ends_at;
  const Holders::Id before = section.holder;
  const StrictOwner holder = HolderOf(record);
  section.holder = holder.name.empty() ? Holders::kNobody : holders_.Add(holder);
  if (before != Holders::kNobody) holders_.Drop(before);
}

template <typename Items, typename Plan>
absl::StatusOr<Reply> Sets::Run(const SpaceName& name, const StrictSetOptions& options,
                                const Items& items, absl::Time now, bool& changed,
                                const Plan& plan) {
  const auto found = sets_.find(name);
  if (found == sets_.end()) return strict::NoSuchSet(name);
  Set& stored = found->second;
  LOCUS_RETURN_IF_ERROR(strict::CheckSame(name, stored.set.options, options));
  strict::Batch batch;
  batch.set = stored.set;
  for (const auto& item : items) {
    const auto at = stored.sections.find(item.section);
    if (at != stored.sections.end()) batch.records.emplace(item.section, RecordOf(at->second));
  }
  auto reply = plan(batch);
  LOCUS_RETURN_IF_ERROR(MakeRoom(stored, batch, now));
  changed = batch.set_changed || !batch.changed.empty();
  stored.set = batch.set;
  for (const uint32_t number : batch.changed) Store(stored, number, batch.records.at(number));
  return Reply(std::move(reply));
}

absl::StatusOr<Reply> Sets::Do(const SpaceName& name, const Create& create, absl::Time now,
                               bool& changed) {
  if (const auto found = sets_.find(name); found != sets_.end()) {
    LOCUS_RETURN_IF_ERROR(strict::CheckSame(name, found->second.set.options, create.options));
    return Reply();
  }
  if (sets_.size() >= kMostSets) return LimitMet(kMostSets, "sets of strict sequences");
  strict::Batch batch;
  Rules::Create(batch, create.options, create.past, now);
  sets_[name].set = batch.set;
  changed = true;
  return Reply();
}

absl::StatusOr<Reply> Sets::Do(const SpaceName& name, const DeclareRestored&, absl::Time now,
                               bool& changed) {
  const auto found = sets_.find(name);
  if (found == sets_.end()) return strict::NoSuchSet(name);
  strict::Batch batch;
  batch.set = found->second.set;
  Rules::NoteLoss(batch, now);
  found->second.set = batch.set;
  changed = true;
  return Reply();
}

absl::StatusOr<Reply> Sets::Do(const SpaceName& name, const Take& take, absl::Time now,
                               bool& changed) {
  return Run(name, take.options, take.request.wishes, now, changed,
             [&](strict::Batch& batch) { return Rules::Take(batch, take.request, now); });
}

absl::StatusOr<Reply> Sets::Do(const SpaceName& name, const Extend& extend, absl::Time now,
                               bool& changed) {
  return Run(name, extend.options, extend.request.sections, now, changed,
             [&](strict::Batch& batch) { return Rules::Extend(batch, extend.request, now); });
}

absl::StatusOr<Reply> Sets::Do(const SpaceName& name, const Release& release, absl::Time now,
                               bool& changed) {
  return Run(name, release.options, release.request.sections, now, changed,
             [&](strict::Batch& batch) { return Rules::Release(batch, release.request, now); });
}

void Sets::Leap(absl::Time from, absl::Time to) {
  // None lasts longer, whatever a snapshot says.
  constexpr absl::Duration kMost = absl::Hours(1);
  const auto leap = [&](absl::Time& ends_at) {
    if (ends_at >= from && ends_at <= from + kMost) ends_at += to - from;
  };
  for (auto& [name, set] : sets_) {
    leap(set.set.rest_until);
    for (auto& [number, section] : set.sections) leap(section.ends_at);
  }
}

absl::StatusOr<View> Sets::Show(const SpaceName& name, absl::Time now) const {
  const auto found = sets_.find(name);
  if (found == sets_.end()) return strict::NoSuchSet(name);
  const Set& set = found->second;
  View view;
  view.set = set.set;
  view.now = now;
  std::map<Holders::Id, uint32_t> places;
  view.sections.reserve(set.sections.size());
  for (const auto& [number, section] : set.sections) {
    uint32_t place = 0;
    if (section.holder != Holders::kNobody) {
      const auto [at, is_new] = places.try_emplace(section.holder, 0);
      if (is_new) {
        view.holders.push_back(holders_[section.holder]);
        at->second = static_cast<uint32_t>(view.holders.size());
      }
      place = at->second;
    }
    view.sections.push_back(
        {number, place, std::max(set.set.base, section.max_seq), section.token, section.ends_at});
  }
  return view;
}

}  // namespace locus::strict_machine
