// SPDX-License-Identifier: Apache-2.0
#ifndef LOCUS_SRC_STRICT_STRICT_RULES_H_
#define LOCUS_SRC_STRICT_STRICT_RULES_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "locus/strict_store.h"
#include "src/strict/flaw.h"

// The one place where the ownership of sections is decided. An engine of StrictStore reads the
// stored state of a set and of the sections that a call names, calls one of these functions, and
// writes the changes, all in one transaction. Everything here is pure: no I/O, no clock.
//
// How this room works together. On the store's side, StoreFrame (store_frame.h) runs these rules in
// the transactions of an engine. On the owner's side, StrictSequencer calls the store.
// OwnedSections keeps the sections of this process, with their deadlines; Drawing takes numbers
// from them on the callers' threads: a Section says whether a number may be answered, Cells hold
// the last number of each key, a PageBudget limits their memory, and Ticking replaces most readings
// of the clock. StrictSpread (spread.cc) decides which owner should have which section.

namespace locus::strict {

// The highest number.
inline constexpr uint64_t kMostNumber = (uint64_t{1} << 63) - 1;
// One call raises the max_seq of a section to this at most, or, if it is above this already, by
// kMostStrictStep at most. So a caller can waste numbers, but cannot use a section up. A limit
// nearer to the stored value would refuse honest owners whose store was put back to an older state.
// Losses raise nothing above it before the year 30000.
inline constexpr uint64_t kMostRaise = uint64_t{1} << 60;

// The store's time when a call was made, as exactly as the engine knows it. A ttl is counted from
// the latest possible time, and an ownership has ended only if the earliest possible time is past
// its end.
struct StoreTime {
  StoreTime(absl::Time now)  // NOLINT(google-explicit-constructor): known exactly
      : earliest(Millis(now)), latest(earliest) {}
  StoreTime(absl::Time earliest_now, absl::Time latest_now)
      : earliest(Millis(earliest_now)), latest(Millis(latest_now)) {}

  absl::Time earliest;  // both in whole ms
  absl::Time latest;

 private:
  static absl::Time Millis(absl::Time time) {
    return absl::FromUnixMillis(absl::ToUnixMillis(time));
  }
};

// The stored state of a set.
struct Set {
  StrictSetOptions options;
  uint64_t table_version = 0;
  absl::Time rest_until = absl::UnixEpoch();  // in whole ms
  uint64_t losses = 0;
  uint64_t base = 0;  // max_seq of every section is at least this; raised by losses

  friend bool operator==(const Set&, const Set&) = default;
};

// The stored state of a section; it has none before it is first owned.
struct Record {
  uint64_t max_seq = 0;
  uint64_t start = 0;  // of the latest grant
  uint64_t token = 0;  // of the latest grant; one more once that was released
  StrictOwner owner;   // no name: it was released
  std::string successor;
  absl::Time ends_at = absl::UnixEpoch();  // in whole ms

