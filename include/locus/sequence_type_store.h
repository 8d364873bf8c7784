// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SEQUENCE_TYPE_STORE_H_
#define LOCUS_SEQUENCE_TYPE_STORE_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "locus/sequence_type.h"

namespace locus {

// The rules of sequences, beside the counters of an engine: a Sequencer and a SequenceTypeStore
// that are opened with the same place are of one store.
//
// Rules and counters are written independently. A process counts by the rule that it read last, so
// after an Alter two processes may count by two rules until both have read it. Drop keeps the
// counters; a type created again by that name goes on with them.
//
// Versions. Create begins with a random version below 2^52 and Alter adds 1, so that a type that
// was dropped and created again is not taken for the one before (by chance: 1 in 2^52).
//
// Errors of every method: UNAVAILABLE: the engine did not answer; a write may have been applied
// nevertheless. FAILED_PRECONDITION: the engine refuses until somebody repairs the cause.
// DATA_LOSS: what is stored is no rule; the message names the type. INVALID_ARGUMENT: a bad name.
// Thread safety: all methods may be called from any thread. They block as the Sequencer of the
// engine does. Cost: a round trip or two to the engine.
class SequenceTypeStore {
 public:
  virtual ~SequenceTypeStore() = default;

  // Stores a new rule; type.version is ignored. Returns it with its version. ALREADY_EXISTS: there
  // is a type of that name. INVALID_ARGUMENT: SequenceType::Check.
  absl::StatusOr<SequenceType> Create(SequenceType type);

  // NOT_FOUND: there is no such type.
  absl::StatusOr<SequenceType> Find(std::string_view name);

  // All types, by name.
  absl::StatusOr<std::vector<SequenceType>> List();

  // Replaces the rule that has version type.version; returns the new one with its version. A
  // counter that has a value goes on from that: `start` is for counters to come, and one above a
  // lower max_value is at its limit. A `zone` further west, with a period, takes the calendar back:
  // until its next midnight, generators may go on in the day before (month, year) of the one that
  // they were in. Numbers do not repeat, as counters and dates go together and a counter is kept
  // for longer than its day lasts in any zone (SequenceType::expiry), but a later number may show
  // an earlier day. Another `pattern` may write texts that the one before wrote: "{seq:5}"
  // writes the number 11 as "{seq:4}1" wrote 1. ABORTED: the rule has another version now.
  // NOT_FOUND: there is no such type. FAILED_PRECONDITION: `period` differs; it is part of the
  // names of counters, which would all start again. INVALID_ARGUMENT: SequenceType::Check.
  absl::StatusOr<SequenceType> Alter(SequenceType type);

  // Removes the rule that has this version. ABORTED, NOT_FOUND: as for Alter.
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
  absl::Status Changed(std::string_view name, uint64_t version);
};

}  // namespace locus

#endif  // LOCUS_SEQUENCE_TYPE_STORE_H_
