// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_ENGINE_ETCD_REPLY_H_
#define LOCUS_SRC_ENGINE_ETCD_REPLY_H_

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

// What the JSON gateway answers, read strictly: it comes from outside. Integers of 64 bits are
// strings; zero, false and empty members are left out; members that are not known here are passed
// over. Whatever else is odd is FAILED_PRECONDITION: the other side is no etcd gateway of a version
// that this code knows. Pure functions.

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
  // Of each range operation of the branch that was taken, in order; puts are left out.
  std::vector<std::vector<KeyValue>> ranges;
};

// What a member says of itself.
struct MemberStatus {
  Header header;  // its revision was read before the indexes
  std::string version;
  uint64_t leader = 0;  // 0: it knows none
  uint64_t raft_index = 0;
  uint64_t applied_index = 0;
};

absl::StatusOr<TxnReply> ReadTxn(std::string_view body);
absl::StatusOr<MemberStatus> ReadStatus(std::string_view body);
// A line of a watch's stream. At most one of `created`, `canceled` and events, in practice.
struct WatchReply {
  struct Event {
    bool deleted = false;
    KeyValue pair;  // of a deletion: without a value
  };

  Header header;  // but for a cancellation
  bool created = false;
  bool canceled = false;  // it ends here; if the revision asked for was compacted:
  int64_t compact_revision = 0;
  std::string cancel_reason;  // printable; may be empty
  std::vector<Event> events;
};

// A stream that ends with an error answers that error, as ReadRefusal.
absl::StatusOr<WatchReply> ReadWatch(std::string_view line);
// The ID of a granted lease, above 0.
absl::StatusOr<int64_t> ReadLeaseGrant(std::string_view body);
absl::StatusOr<std::string> ReadToken(std::string_view body);

// A refusal, and what follows from it.
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