  friend bool operator==(const Record&, const Record&) = default;
};

// The state that a call works on.
struct Batch {
  Set set;
  std::map<uint32_t, Record> records;  // of the sections that the call names
  std::set<uint32_t> changed;          // of `records`
  bool set_changed = false;
  bool loss_noticed = false;  // a call notes one loss at most
};

// INVALID_ARGUMENT, naming what is wrong, its value and the limit.
absl::Status Check(const StrictSetOptions& options, const StrictTake& request);
absl::Status Check(const StrictSetOptions& options, const StrictExtend& request);
absl::Status Check(const StrictSetOptions& options, const StrictRelease& request);
// FAILED_PRECONDITION: a set was opened with other options than it has.
absl::Status CheckSame(const SpaceName& set, const StrictSetOptions& stored,
                       const StrictSetOptions& opened);
// INVALID_ARGUMENT: this new set has more sections than the `most` of the store. `store` names it.
absl::Status CheckFits(const SpaceName& set, const StrictSetOptions& options, size_t most,
                       std::string_view store);
// Checks a record that was read. INVALID_ARGUMENT: an impossible value, which the message names.
absl::Status CheckRecord(const Record& record);
// The NOT_FOUND of a set that does not exist.
absl::Status NoSuchSet(const SpaceName& set);

StrictSetView ViewOf(const Set& set, const std::map<uint32_t, Record>& records, absl::Time now);

// The number that a key reaches if it draws kStrictFloorRate numbers a second since
// 2023-01-01T00:00:00Z.
inline uint64_t FloorAt(absl::Time now) {
  constexpr int64_t kEpochMs = 1'672'531'200'000;
  const int64_t ms = std::max<int64_t>(absl::ToUnixMillis(now) - kEpochMs, 0);
  return static_cast<uint64_t>(ms / 1000) * kStrictFloorRate +
         static_cast<uint64_t>(ms % 1000) * kStrictFloorRate / 1000;
}

template <typename Faults = NoFlaw>
class RulesOf {
 public:
  // The set lost data: see StrictStore.
  static void NoteLoss(Batch& batch, StoreTime now) {
    if (batch.loss_noticed) return;
    batch.loss_noticed = true;
    Set& set = batch.set;
    ++set.losses;
    // Clients accept only newer tables, so the version must be above all forgotten ones. It is then
    // above them, because owners change less often than numbers may rise.
    set.table_version = std::max(set.table_version + 1, FloorAt(now.latest));
    if (!Faults::Has(Flaw::kNoRestAfterLoss)) {
      set.rest_until = std::max(set.rest_until, now.latest + set.options.ttl);
    }
    if (!Faults::Has(Flaw::kNoMarginAfterLoss)) {
      set.base = std::max(set.base, FloorAt(now.latest) + kStrictLossMargin);
    }
    batch.set_changed = true;
  }

  // Of a set that does not exist.
  static void Create(Batch& batch, const StrictSetOptions& options, const StrictSetPast& past,
                     StoreTime now) {
    batch.set.options = options;
    batch.set_changed = true;
    if (!past.first_ever) NoteLoss(batch, now);
  }

  static StrictReply<StrictGrant> Take(Batch& batch, const StrictTake& request, StoreTime now) {
    // Losses must be noticed before anything is granted.
    for (const StrictTake::Wish& wish : request.wishes) {
      if (wish.seen <= MaxSeqOf(batch.set, Find(batch, wish.section))) continue;
      NoteLoss(batch, now);
      // Above the level to which a loss raises all sections: otherwise this owner's next take would
      // be another loss.
      if (wish.seen > MaxSeqOf(batch.set, Find(batch, wish.section))) Remember(batch, wish);
    }
    StrictReply<StrictGrant> reply;
    for (const StrictTake::Wish& wish : request.wishes) {
      reply.items.push_back(TakeOne(batch, wish, request.owner, now));
    }
    reply.loss_noticed = batch.loss_noticed;
    reply.table_version = batch.set.table_version;
    return reply;
  }

  static StrictReply<StrictExtended> Extend(Batch& batch, const StrictExtend& request,
                                            StoreTime now) {
    StrictReply<StrictExtended> reply;
    for (const StrictExtend::Section& section : request.sections) {
      reply.items.push_back(ExtendOne(batch, section, request.owner, now));
    }
    reply.loss_noticed = batch.loss_noticed;
    reply.table_version = batch.set.table_version;
    return reply;
  }

  static StrictReply<StrictExtended> Release(Batch& batch, const StrictRelease& request,
                                             StoreTime now) {
    StrictReply<StrictExtended> reply;
    for (const StrictRelease::Section& section : request.sections) {
      Record* record = Find(batch, section.section);
      NoteWhatWasForgotten(batch, record, section.section, section.token, section.max_seq,
                           request.owner, now);
      const bool held = Owns(record, section.token, request.owner);
      if (held) {
        Write(batch, section.section, [&](Record& next) {
          next.max_seq = Raised(next.max_seq, section.max_seq);
          Vacate(next);
          next.successor = request.successor;
          next.ends_at = request.successor.empty() ? now.latest : now.latest + kHandOverRest;
        });
        ++batch.set.table_version;
        batch.set_changed = true;
      }
      reply.items.push_back({section.section, held, MaxSeqOf(batch.set, record)});
    }
    reply.loss_noticed = batch.loss_noticed;
    reply.table_version = batch.set.table_version;
    return reply;
  }

