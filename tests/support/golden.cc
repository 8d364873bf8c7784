// SPDX-License-Identifier: Apache-2.0
#include "tests/support/golden.h"

#include <fstream>
#include <stdexcept>

namespace locus::golden {

std::string ProjectDirectory() { return LOCUS_PROJECT_DIR; }

nlohmann::json Load(const std::string& file) {
  std::ifstream in(ProjectDirectory() + "/tests/golden/" + file);
  if (!in) throw std::runtime_error("cannot open golden file " + file);
  return nlohmann::json::parse(in);
}

std::string BytesOfHex(const std::string& hex) {
  std::string bytes;
  for (size_t i = 0; i + 1 < hex.size(); i += 2) {
    bytes += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
  }
  return bytes;
}

}  // namespace locus::golden
