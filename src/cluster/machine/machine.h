// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_CLUSTER_MACHINE_MACHINE_H_
#define LOCUS_SRC_CLUSTER_MACHINE_MACHINE_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/space.h"
#include "locus/worker_lease_store.h"
#include "src/cluster/machine/command.h"
#include "src/cluster/machine/counter/counters.h"
#include "src/cluster/machine/remembered_requests.h"
#include "src/cluster/machine/segment/spaces.h"
#include "src/cluster/machine/sessions.h"
#include "src/cluster/machine/strict/sets.h"
#include "src/cluster/machine/type/types.h"
#include "src/cluster/machine/worker_blocks.h"
#include "src/worker/worker_rules.h"

namespace locus::cluster_machine {

class Reader;

// The state of a cluster as a function of its commands: two machines that applied the same commands
// are equal, give the same answers, and have equal snapshots, byte for byte. A Command (command.h,
// its bytes in codec.h) has a time and some requests. The machine keeps worker leases itself, and
// one object each for counters (counter/), spaces of order IDs (segment/), sequence types (type/)
// and sets of strict sequences (strict/). ClusterNode (src/cluster/node) puts it on a node of Raft.
//
// Worker leases are decided by src/worker, as in every WorkerLeaseStore. The machine adds:
//
//   time       comes in the commands, never from a clock here. It never falls: a command with an
//              earlier time is carried out at the machine's time. Leases end by this time, but the
//              promise that no ID repeats does not depend on it (worker_lease_store.h).
//   expiry     a lease has ended once the time is past its ceiling. A command with `expire` takes
//              it from its holder: from then on its renewal is ABORTED, whatever ceiling the holder
//              claims. Even before that, an acquire may get the ID.
//   leaps      a command whose time comes from wall clocks is marked so. Such a leap uses up
//              neither the ttl of counters nor the time that owners have left of their sections.
//   ends       of counters' ttl are brought forward only by a Set, if the command says so: callers
//              with a longer ttl still hold numbers. In commands of earlier versions, any call did
//              it.
//   requests   with an ID change the machine once (RememberedRequests). One that changed nothing is
//              not remembered, and is answered anew if it is sent again.
//   deletion   of a space keeps one time for all that were deleted: the highest ceiling in them. A
//              space that is made later grants above it, even under the name of a deleted one. Its
//              tokens are higher as well, because those of the deleted space were below the
//              machine's time. It looks at each ID of the space.
//   counters   spaces of order IDs, sequence types and strict sets are decided in
//              src/cluster/machine/counter, src/cluster/machine/segment, src/cluster/machine/type
//              and src/cluster/machine/strict; changed types are facts. Their requests are
//              remembered by session (Sessions).
//   health     an unhealthy holder is refused with FAILED_PRECONDITION, and its lease ends.
//
//   claims    about leases that the machine does not know are judged by the leader before it
//             proposes them (Screen), so that nodes of all versions apply the log alike.
//
// Commands come from DecodeCommand: within its limits, in whole milliseconds.
// Thread safety: none. A copy is another machine in the same state.
// Cost: an acquire looks at each 256 IDs of its range that are taken (WorkerBlocks); everything
// else is O(log n). Memory: about 300 bytes for a worker ID or a remembered request, and the
// holder's text.
class Machine {
 public:
  struct Applied {
    std::vector<Answer> answers;  // one for each request
    std::vector<Fact> facts;
  };

  Applied Apply(const Command& command);

  // A leader's verdict on a request that it is about to propose, once it has applied all entries of
  // earlier terms. A request that must be refused becomes one that changes nothing, whatever is
  // under way, so that the refusal is recorded as a fact.
  struct Screened {
    std::optional<Answer> answer;         // to be answered with this, and not to be proposed
    std::optional<absl::Status> refusal;  // to be answered with this once it is applied
    std::optional<Mend> mend_before;      // of the request's space, in the same command
  };
  Screened Screen(Request& request) const;
  // Requests for a leader's first command: they mend spaces with tokens from kLeastForgedToken on.
  std::vector<Request> Mends() const;

  // 1970 before the first command.
  absl::Time now() const { return now_; }
  // Once its clock is past this, the leader proposes a command with `expire`. InfiniteFuture: no
  // lease is held.
  absl::Time NextExpiry() const {
    return queue_.empty() ? absl::InfiniteFuture() : std::get<0>(*queue_.begin());
  }
  // At the machine's time: at most `limit` leases from worker ID `from` on. NOT_FOUND: no such
  // space.
  absl::StatusOr<WorkerSpaceView> Show(const SpaceName& space, uint64_t from = 0,
                                       size_t limit = SIZE_MAX) const;
  // Of order IDs, at the machine's time. NOT_FOUND: no such space.
  const segment_machine::Spaces& segments() const { return segments_; }
  const counter_machine::Counters& counters() const { return counters_; }
  const type_machine::Types& types() const { return types_; }
  const strict_machine::Sets& strict_sets() const { return strict_sets_; }
  // The held leases whose holder's text contains `part`.
  std::vector<HeldLease> HoldersWith(std::string_view part) const;
  // Leases with a holder that end from `from` on and before `until`. Looks at each of them.
  size_t EndingBetween(absl::Time from, absl::Time until) const;
  size_t workers() const { return workers_; }
  size_t held() const { return held_; }
  size_t remembered() const { return requests_.size(); }
  size_t sessions() const { return sessions_.size(); }
  // In the answers to them.
  size_t grants_remembered() const { return sessions_.grants(); }

