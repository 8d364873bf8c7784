// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_CLUSTER_MACHINE_MISTAKE_H_
#define LOCUS_TESTS_CLUSTER_MACHINE_MISTAKE_H_

#include <cstdint>
#include <iostream>
#include <string>

#include "gtest/gtest.h"
#include "tests/cluster/machine/cluster_simulation.h"

namespace locus::cluster_machine {

// A mistake that a simulation must notice.
struct Mistake {
  const char* name;
  Flaws flaws;
};
inline void PrintTo(const Mistake& mistake, std::ostream* out) { *out << mistake.name; }

// `simulate`(seed, flaws) says what went wrong. One of 2,000 seeds shows the mistake, and nothing
// is wrong with that seed without it.
template <typename Simulate>
void ExpectCaught(const Mistake& mistake, Simulate simulate) {
  uint64_t seed = 1;
  std::string wrong;
  while (seed <= 2000 && (wrong = simulate(seed, mistake.flaws)).empty()) ++seed;
  ASSERT_LE(seed, 2000u) << "the simulation does not notice this mistake";
  std::cout << "caught by seed " << seed << ": " << wrong << "\n";
  EXPECT_EQ(simulate(seed, Flaws()), "") << "without the mistake";
}

}  // namespace locus::cluster_machine

#endif  // LOCUS_TESTS_CLUSTER_MACHINE_MISTAKE_H_
