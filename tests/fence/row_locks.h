// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_FENCE_ROW_LOCKS_H_
#define LOCUS_TESTS_FENCE_ROW_LOCKS_H_

#include <cstdint>
#include <map>
#include <set>
#include <utility>

namespace locus::internal {

using Row = std::pair<bool, uint32_t>;  // of the map, or of the fence; its key

// The locks of a simulated server. A statement that needs a row for itself is one step, so only
// shared locks are kept from step to step.
class RowLocks {
 public:
  void Share(int who, Row row) { shared_[row].insert(who); }
  // Whether no other session shares it.
  bool Free(int who, Row row) {
    const std::set<int>& all = shared_[row];
    return all.size() == all.count(who);
  }
  void Release(int who) {
    for (auto& [row, all] : shared_) all.erase(who);
  }

 private:
  std::map<Row, std::set<int>> shared_;
};

}  // namespace locus::internal

#endif  // LOCUS_TESTS_FENCE_ROW_LOCKS_H_
