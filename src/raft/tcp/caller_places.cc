// SPDX-License-Identifier: Apache-2.0
#include "src/raft/tcp/caller_places.h"

#include <algorithm>

namespace locus::raft {

void CallerPlaces::Enter(Caller caller, const std::string& address, const Leaves& leaves) {
  places_[caller] = {address, 0, false, false, ++events_};
  const auto unnamed = std::count_if(places_.begin(), places_.end(),
                                     [](const auto& one) { return one.second.id == 0; });
  if (static_cast<size_t>(unnamed) <= limits_.unnamed) return;
  const std::string busiest = BusiestAddress();
  Keep(
      0, [&](const Place& place) { return place.id == 0 && place.address == busiest; }, caller,
      leaves);
}

std::string CallerPlaces::BusiestAddress() const {
  std::map<std::string, size_t> unnamed;
  for (const auto& [caller, place] : places_) unnamed[place.address] += place.id == 0;
  return std::max_element(unnamed.begin(), unnamed.end(),
                          [](const auto& a, const auto& b) { return a.second < b.second; })
      ->first;
}

void CallerPlaces::Name(Caller caller, NodeId id, bool bulk, const Leaves& leaves) {
  const auto named = places_.find(caller);
  if (named == places_.end()) return;
  Place& place = named->second;
  place.id = id;
  place.bulk = bulk;
  place.since = ++events_;
  Keep(
      limits_.of_one, [&](const Place& one) { return one.id == id && one.bulk == bulk; }, caller,
      leaves);
  if (!IsStranger(place)) return;
  Keep(
      limits_.strangers, [&](const Place& one) { return IsStranger(one); }, caller, leaves);
}

void CallerPlaces::Hear(Caller caller) {
  const auto heard = places_.find(caller);
  if (heard == places_.end()) return;
  heard->second.heard = true;
  heard->second.since = ++events_;
}

// Lets one of these go if they are more than `most`.
void CallerPlaces::Keep(size_t most, const Of& of, Caller newest, const Leaves& leaves) {
  size_t count = 0;
  auto worst = places_.end();
  for (auto one = places_.begin(); one != places_.end(); ++one) {
    if (!of(one->second)) continue;
    ++count;
    if (one->first == newest) continue;
    const auto rank = [](const Place& place) { return std::pair(place.heard, place.since); };
    if (worst == places_.end() || rank(one->second) < rank(worst->second)) worst = one;
  }
  if (count <= most || worst == places_.end()) return;
  const Caller gone = worst->first;
  places_.erase(worst);
  leaves(gone);
}

}  // namespace locus::raft