  // Gives up a section whose ownership has ended, as its owner would have; or one that was reserved
  // for a successor. True: the record has changed, and so has the table of the set.
  static bool GiveUpEnded(const Set& set, Record& record, StoreTime now) {
    if (record.owner.name.empty() && record.successor.empty()) return false;
    if (record.ends_at >= now.earliest && !Faults::Has(Flaw::kGivenUpBeforeItsEnd)) return false;
    record.max_seq = MaxSeqOf(set, &record);
    if (!record.owner.name.empty()) Vacate(record);
    record.successor.clear();
    return true;
  }

  // Of a section; nullptr: of one that was never owned, or was forgotten.
  static uint64_t MaxSeqOf(const Set& set, const Record* record) {
    return std::max(set.base, record == nullptr ? 0 : record->max_seq);
  }

 private:
  static Record* Find(Batch& batch, uint32_t section) {
    auto found = batch.records.find(section);
    return found == batch.records.end() ? nullptr : &found->second;
  }

  static bool Owns(const Record* record, uint64_t token, const StrictOwner& owner) {
    if (record == nullptr) return false;
    if (Faults::Has(Flaw::kAnyTokenExtends)) return true;
    return record->token == token && record->owner.instance == owner.instance &&
           record->owner.name == owner.name;
  }

  // An unchanged token does not prove that the section had no other owner since: the store may have
  // forgotten one. Before its end, only its owner could give it away.
  static bool MayHaveEnded(const Record& record, StoreTime now) {
    return !Faults::Has(Flaw::kEndedOwnershipRenewed) && !Faults::Has(Flaw::kAnyTokenExtends) &&
           record.ends_at < now.latest;
  }

  // The end of an ownership that is granted or renewed now.
  static absl::Time OwnershipEnd(const Set& set, StoreTime now) {
    const absl::Time from =
        Faults::Has(Flaw::kOwnershipFromTheEarliest) ? now.earliest : now.latest;
    return from + set.options.ttl;
  }

  template <typename Change>
  static void Write(Batch& batch, uint32_t section, const Change& change) {
    Record& record = batch.records[section];
    record.max_seq = MaxSeqOf(batch.set, &record);
    change(record);
    batch.changed.insert(section);
  }

  // The owner's part of a record.
  static void Vacate(Record& record) {
    record.start = record.max_seq;
    ++record.token;
    record.owner = StrictOwner();
  }

  // The highest value to which one call may raise a stored `max_seq`.
  static uint64_t MostAbove(uint64_t max_seq) {
    return std::max(kMostRaise, max_seq + std::min(kMostStrictStep, kMostNumber - max_seq));
  }
  static uint64_t Raised(uint64_t max_seq, uint64_t to) {
    return std::max(max_seq, std::min(to, MostAbove(max_seq)));
  }

  static StrictGrant Refused(uint32_t section, StrictGrant::Verdict verdict, absl::Duration wait) {
    StrictGrant grant;
    grant.section = section;
    grant.verdict = verdict;
    grant.wait = wait;
    return grant;
  }

  static StrictGrant TakeOne(Batch& batch, const StrictTake::Wish& wish, const StrictOwner& owner,
                             StoreTime now) {
    Set& set = batch.set;
    const absl::Time ends_at = OwnershipEnd(set, now);
    if (set.rest_until > ends_at) {  // the store's clock was set back
      set.rest_until = ends_at;
      batch.set_changed = true;
    }
    if (set.rest_until >= now.earliest && set.losses > 0) {
      return Refused(wish.section, StrictGrant::Verdict::kResting, set.rest_until - now.earliest);
    }
    Record* record = Find(batch, wish.section);
    if (record != nullptr && !MayTake(batch, wish.section, *record, owner, now)) {
      StrictGrant grant =
          Refused(wish.section, StrictGrant::Verdict::kHeld, record->ends_at - now.earliest);
      grant.holder = record->owner;
      if (grant.holder.name.empty()) grant.holder.name = record->successor;
      return grant;
    }
    uint64_t start = Raised(MaxSeqOf(set, record), wish.seen);
    // No numbers are left if it is kMostNumber. It is granted all the same, so that an owner can
    // report this to callers.
    const uint64_t stored = start + std::min(set.options.step, kMostNumber - start);
    if (Faults::Has(Flaw::kStartBelowMaxSeq)) start -= std::min(start, set.options.step);
    Write(batch, wish.section, [&](Record& next) {
      next.max_seq = Faults::Has(Flaw::kGrantStoresNoRaise) ? start : stored;
      next.start = start;
      // Not below the clock, so that tokens rise even if the last one was forgotten.
      next.token = std::max(next.token + 1, static_cast<uint64_t>(absl::ToUnixMillis(now.latest)));
      next.owner = owner;
      next.successor.clear();
      next.ends_at = ends_at;
    });
    ++set.table_version;
    batch.set_changed = true;
    StrictGrant grant = Refused(wish.section, StrictGrant::Verdict::kGranted, absl::ZeroDuration());
    grant.holder = owner;
    grant.token = batch.records[wish.section].token;
    grant.start = start;
    grant.max_seq = stored;
    return grant;
  }

