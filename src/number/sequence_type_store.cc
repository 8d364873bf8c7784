// SPDX-License-Identifier: Apache-2.0
#include "locus/sequence_type_store.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/os/random_word.h"
#include "src/base/text/text.h"
#include "src/number/type_change.h"
#include "src/number/type_text.h"

namespace locus {

absl::StatusOr<std::string> internal::TypeThatCounts(SequenceTypeStore& types,
                                                     std::string_view counter) {
  std::string type = TypeOfCounter(counter);
  if (type.empty() && CheckTypeName(counter).ok()) type = std::string(counter);
  if (type.empty()) return type;
  const absl::Status found = types.FindAny(type).status();
  if (absl::IsNotFound(found)) return std::string();
  LOCUS_RETURN_IF_ERROR(found);
  return type;
}

absl::Status internal::CountedByItsType(std::string_view counter, std::string_view type,
                                        std::string_view advice) {
  return absl::FailedPreconditionError(
      absl::StrCat("counter ", Quoted(counter), " has the name of sequence type ", ToAbsl(type),
                   " or of its counters, which count only as it says: ", ToAbsl(advice)));
}

using internal::Quoted;
using internal::ToAbsl;

namespace {

constexpr uint64_t kHighestVersion = std::numeric_limits<int64_t>::max();

absl::Status NotFound(std::string_view name) {
  return absl::NotFoundError(absl::StrCat("there is no sequence type ", ToAbsl(name)));
}

absl::Status Aborted(std::string_view name, uint64_t version, uint64_t now) {
  return absl::AbortedError(absl::StrCat("sequence type ", ToAbsl(name), " has version ", now,
                                         " now, not ", version, ": read it again"));
}

absl::Status WasDropped(std::string_view name) {
  return absl::FailedPreconditionError(
      absl::StrCat("sequence type ", ToAbsl(name), " was dropped: create it again to continue"));
}

SequenceTypeStore::Known Read(const std::string& name, uint64_t version, std::string_view text) {
  SequenceTypeStore::Known known;
  auto lost = [&](std::string_view reason) {
    known.read = absl::DataLossError(
        absl::StrCat("what is stored as sequence type ", Quoted(name), " ", ToAbsl(reason)));
  };
  absl::StatusOr<internal::StoredType> stored = internal::ParseStoredText(text);
  if (stored.ok()) {
    known.is_dropped = stored->is_dropped;
    known.type = std::move(stored->type);
  }
  known.type.name = name;
  const absl::Status valid = known.type.Check();
  if (version == 0 || version > kHighestVersion) {
    lost(absl::StrCat("has the version ", version));
  } else if (!stored.ok()) {
    lost(std::string(stored.status().message()));
  } else if (!stored->is_readable) {
    lost("is a text that this build cannot read");
  } else if (!valid.ok()) {
    lost(absl::StrCat("is not a sequence type: ", valid.message()));
  }
  if (!known.is_readable()) {
    known.type = SequenceType();
    known.type.name = name;
  }
  known.type.version = version;
  return known;
}

// Why no process can count by it, and the command that ends it.
absl::Status Unreadable(const SequenceTypeStore::Known& known) {
  return absl::DataLossError(absl::StrCat(known.read.message(), "; locus seq type drop ",
                                          known.type.name, " --version ", known.type.version,
                                          " ends it, unless others can read it"));
}

// Checks a type that replaces `dropped`.
absl::Status CheckRevives(const SequenceTypeStore::Known& dropped, const SequenceType& type) {
  constexpr char kOr[] =
      "; create another type, or confirm that numbers may be written twice (command: --may-repeat; "
      "C++: Repeats::kAllowed)";
  if (!dropped.is_readable()) {
    return absl::FailedPreconditionError(absl::StrCat(
        "sequence type ", type.name, ", version ", dropped.type.version,
        ", was dropped, and its last state cannot be compared: ", dropped.read.message(), kOr));
  }
  if (dropped.type.period != type.period) {
    return absl::FailedPreconditionError(absl::StrCat(
        "sequence type ", type.name, " had the period ", ToAbsl(ToString(dropped.type.period)),
        ", not ", ToAbsl(ToString(type.period)), ": all its counters would start again", kOr));
  }
  return internal::CheckRepeatsNothing(dropped.type, type);
}

// The text to store for a type that follows `before`; `text` is its own text. FAILED_PRECONDITION:
// numbers may be written twice, and the caller does not allow it.
absl::StatusOr<std::string> TextAfter(const SequenceType& before, std::string_view text,
                                      const SequenceType& next,
                                      SequenceTypeStore::Repeats repeats) {
  // The caller's permission covers all earlier patterns: it is not needed again.
  if (repeats == SequenceTypeStore::Repeats::kAllowed) return internal::TypeTextOf(next);
  LOCUS_ASSIGN_OR_RETURN(internal::StoredType stored, internal::ParseStoredText(text));
  std::vector<std::string>& earlier = stored.earlier;
  if (before.pattern != next.pattern) {
    SequenceType old = next;
    for (const std::string& pattern : earlier) {
      old.pattern = pattern;
      LOCUS_RETURN_IF_ERROR(internal::CheckRepeatsNothing(old, next));
    }
    earlier.insert(earlier.begin(), before.pattern);
    std::erase(earlier, next.pattern);
  }
  std::string after = internal::StoredTextOf(next, earlier);
  if (after.size() <= internal::kLongestTypeText) return after;
  return absl::FailedPreconditionError(absl::StrCat(
      "sequence type ", next.name, " has had ", earlier.size(),
      " other patterns, of which no more can be stored; create another type, or confirm that "
      "numbers may be written twice (command: --may-repeat; C++: Repeats::kAllowed)"));
}

absl::StatusOr<uint64_t> NextVersion(std::string_view name, uint64_t version) {
  if (version < kHighestVersion) return version + 1;
  return absl::FailedPreconditionError(
      absl::StrCat("sequence type ", ToAbsl(name), " has the highest version there is"));
}

// Checks an expiry that is stored now. Older types may have a shorter one.
absl::Status CheckNewExpiry(const SequenceType& type) {
  constexpr absl::Duration kShortestExpiry = absl::Seconds(10);
  if (type.expiry == absl::ZeroDuration() || type.expiry >= kShortestExpiry) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      absl::StrCat("sequence type option expiry is ", absl::FormatDuration(type.expiry),
                   "; it must be 0 (none) or at least ", absl::FormatDuration(kShortestExpiry),
                   ": numbers are taken ahead, and handed out for half of it"));
}

absl::Status CheckSuccessor(const SequenceType& known, const SequenceType& next) {
  if (known.period == next.period) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("sequence type ", next.name, " has the period ", ToAbsl(ToString(known.period)),
                   ", which cannot become ", ToAbsl(ToString(next.period)),
                   ": all its counters would start again; create another type"));
}

}  // namespace

