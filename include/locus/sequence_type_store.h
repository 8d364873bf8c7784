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

// A rule was written by this handle.
struct SequenceTypeEvent {
  enum class Kind { kCreated, kAltered, kDropped };
  Kind kind = Kind::kCreated;
  std::optional<SequenceType> before = {};  // nullopt: there was none, or it could not be read
  SequenceType after;  // of kDropped the last rule, with the version of the end
};

// The rules of sequences, beside the counters of an engine: a Sequencer and a SequenceTypeStore
// that are opened with the same place are of one store.
//
// Rules and counters are written independently. A process counts by the rule that it read last, so
// after an Alter two processes may count by two rules until both have read it.
//
// Dropping. What was once the name of a type stays one: Drop keeps the counters and the last rule,
// marked as dropped, so that nobody takes the name for that of a counter without a rule, which
// would begin at 1. A type created again by that name goes on with the counters.
//
// Numbers twice. Alter, and Create of a dropped name, refuse a change after which a number may be
// written that was written before (FAILED_PRECONDITION, with the reason), unless their caller says
// that it may. Compared are the rule that is replaced and the new one, and all patterns that the
// type had before, which are stored with it, since a caller last said that numbers may repeat;
// start and step cannot repeat numbers. A counter that begins again under both rules, as it
// wraps or is forgotten (`expiry` without a period), repeats numbers anyway unless a time in the
// pattern keeps them apart; that is held to be so. Refused are:
//   - `pattern`, unless texts of both differ in length or in a literal at the same place, or have
//     {seq:N}, the fields of callers, and with a period its date, at the same places: "{seq:5}"
//     writes the number 11 as "{seq:4}1" wrote 1. Where a counter begins again, all units of time
//     count as that date does. Also one that lacks a field of callers, who may tell keys apart by
//     it, and, where a counter begins again, one that lacks a unit of time.
//   - `at_max`: counters wrap from now on, or may have wrapped before.
//   - `zone`, where a counter begins again and the pattern has a time: hours come once more.
//   - `expiry`, without a period: until all have read it, some keep a counter for one time and
//     some for the other, while generators hold numbers of it.
//
// Versions. Create begins with a random version below 2^52. Alter, Drop, and Create of a dropped
// name add 1. A store that was emptied begins again, so that its types are not taken for those
// before (by chance: 1 in 2^52).
//
// Errors of every method: UNAVAILABLE: the engine did not answer; a write may have been applied
// nevertheless. FAILED_PRECONDITION: the engine refuses until somebody repairs the cause.
// DATA_LOSS: what is stored is no rule; the message names the type. INVALID_ARGUMENT: a bad name.
// Thread safety: all methods may be called from any thread. They block as the Sequencer of the
// engine does. Cost: a round trip or two to the engine.
class SequenceTypeStore {
 public:
  virtual ~SequenceTypeStore() = default;

  // `hook` is called after each change that this handle made, by its thread; AuditSequenceTypes
  // (locus/audit_hooks.h) makes one. A change whose answer was lost is not told. To be set before
  // the handle is shared.
  void set_on_event(std::function<void(const SequenceTypeEvent&)> hook) {
    on_event_ = std::move(hook);
  }

  // Tells Create the value of a counter that has no rule; NOT_FOUND: it has none.
  // OpenSequenceTypeStore (locus/routing/uri.h) sets it. To be set before the handle is shared.
  void set_plain_value(std::function<absl::StatusOr<int64_t>(const std::string&)> value) {
    plain_value_ = std::move(value);
  }

  // Whether a change may make a number be written twice (above).
  enum class Repeats { kRefused, kAllowed };

  // Stores a new rule; type.version is ignored. Returns it with its version. ALREADY_EXISTS: there
  // is a type of that name. FAILED_PRECONDITION: there was one, and numbers of it may be written
  // again; also if its period was another, or its last rule cannot be read; or a counter without a
  // rule has the name (set_plain_value), whose numbers the type would give again.
  // INVALID_ARGUMENT: SequenceType::Check.
  absl::StatusOr<SequenceType> Create(SequenceType type, Repeats repeats = Repeats::kRefused);

  // NOT_FOUND: there is no such type, and was none. FAILED_PRECONDITION: it was dropped.
  absl::StatusOr<SequenceType> Find(std::string_view name);

  // Also a dropped type, with its last rule.
  struct Known {
    SequenceType type;
    bool is_dropped = false;
    // DATA_LOSS: the rule cannot be read, here at least; of `type` only name and version are so.
    absl::Status read = {};
    bool is_readable() const { return read.ok(); }
  };
  // NOT_FOUND: there is no such type, and was none. A rule that cannot be read is DATA_LOSS unless
  // it was dropped.
  absl::StatusOr<Known> FindAny(std::string_view name);

  // All types, by name, without those that were dropped.
  absl::StatusOr<std::vector<SequenceType>> List();
  // With them, and with those whose rules cannot be read.
  absl::StatusOr<std::vector<Known>> ListAny();

  // Replaces the rule that has version type.version; returns the new one with its version. A
  // counter that has a value goes on from that: `start` is for counters to come, and one above a
  // lower max_value is at its limit. A `zone` further west, with a period, takes the calendar back:
  // until its next midnight, generators may go on in the day before (month, year) of the one that
  // they were in. Numbers do not repeat, as counters and dates go together and a counter is kept
  // for longer than its day lasts in any zone (SequenceType::expiry), but a later number may show
  // an earlier day. ABORTED: the rule has another version now. NOT_FOUND: there is no such
  // type. FAILED_PRECONDITION: it was dropped; numbers may be written twice (above); or `period`
  // differs: it is part of the names of counters, which would all start again. INVALID_ARGUMENT:
  // SequenceType::Check.
  absl::StatusOr<SequenceType> Alter(SequenceType type, Repeats repeats = Repeats::kRefused);

  // Marks the rule that has this version as dropped: nobody counts by it any more, and the name is
  // kept. A rule that cannot be read may be dropped. ABORTED, NOT_FOUND: as for Alter.
  // FAILED_PRECONDITION: it is dropped already.
  absl::Status Drop(std::string_view name, uint64_t version);

 protected:
  // What an engine keeps of a type; `text` is at most 4,096 bytes.
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
  // OK: no counter without a rule has the name. Requires plain_value_.
  absl::Status CheckNotCounted(const std::string& name) const;
  void Tell(SequenceTypeEvent::Kind kind, std::optional<SequenceType> before,
            const SequenceType& after) const;

  std::function<void(const SequenceTypeEvent&)> on_event_;
  std::function<absl::StatusOr<int64_t>(const std::string&)> plain_value_;
};

// Makes a sequencer without rules refuse the names of types, and of their counters, as those of
// OpenSequencer do (locus/sequencer.h). `types` are of the sequencer's store.
void RefuseNamesOfTypes(Sequencer& sequencer, std::shared_ptr<SequenceTypeStore> types);

}  // namespace locus

#endif  // LOCUS_SEQUENCE_TYPE_STORE_H_
