// SPDX-License-Identifier: Apache-2.0
#include "src/engine/locusd/strict/routes.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace locus::locusd {

using internal::MutexLock;

namespace {

// Servers that name ever new addresses fill no memory.
constexpr size_t kMostAddresses = 4096;

}  // namespace

StrictRoutes::StrictRoutes(const StrictTableAnswer& table) : options_(table.options) {
  MutexLock lock(mutex_);
  Fill(table);
}

void StrictRoutes::Fill(const StrictTableAnswer& table) {
  if (addresses_.size() + table.addresses.size() > kMostAddresses) addresses_.clear();
  owner_of_.assign(options_.sections(), kNobody);
  // Earlier addresses stay: they can still be asked for a table when all nodes of this one are
  // gone.
  std::vector<uint32_t> indices;
  for (const std::string& address : table.addresses) indices.push_back(IndexOf(address));
  for (const StrictTableAnswer::Range& range : table.ranges) {
    std::fill(owner_of_.begin() + range.first, owner_of_.begin() + range.last + 1,
              indices[range.owner]);
  }
  table_ = table.version;
  version_ = std::max(version_, table.version);
}

std::map<std::string, std::vector<size_t>> StrictRoutes::Group(
    std::span<const uint64_t> uids, std::span<const uint64_t> numbers) const {
  std::map<std::string, std::vector<size_t>> groups;
  MutexLock lock(mutex_);
  uint32_t last_owner = 0;
  std::vector<size_t>* last = nullptr;
  for (size_t i = 0; i < uids.size(); ++i) {
    if (numbers[i] != 0) continue;
    const uint32_t owner = owner_of_[options_.SectionOf(uids[i])];
    if (last == nullptr || owner != last_owner) {
      last = &groups[owner == kNobody ? "" : addresses_[owner]];
      last_owner = owner;
    }
    last->push_back(i);
  }
  return groups;
}

absl::Status StrictRoutes::Learn(const StrictTableAnswer& table) {
  if (table.options != options_) {
    return absl::FailedPreconditionError(
        absl::StrCat("nodes of different sets answer: one with ", options_.uids, " uids from ",
                     options_.first_uid, " on, and one with ", table.options.uids, " from ",
                     table.options.first_uid, " on, or with another section_size, step or ttl"));
  }
  MutexLock lock(mutex_);
  if (table.version >= table_) Fill(table);
  return absl::OkStatus();
}

void StrictRoutes::Learn(const StrictElsewhere& elsewhere, const std::string& from) {
  MutexLock lock(mutex_);
  version_ = std::max(version_, elsewhere.version);
  for (const auto& [section, address] : elsewhere.sections) {
    owner_of_[section] = address.empty() || address == from ? kNobody : IndexOf(address);
  }
}

void StrictRoutes::NoteVersion(uint64_t version) {
  MutexLock lock(mutex_);
  version_ = std::max(version_, version);
}

void StrictRoutes::Forget(const std::string& address) {
  MutexLock lock(mutex_);
  const auto at = std::find(addresses_.begin(), addresses_.end(), address);
  if (at == addresses_.end()) return;
  std::replace(owner_of_.begin(), owner_of_.end(), static_cast<uint32_t>(at - addresses_.begin()),
               kNobody);
}

uint32_t StrictRoutes::IndexOf(const std::string& address) {
  const auto at = std::find(addresses_.begin(), addresses_.end(), address);
  if (at != addresses_.end()) return static_cast<uint32_t>(at - addresses_.begin());
  if (addresses_.size() >= 2 * kMostAddresses) {
    addresses_.clear();
    std::fill(owner_of_.begin(), owner_of_.end(), kNobody);
    table_ = 0;
  }
  addresses_.push_back(address);
  return static_cast<uint32_t>(addresses_.size() - 1);
}

std::set<std::string> StrictRoutes::Addresses() const {
  MutexLock lock(mutex_);
  return {addresses_.begin(), addresses_.end()};
}

uint64_t StrictRoutes::version() const {
  MutexLock lock(mutex_);
  return version_;
}

}  // namespace locus::locusd
