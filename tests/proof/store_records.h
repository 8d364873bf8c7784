// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_TESTS_PROOF_STORE_RECORDS_H_
#define LOCUS_TESTS_PROOF_STORE_RECORDS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tests/support/taken_ranges.h"

// The records that store_writer leaves of its calls.

namespace locus::proof {

// All writers share a counter, a section of order IDs and a sequence type.
inline constexpr char kCounter[] = "invoices";
inline constexpr uint16_t kSection = 7;
inline constexpr char kType[] = "invoices";
// The time limit of their calls, and of one request.
inline constexpr absl::Duration kCallTimeout = absl::Seconds(3);
inline constexpr absl::Duration kRequestTimeout = absl::Seconds(1);

// One call that ended. Times: nanoseconds of the steady clock, which all processes of a machine
// share.
struct StoreRecord {
  enum class Kind {
    kNumbers = 'n',
    kSegment = 's',
    kAltered = 'a',
    kOvertaken = 'o',  // another writer had altered the type
    kRead = 'r',
    kError = 'e',
  };
  Kind kind = Kind::kError;
  // Of types, both are the version.
  TakenRange taken;
  std::string error;
};

std::string LineOf(const StoreRecord& record);
// nullopt: it is none.
std::optional<StoreRecord> ParseStoreRecord(const std::string& line);

// The records of a file that grows. What has no line's end yet waits.
class StoreRecords {
 public:
  explicit StoreRecords(std::string path) : path_(std::move(path)) {}
  // Reads what came since.
  void ReadMore();
  const std::vector<StoreRecord>& all() const { return all_; }

 private:
  const std::string path_;
  size_t at_ = 0;
  std::vector<StoreRecord> all_;
};

// The flaws in the records of all writers:
//   - a number, a sequence or a version that came twice, or came to a call that began after a
//     higher one was answered
//   - a type that was read older than it had been read or altered before
//   - a call that took longer than it may, or ended with another error than UNAVAILABLE
// Empty: none.
std::vector<std::string> WrongOf(const std::vector<StoreRecord>& records);

}  // namespace locus::proof

#endif  // LOCUS_TESTS_PROOF_STORE_RECORDS_H_
