// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_MACHINE_SESSIONS_H_
#define LOCUS_SRC_CLUSTER_MACHINE_SESSIONS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "src/cluster/machine/command.h"

namespace locus::cluster_machine {

class Reader;
class Writer;

// The last request of each session that changed counters, spaces or types, or was to change
// something that was not as it said, with its answer. A client sends one request of a session at a
// time, each with a greater RequestId::serial, and repeats only the last one: so one answer a
// session is enough, however many requests a second there are.
//
// A session is forgotten once the machine's time is past the latest RequestId::made in it +
// kRemembered; from that very moment on each of its requests so far is refused by its time
// (RememberedRequests::CheckTime). As there, other requests that changed nothing are not
// remembered.
class Sessions {
 public:
  struct Session {
    uint64_t serial = 0;
    absl::Time made;  // the latest in the session
    uint64_t fingerprint = 0;
    Answer answer;
  };

  // nullptr: nothing of the session is remembered.
  const Session* Find(const RequestId& id) const;
  // RESOURCE_EXHAUSTED: there are kMostSessions, or they hold kMostGrantsRemembered with `grants`
  // more.
  absl::Status CheckRoom(const RequestId& id, size_t grants) const;
  void Remember(const RequestId& id, uint64_t fingerprint, Answer answer);
  void ForgetBefore(absl::Time now);
  size_t size() const { return sessions_.size(); }
  size_t grants() const { return grants_; }

  // In a snapshot, at most kMostSnapshotBytes.
  void Put(Writer& writer) const;
  void Get(Reader& reader);
  static constexpr size_t kMostSnapshotBytes =
      4 + kMostSessions * (5 * 8 + 64) + kMostGrantsRemembered * 5 * 8;

 private:
  using Key = std::pair<uint64_t, uint64_t>;  // RequestId's high and low

  std::map<Key, Session> sessions_;

  // Follow from the above.
  std::set<std::pair<absl::Time, Key>> by_time_;
  size_t grants_ = 0;
};

}  // namespace locus::cluster_machine

#endif  // LOCUS_SRC_CLUSTER_MACHINE_SESSIONS_H_
