// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SEQUENCE_TYPE_STORE_H_
#define LOCUS_SEQUENCE_TYPE_STORE_H_

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/sequence_type.h"

namespace locus {

// This handle created, altered or dropped a type.
struct SequenceTypeEvent {
  enum class Kind { kCreated, kAltered, kDropped };
  Kind kind = Kind::kCreated;
  std::optional<SequenceType> before = {};  // nullopt: there was none, or it cannot be read
  SequenceType after;  // of kDropped the last state, with the version of the drop
};

// Sequence types, beside the counters of an engine: a Sequencer and a SequenceTypeStore that are
// opened with the same place use one store.
//
// Types and counters are written independently. A process counts by the type as it read it last, so
// after an Alter two processes may count in two ways until both have read it.
//
// Dropping. A type's name stays reserved: Drop keeps the counters and the type's last state, marked
// as dropped, so that no process uses the name for a counter without a type, which would begin at
// 1. A type created again under that name continues the counters.
//
// Numbers twice. Alter, and Create of a dropped name, refuse a change after which a number may be
// written that was written before (FAILED_PRECONDITION, with the reason), unless their caller
// allows it. They compare the new state with the replaced one and with all earlier patterns, which
// are stored with the type, back to the last change for which a caller allowed repeats. start and
// step cannot repeat numbers. If a counter begins again under both states, because it wraps or is
// forgotten (`expiry` without a period), numbers repeat anyway unless a time in the pattern keeps
// them apart; a pattern's time is assumed to do so. Refused are:
//   - `pattern`, unless texts of both differ in length or in a literal at the same place, or have
//     {seq:N}, the fields of callers, and with a period its date, at the same places: "{seq:5}"
//     writes the number 11 as "{seq:4}1" wrote 1. Where a counter begins again, all units of time
//     count as that date does. Also a pattern that lacks a field of callers, because they may tell
//     keys apart by it, and, where a counter begins again, one that lacks a unit of time.
//   - `at_max`: counters wrap from now on, or may have wrapped before.
//   - `zone`, where a counter begins again and the pattern has a time: hours repeat.
//   - `expiry`, without a period: until all processes have read it, some keep a counter for the old
//     time and some for the new one, while generators hold numbers of it.
//
// Versions. Create begins with a random version below 2^52. Alter, Drop, and Create of a dropped
// name add 1. A store that was emptied begins with other versions, so that its types are not taken
// for the earlier ones (except by a chance of 1 in 2^52).
//
// Errors of every method: UNAVAILABLE: the engine did not answer; a write may have been applied
// nevertheless. FAILED_PRECONDITION: the engine refuses until the cause is repaired. DATA_LOSS: the
// stored text is not a sequence type; the message names the type. INVALID_ARGUMENT: a bad name.
// Thread safety: all methods may be called from any thread. They block as the Sequencer of the
// engine does. Cost: a round trip or two to the engine.
class SequenceTypeStore {
 public:
  virtual ~SequenceTypeStore() = default;

  // `hook` is called after each change that this handle made, by its thread; AuditSequenceTypes
  // (locus/audit_hooks.h) makes one. A change whose answer was lost is not reported. Set it before
  // the handle is shared.
  void set_on_event(std::function<void(const SequenceTypeEvent&)> hook) {
    on_event_ = std::move(hook);
  }

  // Gives Create the value of a counter that has no type; NOT_FOUND: it has no value.
  // OpenSequenceTypeStore (locus/open.h) sets it. Set it before the handle is shared.
  void set_plain_value(std::function<absl::StatusOr<int64_t>(const std::string&)> value) {
    plain_value_ = std::move(value);
  }

  // Whether a change may make a number be written twice (above).
  enum class Repeats { kRefused, kAllowed };

  // Stores a new type; type.version is ignored. Returns it with its version. ALREADY_EXISTS: there
  // is a type of that name. FAILED_PRECONDITION: a type of that name was dropped, and its numbers
  // may be written again, it had another period, or its last state cannot be read; or a counter
  // without a type has the name (set_plain_value), so the type would give that counter's numbers
  // again. INVALID_ARGUMENT: SequenceType::Check.
  absl::StatusOr<SequenceType> Create(SequenceType type, Repeats repeats = Repeats::kRefused);

