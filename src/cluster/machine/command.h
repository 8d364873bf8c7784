// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_MACHINE_COMMAND_H_
#define LOCUS_SRC_CLUSTER_MACHINE_COMMAND_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "locus/space.h"
#include "locus/worker_lease_store.h"
#include "src/base/text/trace_id.h"
#include "src/cluster/machine/counter/counters.h"
#include "src/cluster/machine/segment/spaces.h"
#include "src/cluster/machine/strict/sets.h"
#include "src/cluster/machine/type/types.h"

// The commands of the machine of leases, its answers, and its facts for the audit.
// Times are in whole milliseconds.

namespace locus::cluster_machine {

// Limits of the machine. RESOURCE_EXHAUSTED names the one that was met.
inline constexpr size_t kMostSpaces = 64;
// Worker IDs that were ever granted, in all spaces. They are forgotten only with their space: their
// ceilings are what keeps IDs unique.
inline constexpr size_t kMostWorkers = 1 << 20;
// Of these, worker IDs with a holder.
inline constexpr size_t kMostHeld = 1 << 16;
// Remembered requests: the ones that changed something.
inline constexpr size_t kMostRemembered = 1 << 17;
// Clients whose last request to counters, spaces of order IDs, sequence types or strict sets is
// remembered, and the grants in these answers.
inline constexpr size_t kMostSessions = 1 << 16;
inline constexpr size_t kMostGrantsRemembered = 1 << 18;
// Requests of one command.
inline constexpr size_t kMostRequests = 1024;
// Leases that one command ends.
inline constexpr size_t kMostExpiries = 4096;
// Of an answer's message; longer ones are cut.
inline constexpr size_t kMostMessageBytes = 512;
// Of Verdict::why.
inline constexpr size_t kMostWhyBytes = 256;
// How long a request is remembered, from RequestId::made on.
inline constexpr absl::Duration kRemembered = absl::Minutes(2);

// Names a request, so that it changes something once however often it is sent. Sent again, it gets
// the answer it got when it did; once it is forgotten, it is refused.
struct RequestId {
  absl::Time made;    // the client's clock when it drew the numbers; the same in each repetition
  uint64_t high = 0;  // drawn at random
  uint64_t low = 0;
  // Of requests that are IsOfStore, otherwise 0: the numbers above name a session,
  // and its requests are numbered (Sessions).
  uint64_t serial = 0;

  friend bool operator==(const RequestId&, const RequestId&) = default;
  // By time, then by number.
  friend bool operator<(const RequestId& one, const RequestId& other) {
    return std::tie(one.made, one.high, one.low) < std::tie(other.made, other.high, other.low);
  }
};

// "<ms since 1970>-<32 hex digits>", and "-<serial>" where that is not 0; as the API reads it.
std::string ToString(const RequestId& id);

using internal::TraceId;

struct Create {
  absl::Duration rest;
  absl::Time caller_now;

  friend bool operator==(const Create&, const Create&) = default;
};

// Deletes the space, with the ceilings of its worker IDs. FAILED_PRECONDITION: it rests, one of its
// IDs is held or rests, or was granted a token that the machine's time has not reached.
struct Delete {
  friend bool operator==(const Delete&, const Delete&) = default;
};

// The result of probing a holder's health. An unhealthy holder is not renewed until it is found
// healthy again.
struct Verdict {
  uint64_t worker = 0;
  uint64_t token = 0;
  bool healthy = true;
  std::string why;

  friend bool operator==(const Verdict&, const Verdict&) = default;
};

// Lowers tokens of the space from this one on to the machine's time, and ends their leases: earlier
// versions stored the token of a renewal as it came. Leaders propose it (Machine::Mends); nodes
// know it since codec version 5.
struct Mend {
  uint64_t from = 0;