  static bool MayTake(Batch& batch, uint32_t section, Record& record, const StrictOwner& owner,
                      StoreTime now) {
    if (Faults::Has(Flaw::kTakenBeforeItsEnd)) return true;
    // The same process again: it got no answer or lost the section, so it does not answer for it
    // now.
    if (record.owner == owner) return true;
    if (record.owner.name.empty() && record.successor == owner.name) return true;
    // The store's clock was set back: no ownership lasts longer than its ttl from now.
    const absl::Time last = OwnershipEnd(batch.set, now);
    if (record.ends_at > last) {
      Write(batch, section, [&](Record& next) { next.ends_at = last; });
    }
    const absl::Time by = Faults::Has(Flaw::kEndedByTheLatest) ? now.latest : now.earliest;
    return record.ends_at < by || (record.owner.name.empty() && record.successor.empty());
  }

  static void Remember(Batch& batch, const StrictTake::Wish& wish) {
    Write(batch, wish.section, [&](Record& next) {
      next.max_seq = Raised(next.max_seq, wish.seen);
      if (next.owner.name.empty()) next.start = next.max_seq;
      next.token = std::max<uint64_t>(next.token, 1);
    });
  }

  // An owner knows of a grant, or of a raise, that the store does not.
  static void NoteWhatWasForgotten(Batch& batch, Record* record, uint32_t section, uint64_t token,
                                   uint64_t known, const StrictOwner& owner, StoreTime now) {
    const bool forgotten_grant = record == nullptr || record->token < token;
    const bool forgotten_raise = Owns(record, token, owner) && known > MaxSeqOf(batch.set, record);
    // Granted to another owner below numbers that this owner may have used.
    const bool contested = !forgotten_grant && record->token > token && known > record->start;
    if (!forgotten_grant && !forgotten_raise && !contested) return;
    NoteLoss(batch, now);
    if (!contested) return;
    // Taken from both owners: the next one begins above.
    Write(batch, section, [&](Record& next) {
      next.max_seq = Raised(next.max_seq, known);
      next.start = next.max_seq;
      ++next.token;
    });
    ++batch.set.table_version;
  }

  static StrictExtended ExtendOne(Batch& batch, const StrictExtend::Section& section,
                                  const StrictOwner& owner, StoreTime now) {
    Record* record = Find(batch, section.section);
    NoteWhatWasForgotten(batch, record, section.section, section.token, section.max_seq, owner,
                         now);
    const bool held = Owns(record, section.token, owner) && !MayHaveEnded(*record, now);
    if (!held) return StrictExtended{section.section, false, 0};
    const uint64_t stored = MaxSeqOf(batch.set, record);
    const uint64_t raised = Raised(stored, std::max(section.raise_to, section.max_seq));
    // Numbers above the stored max_seq must not be used, and this owner would use them.
    if (raised < section.max_seq) return StrictExtended{section.section, false, 0};
    Write(batch, section.section, [&](Record& next) {
      if (Faults::Has(Flaw::kRaiseLowers) && section.raise_to > 0) {
        next.max_seq = section.raise_to;
      } else {
        next.max_seq = std::max(next.max_seq, raised);
      }
      next.ends_at = std::max(next.ends_at, OwnershipEnd(batch.set, now));
    });
    const uint64_t max_seq =
        Faults::Has(Flaw::kAnyTokenExtends) ? std::max(record->max_seq, raised) : record->max_seq;
    return StrictExtended{section.section, true, max_seq};
  }
};

using Rules = RulesOf<>;

}  // namespace locus::strict

#endif  // LOCUS_SRC_STRICT_STRICT_RULES_H_
