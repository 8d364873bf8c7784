// SPDX-License-Identifier: Apache-2.0
#include "locus/sequence_type_store.h"

#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/check.h"
#include "src/base/random_word.h"
#include "src/base/text.h"
#include "src/sequence_type/type_text.h"

namespace locus {

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

absl::StatusOr<SequenceType> Read(const std::string& name, uint64_t version,
                                  std::string_view text) {
  auto lost = [&](std::string_view reason) {
    return absl::DataLossError(
        absl::StrCat("what is stored as sequence type ", Quoted(name), " ", ToAbsl(reason)));
  };
  absl::StatusOr<SequenceType> type = internal::ParseTypeText(text);
  if (!type.ok()) return lost(std::string(type.status().message()));
  if (version == 0 || version > kHighestVersion) {
    return lost(absl::StrCat("has the version ", version));
  }
  type->name = name;
  type->version = version;
  absl::Status valid = type->Check();
  if (!valid.ok()) return lost(absl::StrCat("is no rule: ", valid.message()));
  return type;
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

absl::StatusOr<SequenceType> SequenceTypeStore::Create(SequenceType type) {
  LOCUS_RETURN_IF_ERROR(type.Check());
  std::optional<uint64_t> random = internal::RandomWord();
  if (!random) return absl::UnavailableError("OpenSSL has no randomness for a version");
  type.version = (*random >> 12) + 1;
  LOCUS_ASSIGN_OR_RETURN(bool stored,
                         Swap(type.name, 0, Stored{type.version, internal::TypeTextOf(type)}));
  if (stored) return type;
  return absl::AlreadyExistsError(absl::StrCat("there is a sequence type ", type.name, " already"));
}

absl::StatusOr<SequenceType> SequenceTypeStore::Find(std::string_view name) {
  LOCUS_RETURN_IF_ERROR(internal::CheckTypeName(name));
  absl::StatusOr<std::optional<Stored>> loaded = Load(std::string(name));
  // A store that is missing says nothing about its types.
  if (absl::IsNotFound(loaded.status())) {
    return absl::FailedPreconditionError(loaded.status().message());
  }
  LOCUS_ASSIGN_OR_RETURN(std::optional<Stored> stored, std::move(loaded));
  if (!stored) return NotFound(name);
  return Read(std::string(name), stored->version, stored->text);
}

absl::StatusOr<std::vector<SequenceType>> SequenceTypeStore::List() {
  using All = std::map<std::string, Stored>;
  LOCUS_ASSIGN_OR_RETURN(All all, LoadAll());
  std::vector<SequenceType> types;
  types.reserve(all.size());
  for (const auto& [name, stored] : all) {
    LOCUS_ASSIGN_OR_RETURN(SequenceType type, Read(name, stored.version, stored.text));
    types.push_back(std::move(type));
  }
  return types;
}

// The rule, if it has this version.
absl::StatusOr<SequenceType> SequenceTypeStore::FindVersion(std::string_view name,
                                                            uint64_t version) {
  LOCUS_ASSIGN_OR_RETURN(SequenceType known, Find(name));
  if (known.version != version) return Aborted(name, version, known.version);
  return known;
}

// Why a Swap found another state.
absl::Status SequenceTypeStore::Changed(std::string_view name, uint64_t version) {
  LOCUS_ASSIGN_OR_RETURN(std::optional<Stored> stored, Load(std::string(name)));
  return stored ? Aborted(name, version, stored->version) : NotFound(name);
}

absl::StatusOr<SequenceType> SequenceTypeStore::Alter(SequenceType type) {
  LOCUS_RETURN_IF_ERROR(type.Check());
  LOCUS_ASSIGN_OR_RETURN(SequenceType known, FindVersion(type.name, type.version));
  if (known.period != type.period) {
    return absl::FailedPreconditionError(absl::StrCat(
        "sequence type ", type.name, " has the period ", ToAbsl(ToString(known.period)),
        ", which cannot become ", ToAbsl(ToString(type.period)),
        ": all its counters would start again; create another type"));
  }
  if (type.version >= kHighestVersion) {
    return absl::FailedPreconditionError(
        absl::StrCat("sequence type ", type.name, " has the highest version there is"));
  }
  const uint64_t before = type.version++;
  LOCUS_ASSIGN_OR_RETURN(bool stored,
                         Swap(type.name, before, Stored{type.version, internal::TypeTextOf(type)}));
  if (!stored) return Changed(type.name, before);
  return type;
}

absl::Status SequenceTypeStore::Drop(std::string_view name, uint64_t version) {
  LOCUS_RETURN_IF_ERROR(internal::CheckTypeName(name));
  if (version == 0) return Changed(name, version);
  LOCUS_ASSIGN_OR_RETURN(bool dropped, Swap(std::string(name), version, std::nullopt));
  return dropped ? absl::OkStatus() : Changed(name, version);
}

}  // namespace locus