  friend bool operator==(const Mend&, const Mend&) = default;
};

// `space` of a request about counters or sequence types is the default one; of one about strict
// sequences it is the set's name.
using Action = std::variant<Create, WorkerAcquire, WorkerRenew, WorkerRelease, Verdict, Delete,
                            counter_machine::Call, segment_machine::Call, type_machine::Call,
                            strict_machine::Call, Mend>;

// Whether it is about counters, spaces of order IDs or sequence types, which nodes know since
// codec version 3, or about strict sequences, which they know since version 4.
inline bool IsOfStore(const Action& action) {
  return std::holds_alternative<counter_machine::Call>(action) ||
         std::holds_alternative<segment_machine::Call>(action) ||
         std::holds_alternative<type_machine::Call>(action) ||
         std::holds_alternative<strict_machine::Call>(action);
}

struct Request {
  // None: the request is carried out each time it is sent. So renewals are sent: a renewal that is
  // carried out twice is two renewals.
  std::optional<RequestId> id;
  SpaceName space;
  Action action;
  // Part of the command, so that the facts of it are the same on every node.
  TraceId trace = {};
};

// One entry of the log. Without requests and `expire` it only sets the clock: the first command of
// each leader.
struct Command {
  // The leader's CommandClock when it proposed the command. 1970 to the end of 9998.
  absl::Time time = absl::UnixEpoch();
  // Ends leases that are due, up to kMostExpiries, before the requests are carried out.
  bool expire = false;
  std::vector<Request> requests;
  // The time comes from wall clocks and not from the command before, so less may have passed since:
  // the remaining ttl of counters and the remaining time of strict owners stay as they were. Nodes
  // know it since codec version 6.
  bool leaps = false;
  // Only a Set brings the end of a counter forward (counter_machine::Counters::Apply). Nodes know
  // this since codec version 6, but builds with version 6 that only know `leaps` refuse it.
  bool keeps_ends = false;
};

struct Answer {
  absl::Status status;
  // The answer to an acquire or a renewal whose status is OK.
  std::optional<WorkerGrant> grant;
  // The answer to a request that IsOfStore whose status is OK.
  std::variant<std::monostate, counter_machine::Reply, segment_machine::Reply, type_machine::Reply,
               strict_machine::Reply>
      reply = {};
};
// Of how many sections, of order IDs or of strict sequences, it asks for a lease.
size_t SectionsAskedBy(const Action& action);
// How many grants of sections are in it; of strict sequences, for how many it counts.
size_t GrantsOf(const Answer& answer);
bool HasSameReply(const Answer& one, const Answer& other);
bool operator==(const Answer& one, const Answer& other);

// A lease that has a holder.
struct HeldLease {
  SpaceName space;
  uint64_t worker = 0;
  uint64_t token = 0;
  std::string holder;
  bool unhealthy = false;
};

// An event for the audit. The facts of a command are the same on every node, in the same order, so
// the command's index and the place in the list identify one.
struct Fact {
  enum class Kind : uint8_t {
    kSpaceCreated,
    kGranted,
    kRenewed,
    kReleased,
    kExpired,      // of one that was mended, `status` says why
    kRefused,      // `status` says why
    kUnhealthy,    // `status` says why; not renewed from now on
    kHealthy,      // renewed again
    kLossNoticed,  // leases had been forgotten: nothing is granted for a while
    kSpaceDeleted,
    kTypeChanged,  // of sequences; `type` says how
  };
  Kind kind = Kind::kGranted;
  absl::Time time;  // the machine's
  SpaceName space;
  uint64_t worker = 0;  // 0 also if the fact is not of one worker ID; then the token is 0
  uint64_t token = 0;
  absl::Time floor = absl::InfinitePast();
  absl::Time ceiling = absl::InfinitePast();
  std::string nonce;
  std::string holder;  // kGranted only
  absl::Status status;
  TraceId trace;  // of the request that it came from
  // Of kTypeChanged, otherwise without a name.
  struct TypeChange {
    std::string name;
    std::optional<type_machine::Type> before, after;  // nullopt: there is none

    friend bool operator==(const TypeChange&, const TypeChange&) = default;
  };
  TypeChange type;
};
bool operator==(const Fact& one, const Fact& other);
// "created", "granted", "renewed", "released", "expired", "refused", "unhealthy", "healthy",
// "loss noticed", "deleted", "sequence type changed".
std::string_view ToString(Fact::Kind kind);

}  // namespace locus::cluster_machine

#endif  // LOCUS_SRC_CLUSTER_MACHINE_COMMAND_H_