  // NOT_FOUND: there is no such type, and was none. FAILED_PRECONDITION: it was dropped.
  absl::StatusOr<SequenceType> Find(std::string_view name);

  // Also a dropped type, with its last state.
  struct Known {
    SequenceType type;
    bool is_dropped = false;
    // DATA_LOSS: this version of locus cannot read the type; only name and version of `type` are
    // set.
    absl::Status read = {};
    bool is_readable() const { return read.ok(); }
  };
  // NOT_FOUND: there is no such type, and was none. A type that cannot be read is DATA_LOSS unless
  // it was dropped.
  absl::StatusOr<Known> FindAny(std::string_view name);

  // All types, by name, without the dropped ones.
  absl::StatusOr<std::vector<SequenceType>> List();
  // With the dropped ones, and with types that cannot be read.
  absl::StatusOr<std::vector<Known>> ListAny();

  // Replaces the type if it has version type.version; returns the new state with its version. A
  // counter that has a value continues from it: `start` is for new counters, and a counter above a
  // lower max_value is at its limit. A `zone` further west, with a period, takes the calendar back:
  // until its next midnight, generators may use the day (month, year) before the one that they were
  // in. Numbers do not repeat, because each date has its own counter, which is kept for longer than
  // its day lasts in any zone (SequenceType::expiry). But a later number may show an earlier day.
  // ABORTED: the type has another version now. NOT_FOUND: there is no such type.
  // FAILED_PRECONDITION: it was dropped; numbers may be written twice (above); or `period` differs:
  // it is part of the names of counters, which would all start again. INVALID_ARGUMENT:
  // SequenceType::Check.
  absl::StatusOr<SequenceType> Alter(SequenceType type, Repeats repeats = Repeats::kRefused);

  // Marks the type, if it has this version, as dropped: no process may count by it any more, and
  // the name is kept. A type that cannot be read may be dropped. ABORTED, NOT_FOUND: as for Alter.
  // FAILED_PRECONDITION: it is dropped already.
  absl::Status Drop(std::string_view name, uint64_t version);

 protected:
  // A type as an engine stores it; `text` is at most 4,096 bytes.
  struct Stored {
    uint64_t version = 0;  // 1..2^63 - 1
    std::string text;
    // "VERSION TEXT", for engines that store one value.
    std::string Joined() const;
    static std::optional<Stored> Split(std::string_view joined);
  };
  // The part of an engine. Names have been checked.
  virtual absl::StatusOr<std::optional<Stored>> Load(const std::string& name) = 0;
  virtual absl::StatusOr<std::map<std::string, Stored>> LoadAll() = 0;
  // Writes `next` (nullopt: removes the type) if the type is stored with the version `expected` (0:
  // if it is not stored). False: it is not so.
  virtual absl::StatusOr<bool> Swap(const std::string& name, uint64_t expected,
                                    const std::optional<Stored>& next) = 0;

 private:
  absl::StatusOr<SequenceType> FindVersion(std::string_view name, uint64_t version);
  absl::StatusOr<std::optional<Stored>> LoadChecked(std::string_view name);
  // What to store of `next`, which follows `before`.
  absl::StatusOr<std::string> TextAfterOf(const SequenceType& before, const SequenceType& next,
                                          Repeats repeats);
  absl::Status Changed(std::string_view name, uint64_t version);
  // OK: no counter without a type has the name. Requires plain_value_.
  absl::Status CheckNotCounted(const std::string& name) const;
  void Tell(SequenceTypeEvent::Kind kind, std::optional<SequenceType> before,
            const SequenceType& after) const;

  std::function<void(const SequenceTypeEvent&)> on_event_;
  std::function<absl::StatusOr<int64_t>(const std::string&)> plain_value_;
};

// Makes a sequencer that counts without types refuse the names of types and of their counters, as
// sequencers of OpenSequencer do (locus/sequencer.h). `types` are of the sequencer's store.
void RefuseNamesOfTypes(Sequencer& sequencer, std::shared_ptr<SequenceTypeStore> types);

}  // namespace locus

#endif  // LOCUS_SEQUENCE_TYPE_STORE_H_
