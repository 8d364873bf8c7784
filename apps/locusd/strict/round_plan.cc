// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/strict/round_plan.h"

#include <algorithm>

#include "locus/strict_sequencer.h"
#include "src/base/os/check.h"

namespace locus::locusd {
namespace {

// More than the noise of loads, so that sections do not go to and fro.
constexpr double kTolerance = 0.1;

using Owners = std::vector<StrictSpreadInput::OwnerShare>;

Owners OwnersOf(const std::vector<StrictPeer>& peers) {
  Owners owners;
  for (const StrictPeer& peer : peers) {
    if (peer.weight > 0) owners.push_back({peer.name, static_cast<double>(peer.weight)});
  }
  return owners;
}

// A section without any traffic still counts, so that these are spread, too.
double LoadOf(const RoundInput& input, uint32_t section) {
  const auto load = input.loads.find(section);
  return 1 + (load == input.loads.end() ? 0 : static_cast<double>(load->second));
}

// Who has the sections, so far as that matters to this node.
struct Holding {
  std::set<uint32_t> free;
  std::map<uint32_t, std::string> held;  // by nodes that are alive
  absl::Duration next_end = absl::InfiniteDuration();
};

Holding HoldingOf(const RoundInput& input) {
  const StrictSetView& view = *input.view;
  std::set<std::string> alive = {input.self.name};
  for (const StrictPeer& peer : input.others) alive.insert(peer.name);
  Holding holding;
  for (uint32_t section = 0; section < view.options.sections(); ++section) {
    holding.free.insert(holding.free.end(), section);
  }
  for (const StrictSectionView& section : view.sections) {
    // Until then the store keeps it for him; he may have refused it.
    const bool waits_for_another = !section.owner && !section.successor.empty() &&
                                   section.successor != input.self.name &&
                                   alive.contains(section.successor) && section.ends_at >= view.now;
    const bool is_own = section.owner && section.owner->name == input.self.name &&
                        section.owner->instance == input.instance;
    const bool is_lost = is_own && input.owned && !input.owned->contains(section.section);
    const bool is_held = section.owner && section.ends_at > view.now && !is_lost;
    if (!is_held && !waits_for_another) continue;
    holding.free.erase(section.section);
    if (!is_held) continue;
    // What this node had before it was started anew is nobody's until its lease ends.
    const bool is_old = section.owner->name == input.self.name && !is_own;
    if (alive.contains(section.owner->name) && !is_old) {
      holding.held[section.section] = section.owner->name;
    } else {
      holding.next_end = std::min(holding.next_end, section.ends_at - view.now);
    }
  }
  return holding;
}

void PlanFixed(const RoundInput& input, const Holding& holding, RoundPlan& plan) {
  std::set<std::string> in_spread;
  for (const StrictPeer& peer : input.others) {
    if (peer.weight > 0) in_spread.insert(peer.name);
  }
  for (const uint32_t section : input.fixed) {
    if (holding.free.contains(section)) {
      plan.take.push_back(section);
      continue;
    }
    const auto held = holding.held.find(section);
    if (held != holding.held.end() && input.by_load && in_spread.contains(held->second)) {
      plan.ask[held->second].push_back(section);
    }
  }
}

}  // namespace

absl::Duration RestOf(const StrictSetView& view) {
  return view.losses == 0 ? absl::ZeroDuration()
                          : std::max(view.rest_until - view.now, absl::ZeroDuration());
}

RoundPlan PlanRound(const RoundInput& input) {
  Holding holding = HoldingOf(input);
  RoundPlan plan;
  plan.next_end = holding.next_end;
  const absl::Duration rest = RestOf(*input.view);
  if (rest > absl::ZeroDuration()) {
    plan.next_end = std::min(plan.next_end, rest);
    return plan;
  }
  plan.free = holding.free;
  if (!input.fixed.empty()) {
    if (input.self.weight > 0) PlanFixed(input, holding, plan);
    return plan;
  }
  StrictSpreadInput spread;
  spread.tolerance = kTolerance;
  spread.owners = OwnersOf(input.others);
  if (input.self.weight > 0) {
    spread.owners.push_back({input.self.name, static_cast<double>(input.self.weight)});
  }
  if (spread.owners.empty() || (holding.free.empty() && !input.by_load)) return plan;
  std::set<std::string> names;
  for (const auto& owner : spread.owners) names.insert(owner.name);
  for (const auto& [section, owner] : holding.held) {
    // Who takes none has his own reasons for those that he has.
    if (names.contains(owner)) spread.sections.push_back({section, LoadOf(input, section), owner});
  }
  for (const uint32_t section : holding.free) {
    spread.sections.push_back({section, LoadOf(input, section), ""});
  }
  // Names are unique, weights and loads are not negative.
  const absl::StatusOr<std::vector<StrictMove>> moves = StrictSpread(spread);
  LOCUS_CHECK(moves.ok());
  for (const StrictMove& move : *moves) {
    if (move.from == input.self.name && input.by_load) plan.give[move.to].push_back(move.section);
    const bool is_left = input.self.weight > 0 && input.free_before.contains(move.section);
    if (holding.free.contains(move.section) && (move.to == input.self.name || is_left)) {
      plan.take.push_back(move.section);
    }
  }
  return plan;
}

std::map<std::string, std::vector<uint32_t>> PlanFarewell(const RoundInput& input,
                                                          const std::vector<uint32_t>& sections) {
  std::map<std::string, std::vector<uint32_t>> give;
  StrictSpreadInput spread;
  spread.owners = OwnersOf(input.others);
  if (spread.owners.empty()) return give;
  const std::set<uint32_t> own(sections.begin(), sections.end());
  if (input.view != nullptr) {
    for (const auto& [section, owner] : HoldingOf(input).held) {
      if (owner != input.self.name && !own.contains(section)) {
        spread.sections.push_back({section, LoadOf(input, section), owner});
      }
    }
  }
  for (const uint32_t section : own)
    spread.sections.push_back({section, LoadOf(input, section), ""});
  const absl::StatusOr<std::vector<StrictMove>> moves = StrictSpread(spread);
  LOCUS_CHECK(moves.ok());
  for (const StrictMove& move : *moves) {
    if (own.contains(move.section)) give[move.to].push_back(move.section);
  }
  return give;
}

}  // namespace locus::locusd
