// SPDX-License-Identifier: Apache-2.0
#include "src/cluster/machine/remembered_requests.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "src/cluster/machine/flaw.h"

namespace locus::cluster_machine {

absl::Status RememberedRequests::CheckTime(const RequestId& id, absl::Time now) {
  if (id.made + kRemembered < now) {
    return absl::DeadlineExceededError(
        absl::StrCat("the request was made ", absl::FormatDuration(now - id.made),
                     " ago; requests are remembered for ", absl::FormatDuration(kRemembered),
                     ". Whether it was carried out then is not known: make a new one"));
  }
  if (id.made > now + kRemembered) {
    return absl::FailedPreconditionError(
        absl::StrCat("the request was made ", absl::FormatDuration(id.made - now),
                     " after the machine's time; the most are ", absl::FormatDuration(kRemembered),
                     "; mend the clock that is wrong"));
  }
  return absl::OkStatus();
}

const RememberedRequests::Remembered* RememberedRequests::Find(const RequestId& id) const {
  if (Has(Flaw::kForgetsAnswers)) return nullptr;
  const auto found = requests_.find(id);
  return found == requests_.end() ? nullptr : &found->second;
}

void RememberedRequests::Remember(const RequestId& id, Remembered remembered) {
  requests_.insert_or_assign(id, std::move(remembered));
}

void RememberedRequests::ForgetBefore(absl::Time now) {
  while (!requests_.empty() && requests_.begin()->first.made + kRemembered < now) {
    requests_.erase(requests_.begin());
  }
}

}  // namespace locus::cluster_machine
