// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/id_parts.h"

#include "absl/strings/str_cat.h"
#include "routing/table/printable_text.h"
#include "src/base/check.h"
#include "src/base/text.h"

namespace locus::locusd {

using internal::MutexLock;
using internal::Quoted;

absl::StatusOr<SegmentSequence*> SequenceSet::Find(const std::string& name) {
  MutexLock lock(mutex_);
  const auto at = sequences_.find(name);
  if (at != sequences_.end()) return at->second.get();
  if (!names_.empty() && !names_.contains(name)) {
    return absl::NotFoundError(absl::StrCat("this service has no sequence ", Quoted(name)));
  }
  // The name is a label of metrics and a text of JSON.
  if (!internal::IsPrintableUtf8(name)) {
    return absl::InvalidArgumentError(
        absl::StrCat("sequence ", Quoted(name), " is not UTF-8 without control characters"));
  }
  if (sequences_.size() >= most_) {
    return absl::NotFoundError(absl::StrCat("this service has no sequence ", Quoted(name),
                                            ", and makes no more than ", most_));
  }
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<SegmentSequence> made,
                         SegmentSequence::Create(counters_, name, options_));
  return sequences_.emplace(name, std::move(made)).first->second.get();
}

void SequenceSet::ForEach(
    const std::function<void(const std::string&, const SegmentSequence&)>& visit) const {
  MutexLock lock(mutex_);
  for (const auto& [name, sequence] : sequences_) visit(name, *sequence);
}

bool IsAway(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status);
}

absl::Status WhyMissing(std::string_view what, const absl::Status& why_not) {
  if (why_not.ok()) {
    return absl::NotFoundError(absl::StrCat("this service has no ", internal::ToAbsl(what)));
  }
  const std::string message = absl::StrCat(internal::ToAbsl(what), ": ", why_not.message());
  if (IsAway(why_not)) return absl::UnavailableError(message);
  return absl::FailedPreconditionError(message);
}

}  // namespace locus::locusd
