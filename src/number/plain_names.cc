// SPDX-License-Identifier: Apache-2.0
#include "src/number/plain_names.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/number/type_text.h"

namespace locus {
namespace internal {

absl::Status PlainNames::Check(const std::string& counter, Sequencer::NameLook look) {
  const std::string type = TypeOfCounter(counter);
  if (type.empty() && !CheckTypeName(counter).ok()) return absl::OkStatus();
  // All counters of a type's form are checked together. The counter of the type's plain name is
  // checked separately, because it begins separately.
  const std::string name = type.empty() ? counter : type + ":";
  LOCUS_RETURN_IF_ERROR(home_.Check("a sequencer"));
  if (look == Sequencer::NameLook::kBefore && Knows(name)) return absl::OkStatus();
  const absl::StatusOr<std::string> found = TypeOf(counter, look);
  if (!found.ok()) {
    return absl::Status(
        found.status().code(),
        absl::StrCat("whether counter ", Quoted(counter),
                     " is of a sequence type cannot be read: ", found.status().message()));
  }
  if (!found->empty()) {
    return CountedByItsType(
        counter, *found, "count it by TypedSequences (locus/typed_sequences.h), or name it apart");
  }
  Keep(name);
  return absl::OkStatus();
}

absl::StatusOr<std::string> PlainNames::TypeOf(const std::string& counter,
                                               Sequencer::NameLook look) {
  const absl::StatusOr<std::shared_ptr<SequenceTypeStore>> types = Types(look);
  if (absl::IsNotFound(types.status())) return std::string();
  LOCUS_RETURN_IF_ERROR(types.status());
  return TypeThatCounts(**types, counter);
}

absl::StatusOr<std::shared_ptr<SequenceTypeStore>> PlainNames::Types(Sequencer::NameLook look) {
  const absl::Duration now = clock_.SinceBoot();
  {
    MutexLock lock(mutex_);
    if (types_ != nullptr) return types_;
    if (look == Sequencer::NameLook::kBefore && now < missing_until_) {
      return absl::NotFoundError("the store had no table of types a moment ago");
    }
  }
  absl::StatusOr<std::shared_ptr<SequenceTypeStore>> opened = open_();
  MutexLock lock(mutex_);
  if (absl::IsNotFound(opened.status())) missing_until_ = now + kLooksEvery;
  LOCUS_RETURN_IF_ERROR(opened.status());
  if (types_ == nullptr) types_ = *std::move(opened);
  return types_;
}

bool PlainNames::Knows(const std::string& name) {
  const absl::Duration now = clock_.SinceBoot();
  MutexLock lock(mutex_);
  const auto found = looked_at_.find(name);
  return found != looked_at_.end() && now - found->second < kLooksEvery;
}

void PlainNames::Keep(const std::string& name) {
  const absl::Duration now = clock_.SinceBoot();
  MutexLock lock(mutex_);
  if (looked_at_.size() >= kMostNames && !looked_at_.contains(name)) looked_at_.clear();
  looked_at_[name] = now;
}

absl::Status CheckIsOfType(const std::string& counter) {
  if (!TypeOfCounter(counter).empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(
      absl::StrCat("counter ", Quoted(counter),
                   " is of no sequence type, but is to be counted as one of a type: name it by "
                   "SequenceType::CounterName"));
}

}  // namespace internal

void RefuseNamesOfTypes(Sequencer& sequencer, std::shared_ptr<SequenceTypeStore> types) {
  auto names = std::make_shared<internal::PlainNames>(
      [types = std::move(types)]() -> absl::StatusOr<std::shared_ptr<SequenceTypeStore>> {
        return types;
      });
  sequencer.set_name_check([names](const std::string& name, Sequencer::NameLook look) {
    return names->Check(name, look);
  });
}

}  // namespace locus
