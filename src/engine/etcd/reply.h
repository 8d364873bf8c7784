// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ETCD_REPLY_H_
#define LOCUS_SRC_ENGINE_ETCD_REPLY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// Reads the answers of the JSON gateway, strictly, because they come from outside. 64-bit integers
// are strings; the gateway leaves out zero, false and empty members; unknown members are ignored.
// Anything else unexpected is FAILED_PRECONDITION: the server is no etcd gateway of a version that
// this code knows. An answer of more than 131,072 values or 16 levels is refused before it is
// parsed. Pure functions.

namespace locus::etcd {

struct Header {
  uint64_t cluster_id = 0;
  uint64_t member_id = 0;
  int64_t revision = 0;
};

struct KeyValue {
  std::string key;
  std::string value;
  int64_t mod_revision = 0;
};

struct TxnReply {
  Header header;
  bool succeeded = false;
  // The results of the range operations of the branch taken, in order. Puts have no result here.
  std::vector<std::vector<KeyValue>> ranges;
};

// A member's report about itself.
struct MemberStatus {
  Header header;  // its revision was read before the indexes
  std::string version;
  uint64_t leader = 0;  // 0: it knows no leader
  uint64_t raft_index = 0;
  uint64_t applied_index = 0;
};

// `limited`: ranges may have been cut short, because their request set a limit.
absl::StatusOr<TxnReply> ReadTxn(std::string_view body, bool limited = false);
absl::StatusOr<MemberStatus> ReadStatus(std::string_view body);
// One line of a watch's stream. In practice at most one of `created`, `canceled` and events is set.
struct WatchReply {
  struct Event {
    bool deleted = false;
    KeyValue pair;  // without a value if deleted
  };

  Header header;  // not set if canceled
  bool created = false;
  bool canceled = false;         // the stream ends here
  int64_t compact_revision = 0;  // set if the revision asked for was compacted
  std::string cancel_reason;     // printable; may be empty
  std::vector<Event> events;
};

// A line that reports an error becomes that error, as in ReadRefusal.
absl::StatusOr<WatchReply> ReadWatch(std::string_view line);
// The ID of a granted lease, above 0.
absl::StatusOr<int64_t> ReadLeaseGrant(std::string_view body);
absl::StatusOr<std::string> ReadToken(std::string_view body);

// A refusal, and what the caller may do about it.
struct Refusal {
  absl::Status status;            // names no place
  bool maybe_served = false;      // false: the request had no effect, and will have none
  bool try_other_member = false;  // another member may serve it
  bool token_expired = false;     // a new token may help
};
// `http_status` is not 200.
Refusal ReadRefusal(unsigned http_status, std::string_view body);

}  // namespace locus::etcd

#endif  // LOCUS_SRC_ENGINE_ETCD_REPLY_H_
