// SPDX-License-Identifier: Apache-2.0
#include "apps/locusd/ids/id_parts.h"

#include "absl/strings/str_cat.h"
#include "routing/table/printable_text.h"
#include "src/base/os/check.h"
#include "src/base/text/text.h"
#include "src/base/text/utf8.h"

namespace locus::locusd {

using internal::MutexLock;
using internal::Quoted;

namespace {

constexpr std::chrono::seconds kLookEvery{30};

}  // namespace

SegmentSequence* SequenceSet::Known(const std::string& name, bool& look) {
  look = false;
  const auto now = std::chrono::steady_clock::now();
  MutexLock lock(mutex_);
  const auto at = sequences_.find(name);
  if (at == sequences_.end()) return nullptr;
  if (typed_ != nullptr && now - at->second.looked >= kLookEvery) {
    at->second.looked = now;
    look = true;
  }
  return at->second.sequence.get();
}

absl::Status SequenceSet::Check(const std::string& name) const {
  if (!names_.empty() && !names_.contains(name)) {
    return absl::NotFoundError(absl::StrCat("this service has no sequence ", Quoted(name)));
  }
  // The name is a label of metrics and a text of JSON.
  if (internal::IsPrintableUtf8(name)) return internal::CheckCounterName("sequence", name);
  return absl::InvalidArgumentError(
      absl::StrCat("sequence ", Quoted(name), " has control characters, or is not UTF-8"));
}

absl::StatusOr<SegmentSequence*> SequenceSet::Find(const std::string& name) {
  MutexLock lock(mutex_);
  const auto at = sequences_.find(name);
  if (at != sequences_.end()) return at->second.sequence.get();
  LOCUS_RETURN_IF_ERROR(Check(name));
  if (sequences_.size() >= most_) {
    return absl::NotFoundError(absl::StrCat("this service has no sequence ", Quoted(name),
                                            ", and makes no more than ", most_));
  }
  LOCUS_ASSIGN_OR_RETURN(std::unique_ptr<SegmentSequence> made,
                         SegmentSequence::Create(counters_, name, options_));
  Made& kept = sequences_[name];
  kept = {std::move(made), std::chrono::steady_clock::now()};
  return kept.sequence.get();
}

void SequenceSet::ForEach(
    const std::function<void(const std::string&, const SegmentSequence&)>& visit) const {
  MutexLock lock(mutex_);
  for (const auto& [name, made] : sequences_) visit(name, *made.sequence);
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
