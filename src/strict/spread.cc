// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/strict_sequencer.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"

namespace locus {
namespace {

struct Share {
  double part = 0;                                    // of all load
  double load = 0;                                    // the load that it has
  std::set<std::pair<double, size_t>> sections = {};  // by load; then by index of the input
  double room() const { return part - load; }
  double excess() const { return -room(); }
};

absl::Status CheckInput(const StrictSpreadInput& input) {
  std::set<std::string> names;
  for (const auto& owner : input.owners) {
    if (!(owner.weight > 0) || !std::isfinite(owner.weight)) {
      return absl::InvalidArgumentError(absl::StrCat("owner ", internal::Quoted(owner.name),
                                                     " has the weight ", owner.weight,
                                                     "; it must be more than 0"));
    }
    if (owner.name.empty() || !names.insert(owner.name).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("owner ", internal::Quoted(owner.name), " has no name or one named twice"));
    }
  }
  if (names.empty()) return absl::InvalidArgumentError("there are no owners to spread over");
  std::set<uint32_t> sections;
  for (const auto& section : input.sections) {
    if (!(section.load >= 0) || !std::isfinite(section.load)) {
      return absl::InvalidArgumentError(absl::StrCat("section ", section.section, " has the load ",
                                                     section.load, "; it must not be negative"));
    }
    if (!sections.insert(section.section).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("section ", section.section, " is named twice"));
    }
  }
  if (input.tolerance >= 0 && input.tolerance <= 1) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("tolerance is ", input.tolerance, "; it must be 0 to 1"));
}

// The loads of the owners while sections are given to them. Giving or taking a section, and finding
// the owner with the most room or the largest excess, costs the logarithm of their number.
class Shares {
 public:
  // By the owners' order.
  explicit Shares(const std::vector<double>& parts) {
    for (const double part : parts) shares_.push_back({part});
    for (size_t owner = 0; owner < shares_.size(); ++owner) Enter(owner);
  }

  const Share& operator[](size_t owner) const { return shares_[owner]; }
  // Of equal ones, the first.
  size_t WithMostRoom() const { return by_room_.begin()->second; }
  size_t WithMostExcess() const { return by_excess_.begin()->second; }

  void Give(size_t owner, size_t section, double load) {
    Leave(owner);
    shares_[owner].load += load;
    shares_[owner].sections.emplace(load, section);
    Enter(owner);
  }
  void Take(size_t owner, size_t section, double load) {
    Leave(owner);
    shares_[owner].load -= load;
    shares_[owner].sections.erase({load, section});
    Enter(owner);
  }

 private:
  using Order = std::set<std::pair<double, size_t>>;  // the greatest first, as they are negated

  std::pair<double, size_t> RoomOf(size_t owner) const { return {-shares_[owner].room(), owner}; }
  // As a fraction of its part.
  std::pair<double, size_t> ExcessOf(size_t owner) const {
    return {-shares_[owner].excess() / shares_[owner].part, owner};
  }
  void Enter(size_t owner) {
    by_room_.insert(RoomOf(owner));
    by_excess_.insert(ExcessOf(owner));
  }
  void Leave(size_t owner) {
    by_room_.erase(RoomOf(owner));
    by_excess_.erase(ExcessOf(owner));
  }

  std::vector<Share> shares_;
  Order by_room_;
  Order by_excess_;
};

// The section of `from` whose move to `to` leaves the greater of the two excesses least, with its
// load; nullopt: no move makes it less. A smaller load leaves more with `from`, a larger one gives
// more to `to`, so it is one of the two sections whose loads are next to the balance point.
std::optional<std::pair<double, size_t>> BestMove(const Share& from, const Share& to) {
  const double before = std::max(from.excess(), to.excess());
  const double even = (from.excess() - to.excess()) / 2;
  const auto excess_after = [&](double load) {
    return std::max(from.excess() - load, to.excess() + load);
  };
  std::optional<std::pair<double, size_t>> best;
  const auto above = from.sections.upper_bound({even, SIZE_MAX});
  if (above != from.sections.begin()) {
    // Of equal loads, the first section.
    best = *from.sections.lower_bound({std::prev(above)->first, 0});
  }
  if (above != from.sections.end() &&
      (!best || excess_after(above->first) < excess_after(best->first))) {
    best = *above;
  }
  if (!best || excess_after(best->first) >= before - 1e-9 * from.part) return std::nullopt;
  return best;
}

}  // namespace

absl::StatusOr<std::vector<StrictMove>> StrictSpread(const StrictSpreadInput& input) {
  LOCUS_RETURN_IF_ERROR(CheckInput(input));
  constexpr size_t kNobody = SIZE_MAX;
  std::map<std::string, double> weights;
  for (const auto& owner : input.owners) weights[owner.name] = owner.weight;
  double weight = 0;
  for (const auto& owner : input.owners) weight += owner.weight;
  double load = 0;
  for (const auto& section : input.sections) load += section.load;
  // A section without load counts as a small load, so that such sections are also spread.
  const double least = load > 0 ? load / 1e6 / static_cast<double>(input.sections.size()) : 1;
  load += least * static_cast<double>(input.sections.size());

  std::vector<std::string> names;
  std::vector<double> parts;
  std::map<std::string, size_t> owners;
  for (const auto& [name, of] : weights) {
    owners[name] = names.size();
    names.push_back(name);
    parts.push_back(load * of / weight);
  }
  Shares shares(parts);
  std::vector<double> loads;
  std::vector<size_t> before;
  std::vector<size_t> free;
  for (size_t i = 0; i < input.sections.size(); ++i) {
    loads.push_back(input.sections[i].load + least);
    const auto owner = owners.find(input.sections[i].owner);
    before.push_back(owner == owners.end() ? kNobody : owner->second);
    if (before[i] == kNobody) {
      free.push_back(i);
    } else {
      shares.Give(before[i], i, loads[i]);
    }
  }
  std::vector<size_t> after = before;
  const auto give = [&](size_t section, size_t owner) {
    shares.Give(owner, section, loads[section]);
    after[section] = owner;
  };
  // The largest first.
  std::stable_sort(free.begin(), free.end(),
                   [&](size_t one, size_t other) { return loads[one] > loads[other]; });
  for (const size_t section : free) give(section, shares.WithMostRoom());
  for (size_t moves = 0; moves < loads.size(); ++moves) {
    const size_t from = shares.WithMostExcess();
    if (shares[from].excess() <= input.tolerance * shares[from].part) break;
    const size_t to = shares.WithMostRoom();
    const auto best = BestMove(shares[from], shares[to]);
    if (!best) break;
    shares.Take(from, best->second, best->first);
    give(best->second, to);
  }
  std::vector<StrictMove> moves;
  for (size_t i = 0; i < loads.size(); ++i) {
    if (after[i] == before[i]) continue;
    moves.push_back(
        {input.sections[i].section, before[i] == kNobody ? "" : names[before[i]], names[after[i]]});
  }
  std::sort(moves.begin(), moves.end(), [](const StrictMove& one, const StrictMove& other) {
    return one.section < other.section;
  });
  return moves;
}

}  // namespace locus