std::string SequenceTypeStore::Stored::Joined() const { return absl::StrCat(version, " ", text); }

std::optional<SequenceTypeStore::Stored> SequenceTypeStore::Stored::Split(std::string_view joined) {
  size_t space = joined.find(' ');
  if (space == std::string_view::npos) return std::nullopt;
  auto version = internal::ParseDecimal(joined.substr(0, space), kHighestVersion);
  if (!version) return std::nullopt;
  return Stored{*version, std::string(joined.substr(space + 1))};
}

void SequenceTypeStore::Tell(SequenceTypeEvent::Kind kind, std::optional<SequenceType> before,
                             const SequenceType& after) const {
  if (on_event_) on_event_({kind, std::move(before), after});
}

absl::StatusOr<SequenceType> SequenceTypeStore::Create(SequenceType type, Repeats repeats) {
  LOCUS_RETURN_IF_ERROR(type.Check());
  LOCUS_RETURN_IF_ERROR(CheckNewExpiry(type));
  std::optional<uint64_t> random = internal::RandomWord();
  if (!random) return absl::UnavailableError("OpenSSL has no randomness for a version");
  // Random: the types of a store that was emptied must not be taken for the earlier ones.
  type.version = (*random >> 12) + 1;
  const bool looks = plain_value_ && repeats == Repeats::kRefused;
  // A dropped type continues its counters, because its name was refused to others meanwhile.
  if (looks && absl::IsNotFound(FindAny(type.name).status())) {
    LOCUS_RETURN_IF_ERROR(CheckNotCounted(type.name));
  }
  LOCUS_ASSIGN_OR_RETURN(bool stored,
                         Swap(type.name, 0, Stored{type.version, internal::TypeTextOf(type)}));
  if (stored && looks) {
    // A process that begins the counter looks for a type afterwards, so one of the two sees the
    // other.
    const absl::Status status = CheckNotCounted(type.name);
    if (!status.ok()) LOCUS_RETURN_IF_ERROR(Swap(type.name, type.version, std::nullopt).status());
    LOCUS_RETURN_IF_ERROR(status);
  }
  if (stored) {
    Tell(SequenceTypeEvent::Kind::kCreated, std::nullopt, type);
    return type;
  }
  LOCUS_ASSIGN_OR_RETURN(Known known, FindAny(type.name));
  if (known.is_dropped) {
    if (repeats == Repeats::kRefused) LOCUS_RETURN_IF_ERROR(CheckRevives(known, type));
    LOCUS_ASSIGN_OR_RETURN(std::string text, TextAfterOf(known.type, type, repeats));
    LOCUS_ASSIGN_OR_RETURN(type.version, NextVersion(type.name, known.type.version));
    LOCUS_ASSIGN_OR_RETURN(
        stored, Swap(type.name, known.type.version, Stored{type.version, std::move(text)}));
    if (stored) {
      Tell(SequenceTypeEvent::Kind::kCreated,
           known.is_readable() ? std::optional(std::move(known.type)) : std::nullopt, type);
      return type;
    }
  }
  return absl::AlreadyExistsError(absl::StrCat("there is a sequence type ", type.name, " already"));
}

