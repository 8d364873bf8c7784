// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SUPPORT_SIMULATION_MAIN_H_
#define LOCUS_TESTS_SUPPORT_SIMULATION_MAIN_H_

#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <string_view>

#include "gtest/gtest.h"

namespace locus {

// The main function of a simulation: --seed=N runs that seed alone, --seeds=N as many from the
// first on.
inline int RunSimulation(int argc, char** argv, uint64_t& first_seed, uint64_t& seeds) {
  ::testing::InitGoogleTest(&argc, argv);
  for (int i = 1; i < argc; ++i) {
    std::string_view argument = argv[i];
    if (argument.starts_with("--seed=")) {
      first_seed = std::strtoull(argv[i] + 7, nullptr, 10);
      seeds = 1;
    } else if (argument.starts_with("--seeds=")) {
      seeds = std::strtoull(argv[i] + 8, nullptr, 10);
    } else {
      std::cerr << argv[0] << ": " << argument << " is neither --seed=N nor --seeds=N\n";
      return 2;
    }
  }
  return RUN_ALL_TESTS();
}

}  // namespace locus

#endif  // LOCUS_TESTS_SUPPORT_SIMULATION_MAIN_H_
