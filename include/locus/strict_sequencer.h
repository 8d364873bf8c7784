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
    kLost,          // the store says that the section is another's, or forgot it
    kExtendFailed,  // `status` says why; it is tried again. `section` is 0
    kLossNoticed,   // the store lost what it stored; `status` names the call. `section` is 0
    kUsedUp,        // max_seq is 2^63 - 1: what is left, if anything, are the last numbers
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
  // How many bytes of memory the numbers of keys may have, 1 MiB to 64 TiB: enough for 8 of each
  // key in use where these are neighbours, and for a page of 4 KiB of each where they are not.
  // Beyond, keys without memory are UNAVAILABLE, while the sections that were opened first let
  // theirs go: by a call of the store, after which all their keys go on above max_seq. Smaller:
  // that happens more often, and numbers make larger jumps.
  uint64_t most_memory = uint64_t{1} << 30;
  static constexpr uint64_t kLeastMemory = uint64_t{1} << 20;
  static constexpr uint64_t kMostMemory = uint64_t{1} << 46;
  // Called for each event, by one thread at a time. It must not block or throw, and must not call
  // the sequencer.
  std::function<void(const StrictEvent&)> on_event;
  // Outlives the sequencer. Read for every number, unless it is the system's and the processor's
  // counter can stand for it.
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
  uint64_t lost = 0;          // sections lost to the store's word
  uint64_t losses = 0;        // times that a call noticed that the store had lost what it stored
  uint64_t let_go = 0;        // how often a section let the memory of its keys go
  uint64_t memory_bytes = 0;  // that keys have now; give or take a page for each thread
  uint64_t table_version = 0;
  absl::Duration left;  // until the first deadline of a section that is open; negative once passed
};

// Strict sequences: for each uid, numbers that rise strictly in real time over all processes. A
// call that begins after another one of the same uid has ended, whoever served it, gets the greater
// number. Numbers are unique to their uid, begin at 1, and have gaps.
//
// A process answers for the sections that it owns: it takes them, keeps them by renewing in the
// background, and hands them over. Which process owns which is for its user to decide
// (StrictSpread); for others' sections it answers ABORTED with the owner that it knows of.
//
// Why numbers rise strictly. A number is taken from the uid's last one in memory by one atomic
// step, and answered only if a look at the clock afterwards finds the section's deadline ahead: so
// the step happened while the section was this process's alone. The deadline is
//
//   D = m0 + (1 - 10^-3)(ttl - 1 s) / (1 + 10^-3)
//
// with m0 = CLOCK_BOOTTIME before the renewal was sent, so D passes before the store may grant the
// section to another one; that one starts above the stored max_seq, which no number of the owner
// before ever passed. The stored raise carries the owner's token, and is refused once somebody else
// has the section. The step is the call's linearization point.
//
// What that rests on: clocks of owners and store run true to 10^-3, and the store's clock is set
// forward by at most 1 s within a ttl. If that is broken, numbers may fail to rise from one owner
// to the next; they are unique nevertheless, as they are used only below what is stored. What a
// store that lost its state may do is said in locus/strict_store.h.
//
// Thread safety: all methods may be called from any thread.
// Cost of a number: one atomic step on 8 bytes of the uid, and a look at the clock (a batch: one
// for all). No lock, no allocation. Memory: 8 bytes a uid, in pages of 4 KiB that are made when a
// uid of theirs is first used, and given back when the section is, or when there are too many
// (StrictSequencerOptions::most_memory).
// Fork: in a forked child every call returns FAILED_PRECONDITION, and destruction does nothing.
class StrictSequencer {
 public:
  // Connects nothing but the store's Show. NOT_FOUND: there is no such set. FAILED_PRECONDITION: it
  // has other options. INVALID_ARGUMENT: a bad option; the message names it.
  static absl::StatusOr<std::unique_ptr<StrictSequencer>> Open(
      std::shared_ptr<StrictStore> store, const StrictSequencerOptions& options);

  // Hands nothing over: the sections rest until their leases end. Call HandOver before.
  ~StrictSequencer();
  StrictSequencer(const StrictSequencer&) = delete;
  StrictSequencer& operator=(const StrictSequencer&) = delete;

  // The next number of `uid`. Errors: INVALID_ARGUMENT: the set does not have this uid. ABORTED:
  // its section is not this process's; the message names the section and, if they are known, its
  // owner and the version of the table. UNAVAILABLE: the numbers stored ahead are used up, the
  // lease could not be renewed in time, or memory is short; retry. OUT_OF_RANGE: the section's
  // numbers, up to 2^63 - 1, are used up. A number that is not answered is skipped.
  absl::StatusOr<uint64_t> TryNext(uint64_t uid);
  // As TryNext; what is UNAVAILABLE is tried again until the deadline.
  absl::StatusOr<uint64_t> Next(uint64_t uid, std::chrono::steady_clock::time_point deadline);

  // One number for each uid, in order; a uid that is named twice gets two. numbers[i] is 0 where
  // there is none; then the status is that of the first such uid, otherwise OK. INVALID_ARGUMENT:
  // `numbers` is shorter than `uids`.
  absl::Status TryNextBatch(std::span<const uint64_t> uids, std::span<uint64_t> numbers);

  // Takes sections, and answers for them when it returns. One call of the store; sections that this
  // process has already are left out of the reply.
  absl::StatusOr<StrictReply<StrictGrant>> Take(std::span<const uint32_t> sections);

  // Stops answering for the sections, and then gives them up for `successor`, the name of another
  // owner; empty: for anybody. Between the two no process answers. Sections that are not this
  // process's are left out of the reply. If the store does not answer (UNAVAILABLE), they are
  // given up nevertheless, and rest until their leases end; HandOver may be called again.
  absl::StatusOr<StrictReply<StrictExtended>> HandOver(std::span<const uint32_t> sections,
                                                       std::string_view successor = {});

  // Whether the section of `uid` is this process's and its deadline has passed: there are no
  // numbers of it until the store answers again. False where it is somebody else's.
  bool OwnershipHasEnded(uint64_t uid) const;
  // Those for which this process answers, ascending.
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
    double weight = 1;  // more than 0: its part of the load, against the other owners'
  };
  std::vector<OwnerShare> owners;  // those that are alive; no name twice
  struct SectionLoad {
    uint32_t section = 0;
    double load = 1;    // numbers a second, or anything that adds up; not negative
    std::string owner;  // who has it; empty, or not one of `owners`: nobody
  };
  std::vector<SectionLoad> sections;
  // How much more than its part an owner may have before a section of its is moved, as a share of
  // that part. Smaller: evener, and more moves. 0 to 1.
  double tolerance = 0.1;
};
struct StrictMove {
  uint32_t section = 0;
  std::string from;  // empty: nobody has it
  std::string to;
  friend bool operator==(const StrictMove&, const StrictMove&) = default;
};
// The moves that give every section an owner, and no owner more than its part and the tolerance
// where single sections are small enough for that. Sections without an owner are given to those
// with the most room; of others, as few are moved as it takes. Pure: the same input gives the same
// moves, in order of sections. INVALID_ARGUMENT: a bad member; the message names it.
// Cost: sections x log(sections), 65,536 in tens of milliseconds.
absl::StatusOr<std::vector<StrictMove>> StrictSpread(const StrictSpreadInput& input);

}  // namespace locus

#endif  // LOCUS_STRICT_SEQUENCER_H_
