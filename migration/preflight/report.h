// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_MIGRATION_PREFLIGHT_REPORT_H_
#define LOCUS_MIGRATION_PREFLIGHT_REPORT_H_

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "migration/preflight/facts.h"
#include "migration/preflight/judge.h"

namespace locus::preflight {

// Findings while they are collected.
class Report {
 public:
  // `needed` and `remedy` are of a failed one.
  void Add(const std::string& check, bool ok, const std::string& place, const std::string& found,
           const std::string& needed = "", const std::string& remedy = "");
  // One that does not fail.
  void Warn(const std::string& check, const std::string& place, const std::string& found);
  // The value of a fact; nullptr: it could not be read, and `check` has failed.
  template <typename T>
  const T* Read(const std::string& check, const std::string& place, const Fact<T>& fact,
                const std::string& remedy) {
    if (fact.ok()) return &*fact;
    Add(check, false, place, std::string(fact.status().message()), "to be readable", remedy);
    return nullptr;
  }
  // Whether one of these checks has failed.
  bool Failed(std::initializer_list<std::string_view> checks) const;
  std::vector<Finding> Take() { return std::move(findings_); }

 private:
  std::vector<Finding> findings_;
};

// The parts of Judge, each for servers that let the mover in.
void JudgeServer(const Server& server, Report& report);
void JudgeCandidates(const Facts& facts, const Shard& shard, Report& report);
void JudgeAccounts(const Facts& facts, const Shard& shard, Report& report);
void JudgeTables(const Facts& facts, const Shard& shard, Report& report);
void JudgeTriggers(const Facts& facts, const Shard& shard, Report& report);
void JudgeTriggersOfBoth(const Facts& facts, Report& report);
void JudgeFences(const Facts& facts, Report& report);
void JudgeBoth(const Facts& facts, Report& report);
// Differences between the two shards' tables, and errors that copy, streams and comparison would
// meet.
void JudgeDifferences(const Facts& facts, Report& report);

// The value of a variable; empty: the server has none of that name.
std::string ValueOf(const Server& server, const std::string& variable);
// Text for a GRANT to the mover: "`m`@`h`".
std::string GranteeOf(const Server& server);

}  // namespace locus::preflight

#endif  // LOCUS_MIGRATION_PREFLIGHT_REPORT_H_
