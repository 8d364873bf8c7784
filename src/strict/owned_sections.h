// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_STRICT_OWNED_SECTIONS_H_
#define LOCUS_SRC_STRICT_OWNED_SECTIONS_H_

#include <cstdint>
#include <map>
#include <set>
#include <span>
#include <vector>

#include "absl/time/time.h"
#include "locus/clock.h"
#include "locus/strict_store.h"
#include "src/strict/drawing.h"
#include "src/strict/ticking.h"

namespace locus::strict {

// The sections that a process owns, as the store granted them: opened, renewed, closed. Drawing
// takes numbers from them, meanwhile and on any thread. Times are by the owner's clock. Thread
// safety: none.
class OwnedSections {
 public:
  // They outlive it.
  OwnedSections(const StrictSetOptions& set, Clock& clock, Drawing& drawing);

  bool empty() const { return held_.empty(); }
  size_t size() const { return held_.size(); }
  bool Has(uint32_t section) const { return held_.contains(section); }
  std::vector<uint32_t> List() const;
  // The token of a section that this process owns or is giving up; 0: neither.
  uint64_t TokenOf(uint32_t section) const;
  // The highest max_seq that this process ever got; 0: none.
  uint64_t SeenOf(uint32_t section) const;
  // The first deadline; infinite: no section is open.
  absl::Duration FirstDeadline() const;

  // Opens a section that was granted by a call that was sent at this time.
  void Open(const StrictGrant& grant, absl::Duration sent);
  // Closes a section. Call it before any other process can learn that it is given up.
  void Leave(uint32_t section, uint64_t token);
  void Left(uint32_t section) { leaving_.erase(section); }

  // The sections for the next StrictStore::Extend; `renew`: all of them. It raises those that run
  // low and those whose memory is freed; the latter are also added to `let_go`.
  std::vector<StrictExtend> Renewals(const StrictOwner& owner, bool renew, absl::Duration now,
                                     std::set<uint32_t>& let_go);
  // When more sections should free memory; infinite: memory is not short.
  absl::Duration LetGoAt() const;
  // Uses the answer to such a call; `let_go`: as noted then. False: the section is lost. Sections
  // that were given up meanwhile stay unchanged.
  bool Renew(const StrictExtend::Section& asked, const StrictExtended& answer, absl::Duration sent,
             bool let_go);
  // Measures the processor's counter.
  void SetTicks();

  uint64_t raises() const { return raises_; }
  uint64_t let_go() const { return let_go_; }

 private:
  std::set<uint32_t> ToLetGo(absl::Duration now);
  int64_t DeadlineNs(absl::Duration sent) const;
  void Close(uint32_t section);

  const StrictSetOptions set_;
  Drawing& drawing_;
  Ticking ticking_;
  std::map<uint32_t, uint64_t> held_;     // tokens
  std::map<uint32_t, uint64_t> leaving_;  // closed, and not yet released
  std::map<uint32_t, uint64_t> seen_;
  uint64_t grants_ = 0;
  absl::Duration let_go_at_ = -absl::InfiniteDuration();
  uint64_t raises_ = 0;
  uint64_t let_go_ = 0;
};

}  // namespace locus::strict

#endif  // LOCUS_SRC_STRICT_OWNED_SECTIONS_H_
