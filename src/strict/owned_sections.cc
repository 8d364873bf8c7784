// SPDX-License-Identifier: Apache-2.0
#include "src/strict/owned_sections.h"

#include <algorithm>
#include <utility>

#include "src/strict/section.h"
#include "src/strict/strict_rules.h"

namespace locus::strict {

OwnedSections::OwnedSections(const StrictSetOptions& set, Clock& clock, Drawing& drawing)
    : set_(set), drawing_(drawing), ticking_(clock) {}

std::vector<uint32_t> OwnedSections::List() const {
  std::vector<uint32_t> sections;
  for (const auto& [section, token] : held_) sections.push_back(section);
  return sections;
}

uint64_t OwnedSections::TokenOf(uint32_t section) const {
  const auto held = held_.find(section);
  if (held != held_.end()) return held->second;
  const auto leaving = leaving_.find(section);
  return leaving == leaving_.end() ? 0 : leaving->second;
}

uint64_t OwnedSections::SeenOf(uint32_t section) const {
  const auto seen = seen_.find(section);
  return seen == seen_.end() ? 0 : seen->second;
}

absl::Duration OwnedSections::FirstDeadline() const {
  absl::Duration first = absl::InfiniteDuration();
  for (const auto& [section, token] : held_) {
    first = std::min(first, absl::Nanoseconds(drawing_[section].section.deadline_ns()));
  }
  return first;
}

int64_t OwnedSections::DeadlineNs(absl::Duration sent) const {
  return absl::ToInt64Nanoseconds(sent + UsableFor<NoFlaw>(set_.ttl));
}

void OwnedSections::Open(const StrictGrant& grant, absl::Duration sent) {
  held_[grant.section] = grant.token;
  leaving_.erase(grant.section);
  seen_[grant.section] = std::max(SeenOf(grant.section), grant.max_seq);
  Section& section = drawing_[grant.section].section;
  // The number of the grant is new for each opening, so that a number drawn under an earlier one is
  // never answered under this one.
  section.Open(++grants_, grant.start, grant.max_seq, DeadlineNs(sent));
  section.SetTick(ticking_.TickOf(section.deadline_ns()));
}

// Frees the memory after the section was closed: no number of it is answered any more.
void OwnedSections::Close(uint32_t section) {
  drawing_[section].section.Close();
  drawing_.Drop(section);
  held_.erase(section);
}

void OwnedSections::Leave(uint32_t section, uint64_t token) {
  if (held_.contains(section)) Close(section);
  leaving_[section] = token;
}

std::vector<StrictExtend> OwnedSections::Renewals(const StrictOwner& owner, bool renew,
                                                  absl::Duration now, std::set<uint32_t>& let_go) {
  let_go = ToLetGo(now);
  std::vector<StrictExtend> requests;
  for (const auto& [section, token] : held_) {
    const Section& of = drawing_[section].section;
    const bool let_it_go = let_go.contains(section);
    const bool raise = (of.wanted() || let_it_go) && of.max_seq() < kMostNumber;
    if (!renew && !raise && !let_it_go) continue;
    if (requests.empty() || requests.back().sections.size() == kMostSectionsAtOnce) {
      requests.push_back({owner, {}});
    }
    const uint64_t raised = of.max_seq() + std::min(set_.step, kMostNumber - of.max_seq());
    requests.back().sections.push_back({section, token, of.max_seq(), raise ? raised : 0});
  }
  return requests;
}

absl::Duration OwnedSections::LetGoAt() const {
  return drawing_.budget().Exhausted() ? let_go_at_ : absl::InfiniteDuration();
}

// At least a quarter of all memory, of the sections that were opened first.
std::set<uint32_t> OwnedSections::ToLetGo(absl::Duration now) {
  std::set<uint32_t> chosen;
  if (now < LetGoAt()) return chosen;
  let_go_at_ = now + LetGoEvery(set_.step);
  std::vector<std::pair<uint64_t, uint32_t>> by_grant;
  for (const auto& [section, token] : held_) {
    by_grant.emplace_back(drawing_[section].section.grant(), section);
  }
  std::sort(by_grant.begin(), by_grant.end());
  uint64_t pages = 0;
  for (const auto& [grant, section] : by_grant) {
    if (pages * 4 >= drawing_.budget().most()) break;
    const uint64_t of_section = drawing_[section].cells.Count();
    if (of_section == 0) continue;
    pages += of_section;
    chosen.insert(section);
  }
  return chosen;
}

bool OwnedSections::Renew(const StrictExtend::Section& asked, const StrictExtended& answer,
                          absl::Duration sent, bool let_go) {
  const auto held = held_.find(asked.section);
  // Handed over, or taken again under another token, while the call was under way.
  if (held == held_.end() || held->second != asked.token) return true;
  if (!answer.held) {
    Close(asked.section);
    return false;
  }
  seen_[asked.section] = std::max(SeenOf(asked.section), answer.max_seq);
  Section& section = drawing_[asked.section].section;
  if (let_go) {
    section.Reopen(++grants_, answer.max_seq, DeadlineNs(sent),
                   [&] { drawing_.Drop(asked.section); });
    section.SetTick(ticking_.TickOf(section.deadline_ns()));
    drawing_.budget().Freed();
    ++let_go_;
  } else {
    section.Extend(answer.max_seq, DeadlineNs(sent));
  }
  if (asked.raise_to == 0) return true;
  ++raises_;
  section.Raised();
  return true;
}

void OwnedSections::SetTicks() {
  if (!ticking_.Measure()) return;
  for (const auto& [index, token] : held_) {
    Section& section = drawing_[index].section;
    section.SetTick(ticking_.TickOf(section.deadline_ns()));
  }
}

}  // namespace locus::strict