absl::Status SequenceTypeStore::CheckNotCounted(const std::string& name) const {
  const absl::StatusOr<int64_t> value = plain_value_(name);
  if (absl::IsNotFound(value.status())) return absl::OkStatus();
  LOCUS_RETURN_IF_ERROR(value.status());
  return absl::FailedPreconditionError(absl::StrCat(
      "the counter ", name, " is in use without a type and is at ", *value,
      "; a type of that name has counters of its own, which begin anew: take another name. If "
      "numbers may be written twice, confirm it (command: --may-repeat; C++: Repeats::kAllowed), "
      "then set the type's counters above ",
      *value, " (command: locus seq set --type ", name, " --value N; C++: Sequencer::Set)"));
}

absl::StatusOr<std::optional<SequenceTypeStore::Stored>> SequenceTypeStore::LoadChecked(
    std::string_view name) {
  LOCUS_RETURN_IF_ERROR(internal::CheckTypeName(name));
  absl::StatusOr<std::optional<Stored>> loaded = Load(std::string(name));
  // A store that is missing says nothing about its types.
  if (!absl::IsNotFound(loaded.status())) return loaded;
  return absl::FailedPreconditionError(loaded.status().message());
}

absl::StatusOr<SequenceTypeStore::Known> SequenceTypeStore::FindAny(std::string_view name) {
  LOCUS_ASSIGN_OR_RETURN(std::optional<Stored> stored, LoadChecked(name));
  if (!stored) return NotFound(name);
  Known known = Read(std::string(name), stored->version, stored->text);
  if (!known.is_readable() && !known.is_dropped) return Unreadable(known);
  return known;
}

absl::StatusOr<SequenceType> SequenceTypeStore::Find(std::string_view name) {
  LOCUS_ASSIGN_OR_RETURN(Known known, FindAny(name));
  if (known.is_dropped) return WasDropped(name);
  return std::move(known.type);
}

