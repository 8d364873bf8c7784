// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_STRICT_SIMULATED_STORE_H_
#define LOCUS_TESTS_STRICT_SIMULATED_STORE_H_

#include <cstdint>
#include <map>
#include <random>

#include "absl/time/time.h"
#include "src/base/os/check.h"
#include "src/strict/flaw.h"
#include "src/strict/section.h"
#include "src/strict/strict_rules.h"

namespace locus::strict {

// The flaw of the run under way. All of a simulation runs on one thread.
inline Flaw simulated_flaw = Flaw::kNone;
struct Faults {
  static bool Has(Flaw one) { return simulated_flaw == one; }
};
using SimRules = RulesOf<Faults>;
using SimSection = SectionOf<Faults>;

// True time, in microseconds.
using Micros = int64_t;
inline constexpr Micros kMs = 1000;
inline constexpr Micros kSecond = 1000 * kMs;

// The store of a simulation: one set, a clock that runs wrong and is set, and a backup. `random`
// and `now`, the true time, are the simulation's.
class SimulatedStore {
  // By one of the rules, in one transaction.
  template <typename Rule>
  auto Run(uint32_t section, Rule rule) {
    Batch batch;
    batch.set = set_;
    const auto found = records_.find(section);
    if (found != records_.end()) batch.records.insert(*found);
    auto reply = rule(batch);
    set_ = batch.set;
    for (const uint32_t changed : batch.changed) records_[changed] = batch.records.at(changed);
    return reply.items[0];
  }

 public:
  SimulatedStore(std::mt19937_64& random, const Micros& now) : random_(random), now_(now) {}

  // Before anything else. `rate`: of its clock. `vague`: the engine knows the clock only by answers
  // in whole seconds.
  void Begin(const StrictSetOptions& options, double rate, bool vague) {
    set_.options = options;
    rate_ = rate;
    vague_ = vague;
    Keep();
  }
  const StrictSetOptions& options() const { return set_.options; }

  StrictGrant Take(const StrictTake& request) {
    return Run(request.wishes[0].section,
               [&](Batch& batch) { return SimRules::Take(batch, request, Now()); });
  }
  StrictExtended Extend(const StrictExtend& request) {
    return Run(request.sections[0].section,
               [&](Batch& batch) { return SimRules::Extend(batch, request, Now()); });
  }
  StrictExtended Release(const StrictRelease& request) {
    return Run(request.sections[0].section,
               [&](Batch& batch) { return SimRules::Release(batch, request, Now()); });
  }
  // Forgets an owner whose ownership has ended, as a store may at any time.
  bool GiveUpEnded(uint32_t section) {
    const auto found = records_.find(section);
    if (found == records_.end() || !SimRules::GiveUpEnded(set_, found->second, Now())) return false;
    ++set_.table_version;
    return true;
  }

  // Whether the section has no owner, or its owner gave it up.
  bool IsLeft(uint32_t section) const {
    const auto found = records_.find(section);
    return found == records_.end() || found->second.owner.name.empty();
  }
  // In true time, until the ownership of the section ends.
  Micros OwnershipLeft(uint32_t section) {
    const auto left = absl::ToInt64Microseconds(records_[section].ends_at - TrueNow());
    return static_cast<Micros>(static_cast<double>(left) / rate_);
  }

  void SetForward(Micros by) { ahead_ += by; }
  void Keep() {
    kept_set_ = set_;
    kept_records_ = records_;
  }
  // Back to what was kept. `silent`: its identity does not show it.
  void Rewind(bool silent) {
    set_ = kept_set_;
    records_ = kept_records_;
    if (silent) return;
    Batch batch;
    batch.set = set_;
    SimRules::NoteLoss(batch, Now());
    set_ = batch.set;
  }

 private:
  absl::Time TrueNow() const {
    return absl::FromUnixSeconds(1'800'000'000) +
           absl::Microseconds(static_cast<Micros>(static_cast<double>(now_) * rate_)) +
           absl::Microseconds(ahead_);
  }
  StoreTime Now() {
    const absl::Time now = TrueNow();
    if (!vague_) return now;
    const Micros width = 2 * kSecond;
    const auto before = static_cast<Micros>(random_() % width);
    return StoreTime(now - absl::Microseconds(before), now + absl::Microseconds(width - before));
  }

  std::mt19937_64& random_;
  const Micros& now_;
  Set set_;
  std::map<uint32_t, Record> records_;
  Set kept_set_;  // a backup
  std::map<uint32_t, Record> kept_records_;
  double rate_ = 1;
  Micros ahead_ = 0;
  bool vague_ = false;
};

}  // namespace locus::strict

#endif  // LOCUS_TESTS_STRICT_SIMULATED_STORE_H_
