// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUSD_STRICT_ROUND_PLAN_H_
#define LOCUS_APPS_LOCUSD_STRICT_ROUND_PLAN_H_

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/time/time.h"
#include "apps/locusd/strict/strict_news.h"
#include "locus/strict_store.h"

namespace locus::locusd {

struct RoundInput {
  StrictPeer self;
  uint64_t instance = 0;           // StrictOwner::instance of this process
  std::vector<StrictPeer> others;  // that are alive
  const StrictSetView* view = nullptr;
  // What this process answers for; nullopt: not known, as a hand-over is or was under way since the
  // view was read.
  std::optional<std::set<uint32_t>> owned = {};
  std::map<uint32_t, uint64_t> loads;  // numbers a second, of the sections of all that are alive
  // Sections that had no owner at the look before either: the node that should have taken them
  // did not.
  std::set<uint32_t> free_before;
  // StrictSettings::sections.
  std::vector<uint32_t> fixed;
  // Whether sections that have an owner may be moved.
  bool by_load = true;
};

struct RoundPlan {
  std::vector<uint32_t> take;
  std::map<std::string, std::vector<uint32_t>> give;  // by the name of whom they are for
  std::map<std::string, std::vector<uint32_t>> ask;   // for, by the name of who has them
  std::set<uint32_t> free;                            // nobody has them, and they may be taken
  // Until the lease of an owner ends who is not alive, or the store grants again; infinite: none.
  absl::Duration next_end = absl::InfiniteDuration();
};

// How long the store grants nothing, after a loss; 0: it grants.
absl::Duration RestOf(const StrictSetView& view);

// What a node does next about the sections of its set: it takes what nobody has and is its part by
// StrictSpread, and gives away what is above its part. All nodes plan so; where their views differ,
// two may want a section, and the store gives it to one of them, or none may, and then it is free
// at the next look, and anybody takes it. A node that has sections of its own choice (`fixed`)
// takes these and gives none; where a node of the spread has some of them, it asks for these when
// sections may be moved. It does not ask a node that takes none, which may have fixed them, too: so
// two nodes that name one section do not draw it to and fro. What the store says is this process's,
// and it does not answer for, as the answer to a hand-over was lost, is free to it. While the set
// rests after a loss, nothing is taken or given.
RoundPlan PlanRound(const RoundInput& input);

// Which of the others should have these sections, all of this node's; nobody is left out of
// `others` by a weight of 0 but who has one. Empty: there is nobody.
std::map<std::string, std::vector<uint32_t>> PlanFarewell(const RoundInput& input,
                                                          const std::vector<uint32_t>& sections);

}  // namespace locus::locusd

#endif  // LOCUS_APPS_LOCUSD_STRICT_ROUND_PLAN_H_
