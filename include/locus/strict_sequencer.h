// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_STRICT_SEQUENCER_H_
#define LOCUS_STRICT_SEQUENCER_H_

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "locus/clock.h"
#include "locus/executor.h"
#include "locus/space.h"
#include "locus/str.h"
#include "locus/strict_store.h"

namespace locus {

struct StrictEvent {
  enum class Kind {
    kTaken,
    kReleased,
    kLost,          // the section has another owner, or the store forgot it
    kExtendFailed,  // `status` says why; it is tried again. `section` is 0
    kLossNoticed,   // the store lost data; `status` names the call. `section` is 0
    kUsedUp,        // max_seq is 2^63 - 1: only the last numbers, if any, are left
  };
  Kind kind = Kind::kTaken;
  uint32_t section = 0;
  uint64_t token = 0;
  absl::Status status;
};
// "taken", "released", "lost", "extend_failed", "loss_noticed", "used_up".
std::string_view ToString(StrictEvent::Kind kind);
template <typename Sink>
void AbslStringify(Sink& sink, StrictEvent::Kind kind) {
  sink.Append(std::string(ToString(kind)));
}

struct StrictSequencerOptions {
  SpaceName set;
  // As the set was created with.
  StrictSetOptions options;
  // Of this process: StrictOwner.
  std::string name;
  std::string address;
  // How many bytes of memory the numbers of keys may have, 1 MiB to 64 TiB: 8 bytes for each key in
  // use if these are neighbours, a page of 4 KiB for each if they are not. At the limit, keys
  // without memory are UNAVAILABLE, and the sections that were opened first free their memory: one
  // call of the store each, after which all their keys continue above max_seq. Smaller: that
  // happens more often, and numbers make larger jumps.
  uint64_t most_memory = uint64_t{1} << 30;
  static constexpr uint64_t kLeastMemory = uint64_t{1} << 20;
  static constexpr uint64_t kMostMemory = uint64_t{1} << 46;
  // Called for each event, by one thread at a time. It must not block or throw, and must not call
  // the sequencer.
  std::function<void(const StrictEvent&)> on_event;
  // Outlives the sequencer. Read for every number, unless it is the system's clock and the
  // processor's counter can replace it.
  Clock* clock = &Clock::System();
  // Runs the renewals; outlives the sequencer. nullptr: a thread of the sequencer's own.
  Executor* executor = nullptr;
};

// Counters start when the sequencer is opened.
struct StrictSequencerStats {
  uint32_t owned = 0;         // sections that are open now
  uint64_t extends = 0;       // calls of StrictStore::Extend
  uint64_t failures = 0;      // of them, those without an answer
  uint64_t raises = 0;        // sections raised ahead of use
  uint64_t lost = 0;          // sections that the store reported as lost
  uint64_t losses = 0;        // calls that noticed a loss of the store
  uint64_t let_go = 0;        // how often a section freed the memory of its keys
  uint64_t memory_bytes = 0;  // used by keys now, to within a page for each thread
  uint64_t table_version = 0;
  absl::Duration left;  // until the first deadline of a section that is open; negative once passed
};

// Strict sequences: for each uid, numbers that rise strictly in real time over all processes. A
// call that begins after another one of the same uid has ended gets the greater number, whichever
// process served it. Numbers are unique to their uid, begin at 1, and have gaps.
//
// A process answers for the sections that it owns: it takes them, keeps them by renewing in the
// background, and hands them over. Its user decides which process owns which sections
// (StrictSpread). For sections of other owners it answers ABORTED and names the owner, if it knows
// one.
//
// Why numbers rise strictly. A number is taken from the uid's last one in memory by one atomic
// step, and answered only if a look at the clock afterwards finds the section's deadline ahead: so
// the step happened while the section was this process's alone. The deadline is
//
//   D = m0 + (1 - 10^-3)(ttl - 1 s) / (1 + 10^-3)
//
// with m0 = CLOCK_BOOTTIME before the renewal was sent, so D passes before the store may grant the
// section to another owner. The new owner starts above the stored max_seq, which no number of the
// earlier owner ever passed. A raise carries the owner's token, and is refused once the section has
// another owner. The step is the call's linearization point.
//
// This assumes that the clocks of owners and store run true to 10^-3, and that the store's clock is
// set forward by at most 1 s within a ttl. If that is broken, numbers may fail to rise from one
// owner to the next. They are unique nevertheless, because they are used only up to the stored
// max_seq. locus/strict_store.h describes the loss of a store's state.
//
// Thread safety: all methods may be called from any thread.
// Cost of a number: one atomic step on 8 bytes of the uid, and a look at the clock (a batch: one
// for all). No lock, no allocation. Memory: 8 bytes a uid, in pages of 4 KiB that are made when one
// of their uids is first used, and freed when the section is given up, or when there are too many
// (StrictSequencerOptions::most_memory).
// Fork: in a forked child every call returns FAILED_PRECONDITION, and destruction does nothing.
class StrictSequencer {
 public:
  // Makes no call but the store's Show. NOT_FOUND: there is no such set. FAILED_PRECONDITION: it
  // has other options. INVALID_ARGUMENT: a bad option; the message names it.
  static absl::StatusOr<std::unique_ptr<StrictSequencer>> Open(
      std::shared_ptr<StrictStore> store, const StrictSequencerOptions& options);

