// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_ENGINE_FAULT_FAULT_TARGETS_H_
#define LOCUS_TESTS_ENGINE_FAULT_FAULT_TARGETS_H_

#include <vector>

#include "tests/engine/fault/fault_target.h"

namespace locus {

// Every engine that has servers.
std::vector<FaultEngine> FaultEngines();

}  // namespace locus

#endif  // LOCUS_TESTS_ENGINE_FAULT_FAULT_TARGETS_H_
