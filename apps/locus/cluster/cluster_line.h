// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_LOCUS_CLUSTER_CLUSTER_LINE_H_
#define LOCUS_APPS_LOCUS_CLUSTER_CLUSTER_LINE_H_

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "apps/locus/line/verb_line.h"
#include "apps/locus/place/open_store.h"
#include "locus/engine/locusd_cluster.h"
#include "nlohmann/json.hpp"

// What the verbs `locus cluster` have in common.
namespace locus::cli {

struct ClusterLine {
  StoreUri uri;
  bool json = false;

  // The operand URI, which returns, and --json.
  Option& DeclareOn(VerbLine& line);
  // With the password of the environment as the token.
  absl::StatusOr<std::unique_ptr<LocusdCluster>> Open() const;
};

// IDs are strings: JavaScript's numbers end at 2^53.
nlohmann::ordered_json MemberJson(const LocusdMember& member);

// "3 voters, 1 learner; 1 voter may fail". With voters that have failed already: "3 voters, 1 of
// them silent; no further voter may fail".
std::string Strength(const std::vector<LocusdMember>& members, size_t failed = 0);

}  // namespace locus::cli

#endif  // LOCUS_APPS_LOCUS_CLUSTER_CLUSTER_LINE_H_