  // Hands nothing over: the sections stay owned until their ttl is over. Call HandOver before.
  ~StrictSequencer();
  StrictSequencer(const StrictSequencer&) = delete;
  StrictSequencer& operator=(const StrictSequencer&) = delete;

  // The next number of `uid`. Errors: INVALID_ARGUMENT: the set does not have this uid. ABORTED:
  // this process does not own its section; the message names the section and, if they are known,
  // its owner and the version of the table. UNAVAILABLE: the numbers stored ahead are used up, the
  // ownership could not be renewed in time, or memory is short; retry. OUT_OF_RANGE: the section's
  // numbers, up to 2^63 - 1, are used up. A number that is not answered is skipped.
  absl::StatusOr<uint64_t> TryNext(uint64_t uid);
  // As TryNext; retries while the answer is UNAVAILABLE, until the deadline.
  absl::StatusOr<uint64_t> Next(uint64_t uid, std::chrono::steady_clock::time_point deadline);

  // One number for each uid, in order; a uid that is named twice gets two. numbers[i] is 0 where
  // there is no number; then the status is that of the first such uid, otherwise OK.
  // INVALID_ARGUMENT: `numbers` is shorter than `uids`.
  absl::Status TryNextBatch(std::span<const uint64_t> uids, std::span<uint64_t> numbers);

  // Takes sections, and answers for them when it returns. One call of the store; sections that this
  // process owns already are left out of the reply.
  absl::StatusOr<StrictReply<StrictGrant>> Take(std::span<const uint32_t> sections);

  // Stops answering for the sections, and then gives them up for `successor`, the name of another
  // owner; empty: for any owner. Between the two steps no process answers. Sections that this
  // process does not own are left out of the reply. If the store does not answer (UNAVAILABLE),
  // this process gives them up nevertheless, and they have no owner that answers until their ttl is
  // over; HandOver may be called again.
  absl::StatusOr<StrictReply<StrictExtended>> HandOver(std::span<const uint32_t> sections,
                                                       std::string_view successor = {});

  // Whether this process owns the section of `uid` and its deadline has passed: it has no numbers
  // until the store answers again. False if the section has another owner.
  bool OwnershipHasEnded(uint64_t uid) const;
  // The sections for which this process answers, ascending.
  std::vector<uint32_t> Owned() const;
  // Reads the owners of all sections; ABORTED messages name them from then on.
  absl::StatusOr<StrictSetView> ReadTable();

  const StrictSetOptions& options() const;
  const StrictOwner& owner() const;
  StrictSequencerStats Stats() const;

 private:
  class Rep;
  explicit StrictSequencer(std::unique_ptr<Rep> rep);
  std::unique_ptr<Rep> rep_;
};

// Which owner should have which section.
struct StrictSpreadInput {
  struct OwnerShare {
    std::string name;
    double weight = 1;  // more than 0: its part of the load, relative to the other owners
  };
  std::vector<OwnerShare> owners;  // the living ones; no name twice
  struct SectionLoad {
    uint32_t section = 0;
    double load = 1;    // numbers a second, or anything that adds up; not negative
    std::string owner;  // its owner; empty, or not one of `owners`: none
  };
  std::vector<SectionLoad> sections;
  // How much more than its part an owner may have before one of its sections is moved, as a
  // fraction of that part. Smaller: more even, and more moves. 0 to 1.
  double tolerance = 0.1;
};
struct StrictMove {
  uint32_t section = 0;
  std::string from;  // empty: it has no owner
  std::string to;
  friend bool operator==(const StrictMove&, const StrictMove&) = default;
};
// The moves that give every section an owner, and no owner more than its part and the tolerance if
// single sections are small enough for that. Sections without an owner go to the owners with the
// most room; as few of the others as possible are moved. Pure: the same input gives the same moves,
// in order of sections. INVALID_ARGUMENT: a bad member; the message names it.
// Cost: sections x log(sections), 65,536 in tens of milliseconds.
absl::StatusOr<std::vector<StrictMove>> StrictSpread(const StrictSpreadInput& input);

}  // namespace locus

#endif  // LOCUS_STRICT_SEQUENCER_H_
