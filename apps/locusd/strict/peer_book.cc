// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/strict/peer_book.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace locus::locusd {

absl::Status SharedName(const StrictPeer& refused, const std::string& address) {
  return absl::InvalidArgumentError(absl::StrCat(
      "the node at ", refused.address, " is named ", refused.name, ", as is the one at ", address,
      "; each node of a set needs a strict.name of its own"));
}

absl::StatusOr<bool> PeerBook::Heard(const StrictNews& news, absl::Duration now) {
  if (news.self.name == name_) return false;
  if (!peers_.contains(news.self.name) && peers_.size() >= kMostPeers) {
    std::erase_if(peers_, [now](const auto& peer) { return !peer.second.AliveAt(now); });
    if (peers_.size() >= kMostPeers) return false;
  }
  const auto namesake = peers_.find(news.self.name);
  if (namesake != peers_.end() && namesake->second.AliveAt(now) &&
      namesake->second.peer.address != news.self.address) {
    return SharedName(news.self, namesake->second.peer.address);
  }
  const auto [at, is_new] = peers_.try_emplace(news.self.name);
  Entry& entry = at->second;
  const bool changed = is_new || !entry.AliveAt(now) || entry.peer != news.self;
  entry.peer = news.self;
  entry.heard = now;
  entry.table_version = news.table_version;
  if (!news.loads.empty()) entry.loads = news.loads;
  rumours_.erase(news.self.address);
  for (const StrictPeer& other : news.others) {
    if (other.name != name_) Rumour(other.address);
  }
  return changed;
}

void PeerBook::Rumour(const std::string& address) {
  if (!address.empty() && address != address_ && rumours_.size() < kMostPeers) {
    rumours_.insert(address);
  }
}

void PeerBook::Silent(const std::string& address) {
  rumours_.erase(address);
  for (auto& [name, entry] : peers_) {
    if (entry.peer.address == address) entry.heard = -absl::InfiniteDuration();
  }
}

std::vector<StrictPeer> PeerBook::Live(absl::Duration now) const {
  std::vector<StrictPeer> live;
  for (const auto& [name, entry] : peers_) {
    if (entry.AliveAt(now)) live.push_back(entry.peer);
  }
  return live;
}

std::set<std::string> PeerBook::AddressesToAsk(absl::Duration now) const {
  std::set<std::string> addresses = rumours_;
  for (const StrictPeer& peer : Live(now)) addresses.insert(peer.address);
  return addresses;
}

std::string PeerBook::AddressOf(const std::string& name) const {
  if (name == name_) return address_;
  const auto at = peers_.find(name);
  return at == peers_.end() ? "" : at->second.peer.address;
}

std::map<uint32_t, uint64_t> PeerBook::Loads(absl::Duration now) const {
  std::map<uint32_t, uint64_t> loads;
  for (const auto& [name, entry] : peers_) {
    if (entry.AliveAt(now)) loads.insert(entry.loads.begin(), entry.loads.end());
  }
  return loads;
}

uint64_t PeerBook::TableVersion(absl::Duration now) const {
  uint64_t version = 0;
  for (const auto& [name, entry] : peers_) {
    if (entry.AliveAt(now)) version = std::max(version, entry.table_version);
  }
  return version;
}

}  // namespace locus::locusd