  // At most kMostSnapshotBytes (snapshot.cc shows why).
  std::string Snapshot() const;
  // INVALID_ARGUMENT: not what Snapshot gives, with the place.
  static absl::StatusOr<Machine> Restore(std::string_view bytes);
  // The snapshot of a machine that was restored to this one (empty: is new) and then applied these
  // commands. Errors as Restore's and DecodeCommand's.
  static absl::StatusOr<std::string> Fold(std::string_view snapshot,
                                          const std::vector<std::string>& commands);

 private:
  struct Lease {
    WorkerRecord record;
    bool unhealthy = false;
    // Its place in queue_, while it has a holder. Invariant: at most its ceiling. Renewals raise
    // only the ceiling, and SettleQueue moves the lease when it comes to the front.
    absl::Time queued = absl::InfiniteFuture();
  };
  struct WorkerSpace {
    worker::Space state;
    std::map<uint64_t, Lease> leases;                    // by worker
    std::set<std::pair<std::string, uint64_t>> holders;  // nonce, worker
    WorkerBlocks blocks;                                 // follows from `leases`
  };
  using Place = std::tuple<absl::Time, SpaceName, uint64_t>;
  struct InSpace;

  Answer AnswerTo(const Request& request, std::vector<Fact>& facts);
  // Of requests that are IsOfStore.
  Answer AnswerOfStore(const Request& request, std::vector<Fact>& facts);
  Answer DoOfStore(const Request& request, std::vector<Fact>& facts, bool& changed);
  bool KeepsStore() const {
    return sessions_.size() > 0 || !counters_.untouched() || !segments_.empty() ||
           !types_.all().empty() || !strict_sets_.empty();
  }
  Answer Do(const InSpace& call, const Create& create);
  Answer Do(const InSpace& call, const WorkerAcquire& acquire);
  Answer Do(const InSpace& call, const WorkerRenew& renew);
  Answer Do(const InSpace& call, const WorkerRelease& release);
  Answer Do(const InSpace& call, const Verdict& verdict);
  Answer Do(const InSpace& call, const Delete&);
  Answer Do(const InSpace& call, const Mend& mend);

  void ScreenRenewal(Request& request, Screened& screened) const;
  void ScreenRelease(Request& request, Screened& screened) const;
  const WorkerRecord* RecordOf(const SpaceName& space, uint64_t worker) const;
  absl::StatusOr<uint64_t> WorkerFor(const InSpace& call, const WorkerAcquire& acquire) const;
  absl::Status CheckRoom(const InSpace& call, uint64_t worker) const;
  Fact FactOfSpace(const InSpace& call, Fact::Kind kind) const;
  // Stores and answers the outcome; `kind` is the fact if the status is OK.
  Answer Carry(const InSpace& call, worker::Outcome outcome, Fact::Kind kind);
  void Store(const InSpace& call, WorkerRecord record);
  void Enqueue(const SpaceName& name, Lease& lease);
  // Brings the lease that ends first to the front.
  void SettleQueue();
  void ExpireDue(std::vector<Fact>& facts);
  void GetSpace(Reader& reader);
  void TakeFromHolder(const SpaceName& name, WorkerSpace& space, Lease& lease);

  absl::Time now_ = absl::UnixEpoch();
  absl::Time deleted_up_to_ = absl::InfinitePast();  // no ceiling in a deleted space is above
  std::map<SpaceName, WorkerSpace> spaces_;
  RememberedRequests requests_;
  Sessions sessions_;
  counter_machine::Counters counters_;
  segment_machine::Spaces segments_;
  type_machine::Types types_;
  strict_machine::Sets strict_sets_;

  bool keeps_ends_ = false;  // of the command that is carried out

  // Follow from the above.
  size_t workers_ = 0;
  size_t held_ = 0;
  std::set<Place> queue_;  // of each lease with a holder
};

// Tokens begin at the clock and rise by one with each grant. From this one on, nothing but a
// renewal can have brought them into a machine of an earlier version, and there is little room
// above.
inline constexpr uint64_t kLeastForgedToken = uint64_t{1} << 61;

// A Raft snapshot has at most 256 MiB.
inline constexpr size_t kMostSnapshotBytes = 256 << 20;

}  // namespace locus::cluster_machine

#endif  // LOCUS_SRC_CLUSTER_MACHINE_MACHINE_H_
