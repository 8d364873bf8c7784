// SPDX-License-Identifier: Apache-2.0
#include "routing/fence/band_probes.h"

#include <algorithm>
#include <thread>

#include "src/base/os/random_word.h"

namespace locus::internal {

BandProbes::Counts BandProbes::counts() const {
  MutexLock lock(mutex_);
  return counts_;
}

std::optional<uint32_t> BandProbes::Wait(uint64_t band, TimePoint deadline, const Probe& probe) {
  {
    MutexLock lock(mutex_);
    auto [at, first] = bands_.try_emplace(band);
    if (!first) {
      ++counts_.waits;
      std::optional<uint32_t> answer;
      if (!WaitForAnother(at->second, deadline, answer)) return answer;
    }
  }
  return ProbeForAll(band, deadline, probe);
}

bool BandProbes::WaitForAnother(Band& band, TimePoint deadline, std::optional<uint32_t>& answer) {
  Waiter self;
  band.waiting.push_back(&self);
  while (!self.elected && !self.answer && std::chrono::steady_clock::now() < deadline) {
    self.woken.WaitUntil(mutex_, deadline);
  }
  answer = self.answer;
  if (self.elected || self.answer) return self.elected;  // both took it out of the queue
  // The band exists while a caller waits in it.
  std::erase(band.waiting, &self);
  return false;
}

std::optional<uint32_t> BandProbes::ProbeForAll(uint64_t band, TimePoint deadline,
                                                const Probe& probe) {
  while (true) {
    absl::Duration pause;
    {
      MutexLock lock(mutex_);
      pause = bands_.at(band).pauses.Next(RandomWord().value_or(0));
    }
    const TimePoint next =
        std::min(deadline, std::chrono::steady_clock::now() + absl::ToChronoNanoseconds(pause));
    std::this_thread::sleep_until(next);
    const bool last = next >= deadline;
    std::optional<uint32_t> answer = probe();
    MutexLock lock(mutex_);
    ++counts_.probes;
    if (!answer && !last) continue;
    HandOver(band, answer);
    return answer;
  }
}

void BandProbes::HandOver(uint64_t band, std::optional<uint32_t> answer) {
  auto at = bands_.find(band);
  std::deque<Waiter*>& waiting = at->second.waiting;
  if (!answer && !waiting.empty()) {
    waiting.front()->elected = true;
    waiting.front()->woken.NotifyAll();
    waiting.pop_front();
    return;
  }
  for (Waiter* waiter : waiting) {
    waiter->answer = answer;
    waiter->woken.NotifyAll();
  }
  bands_.erase(at);
}

}  // namespace locus::internal
