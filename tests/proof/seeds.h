// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_PROOF_SEEDS_H_
#define LOCUS_TESTS_PROOF_SEEDS_H_

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "apps/proof/lease/verdict.h"
#include "tests/proof/cluster.h"
#include "tests/proof/network.h"

namespace locus::proof {

// Makes both spaces; false: not within a minute.
bool MakeSpaces(const Secrets& secrets, const std::vector<std::string>& endpoints);

// A network of namespaces; or of proxies, where those are refused, and where the environment has
// LOCUS_PROOF_PROXIES. Says which. To be called before there are threads.
absl::StatusOr<std::unique_ptr<Network>> MakeNetwork(int hosts, const std::string& directory,
                                                     const std::set<int>& there = {});

// Runs the plan of a seed in this process, which must have no threads, and prints plan, story and
// verdict. True: nothing is wrong. Otherwise the records and the nodes' logs are kept where it
// says, with `keep`.
bool RunSeed(uint64_t seed, absl::Duration length, bool keep);

// Prints what is wrong with the records of a kept run. True: nothing.
bool JudgeKept(const std::string& directory);

// The last line of what RunSeed prints.
std::string Summary(const Verdict& verdict);
// Adds the numbers of a summary to `sum`; false: the text does not end with one.
bool AddSummary(const std::string& text, Verdict& sum);

}  // namespace locus::proof

#endif  // LOCUS_TESTS_PROOF_SEEDS_H_
