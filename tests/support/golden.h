// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SUPPORT_GOLDEN_H_
#define LOCUS_TESTS_SUPPORT_GOLDEN_H_

#include <string>

#include "nlohmann/json.hpp"

// The frozen answers in tests/golden/.
namespace locus::golden {

// The project's root, where the tests were built.
std::string ProjectDirectory();
// Throws where there is no such file or it is not JSON.
nlohmann::json Load(const std::string& file);
std::string BytesOfHex(const std::string& hex);

}  // namespace locus::golden

#endif  // LOCUS_TESTS_SUPPORT_GOLDEN_H_
