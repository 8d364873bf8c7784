// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_APPS_PROOF_STRICT_CALL_LOG_H_
#define LOCUS_APPS_PROOF_STRICT_CALL_LOG_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "apps/proof/strict/history.h"

// The file that a caller of strict sequences leaves behind, whenever it is killed: strict::Drawn,
// byte for byte as in memory, times in nanoseconds since boot. Each answer is one write, so at most
// the last one is cut.

namespace locus::strict_proof {

// Numbers of one answer, in the order in which their uids were asked for: those of one uid that
// come one after another are one Drawn. False: the numbers of a uid that was named several times
// do not rise.
bool RunsOf(std::span<const uint64_t> uids, std::span<const uint64_t> numbers, int64_t called,
            int64_t answered, std::vector<strict::Drawn>& runs);

// Thread safety: none.
class CallLog {
 public:
  explicit CallLog(const std::string& path);
  ~CallLog();
  CallLog(const CallLog&) = delete;
  CallLog& operator=(const CallLog&) = delete;

  // The numbers of one answer.
  void Add(std::span<const strict::Drawn> answer);

 private:
  int fd_ = -1;
};

// Adds what is in the file to `history`. UNAVAILABLE: it cannot be read.
absl::Status ReadCalls(const std::string& path, std::vector<strict::Drawn>& history);
// The same for a file that grows: reads from the byte `at` on, and moves `at` to the next unread
// one.
absl::Status ReadCallsFrom(const std::string& path, size_t& at,
                           std::vector<strict::Drawn>& history);

}  // namespace locus::strict_proof

#endif  // LOCUS_APPS_PROOF_STRICT_CALL_LOG_H_
