// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/strict/strict_draw.h"

#include <algorithm>
#include <map>
#include <utility>

#include "absl/time/time.h"

namespace locus::locusd {
namespace {

// How soon a wait notices that the process ends, or that a section went elsewhere.
constexpr std::chrono::milliseconds kSlice{100};

}  // namespace

absl::Status StrictDraw::Try(StrictSequencer& sequencer) {
  if (!partly_) {
    const absl::Status status = sequencer.TryNextBatch(uids_, numbers_);
    partly_ = !status.ok();
    return status;
  }
  std::vector<uint64_t> uids;
  std::vector<size_t> places;
  for (size_t i = 0; i < uids_.size(); ++i) {
    if (numbers_[i] != 0) continue;
    uids.push_back(uids_[i]);
    places.push_back(i);
  }
  std::vector<uint64_t> numbers(uids.size());
  const absl::Status status = sequencer.TryNextBatch(uids, numbers);
  for (size_t i = 0; i < places.size(); ++i) numbers_[places[i]] = numbers[i];
  if (status.ok()) Order();
  return status;
}

absl::Status StrictDraw::Wait(StrictSequencer& sequencer,
                              std::chrono::steady_clock::time_point deadline) {
  const auto slice = std::min(deadline, std::chrono::steady_clock::now() + kSlice);
  for (size_t i = 0; i < uids_.size(); ++i) {
    if (numbers_[i] != 0) continue;
    const absl::StatusOr<uint64_t> number = sequencer.Next(uids_[i], slice);
    if (!number.ok()) return number.status();
    numbers_[i] = *number;
    break;
  }
  return Try(sequencer);
}

bool StrictDraw::WaitsForTheStore(const StrictSequencer& sequencer) const {
  for (size_t i = 0; i < uids_.size(); ++i) {
    if (numbers_[i] == 0 && sequencer.OwnershipHasEnded(uids_[i])) return true;
  }
  return false;
}

// Numbers of one uid that were drawn at several times stand in the order of these.
void StrictDraw::Order() {
  std::map<uint64_t, std::vector<size_t>> places;
  for (size_t i = 0; i < uids_.size(); ++i) places[uids_[i]].push_back(i);
  for (const auto& [uid, of] : places) {
    std::vector<uint64_t> numbers;
    for (const size_t place : of) numbers.push_back(numbers_[place]);
    std::sort(numbers.begin(), numbers.end());
    for (size_t i = 0; i < of.size(); ++i) numbers_[of[i]] = numbers[i];
  }
}

std::vector<uint32_t> StrictDraw::Elsewhere(StrictSequencer& sequencer) const {
  std::map<uint32_t, uint64_t> missing;  // a uid of each section
  for (size_t i = 0; i < uids_.size(); ++i) {
    if (numbers_[i] == 0) missing[sequencer.options().SectionOf(uids_[i])] = uids_[i];
  }
  std::vector<uint32_t> sections;
  for (const auto& [section, uid] : missing) {
    if (absl::IsAborted(sequencer.TryNext(uid).status())) sections.push_back(section);
  }
  return sections;
}

}  // namespace locus::locusd
