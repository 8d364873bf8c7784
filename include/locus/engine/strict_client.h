// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_ENGINE_STRICT_CLIENT_H_
#define LOCUS_ENGINE_STRICT_CLIENT_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/engine/locusd.h"
#include "locus/strict_store.h"

namespace locus {

// How to reach the sequence-nodes of a set (locusd, role sequence-node).
struct StrictClientOptions {
  // "host:port" of the API of some nodes; an IPv6 address in brackets. One that answers is enough:
  // it knows where the others are.
  std::vector<std::string> endpoints;
  // As LocusdOptions::token. The nodes that answers name also get it, over TLS or on loopback only.
  std::string token = {};
  LocusdOptions::Tls tls = {};
  // The time limit of one request to one node, connecting included; 10 ms to 1 h. Longer: a node
  // that hangs is given up later.
  absl::Duration request_timeout = absl::Seconds(1);

  // INVALID_ARGUMENT, naming the option, its value and the limit. FAILED_PRECONDITION: the token
  // would go over the network in plain text.
  absl::Status Check() const;
};

// Counters start when the client is opened.
struct StrictClientStats {
  uint64_t requests = 0;       // sent, repetitions and tables included
  uint64_t elsewhere = 0;      // answers that named another owner
  uint64_t failures = 0;       // requests without an answer, or refused as UNAVAILABLE
  uint64_t tables = 0;         // tables that were read whole
  uint64_t table_version = 0;  // the newest that an answer named
};

// Draws numbers of strict sequences from the nodes that own them (locus/strict_sequencer.h says
// what these are). The client knows the table of owners and asks the owner of each key directly;
// a node that does not own a key any more names the owner in its answer, and the client asks that
// one. No other lookups are made, except where an owner answers UNAVAILABLE. It may be cut off from
// its store, so the client reads the table of one other node every 200 to 400 ms.
//
// A call tries until its deadline, past nodes that do not answer and while a section has no owner.
// A number whose answer was lost is skipped.
//
// Errors of all calls: DEADLINE_EXCEEDED: there was no number by the deadline; the message has the
// last answer. INVALID_ARGUMENT: the set does not have the uid. OUT_OF_RANGE: the numbers of a
// section that was asked for are used up. FAILED_PRECONDITION: the token or a certificate was
// refused. DATA_LOSS: an answer that no sequence-node gives.
// Thread safety: all methods may be called from any thread; they share the connections, of which
// each is used by one call at a time.
// Fork: in a forked child every call is FAILED_PRECONDITION, and destruction touches no socket.
class StrictClient {
 public:
  // The most numbers that one request asks for; longer batches are cut.
  static constexpr size_t kMostAtOnce = 10'000;

  // Reads the table from one of the endpoints, until the deadline.
  static absl::StatusOr<std::unique_ptr<StrictClient>> Open(
      const StrictClientOptions& options, std::chrono::steady_clock::time_point deadline);
  ~StrictClient();
  StrictClient(const StrictClient&) = delete;
  StrictClient& operator=(const StrictClient&) = delete;

  // The next number of `uid`: greater than all numbers of this uid that any call in any process
  // returned before this one began.
  absl::StatusOr<uint64_t> Next(uint64_t uid, std::chrono::steady_clock::time_point deadline);

  // One number for each uid, in order; a uid that is named twice gets two, rising. All or an error:
  // then all numbers are skipped. INVALID_ARGUMENT: `numbers` has another size than `uids`.
  absl::Status NextBatch(std::span<const uint64_t> uids, std::span<uint64_t> numbers,
                         std::chrono::steady_clock::time_point deadline);

  // Of the set, as its nodes report them. A text key is its UidOf.
  const StrictSetOptions& options() const;
  uint64_t UidOf(std::string_view text) const { return options().UidOf(text); }

  StrictClientStats Stats() const;

 private:
  class Rep;
  explicit StrictClient(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

}  // namespace locus

#endif  // LOCUS_ENGINE_STRICT_CLIENT_H_
