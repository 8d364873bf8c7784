// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "locus/strict_sequencer.h"
#include "src/base/check.h"
#include "src/base/text.h"

namespace locus {
namespace {

struct Share {
  double part = 0;               // of all load
  double load = 0;               // it has
  std::vector<size_t> sections;  // indices of the input
  double room() const { return part - load; }
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

using Shares = std::map<std::string, Share>;

Shares::iterator MostRoom(Shares& shares) {
  return std::max_element(shares.begin(), shares.end(), [](const auto& one, const auto& other) {
    return one.second.room() < other.second.room();
  });
}

// The section of `from` whose move to `to` leaves the greater of the two excesses least; nullopt:
// none makes it less.
std::optional<size_t> BestMove(const StrictSpreadInput& input, const Share& from, const Share& to) {
  std::optional<size_t> best;
  double least = std::max(-from.room(), -to.room());
  for (size_t index : from.sections) {
    const double load = input.sections[index].load;
    if (load <= 0) continue;
    const double excess = std::max(-from.room() - load, -to.room() + load);
    if (excess < least - 1e-9 * from.part) {
      least = excess;
      best = index;
    }
  }
  return best;
}

}  // namespace

absl::StatusOr<std::vector<StrictMove>> StrictSpread(const StrictSpreadInput& input) {
  LOCUS_RETURN_IF_ERROR(CheckInput(input));
  double weights = 0;
  double load = 0;
  for (const auto& owner : input.owners) weights += owner.weight;
  for (const auto& section : input.sections) load += section.load;
  // A section without load is worth something all the same: they are spread, too.
  const double least = load > 0 ? load / 1e6 / static_cast<double>(input.sections.size()) : 1;
  StrictSpreadInput weighed = input;
  for (auto& section : weighed.sections) section.load += least;
  load += least * static_cast<double>(input.sections.size());
  Shares shares;
  for (const auto& owner : input.owners) shares[owner.name].part = load * owner.weight / weights;
  std::vector<size_t> free;
  std::vector<std::string> to(input.sections.size());
  for (size_t i = 0; i < weighed.sections.size(); ++i) {
    auto share = shares.find(weighed.sections[i].owner);
    if (share == shares.end()) {
      free.push_back(i);
      continue;
    }
    share->second.load += weighed.sections[i].load;
    share->second.sections.push_back(i);
    to[i] = share->first;
  }
  auto give = [&](size_t index, Shares::iterator share) {
    share->second.load += weighed.sections[index].load;
    share->second.sections.push_back(index);
    to[index] = share->first;
  };
  // The largest first.
  std::stable_sort(free.begin(), free.end(), [&](size_t one, size_t other) {
    return weighed.sections[one].load > weighed.sections[other].load;
  });
  for (size_t index : free) give(index, MostRoom(shares));
  for (size_t moves = 0; moves < weighed.sections.size(); ++moves) {
    auto from = std::max_element(shares.begin(), shares.end(), [](const auto& a, const auto& b) {
      return -a.second.room() / a.second.part < -b.second.room() / b.second.part;
    });
    if (-from->second.room() <= input.tolerance * from->second.part) break;
    auto target = MostRoom(shares);
    const std::optional<size_t> index = BestMove(weighed, from->second, target->second);
    if (!index.has_value()) break;
    std::erase(from->second.sections, *index);
    from->second.load -= weighed.sections[*index].load;
    give(*index, target);
  }
  std::vector<StrictMove> moves;
  for (size_t i = 0; i < input.sections.size(); ++i) {
    const auto& section = input.sections[i];
    if (section.owner == to[i]) continue;
    moves.push_back({section.section, shares.contains(section.owner) ? section.owner : "", to[i]});
  }
  std::sort(moves.begin(), moves.end(), [](const StrictMove& one, const StrictMove& other) {
    return one.section < other.section;
  });
  return moves;
}

}  // namespace locus
