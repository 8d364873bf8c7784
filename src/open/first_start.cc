// SPDX-License-Identifier: Apache-2.0
#include "src/open/first_start.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "src/base/os/check.h"
#include "src/open/opened.h"
#include "src/open/password.h"

namespace locus {
namespace internal {

FirstStart::FirstStart(std::string uri, const SequencerUriOptions& options)
    : uri_(options.ceiling.empty() ? std::move(uri) : options.ceiling),
      password_(Kept(options.ceiling.empty() ? options.password : options.ceiling_password)) {}

absl::Status FirstStart::Check() {
  LOCUS_ASSIGN_OR_RETURN(const std::shared_ptr<Sequencer> counters, Counters());
  const absl::Status found = counters->Get(kName).status();
  if (!absl::IsNotFound(found)) return found;
  const std::string command = absl::StrCat("`locus seq create --store '", uri_, "'");
  return absl::FailedPreconditionError(absl::StrCat(
      uri_,
      " has no mark of a first start: it is new, or what was in it is lost. If no number was ever "
      "given out from it, say so, once: ",
      command,
      " --first-ever`. Otherwise put the store back. If it is gone: create the sequence types that "
      "there were (locus seq type create), set each counter to its last number or above (locus seq "
      "set), then run ",
      command, " --counters-set`"));
}

absl::Status FirstStart::CheckCounter(const std::string& name, Sequencer::NameLook look) {
  if (look == Sequencer::NameLook::kBefore) {
    MutexLock lock(mutex_);
    if (met_.contains(name)) return absl::OkStatus();
  }
  const absl::Status found = Check();
  MutexLock lock(mutex_);
  if (!found.ok() || met_.size() >= kMostNames) met_.clear();
  if (found.ok()) met_.insert(name);
  return found;
}

absl::StatusOr<absl::Time> FirstStart::Mark(absl::Time now) {
  LOCUS_ASSIGN_OR_RETURN(const std::shared_ptr<Sequencer> counters, Counters());
  LOCUS_RETURN_IF_ERROR(counters->SetIfNotExists(kName, absl::ToUnixSeconds(now)).status());
  LOCUS_ASSIGN_OR_RETURN(const int64_t marked, counters->Get(kName));
  return absl::FromUnixSeconds(marked);
}

absl::StatusOr<std::shared_ptr<Sequencer>> FirstStart::Counters() {
  MutexLock lock(mutex_);
  if (counters_ != nullptr) return counters_;
  LOCUS_ASSIGN_OR_RETURN(counters_, As<std::shared_ptr<Sequencer>>(OpenUnchecked(uri_, password_)));
  return counters_;
}

}  // namespace internal

absl::StatusOr<absl::Time> MarkFirstStart(std::string_view uri, const SequencerUriOptions& options,
                                          absl::Time now) {
  return internal::FirstStart(std::string(uri), options).Mark(now);
}

}  // namespace locus
