// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_SUPPORT_GOLDEN_H_
#define LOCUS_TESTS_SUPPORT_GOLDEN_H_

#include <fstream>
#include <stdexcept>
#include <string>

#include "nlohmann/json.hpp"
#include "src/base/text.h"

// The frozen answers in tests/golden/.
namespace locus::golden {

inline nlohmann::json Load(const std::string& file) {
  std::ifstream in(std::string(LOCUS_GOLDEN_DIR) + "/" + file);
  if (!in) throw std::runtime_error("cannot open golden file " + file);
  return nlohmann::json::parse(in);
}

inline std::string BytesOfHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

}  // namespace locus::golden

#endif  // LOCUS_TESTS_SUPPORT_GOLDEN_H_
