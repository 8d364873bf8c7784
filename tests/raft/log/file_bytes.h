// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_RAFT_LOG_FILE_BYTES_H_
#define LOCUS_TESTS_RAFT_LOG_FILE_BYTES_H_

#include <fstream>
#include <iterator>
#include <string>
#include <string_view>

namespace locus::raft {

// Of the stores that these tests make.
inline constexpr char kCluster[] = "workers";

inline std::string Read(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}
inline void Put(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary) << bytes;
}

}  // namespace locus::raft

#endif  // LOCUS_TESTS_RAFT_LOG_FILE_BYTES_H_
