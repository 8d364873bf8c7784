// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_EXAMPLES_ORDER_SERVICE_RECORD_H_
#define LOCUS_EXAMPLES_ORDER_SERVICE_RECORD_H_

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "change.h"
#include "order.h"

namespace shop {

// The writes of clients, and their answers to customers. Each process appends to a file of its own,
// and each order is written by one thread, so an order's records are in one file, in order.
struct Record {
  enum class What : uint8_t {
    kIntent = 1,         // a write is about to be sent; `state` is the order after it
    kAcknowledged = 2,   // it is stored: from here on the customer counts on it
    kRefused = 3,        // it is not stored
    kUnknown = 4,        // the answer was lost: the write may be stored, and is repeated
    kRead = 5,           // a read behind the fence found `state`
    kUnfencedRead = 6,   // a read of a shard without a fence found `state`
    kContradiction = 7,  // a shard answered what no order of events explains; found `state`
  };
  What what = What::kIntent;
  Op op = Op::kInsert;    // of the write
  uint16_t refusals = 0;  // of fences, that the write met
  uint32_t waited = 0;    // microseconds that the write took
  uint64_t order = 0;
  OrderState state = {};
};

// Appends records to a file. A record is handed to the system before Append returns: kill -9 of the
// process loses none. Nothing is synced, since the machine is not what fails here.
// Thread safety: Append may be called from any thread.
class Recorder {
 public:
  // ALREADY_EXISTS: there is such a file. UNAVAILABLE: the system refuses.
  static absl::StatusOr<Recorder> Create(const std::string& path);
  // To a file that is there.
  static absl::StatusOr<Recorder> Open(const std::string& path);
  Recorder(Recorder&& other) noexcept;
  Recorder& operator=(Recorder&&) = delete;
  ~Recorder();

  // UNAVAILABLE: the disk is full or fails. The customer must then get no answer.
  absl::Status Append(const Record& record);

 private:
  Recorder(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}

  int fd_;
  const std::string path_;
};

// The files of records in a directory, sorted; those of every run.
std::vector<std::string> RecordFilesIn(const std::string& directory);

// Calls `take` for each record of the file. A record at the end that was cut off by a kill is left
// out. DATA_LOSS: a record in the middle is damaged.
absl::Status ReadRecords(const std::string& path, const std::function<void(const Record&)>& take);

}  // namespace shop

#endif  // LOCUS_EXAMPLES_ORDER_SERVICE_RECORD_H_
