// SPDX-License-Identifier: Apache-2.0
#include "src/engine/locusd/strict/standing.h"

#include <algorithm>
#include <cstdint>

#include "src/base/os/random_word.h"

namespace locus::locusd {

using internal::MutexLock;

namespace {

// Servers that name ever new addresses fill no memory.
constexpr size_t kMostKept = 8192;

uint64_t RandomWord() {
  // Without OpenSSL's randomness the time still separates clients.
  return internal::RandomWord().value_or(
      static_cast<uint64_t>(std::chrono::steady_clock::now().time_since_epoch().count()) *
      uint64_t{0x9E3779B97F4A7C15});
}

}  // namespace

void Standing::NoteSilent(const std::string& address) {
  MutexLock lock(mutex_);
  if (silent_.size() >= kMostKept) silent_.clear();
  silent_[address] = ++turns_;
}

void Standing::NoteAnswered(const std::string& address) {
  MutexLock lock(mutex_);
  silent_.erase(address);
}

void Standing::NoteRefuses(const std::string& address) {
  MutexLock lock(mutex_);
  if (refusing_.empty()) look_at_ = std::max(look_at_, NextLook());
  if (refusing_.size() >= kMostKept) refusing_.clear();
  refusing_.insert(address);
  silent_.erase(address);
}

void Standing::NoteServes(const std::string& address) {
  MutexLock lock(mutex_);
  refusing_.erase(address);
  silent_.erase(address);
}

bool Standing::LooksNow() {
  MutexLock lock(mutex_);
  if (std::chrono::steady_clock::now() < look_at_) return false;
  look_at_ = NextLook();
  return true;
}

Standing::TimePoint Standing::NextLook() {
  return std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(looks_.Next(RandomWord()));
}

std::string Standing::PickFrom(const std::set<std::string>& addresses) const {
  const std::vector<std::string> any(addresses.begin(), addresses.end());
  std::vector<std::string> good;
  {
    MutexLock lock(mutex_);
    for (const std::string& address : any) {
      if (!silent_.contains(address) && !refusing_.contains(address)) good.push_back(address);
    }
  }
  const std::vector<std::string>& of = good.empty() || RandomWord() % 4 == 0 ? any : good;
  return of.empty() ? "" : of[RandomWord() % of.size()];
}

void Standing::SilentLast(std::vector<std::string>& addresses) const {
  MutexLock lock(mutex_);
  const auto turn = [this](const std::string& address) ABSL_NO_THREAD_SAFETY_ANALYSIS {
    const auto silent = silent_.find(address);
    return silent == silent_.end() ? 0 : silent->second;
  };
  std::stable_sort(
      addresses.begin(), addresses.end(),
      [&](const std::string& one, const std::string& other) { return turn(one) < turn(other); });
}

}  // namespace locus::locusd