absl::StatusOr<std::vector<SequenceTypeStore::Known>> SequenceTypeStore::ListAny() {
  using All = std::map<std::string, Stored>;
  LOCUS_ASSIGN_OR_RETURN(All all, LoadAll());
  std::vector<Known> types;
  types.reserve(all.size());
  for (const auto& [name, stored] : all) {
    types.push_back(Read(name, stored.version, stored.text));
  }
  return types;
}

absl::StatusOr<std::vector<SequenceType>> SequenceTypeStore::List() {
  LOCUS_ASSIGN_OR_RETURN(std::vector<Known> all, ListAny());
  std::vector<SequenceType> types;
  for (Known& known : all) {
    if (known.is_dropped) continue;
    if (!known.is_readable()) return Unreadable(known);
    types.push_back(std::move(known.type));
  }
  return types;
}

// The type, if it has this version.
absl::StatusOr<SequenceType> SequenceTypeStore::FindVersion(std::string_view name,
                                                            uint64_t version) {
  LOCUS_ASSIGN_OR_RETURN(SequenceType known, Find(name));
  if (known.version != version) return Aborted(name, version, known.version);
  return known;
}

absl::StatusOr<std::string> SequenceTypeStore::TextAfterOf(const SequenceType& before,
                                                           const SequenceType& next,
                                                           Repeats repeats) {
  LOCUS_ASSIGN_OR_RETURN(std::optional<Stored> stored, LoadChecked(before.name));
  if (!stored) return NotFound(before.name);
  if (stored->version != before.version) {
    return Aborted(before.name, before.version, stored->version);
  }
  return TextAfter(before, stored->text, next, repeats);
}

// Explains why a Swap found another state.
absl::Status SequenceTypeStore::Changed(std::string_view name, uint64_t version) {
  LOCUS_ASSIGN_OR_RETURN(std::optional<Stored> stored, LoadChecked(name));
  return stored ? Aborted(name, version, stored->version) : NotFound(name);
}

absl::StatusOr<SequenceType> SequenceTypeStore::Alter(SequenceType type, Repeats repeats) {
  LOCUS_RETURN_IF_ERROR(type.Check());
  LOCUS_ASSIGN_OR_RETURN(SequenceType known, FindVersion(type.name, type.version));
  // An older type may keep its shorter expiry.
  if (type.expiry != known.expiry) LOCUS_RETURN_IF_ERROR(CheckNewExpiry(type));
  LOCUS_RETURN_IF_ERROR(CheckSuccessor(known, type));
  if (repeats == Repeats::kRefused) {
    LOCUS_RETURN_IF_ERROR(internal::CheckRepeatsNothing(known, type));
  }
  const uint64_t before = type.version;
  LOCUS_ASSIGN_OR_RETURN(std::string text, TextAfterOf(known, type, repeats));
  LOCUS_ASSIGN_OR_RETURN(type.version, NextVersion(type.name, before));
  LOCUS_ASSIGN_OR_RETURN(bool stored,
                         Swap(type.name, before, Stored{type.version, std::move(text)}));
  if (!stored) return Changed(type.name, before);
  Tell(SequenceTypeEvent::Kind::kAltered, std::move(known), type);
  return type;
}

absl::Status SequenceTypeStore::Drop(std::string_view name, uint64_t version) {
  LOCUS_ASSIGN_OR_RETURN(std::optional<Stored> stored, LoadChecked(name));
  if (!stored) return NotFound(name);
  Known known = Read(std::string(name), stored->version, stored->text);
  if (known.is_dropped) return WasDropped(name);
  if (stored->version != version) return Aborted(name, version, stored->version);
  LOCUS_ASSIGN_OR_RETURN(const uint64_t next, NextVersion(name, version));
  LOCUS_ASSIGN_OR_RETURN(bool dropped, Swap(std::string(name), version,
                                            Stored{next, internal::DroppedTextOf(stored->text)}));
  if (!dropped) return Changed(name, version);
  SequenceType ended = known.type;
  ended.version = next;
  Tell(SequenceTypeEvent::Kind::kDropped,
       known.is_readable() ? std::optional(std::move(known.type)) : std::nullopt, ended);
  return absl::OkStatus();
}

}  // namespace locus
